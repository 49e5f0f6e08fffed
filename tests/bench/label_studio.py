"""Label Studio as the case page's peer: a project with the same two images, driven in the same Chromium.

It is installed by whoever wants to compare, in an environment of its own that BENCH_LABEL_STUDIO names; nothing of it
is a requirement. Its labelling page shows what a browser can: it gets our 8-bit previews, not the stored values.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, Self

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from playwright.sync_api import Error as BrowserError

from tests.bench.sites import previews
from tests.browsers import CHROMIUM_ARGUMENTS
from tests.processes import free_port

N_TASKS, N_TURNS, N_WARM, N_COLD = 45, 40, 2, 5
START_S = 300  # its first start migrates for a minute
PATIENCE_MS = 60_000  # for any one thing on its pages
E_MAIL, PASSWORD = "bench@example.org", "correct horse battery"
LABELS = """<View>
  <View style="display: flex"><Image name="frontal" value="$frontal"/><Image name="lateral" value="$lateral"/></View>
  <Header value="$question"/>
  <Choices name="answer" toName="frontal" required="true">
    <Choice value="A"/><Choice value="B"/><Choice value="C"/><Choice value="D"/>
  </Choices>
  <Choices name="verdict" toName="frontal" required="true">
    <Choice value="accept"/><Choice value="revise"/><Choice value="reject"/>
  </Choices>
</View>"""
# Waits until a question that was not there before stands beside two new images, decoded, and a frame has shown them.
SHOWN = """async ({ before, patience }) => {
    const until = performance.now() + patience;
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    while (performance.now() < until) {
        const question = document.body?.innerText.match(/Question \\d+ of the bench/)?.[0];
        const images = [...document.images].filter(
            (one) => one.complete && one.naturalWidth >= 800 && !before.images.includes(one.src));
        if (question && question !== before.question && new Set(images.map((one) => one.src)).size >= 2) {
            await Promise.all(images.map((one) => one.decode()));
            await frame();
            await frame();
            return { at: performance.now(), question, images: images.map((one) => one.src) };
        }
        await frame();
    }
    throw new Error("a task with both of its images did not come on screen");
}"""
NOTHING = {"question": "", "images": []}


class NotMeasured(Exception):
    """Why there is nothing to compare with, as a sentence."""


@dataclass(frozen=True)
class Measured:
    """Milliseconds: from the press of Submit to both images of the next task, and from the request to both."""

    name: str  # with its version and what it was given
    turns: list[float]
    colds: list[float]


def measure(chromium: str) -> Measured | None:
    """None when nobody asked for it, or when what was asked for does not work: then a printed sentence says why."""
    place = os.environ.get("BENCH_LABEL_STUDIO", "")
    if not place:
        return None
    try:
        return _measure(Path(place), chromium)
    except NotMeasured as why:
        print(f"Label Studio is not measured: {why}", flush=True)
        return None


def _measure(place: Path, chromium: str) -> Measured:
    """Raises NotMeasured."""
    program = place.resolve() / "bin" / "label-studio"
    if not program.is_file():
        raise NotMeasured(f"BENCH_LABEL_STUDIO must name an environment that has bin/label-studio; {place} has none.")
    with (
        tempfile.TemporaryDirectory(prefix="label-studio-") as folder,
        _started(program, Path(folder)) as site,
        Pictures(previews()) as pictures,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)
        try:
            return _driven(browser, site, site.make_project(pictures.address))
        except (BrowserError, OSError, KeyError, ValueError) as problem:
            reason = (str(problem).strip() or type(problem).__name__).splitlines()[0]
            raise NotMeasured(f"it started, but could not be driven ({reason}).") from problem
        finally:
            browser.close()


@dataclass(frozen=True)
class _Site:
    address: str
    token: str

    def ask(self, path: str, sent: Any = None) -> Any:
        """The JSON that its API answers. Raises OSError, ValueError."""
        body = None if sent is None else json.dumps(sent).encode()
        headers = {"Authorization": f"Token {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    def make_project(self, pictures: str) -> int:
        """A project of N_TASKS tasks, each with images under addresses of their own."""
        project = int(self.ask("/api/projects/", {"title": "Bench", "label_config": LABELS})["id"])
        tasks = [
            {
                "frontal": f"{pictures}/{n}/frontal",
                "lateral": f"{pictures}/{n}/lateral",
                "question": f"Question {n} of the bench: which of these does the frontal image show?",
            }
            for n in range(1, N_TASKS + 1)
        ]
        self.ask(f"/api/projects/{project}/import", tasks)
        return project


@contextmanager
def _started(program: Path, folder: Path) -> Iterator[_Site]:
    """Its default start, on SQLite and a port of its own; ended with everything that it started. Raises NotMeasured."""
    site = _Site(f"http://127.0.0.1:{(port := free_port())}", secrets.token_hex(20))
    command = [str(program), "start", "--no-browser", "--port", str(port), "--internal-host", "127.0.0.1"]
    command += ["--username", E_MAIL, "--password", PASSWORD, "--user-token", site.token]
    log = folder / "label-studio.log"
    with log.open("wb") as output:
        how: dict[str, Any] = {"env": _environment(folder), "cwd": folder, "stdout": output, "stderr": output}
        try:
            process = subprocess.Popen(command, start_new_session=True, **how)
        except OSError as problem:
            raise NotMeasured(f"{program} does not start ({problem.strerror}).") from problem
        try:
            _wait(process, site, log)
            yield site
        finally:
            _end(process)


def _environment(folder: Path) -> dict[str, str]:
    ours = ("REXVQA_", "DATABASE_URL", "DJANGO_", "CELERY_", "PYTHON", "PORT", "LABEL_STUDIO_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | {
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder),
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
    }


def _wait(process: subprocess.Popen[bytes], site: _Site, log: Path) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        if process.poll() is not None:
            last = (log.read_text(errors="replace").strip() or "it said nothing").splitlines()[-1]
            raise NotMeasured(f"it ended with {process.returncode} ({last}).")
        try:
            site.ask("/api/version")
            return
        except (OSError, ValueError):
            time.sleep(0.5)
    raise NotMeasured(f"it did not answer within {START_S} seconds.")


def _end(process: subprocess.Popen[bytes]) -> None:
    """The process and its children: the session that it was started in."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=20)
    except ProcessLookupError:
        process.wait()
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Pictures:
    """Serves ``/anything/NAME`` until closed, to every origin: every task has addresses of its own for them.

    ``previews`` are WebP by name.
    """

    def __init__(self, previews: dict[str, bytes]) -> None:
        handler = type("PicturesHandler", (_Handler,), {"previews": previews})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


