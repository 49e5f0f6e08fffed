from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.management.commands import collectstatic
from django.core.files.storage import storages
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.db import OperationalError
from django.utils import timezone

from annotation.audit.belonging import check_keys, check_media, check_program
from annotation.demonstration.registry import is_complete
from annotation.endpoints.simulated_endpoint import SIMULATED, port_file
from annotation.management.base import ActCommand
from annotation.model_calls.versions import store_shipped
from annotation.people.invitations import first_administrator_link
from annotation.refusals import Refused
from annotation.review.round_design import store_criteria_form
from annotation.site.health import fault_of_clock
from annotation.site.home_files import make_private
from rexvqa_site import serving
from rexvqa_site.commands import database_away
from rexvqa_site.serving import Children, end_with_parent

SIMULATED_MODELS = "simulated models"
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class Command(ActCommand):
    unchanged = ""
    help = "Prepare the database and serve the site (REXVQA_BIND, PORT) with a web server and a worker until Ctrl-C."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--without-workers", action="store_true", help="others run manage.py work")
        parser.add_argument("--take-keys", action="store_true", help="from now on, these are the keys of the site")

    def handle(self, *args: Any, **options: Any) -> None:
        bind, port = settings.BIND, settings.PORT
        self._check_place(bind, port)
        with serving.home_lock(settings.HOME, shared=settings.NODES > 1):
            self._close_home()
            self._apart(partial(self._prepare, takes_keys=options["take_keys"]))
            self._serve(bind, port, works=not options["without_workers"])

    def _check_place(self, bind: str, port: int) -> None:
        if settings.DEMO and bind not in LOOPBACK:
            raise CommandError("the demonstration has known passwords and serves only 127.0.0.1", returncode=2)
        with socket.socket(socket.AF_INET6 if ":" in bind else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((bind, port))
            except OSError as error:
                message = f"{bind}:{port} cannot be used: {error.strerror}. Choose another port: PORT=8001 make ..."
                raise CommandError(message, returncode=2) from None

    def _close_home(self) -> None:
        if make_private(settings.HOME):
            message = f"Other users of this machine could read {settings.HOME}; from now on only its owner can."
            self.stderr.write(message)

    def _apart(self, act: Callable[[], None]) -> None:
        """In a process with whose end the memory goes; where it fails, this command ends with its status."""
        child = get_context("fork").Process(target=self._act_as_child, args=(act, os.getpid()))
        child.start()
        child.join()
        if child.exitcode:
            sys.exit(max(1, child.exitcode))

    def _act_as_child(self, act: Callable[[], None], parent: int) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        end_with_parent(parent)
        try:
            act()
        except (CommandError, Refused, OperationalError) as refusal:
            reason = database_away(refusal) if isinstance(refusal, OperationalError) else str(refusal)
            if not reason:
                raise
            self.stderr.write(reason)
            sys.exit(2)

    def _prepare(self, *, takes_keys: bool) -> None:
        check_program(will_migrate=settings.NODES == 1)
        if settings.NODES == 1:
            call_command("migrate", verbosity=0, interactive=False)
        check_keys(at=timezone.now(), takes_them=takes_keys)
        check_media()
        if fault := fault_of_clock(at=timezone.now()):
            self.stderr.write(fault)
        store_shipped(at=timezone.now())
        store_criteria_form(at=timezone.now())
        with serving.alone(settings.HOME / "static.lock"):
            self._collect_static()
        if settings.DEMO and not is_complete():
            call_command("build_demonstration")

    def _collect_static(self) -> None:
        stamp = settings.STATIC_ROOT / ".collected"
        wanted = serving.tree_sha256(settings.BASE_DIR / "static", salt=settings.STORAGES["staticfiles"]["BACKEND"])
        if stamp.exists() and stamp.read_text() == wanted:
            return
        with tempfile.TemporaryDirectory(dir=settings.HOME, prefix="static-") as fresh:
            command = collectstatic.Command()
            place = {"BACKEND": settings.STORAGES["staticfiles"]["BACKEND"], "OPTIONS": {"location": fresh}}
            command.storage = storages.create_storage(place)
            call_command(command, verbosity=0, interactive=False)
            if settings.NODES == 1:  # beside another server files stay: pages of the release before name them
                shutil.rmtree(settings.STATIC_ROOT, ignore_errors=True)
            for path in sorted(path for path in Path(fresh).rglob("*") if path.is_file()):
                target = settings.STATIC_ROOT / path.relative_to(fresh)
                target.parent.mkdir(parents=True, exist_ok=True)
                path.replace(target)  # at once: the other server may be sending it
        stamp.write_text(wanted)

    def _serve(self, bind: str, port: int, *, works: bool) -> None:
        workers = serving.web_workers(is_sqlite=settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"))
        children = Children(
            {
                "web server": serving.web_command(bind, port, workers=workers),
                SIMULATED_MODELS: serving.simulation_command(port_file()),
            },
            environment_of_children(),
            yields=serving.YIELDS,
        )
        port_file().unlink(missing_ok=True)  # of a server that was killed
        with serving.stop_signals():
            try:
                children.start("web server")
                commands = _workers() if works else {}  # meanwhile
                children.commands.update(commands)
                if settings.DEMO:
                    children.start(SIMULATED_MODELS)
                host = f"[{bind}]" if ":" in bind else "127.0.0.1" if bind == "0.0.0.0" else bind  # noqa: S104
                serving.wait_until_healthy(f"http://{host}:{port}", children)
                if settings.DEMO:
                    serving.wait_until_there(port_file(), children)  # before the worker asks them
                for name in commands:  # after the web server, so that the page is there sooner
                    children.start(name)
                self._apart(partial(self._greet, f"http://{host}:{port}"))
                children.watch()
            except serving.StopRequested:
                self.stdout.write("\nstopping")
            finally:
                children.stop()

    def _greet(self, address: str) -> None:
        shown = settings.PUBLIC_URL if settings.HTTPS else address
        lines = ["", f"  The reading room is at {shown}", f"  Its data is in {settings.HOME}", ""]
        if settings.DEMO:
            from annotation.demonstration.registry import all_accounts

            lines.append("  Demonstration accounts (images, questions, reviews, readings, predictions are simulated):")
            lines += [f"    {account.role:<15} {account.email:<30} {account.password}" for account in all_accounts()]
            lines += ["", f"  Its models are simulated, too: the endpoint “{SIMULATED}” has no model behind it."]
        elif link := first_administrator_link(timezone.now()):
            lines += [
                "  Nobody is administrator yet. This link works once; open it to make the first account:",
                f"    {link}",
            ]
        with suppress(OSError):  # nobody reads it, or the disk of the log is full: the site serves
            self.stdout.write("\n".join([*lines, "", "  Ctrl-C stops it.", ""]))
            self.stdout.flush()


def _workers() -> dict[str, Callable[[], None]]:
    from rexvqa_site.management.commands.work import workers  # loads Celery

    return workers()


def environment_of_children() -> dict[str, str]:
    """The environment with every place that a library might write to moved under REXVQA_HOME.

    Bytecode is kept there, unless PYTHONPYCACHEPREFIX names another place (empty: beside the sources), and also where
    PYTHONDONTWRITEBYTECODE is set: the children would be compiled again at each start.
    """
    cache = settings.HOME / "cache"
    cache.mkdir(exist_ok=True, mode=0o700)
    return {
        **os.environ,
        "REXVQA_HOME": str(settings.HOME),
        "DJANGO_SETTINGS_MODULE": "rexvqa_site.settings",
        "TMPDIR": str(settings.TEMP_ROOT),
        "MPLCONFIGDIR": str(cache / "matplotlib"),
        "XDG_CACHE_HOME": str(cache),
        "PYTHONPYCACHEPREFIX": os.environ.get("PYTHONPYCACHEPREFIX", str(cache / "python")),
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(settings.BASE_DIR), os.environ.get("PYTHONPATH")))),
    }
