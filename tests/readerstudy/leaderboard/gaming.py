"""A site whose teams cheat, over HTTP: they send files by the API, name them, and read all that everybody can read.

``Cheats.ask`` is what ``attacks`` ask with: one edition each time, which two coordinators confirm.
"""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from wsgiref.util import setup_testing_defaults

import numpy as np
from django.conf import settings
from msgspec import Struct

from annotation.enums import JobState, Role, Task
from annotation.jobs.running import run as run_job
from annotation.models import AnswerKey, Job, QuestionBank, Revision
from readerstudy.leaderboard.kernels.release_rule import editions_telling
from readerstudy.models import Benchmark
from rexvqa_site.boards import Boards
from tests.annotation.api.asking import Program, send_json
from tests.conftest import make_person
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.leaderboard.attacks import CHANCE, Ask, Cells, File, Told
from tests.readerstudy.leaderboard.gains import best_options
from tests.readerstudy.leaderboard.made import (
    Clock,
    answer_file,
    make_benchmark,
    make_team,
    program_of_team,
    send_file,
    statement_answers,
)

LETTERS = "ABCD"
ROOT = "leaderboards/private-test/"
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d(?![\w.])")


def bank_of(n: int, rng: np.random.Generator) -> tuple[QuestionBank, File]:
    """Its questions and their keys, in their order; of two categories the wide one has just over half."""
    bank, key = make_questions(n, pixels=False), rng.integers(4, size=n)
    for place, letter in enumerate(LETTERS):
        numbers = (np.flatnonzero(key == place) + 1).tolist()
        AnswerKey.objects.filter(revision__bank=bank, revision__question__number__in=numbers).update(key=letter)
    Revision.objects.filter(bank=bank).update(category="Narrow")
    Revision.objects.filter(bank=bank, question__number__lte=wide(n)).update(category="Wide")
    return bank, key


def wide(n: int) -> int:
    return n // 2 + 1


def cells_of(n: int) -> Cells:
    """As ``bank_of`` makes them, in the order of the benchmark."""
    number = np.arange(1, n + 1)
    found = {"all": np.ones(n, dtype=bool), "category:Wide": number <= wide(n)}
    found["category:Narrow"] = ~found["category:Wide"]
    tasks, levels = Task.values(), ("easy", "medium", "hard")  # as make_questions deals them out
    found |= {f"task:{name}": number % 5 == place for place, name in enumerate(tasks)}
    return found | {f"difficulty:{name}": number % 3 == place for place, name in enumerate(levels)}


def telling(cells: Cells, n_editions: int, edition: int) -> list[str]:
    """The cells that an edition tells."""
    told = editions_telling({name: int(inside.sum()) for name, inside in cells.items()}, n_editions)
    return [name for name, editions in told.items() if edition in editions]


def shares(key: File, cells: Cells, names: Iterable[str], file: File) -> Told:
    """What is told of a file: percent right, rounded as it is shown."""
    return {name: round(100 * float((file == key)[cells[name]].mean()), 1) for name in names}


class Offline:
    """A site that tells what the real one was seen to tell, for many runs in little time."""

    def __init__(self, key: File, cells: Cells, n_editions: int) -> None:
        self.key, self.cells, self.n_editions, self.edition = key, cells, n_editions, 0

    def ask(self, files: Sequence[File]) -> list[Told]:
        self.edition += 1
        names = telling(self.cells, self.n_editions, self.edition)
        return [shares(self.key, self.cells, names, file) for file in files]


class Answered(Struct, frozen=True):
    """One answer to a check: everything about it that could tell something."""

    report: dict[str, Any]
    state: str
    n_bytes: int  # without the name of the team
    seconds: float


