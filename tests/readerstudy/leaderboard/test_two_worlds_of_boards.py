"""Two sites that differ in keys alone answer alike, byte for byte, until an edition tells all; and leaks are found.

Names and the time are the same in both. The commitment to the keys, which covers a secret salt, differs by design and
is the same here.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from annotation.enums import Role
from annotation.models import AnswerKey
from annotation.models.people import TokenScope
from readerstudy.leaderboard import benchmarks, public_board, submissions
from readerstudy.leaderboard.kernels import board as board_kernel
from readerstudy.models import Submission
from readerstudy.views import leaderboard as team_pages
from tests.annotation.api.asking import program_of
from tests.conftest import make_person
from tests.readerstudy.blinding.recording import fixed
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.leaderboard.attacks import File
from tests.readerstudy.leaderboard.gaming import Cheats, read_board
from tests.readerstudy.leaderboard.made import Clock, answer_file, make_team, send_file

pytestmark = pytest.mark.django_db
N = 60
FILES = {"Team 0": "A" * N, "Team 1": "AB" * (N // 2), "Team 2": "ABCD" * (N // 4)}
WORLDS = {"one": "A" * 40 + "BCD" * 6 + "BC", "other": "CBAD" * (N // 4)}
PAGE, API = "/leaderboards/private-test/", "leaderboards/private-test/"
Answer = tuple[str, int, tuple[tuple[str, str], ...], bytes]
Patch = pytest.MonkeyPatch


@contextmanager
def recorded(patch: Patch) -> Iterator[list[Answer]]:
    """Every answer of the site while it lasts."""
    found: list[Answer] = []
    real = Client.request

    def request(client: Client, **environ: Any) -> Any:
        answer: Any = real(client, **environ)
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        cookies = [("Set-Cookie", one.OutputString()) for _name, one in sorted(answer.cookies.items())]
        address = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}"
        found.append((address, answer.status_code, (*sorted(answer.items()), *cookies), body))
        return answer

    patch.setattr(Client, "request", request)
    yield found
    patch.setattr(Client, "request", real)


class World:
    """A leaderboard of two editions, of which the first tells no number, with all who ask about it."""

    def __init__(self, keys: str, clock: Clock) -> None:
        bank = make_questions(N, pixels=False)
        for number, key in enumerate(keys, 1):
            AnswerKey.objects.filter(revision__question__number=number).update(key=key)
        self.cheats = Cheats(bank, clock, n_teams=len(FILES), n_editions=2)
        make_team(self.cheats.benchmark, "Looks on")
        waiting = make_person("waiting", Role.MODEL_SUBMITTER)
        member = self.cheats.teams[0].members.get().user
        people = (member, waiting, make_person("rita", Role.REVIEWER), self.cheats.cora)
        self.browsers = [Client(raise_request_exception=False) for _person in (*people, None)]
        for browser, person in zip(self.browsers, people, strict=False):
            browser.force_login(person)
        self.onlooker = program_of(waiting, Role.MODEL_SUBMITTER, TokenScope.SITE)
        self.board: list[dict[str, bytes]] = []

    def go(self) -> None:
        """What teams send and name, with everything looked at between, up to the first edition."""
        first, *others = self.cheats.programs
        self.cheats.edition = 1
        self.look()
        some = answer_file(self.cheats.benchmark, "-" * 30 + "?" * 10 + "B" * 20)
        doubled = some + answer_file(self.cheats.benchmark, "-" * 59 + "A")
        for content in (b"nothing", some, doubled, some + b'{"id": "x", "pred_answer": "B"}\n'):
            send_file(others[0], content)
            self.cheats.work()
        for program, letters in zip(self.cheats.programs, FILES.values(), strict=True):
            self.cheats.named(program, as_file(letters))
        self.look()
        self.cheats.score()
        self.look()
        self.board.append(read_board())
        withdrawn = Submission.objects.get(team=self.cheats.teams[2], number=1)
        first.post(f"{API}submissions/{withdrawn.public_id}/withdraw/", {"reason": "x"})

    def look(self) -> None:
        ids = list(Submission.objects.order_by("pk").values_list("public_id", flat=True))
        pages = ["/", "/leaderboards/", PAGE, f"{PAGE}team/", f"{PAGE}submissions/", f"{PAGE}editions/"]
        pages += [f"{PAGE}submissions/{one}/" for one in ids] + [f"{PAGE}submissions/{one}/report.json" for one in ids]
        for browser in self.browsers:
            for page in pages:
                browser.get(page)
        lists = ["leaderboards/", API, f"{API}submissions/", f"{API}statements/", f"{API}editions/"]
        lists += [f"{API}editions/1/", f"{API}editions/1/results/1/", *(f"{API}submissions/{one}/" for one in ids)]
        for program in (*self.cheats.programs[:2], self.onlooker):
            for address in lists:
                program.get(address)

    def tell_all(self) -> dict[str, bytes]:
        """The last edition, which does tell."""
        self.cheats.edition = 2
        for program, letters in zip(self.cheats.programs, FILES.values(), strict=True):
            self.cheats.named(program, as_file(letters))
        self.cheats.score()
        return read_board()


def as_file(letters: str) -> File:
    return board_kernel.options_from(letters).astype("int64")


def world(keys: str, clock: Clock, folder: Path, settings: Settings) -> tuple[list[Answer], list[dict[str, bytes]]]:
    settings.HOME = folder / keys[:8]
    with transaction.atomic(), fixed(folder) as (chance, _steps), Patch.context() as patch:
        patch.setattr(timezone, "now", clock)
        patch.setattr(benchmarks, "commitment", lambda _salt, _keys: "c" * 64)
        start = clock.at
        chance.start("world")
        made = World(keys, clock)
        with recorded(patch) as answers:
            made.go()
        transaction.set_rollback(True)
    clock.at = start
    return answers, made.board


def parting(clock: Clock, folder: Path, settings: Settings) -> str:
    """Where the two worlds part; empty where they are the same."""
    (one, seen), (other, seen_there) = (world(keys, clock, folder, settings) for keys in WORLDS.values())
    assert len(one) > 100
    for here, there in zip(one, other, strict=True):
        for name, a, b in zip(("asked", "status", "headers", "body"), here, there, strict=True):
            if a != b:
                return f"{here[0]}: {name}"
    for pages, pages_there in zip(seen, seen_there, strict=True):
        assert "board.csv" in pages
        for file in {**pages, **pages_there}:
            if pages.get(file) != pages_there.get(file):
                return f"board: {file}"
    return ""


def test_nothing_tells_the_worlds_apart_before_an_edition_tells_all(
    clock: Clock, tmp_path: Path, settings: Settings
) -> None:
    assert parting(clock, tmp_path, settings) == ""


# --- planted --------------------------------------------------------------------------------------
def n_right() -> int:
    """How many answers of all submissions are right: a number that nobody may learn."""
    keys = "".join(AnswerKey.objects.order_by("revision__question__number").values_list("key", flat=True))
    answers = Submission.objects.values_list("answers", flat=True)
    return sum(a == b for one in answers for a, b in zip(one, keys, strict=False)) + keys.count("A")


def after(patch: Patch, place: object, name: str, change: Callable[[Any], Any]) -> None:
    real = getattr(place, name)
    patch.setattr(place, name, lambda *args, **kwargs: change(real(*args, **kwargs)))


def longer(response: Any) -> Any:
    response.content += b" " * n_right()
    return response


def with_etag(response: Any) -> Any:
    response["ETag"] = f'"{n_right()}"'
    return response


def by_score(rows: list[Any]) -> list[Any]:
    keys = "".join(AnswerKey.objects.order_by("revision__question__number").values_list("key", flat=True))
    answers = dict(Submission.objects.values_list("public_id", "answers"))
    return sorted(rows, key=lambda one: sum(map(str.__eq__, answers[one["entry"]], keys)))


LEAKS: dict[str, Callable[[Patch], None]] = {
    "a score in a check's answer": (
        lambda p: after(p, submissions, "report_of", lambda report: {**report, "n_missing": n_right()})
    ),
    "a cell too small, too early": (lambda p: p.setattr(board_kernel, "_is_told", lambda cell, edition: cell.n < N)),
    "an order of rows": lambda p: after(p, public_board.PublicBoard, "_ordered", by_score),
    "an ETag": lambda p: after(p, team_pages, "render", with_etag),
    "a length": lambda p: after(p, team_pages, "render", longer),
}


@pytest.mark.check
@pytest.mark.parametrize("name", LEAKS)
def test_what_depends_on_keys_is_found(
    name: str, clock: Clock, tmp_path: Path, settings: Settings, monkeypatch: Patch
) -> None:
    LEAKS[name](monkeypatch)
    assert parting(clock, tmp_path, settings)


# --- what an edition that tells all may hold ------------------------------------------------------
COARSE = re.compile(r"-?\d+(\.\d)?|")


def faults_of(files: dict[str, bytes]) -> list[str]:
    """Numbers that are not rounded, and cells of fewer than 30 questions."""
    rows = list(csv.DictReader(io.StringIO(files["board.csv"].decode())))
    assert any(row["what"] == "all" for row in rows)
    numbers = [(row["what"], row[name]) for row in rows for name in ("value", "low", "high")]
    fine = [f"{what}: {number}" for what, number in numbers if not COARSE.fullmatch(number)]
    return fine + [f"{row['what']}: n = {row['n']}" for row in rows if row["n"] and int(row["n"]) < 30]


def last_edition(clock: Clock) -> dict[str, bytes]:
    return World(WORLDS["one"], clock).tell_all()


def test_what_the_last_edition_tells_is_rounded_and_of_thirty_questions(clock: Clock) -> None:
    assert faults_of(last_edition(clock)) == []


@pytest.mark.parametrize("name", ["unrounded", "small"])
def test_numbers_that_are_too_fine_are_found(name: str, clock: Clock, monkeypatch: Patch) -> None:
    if name == "unrounded":
        finer = lambda one: {**one, "value": one["value"] and one["value"] + 0.0123}  # noqa: E731
        after(monkeypatch, board_kernel, "points", finer)
    else:
        monkeypatch.setattr(board_kernel, "_is_told", lambda cell, edition: True)
    assert faults_of(last_edition(clock))
