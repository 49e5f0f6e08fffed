"""Two worlds in a real browser: what it is sent and what it keeps is the same, and holds no planted word."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from playwright.sync_api import Error, Playwright, Response
from pytest_django.live_server_helper import LiveServer

from annotation.ingest import storage
from annotation.models import User
from readerstudy.design.kernels.documents import Rules
from readerstudy.models import Enrolment
from tests.annotation.review.cases import NOON
from tests.browser.conftest import own_browser
from tests.browser.readerstudy.reading import KEPT, Device, answers_of
from tests.browser.server import wait_until_left
from tests.readerstudy.blinding.recording import fixed
from tests.readerstudy.blinding.searching import Search
from tests.readerstudy.blinding.truth import ONE, OTHER, Truth
from tests.readerstudy.blinding.worlds import World, build_world

N_READ = int(os.environ.get("PROOF_CASES", "5"))  # 5 or more; make proof reads 40
STEM = b"Which finding is absent"
OWN_PACE = frozenset({"date", "server", "content-length", "set-cookie", "connection", "x-received"})
PLANT = """([where, word]) => {
    if (where !== "indexedDB") return window[where].setItem("why", word);
    return new Promise((done) => {
        const asked = indexedDB.open("leak", 1);
        asked.onupgradeneeded = () => asked.result.createObjectStore("leaks", { autoIncrement: true }).add(word);
        asked.onsuccess = () => done(asked.result.close());
    });
}"""
# A preview is left out when the image is there already, a choice when the answer overtakes it.
AT_ITS_PACE = re.compile(r"^GET /images/|/(state|choice)/")
STORES = """async () => {
    const wait = (asked) => new Promise((done) => { asked.onsuccess = () => done(asked.result); });
    const found = { session: { ...sessionStorage }, local: { ...localStorage }, caches: await caches.keys(), kept: [] };
    for (const { name } of await indexedDB.databases()) {
        const database = await wait(indexedDB.open(name));
        for (const store of database.objectStoreNames) {
            const all = await wait(database.transaction(store).objectStore(store).getAll());
            found.kept.push([name, store, all]);
        }
        database.close();
    }
    return JSON.stringify(found);
}"""


@dataclass
class Seen:
    """What one browser was sent and what it kept."""

    sent: dict[str, set[tuple[int, str, str]]] = field(default_factory=dict)
    raw: list[bytes] = field(default_factory=list)
    stores: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)


def test_a_browser_cannot_tell_the_worlds_apart(
    live_server: LiveServer, playwright: Playwright, tmp_path: Path
) -> None:
    one = read_in(ONE, live_server, playwright, tmp_path / "one")
    call_command("flush", interactive=False, verbosity=0)
    other = read_in(OTHER, live_server, playwright, tmp_path / "other")
    assert one.answers == other.answers
    assert len(one.answers) == N_READ
    both = one.sent.keys() & other.sent.keys()
    for address in both:
        assert one.sent[address] == other.sent[address], address
    assert not [address for address in one.sent.keys() ^ other.sent.keys() if not AT_ITS_PACE.search(address)]
    assert len([address for address in both if "/images/" in address]) >= (N_READ + 1) * 2
    assert len([address for address in both if "/commit/" in address]) == N_READ
    assert '"kept"' in one.stores[0]


@pytest.mark.parametrize("truth", [ONE, OTHER], ids=["one", "other"])
def test_nothing_that_a_browser_keeps_holds_a_planted_word(
    live_server: LiveServer, playwright: Playwright, tmp_path: Path, truth: Truth
) -> None:
    seen = read_in(truth, live_server, playwright, tmp_path)
    search = Search(truth.tokens())
    kept = kept_by(tmp_path / "profile")
    assert b"/images/" in kept  # the cache of the browser is among it
    for content in (kept, *seen.raw, *(store.encode() for store in seen.stores)):
        assert search.within(content) == []
    assert STEM not in kept  # of a question nothing stays on the device, and of an answer no text
    assert not [store for store in seen.stores if STEM.decode() in store]
    assert any(STEM in content for content in seen.raw)


@pytest.mark.parametrize("where", ["sessionStorage", "localStorage", "indexedDB"])
def test_a_planted_word_in_a_store_of_the_browser_is_found(
    live_server: LiveServer, playwright: Playwright, rita: User, tmp_path: Path, where: str
) -> None:
    token = ONE.token("explanation", 4)
    with own_browser(playwright, tmp_path / "profile", live_server.url, rita) as context:
        page = context.new_page()
        page.goto("/read/")
        page.evaluate(PLANT, [where, f"because {token}"])
        dumped: str = page.evaluate(STORES)
    wait_until_left(live_server)
    assert Search(ONE.tokens()).within(dumped.encode()) == [token]


def test_a_planted_word_in_the_cache_of_the_browser_is_found(
    live_server: LiveServer, playwright: Playwright, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, load = ONE.token("findings", 1), storage.load
    passed_over = b"\x50\x2a\x4d\x18" + len(token).to_bytes(4, "little") + token.encode()  # by whoever unpacks zstd
    monkeypatch.setattr(storage, "load", lambda name: load(name) + passed_over)
    with fixed(tmp_path / "media") as (chance, _clock):
        world = build_world(ONE, chance, n_cases=2, n_practice=0, rules=Rules())
        make_ready(world)
        with own_browser(playwright, tmp_path / "profile", live_server.url, world.reader) as context:
            device = Device(context.new_page())
            device.opens(world.enrolment)
        wait_until_left(live_server)
    assert token in Search(ONE.tokens()).within(kept_by(tmp_path / "profile"))


def read_in(truth: Truth, live_server: LiveServer, playwright: Playwright, folder: Path) -> Seen:
    """All cases but one: two of them without a connection, the fifth after a reload."""
    seen = Seen()
    with fixed(folder / "media") as (chance, _clock):
        rules = Rules(shuffle_options=True, cannot_tell=True)
        world = build_world(truth, chance, n_cases=N_READ + 1, n_practice=0, rules=rules)
        make_ready(world)
        with own_browser(playwright, folder / "profile", live_server.url, world.reader) as context:
            responses: list[Response] = []
            context.on("response", lambda response: responses.append(response))
            device = Device(context.new_page())
            read(device, world, seen, responses)
            seen.answers = answers_of(world.enrolment)
        wait_until_left(live_server)
    return seen


def make_ready(world: World) -> None:
    Enrolment.objects.filter(pk=world.enrolment.pk).update(
        consented_at=NOON, facts={"training": "resident"}, instructed_at=NOON, display_checked_at=NOON
    )


def read(device: Device, world: World, seen: Seen, responses: list[Response]) -> None:
    device.opens(world.enrolment)
    device.stores("1", then=2)
    device.is_ready(world.enrolment)
    keep(seen, responses, world)
    device.cut()
    device.answers("2", then=3)
    device.says(KEPT)
    device.answers("3", then=4)
    seen.stores.append(device.page.evaluate(STORES))
    device.mend()
    device.says("saved")
    device.answers("0")
    device.page.locator("#room-guess").wait_for()
    device.press("4")
    device.sees(5)
    device.says("saved")
    device.is_ready(world.enrolment)
    keep(seen, responses, world)
    device.page.reload()
    device.sees(5)
    for position in range(5, N_READ + 1):
        device.stores("1", then=position + 1)
        device.is_ready(world.enrolment)
        keep(seen, responses, world)
    seen.stores.append(device.page.evaluate(STORES))


def keep(seen: Seen, responses: list[Response], world: World) -> None:
    """What has come so far, before the browser forgets it."""
    for response in responses:
        parts = urlsplit(response.url)
        if parts.path.startswith("/static/"):
            continue
        content = body(response)
        seen.raw.append(content)
        headers = sorted((k, v) for k, v in response.headers.items() if k not in OWN_PACE)
        told = (response.status, level(repr(headers), world), level(content.decode("latin-1"), world))
        seen.sent.setdefault(f"{response.request.method} {parts.path} {done(content)}", set()).add(told)
    responses.clear()


def done(content: bytes) -> str:
    """How far the reader is, where an answer tells it: the same address says more later."""
    found = re.search(rb'"done": ?(\d+)', content)
    return found[1].decode() if found else ""


def body(response: Response) -> bytes:
    try:
        return response.body()
    except Error:  # a redirect, or an answer without a body
        return b""


def level(text: str, world: World) -> str:
    """Without what belongs to this reader's own pace and page, and without the hash of the protocol."""
    sha256 = world.study.protocol_sha256
    for part in (sha256, sha256[:12], sha256[:8]):
        text = text.replace(part, "PROTOCOL")
    for pattern, instead in (
        (r'"session": ?"[\w-]{16}"', "SESSION"),
        (r'csrfmiddlewaretoken" value="\w+"', "TOKEN"),
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID"),
        (r'"(opened|painted)": ?(true|false)', "OWN"),
        (r'"choice": ?"[A-D]?"', "OWN"),
        (r'"choice_sequence": ?\d+', "OWN"),
    ):
        text = re.sub(pattern, instead, text)
    return text


def kept_by(profile: Path) -> bytes:
    """Everything that a browser left on its disk, its cache included."""
    return b"\n".join(path.read_bytes() for path in profile.rglob("*") if path.is_file())