class Cheats:
    def __init__(self, bank: QuestionBank, clock: Clock, *, n_teams: int, n_editions: int) -> None:
        self.clock, self.edition = clock, 0
        self.benchmark: Benchmark = make_benchmark(bank, n_editions=n_editions)
        self.cora, self.omar = (make_person(name, Role.COORDINATOR) for name in ("cora", "omar"))
        self.teams = [make_team(self.benchmark, f"Team {place}") for place in range(n_teams)]
        self.programs = [program_of_team(team) for team in self.teams]
        for program in self.programs:
            assert program.post(f"{ROOT}statements/", {"answers": statement_answers()}).status_code == 201
        self.answered: list[Answered] = []

    def ask(self, files: Sequence[File]) -> list[Told]:
        """An edition with one file of each team: what everybody can read of each after it."""
        self.edition += 1
        entries = [self.named(program, file) for program, file in zip(self.programs, files, strict=False)]
        assert self.edition > 1 or not read_board(), "nothing is public before the first edition"
        self.score()
        told = self.told(entries)
        self._nothing_else(self.programs[0])
        return told

    def score(self) -> None:
        """Once the date is over, by two coordinators."""
        edition = self.benchmark.editions.get(number=self.edition)
        self.clock.at = datetime.combine(edition.due_on, self.clock.at.time(), UTC) + timedelta(days=1)
        address = f"{ROOT}editions/{self.edition}/"
        assert send_json(self.cora, f"{address}propose/", {}).status_code == 200
        assert send_json(self.cora, f"{address}confirm/", {}).status_code == 409
        assert send_json(self.omar, f"{address}confirm/", {}).status_code == 200
        self.work()

    def named(self, program: Program, file: File) -> str:
        sent = answer_file(self.benchmark, "".join(LETTERS[one] for one in file))
        answer = send_file(program, sent)
        assert answer.status_code == 202, answer.content
        begun = time.perf_counter()
        self.work()
        seconds = time.perf_counter() - begun
        checked = program.get(answer["Location"])
        said, n_bytes = checked.json(), len(checked.content)
        self.answered.append(Answered(said["report"], said["state"], n_bytes - len(said["team_name"]), seconds))
        assert program.post(f"{answer['Location']}name/", {"edition": self.edition}).status_code == 200
        found: str = said["id"]
        return found

    def work(self) -> None:
        for job in Job.objects.filter(state=JobState.QUEUED).order_by("pk"):
            run_job(job.public_id, clock=self.clock)
            job.refresh_from_db()
            assert job.state == JobState.SUCCEEDED, job.error

    def told(self, entries: Sequence[str], version: int = 1) -> list[Told]:
        """Of the files of this edition, from the table that everybody can take."""
        rows = list(csv.DictReader(io.StringIO(read_board()["board.csv"].decode())))
        of = {name: dict[str, float]() for name in entries}
        for row in rows:
            is_cell = row["what"] == "all" or ":" in row["what"]
            if is_cell and (row["edition"], row["version"]) == (str(self.edition), str(version)):
                of[row["entry"]][row["what"]] = float(row["value"])
        return [of[name] for name in entries]

    def _nothing_else(self, program: Program) -> None:
        """No page, picture, badge, card or answer of the API holds a decimal number that the table does not."""
        files = read_board()
        known = set(DECIMAL.findall(files["board.csv"].decode())) | {"25.0", "0.1"}  # chance; how it is rounded
        for name, content in files.items():
            text = content.decode()
            if name.endswith(".svg"):
                text = _words(text)
            if not name.endswith((".css", "SHA256SUMS", "schema.json")):
                assert set(DECIMAL.findall(text)) - known == set(), name
        result = program.get(f"{ROOT}editions/{self.edition}/results/1/")
        shown = next(one for one in json.loads(files["board.json"])["results"] if one["edition"] == self.edition)
        assert all(shown[name] == value for name, value in result.json().items())
        for answer in (program.get(ROOT), program.get(f"{ROOT}editions/"), program.get(f"{ROOT}submissions/")):
            assert not set(DECIMAL.findall(answer.content.decode())) - {"1.0"}


def _words(svg: str) -> str:
    return " ".join("".join(found) for found in re.findall(r"<text[^>]*>([^<]*)|<!--(.*?)-->|<title>([^<]*)", svg))


