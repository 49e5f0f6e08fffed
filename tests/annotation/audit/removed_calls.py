"""Whether a test fails when one act stops writing its row in the audit log: asked of every call in the program.

``python -m tests.annotation.audit.removed_calls`` runs the tests that touch the database, once as they are. After each
one it runs the same test again for every call that it reached and that writes to the log, with that call alone writing
nothing; a call counts as guarded once a test fails then and passes again with the call back. Quick tests that ask for
events go first, and alone; all others follow for the calls that are left. What is found is kept in
``var/removed-calls/``, so that a run goes on where the one before ended; ``--afresh`` forgets it. The words after it go
to pytest.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.architecture.source import ROOT, python_files

APPS = ("annotation", "readerstudy", "rexvqa_site")
CALLS = ("record", "record_each", "record_once")
KEPT = ROOT / "var" / "removed-calls"
FOLDERS = ("tests/annotation", "tests/readerstudy")
MOST_TRIES = 6  # of tests that reach a call and do not fail without it, before the call waits for the last round
BY_NAME, BY_ANY = "name", "any"
SLOW = (
    *("tests/readerstudy/blinding/", "tests/readerstudy/durability/", "tests/readerstudy/reading/test_invariants.py"),
    *("tests/annotation/demonstration/", "tests/readerstudy/demonstration/"),
)


@dataclass(frozen=True, slots=True)
class Site:
    """One call in the program that writes to the audit log."""

    path: str
    function: str
    number: int  # of the calls in this function
    first: int
    last: int

    @property
    def name(self) -> str:
        return f"{self.path}:{self.function}:{self.number}"


def sites() -> list[Site]:
    """Every call, by the syntax tree."""
    files = (path for path in python_files(*APPS) if "migrations" not in path.parts)
    return [site for path in files for site in _sites_of(path)]


def _sites_of(path: Path) -> Iterator[Site]:
    text = path.read_text()
    if not any(f"{name}(" in text for name in CALLS):
        return
    counted: dict[str, int] = {}
    for function, node in _calls(ast.parse(text), "module"):
        counted[function] = counted.get(function, 0) + 1
        end = node.end_lineno or node.lineno
        yield Site(str(path.relative_to(ROOT)), function, counted[function], node.lineno, end)


def _calls(tree: ast.AST, function: str) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.iter_child_nodes(tree):
        inner = node.name if isinstance(node, ast.FunctionDef | ast.ClassDef) else function
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            yield function, node
        yield from _calls(node, inner)


class Removing:
    """The plugin: knows which calls a test reaches, and runs it again without them."""

    def __init__(self, round_: str, guarded: Path) -> None:
        self.by_name = round_ == BY_NAME
        self.file = guarded
        self.sites = {(site.path, line): site.name for site in sites() for line in range(site.first, site.last + 1)}
        self.reached: dict[str, str] = {}  # the call and its act
        self.removed = ""
        self.tried: dict[str, int] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self) -> None:
        from annotation.audit import recording

        for name in CALLS:
            _replace(name, getattr(recording, name), self._watched(recording, name))

    def _watched(self, recording: Any, name: str) -> Any:
        whole = getattr(recording, name)

        def watched(act: str, *args: Any, **facts: Any) -> Any:
            site = self._site(sys._getframe(1))
            if site:
                self.reached.setdefault(site, act)
            if not site or site != self.removed:
                return whole(act, *args, **facts)
            subject = facts.get("subject")
            unsaved = recording._event(act, facts["actor"], facts["at"], subject, facts.get("facts"), previous="")
            return unsaved if name == "record" else None

        return watched

    def _site(self, frame: FrameType) -> str:
        path = frame.f_code.co_filename.removeprefix(f"{ROOT}/")
        return self.sites.get((path, frame.f_lineno), "")

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """In the first round only tests that ask for events; their own text says so."""
        if self.by_name:
            left = [item for item in items if item.nodeid.startswith(SLOW) or not _asks_for_events(item)]
            config.hook.pytest_deselected(items=left)
            items[:] = [item for item in items if item not in set(left)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        self.reached, self.removed = {}, ""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        is_good = _passes(item, nextitem, log=True)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        for site, act in sorted(self.reached.items()) if is_good else ():
            if self._is_worth_trying(item, site, act):
                self._try_without(item, nextitem, site)
        return True

    def _is_worth_trying(self, item: pytest.Item, site: str, act: str) -> bool:
        if site in guarded(self.file.parent):
            return False
        if self.by_name:
            return True
        return self.tried.get(site, 0) < MOST_TRIES

    def _try_without(self, item: pytest.Item, nextitem: pytest.Item | None, site: str) -> None:
        self.tried[site] = self.tried.get(site, 0) + 1
        self.removed = site
        fails = not _passes(item, nextitem, log=False)
        self.removed = ""
        if fails and _passes(item, nextitem, log=False):
            with self.file.open("a") as kept:
                kept.write(json.dumps({"call": site, "test": item.nodeid}) + "\n")


def _passes(item: pytest.Item, nextitem: pytest.Item | None, *, log: bool) -> bool:
    from _pytest.runner import runtestprotocol

    item._initrequest()  # type: ignore[attr-defined]
    return all(report.passed for report in runtestprotocol(item, log=log, nextitem=nextitem))


def _replace(name: str, before: Any, after: Any) -> None:
    """In every module that imported it by name; what is imported later takes it from its own module."""
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get(name) is before:
            setattr(module, name, after)


def _asks_for_events(item: pytest.Item) -> bool:
    if item.get_closest_marker("logs") is not None:
        return True
    text = inspect.getsource(item.function) if isinstance(item, pytest.Function) else ""
    return "AuditEvent" in text or bool(re.search(r"\bacts?\b|\"[a-z_]+\.[a-z_]+\"", text))


def guarded(folder: Path) -> dict[str, str]:
    """Of each call that is guarded, a test that fails without it."""
    rows = [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]
    return {row["call"]: row["test"] for row in rows}


def pytest_configure(config: pytest.Config) -> None:
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    KEPT.mkdir(parents=True, exist_ok=True)
    config.pluginmanager.register(Removing(os.environ["REMOVED_CALLS"], KEPT / f"{worker}.jsonl"), "removing-calls")


def main(arguments: list[str]) -> int:
    if "--afresh" in arguments:
        arguments.remove("--afresh")
        for path in KEPT.glob("*.jsonl"):
            path.unlink()
    for round_ in (BY_NAME, BY_ANY):
        if _left():
            _run(round_, arguments)
    left = _left()
    for name in left:
        print(f"no test fails without {name}")
    n_all = len(sites())
    print(f"{n_all - len(left)} of {n_all} calls that write to the audit log are guarded by a test")
    return 1 if left else 0


def _left() -> list[str]:
    found = guarded(KEPT)
    return [site.name for site in sites() if site.name not in found]


def _run(round_: str, arguments: list[str]) -> None:
    named = [one for one in arguments if one.startswith("tests/")] or list(FOLDERS)
    words = [one for one in arguments if not one.startswith("tests/")]
    plugin = ["-p", "tests.annotation.audit.removed_calls"]
    asked = ["-q", "-m", "not browser and not firefox and not services", "-p", "no:cacheprovider", *plugin]
    command = [sys.executable, "-m", "pytest", *asked, *words, *named]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "REMOVED_CALLS": round_}, check=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