class _Handler(BaseHTTPRequestHandler):
    previews: ClassVar[dict[str, bytes]]
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: two would wait 40 ms for an acknowledgement

    def do_GET(self) -> None:
        body = self.previews.get(self.path.rpartition("/")[2])
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "image/webp")
        self.send_header("Content-Length", str(len(body or b"")))
        self.send_header("Cache-Control", "private, max-age=3600")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the table says what was measured."""


# --- its pages ------------------------------------------------------------------------------------
def _driven(browser: Browser, site: _Site, project: int) -> Measured:
    context = _context(browser, site)
    labelling = f"/projects/{project}/data?labeling=1"
    _log_in(context)
    state = context.storage_state()
    context.close()
    colds = []
    for _ in range(N_COLD):  # each with nothing in its cache
        context = _context(browser, site, storage_state=state)
        page = context.new_page()
        page.goto(labelling, wait_until="commit")
        shown = _shown(page, NOTHING)
        colds.append(float(shown["at"]))
        context.close()
    page = _context(browser, site, storage_state=state).new_page()
    page.goto(labelling, wait_until="commit")
    shown = _shown(page, NOTHING)
    turns = []
    for _ in range(N_TURNS + N_WARM):
        pressed, shown = _turn(page, shown)
        turns.append(float(shown["at"]) - pressed)
    page.context.close()
    version = site.ask("/api/version")["release"]
    return Measured(f"Label Studio {version}, WebP previews", turns[N_WARM:], colds)


def _context(browser: Browser, site: _Site, **more: Any) -> BrowserContext:
    """A window of the size that our case page is measured in."""
    context = browser.new_context(viewport={"width": 1366, "height": 768}, base_url=site.address, **more)
    context.set_default_timeout(PATIENCE_MS)
    return context


def _log_in(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto("/user/login/")
    page.locator("input[name=email]").fill(E_MAIL)
    page.locator("input[name=password]").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda address: "/user/login" not in address)


def _turn(page: Page, before: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """When Submit was pressed, and the next task as it is shown. Its reader thinks as long as ours does."""
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1000)
    page.keyboard.press("2")
    page.keyboard.press("5")
    page.evaluate(
        """() => addEventListener("click", () => { window.pressedAt = performance.now(); }, { capture: true })"""
    )
    page.locator("button[name=submit]").click()
    shown = _shown(page, before)
    return float(page.evaluate("() => pressedAt")), shown


def _shown(page: Page, before: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = page.evaluate(SHOWN, {"before": before, "patience": PATIENCE_MS})
    return shown