def read_board(path: str = "/board/private-test/") -> dict[str, bytes]:
    """Everything that is led to from the first page, and what stands beside it, by name, as the site gives it out."""
    site = Boards(behind, Path(settings.HOME) / "boards")
    wanted = [path, *(f"{path}{name}" for name in ("board.csv", "board.json", "board.schema.json", "CITATION.cff"))]
    found: dict[str, bytes] = {}
    for address in wanted:  # which grows
        status, _headers, body = asked(site, address)
        if status != 200:
            continue
        found[address.removeprefix(path) or "index.html"] = body
        if address.endswith(("/", ".html")):
            linked = re.findall(r'(?:href|src)="([^"#]+)', body.decode())
            there = [urljoin(address, one) for one in linked if "://" not in one and not one.startswith("mailto:")]
            wanted += [one for one in dict.fromkeys(there) if one.startswith(path) and one not in wanted]
    return found


def asked(site: Boards, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    environ: dict[str, Any] = {"PATH_INFO": path, "REQUEST_METHOD": method, **headers}
    setup_testing_defaults(environ)
    found: list[Any] = []
    body = b"".join(site(environ, lambda status, fields: found.extend((status, fields))))
    return int(found[0].split()[0]), {name.title(): value for name, value in found[1]}, body


def behind(_environ: Any, start_response: Any) -> Iterable[bytes]:
    """The program, which has no such page."""
    start_response("404 Not Found", [])
    return [b"program"]


# --- further attacks ------------------------------------------------------------------------------
def difference_of_editions(cells: Cells, n_teams: int, n_editions: int, ask: Ask, rng: np.random.Generator) -> File:
    """Each team changes one block of its file from edition to edition, and takes what it gained for that block."""
    n = len(cells["all"])
    files = [rng.integers(4, size=n) for _team in range(n_teams)]
    before: Sequence[Told] = ask(files) if n_editions else []
    sums, rows = np.zeros((n, 4)), np.arange(n)
    for _edition in range(n_editions - 1):
        blocks = [rng.random(n) < 0.5 for _team in files]
        changed = [np.where(block, rng.integers(4, size=n), file) for block, file in zip(blocks, files, strict=True)]
        after = ask(changed)
        for block, old, new, one, other in zip(blocks, files, changed, before, after, strict=True):
            apart = other.get("all", 0.0) - one.get("all", 0.0)
            sums[rows[block], new[block]] += apart
            sums[rows[block], old[block]] -= apart
        files, before = changed, after
    return best_options(sums, rng)


def aimed(at: str, cells: Cells, n_teams: int, n_editions: int, ask: Ask, rng: np.random.Generator) -> File:
    """All files differ in one cell alone."""
    n, inside = len(cells["all"]), np.flatnonzero(cells[at])
    base, sums = rng.integers(4, size=n), np.zeros((n, 4))
    for _edition in range(n_editions):
        files = [base.copy() for _team in range(n_teams)]
        for file in files:
            file[inside] = rng.integers(4, size=len(inside))
        told = [one.get(at, one.get("all", 0.0)) for one in ask(files)]
        for file, percent in zip(files, told, strict=True):
            sums[inside, file[inside]] += percent - np.mean(told)
    best: File = np.where(cells[at], best_options(sums, rng), base)
    return best


AIMED = {f"aimed at {name}": partial(aimed, name) for name in ("task:presence", "category:Wide")}


def by_answers(cheats: Cheats, what: str) -> Ask:
    """Instead of what editions tell: how large the answers to checks are, or how long they take."""

    def ask(files: Sequence[File]) -> list[Told]:
        begun = len(cheats.answered)
        cheats.ask(files)
        seen = np.array([float(getattr(one, what)) for one in cheats.answered[begun:]])
        return [{"all": CHANCE + apart} for apart in (seen - seen.mean()).tolist()]

    return ask


def with_versions(site: Offline, changed: File, key: File) -> Ask:
    """After each edition, all is scored again on a version on which ``changed`` questions have the keys ``key``."""

    def ask(files: Sequence[File]) -> list[Told]:
        told: list[Told] = []
        for file, one in zip(files, site.ask(files), strict=True):
            again: Mapping[str, float] = shares(key, site.cells, one, file)
            apart = (again["all"] - one["all"]) * len(key) / len(changed) if "all" in one else 0.0
            told.append({**one, "changed": CHANCE + apart})
        return told

    return ask
