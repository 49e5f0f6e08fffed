"""Nobody gains more from what a leaderboard tells than its release rule allows: tried over HTTP.

Every attack runs against a site with all that is public, where what it is told is seen to be what ``telling`` says.
Then it runs many times on simulated keys that are told like this. ``make proof`` (``PROOF_BOARD=1``) does so on 300,
2,000 and 41,007 questions, and writes the table of docs/validation.md.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest
from django.conf import settings
from django.db import transaction
from msgspec import Struct

from annotation.models import QuestionBank
from readerstudy.leaderboard.kernels.release_rule import MOST_GAIN, MOST_OWN_GAIN
from readerstudy.leaderboard.submissions import check_file
from readerstudy.models import Submission
from tests.annotation.api.asking import send_json
from tests.annotation.generation.planted_table import DOCUMENT
from tests.readerstudy.leaderboard.attacks import ATTACKS, CHANCE, Attack, File, Told, exact_scores, gain_of
from tests.readerstudy.leaderboard.gaming import (
    AIMED,
    Cheats,
    Offline,
    bank_of,
    by_answers,
    cells_of,
    difference_of_editions,
    read_board,
    shares,
    telling,
    with_versions,
)
from tests.readerstudy.leaderboard.made import Clock, answer_file, make_benchmark
from tests.readerstudy.leaderboard.test_versions import revised

pytestmark = [pytest.mark.check, pytest.mark.django_db]
BEGIN, END = "<!-- gaming a leaderboard, by make proof -->\n", "<!-- end of gaming a leaderboard -->"
ALL_ATTACKS: dict[str, Attack] = {**ATTACKS, "difference of editions": difference_of_editions, **AIMED}
AT_41_007 = ("random votes", "block probing")  # over HTTP; the others on simulated keys alone
N_EDITIONS = 3
RUNS = {300: 2_000, 2_000: 1_000, 41_007: 300}
CONTROL = 30.0  # points that exact scores give away


# --- over HTTP ------------------------------------------------------------------------------------
def over_http(attack: Attack, bank: QuestionBank, key: File, clock: Clock, *, teams: int, answers: str = "") -> float:
    """What is gained; what is told of each file is what ``telling`` says. ``answers``: see ``by_answers``."""
    cells, before = cells_of(len(key)), clock.at
    with transaction.atomic():
        cheats = Cheats(bank, clock, n_teams=teams, n_editions=N_EDITIONS)

        def ask(files: Sequence[File]) -> Sequence[Told]:
            told = cheats.ask(files)
            names = telling(cells, N_EDITIONS, cheats.edition)
            assert told == [shares(key, cells, names, file) for file in files]
            return told

        asking = by_answers(cheats, answers) if answers else ask
        file = attack(cells, teams, N_EDITIONS - 1, asking, np.random.default_rng(7))
        ask([file])  # the last edition, which tells more
        assert len({str(one.report) for one in cheats.answered}) == 1
        assert len({one.n_bytes for one in cheats.answered if one.state == "checked"}) == 1  # not sent before
        transaction.set_rollback(True)
    clock.at = before
    shutil.rmtree(Path(settings.HOME) / "boards")
    return gain_of(file, key)


@pytest.mark.parametrize("name", ALL_ATTACKS)
def test_twenty_teams_learn_nothing_from_300_questions(name: str, clock: Clock) -> None:
    """Four standard errors of a guess are 10 points."""
    rng = np.random.default_rng(5)
    bank, key = bank_of(300, rng)
    assert abs(over_http(ALL_ATTACKS[name], bank, key, clock, teams=4)) < 10


def test_what_checks_answer_teaches_nothing(clock: Clock) -> None:
    bank, key = bank_of(300, np.random.default_rng(6))
    assert abs(over_http(ATTACKS["random votes"], bank, key, clock, teams=4, answers="n_bytes")) < 10


def test_another_version_tells_no_more_than_the_first(clock: Clock) -> None:
    """Of 300 questions the first edition tells nothing; with a corrected key it still does."""
    bank, key = bank_of(300, np.random.default_rng(8))
    cheats = Cheats(bank, clock, n_teams=2, n_editions=2)
    assert cheats.ask([key, key]) == [{}, {}]
    clock.at += timedelta(minutes=1)
    revised(cheats.benchmark, 5, key="ABCD"[(key[4] + 1) % 4])
    root = "leaderboards/private-test/"
    assert send_json(cheats.cora, f"{root}new-version/", {"reason": "Review"}).status_code == 200
    assert send_json(cheats.omar, f"{root}editions/1/score-again/", {}).status_code == 200
    cheats.work()
    entries = [one.public_id for one in Submission.objects.order_by("pk")]
    assert cheats.told(entries, version=2) == [{}, {}]
    assert b"version-2" in read_board()["index.html"]


# --- many runs, and the table ---------------------------------------------------------------------
class Row(Struct, frozen=True):
    n: int
    editions: int
    teams: int
    attack: str
    gains: list[float]
    bound: float | None  # None: the cell is never told
    is_control: bool = False
    where: str = "all questions"

    @property
    def limits(self) -> tuple[float, float, float]:
        mean, error = float(np.mean(self.gains)), float(np.std(self.gains, ddof=1)) / len(self.gains) ** 0.5
        return mean, mean - 1.96 * error, mean + 1.96 * error

    @property
    def holds(self) -> bool:
        mean, _low, high = self.limits
        return mean >= CONTROL if self.is_control else self.bound is None or high <= self.bound

    def line(self) -> str:
        mean, low, high = (round(one, 2) + 0.0 for one in self.limits)
        bound = "it is never told" if self.bound is None else f"at most {self.bound}"
        bound = f"at least {CONTROL} is found" if self.is_control else bound
        gain = f"{mean:.2f} ({low:.2f} to {high:.2f})".replace("-", "\N{MINUS SIGN}")
        cells = [f"{self.n:,}", self.editions or "", self.teams or "", self.attack, self.where, len(self.gains), gain]
        return f"| {' | '.join(map(str, cells))} | {bound} | {'yes' if self.holds else 'NO'} |"


def many(name: str, n: int, *, teams: int, editions: int = N_EDITIONS, bound: float = MOST_GAIN) -> Row:
    """Runs on simulated keys. An attack that is aimed at a cell counts there."""
    rng, cells, gains = np.random.default_rng([n, teams, editions]), cells_of(n), []
    inside = cells[name.removeprefix("aimed at ")] if name in AIMED else cells["all"]
    for _run in range(RUNS[n]):
        key = rng.integers(4, size=n)
        site = Offline(key, cells, editions)
        file = ALL_ATTACKS[name](cells, teams, editions - 1, site.ask, rng)
        gains.append(gain_of(file[inside], key[inside]))
    is_told = name not in AIMED or name.removeprefix("aimed at ") in telling(cells, editions, editions)
    where = "all questions" if name not in AIMED else f"{int(inside.sum()):,} of them"
    return Row(n, editions, teams, name, gains, bound if is_told else None, where=where)


def difference_of_versions(n: int, n_changed: int) -> Row:
    """Each edition is scored again with the corrected keys of some questions."""
    rng, cells, gains = np.random.default_rng(9), cells_of(n), []
    for _run in range(RUNS[n]):
        first, changed = rng.integers(4, size=n), rng.permutation(n)[:n_changed]
        key = first.copy()
        key[changed] = (key[changed] + rng.integers(1, 4, size=n_changed)) % 4
        mask = np.isin(np.arange(n), changed)
        ask = with_versions(Offline(first, cells, N_EDITIONS), changed, key)
        gains.append(gain_of(ATTACKS["random votes"]({**cells, "changed": mask}, 20, N_EDITIONS - 1, ask, rng), key))
    return Row(n, N_EDITIONS, 20, f"difference of versions ({n_changed} keys corrected)", gains, MOST_GAIN)


def by_times(bank: QuestionBank, key: File) -> Row:
    """Votes by how long a check takes."""
    rng, n, gains = np.random.default_rng(10), len(key), []
    benchmark = make_benchmark(bank)
    version = benchmark.versions.get()

    def ask(files: Sequence[File]) -> list[Told]:
        seconds = []
        for file in files:
            content = answer_file(benchmark, "".join("ABCD"[one] for one in file))
            begun = perf_counter()
            check_file(content, version)
            seconds.append(perf_counter() - begun)
        return [{"all": CHANCE + 1_000 * (one - float(np.mean(seconds)))} for one in seconds]

    for _run in range(60):
        gains.append(gain_of(ATTACKS["random votes"](cells_of(n), 20, 2, ask, rng), key))
    return Row(n, N_EDITIONS, 20, "times of checks", gains, MOST_GAIN)


def control() -> Row:
    rng, n, gains = np.random.default_rng(4), 200, []
    cells = {"all": np.ones(n, dtype=bool)}
    for _run in range(40):
        key = rng.integers(4, size=n)
        gains.append(gain_of(ATTACKS["random votes"](cells, 600, 1, exact_scores(key, cells), rng), key))
    return Row(n, 0, 0, "control: exact scores of 600 files", gains, None, is_control=True)


def rows() -> Iterator[Row]:
    yield control()
    for n in RUNS:
        for name in ALL_ATTACKS:
            yield many(name, n, teams=20)
        for name in ("random votes", "difference of editions"):
            yield many(name, n, teams=1, bound=MOST_OWN_GAIN if n >= 2_000 else MOST_GAIN)
        yield difference_of_versions(n, n // 100 if n < 41_007 else 100)
    yield many("aimed at category:Wide", 41_007, teams=20, editions=2)


@pytest.mark.skipif("PROOF_BOARD" not in os.environ, reason="make proof-leaderboard")
def test_the_bounds_hold(clock: Clock) -> None:
    found = list(rows())
    for n in RUNS:
        with transaction.atomic():
            bank, key = bank_of(n, np.random.default_rng(n))
            for name in ALL_ATTACKS if n < 41_007 else AT_41_007:
                over_http(ALL_ATTACKS[name], bank, key, clock, teams=20)
            if n == 300:
                over_http(ATTACKS["random votes"], bank, key, clock, teams=20, answers="n_bytes")
                times = by_times(bank, key)
                assert times.holds, times.line()  # in no table: other on every machine
            transaction.set_rollback(True)
    head = "| questions | editions | teams | attack | gain in | runs | gain in points (95 %) | bound | holds |"
    table = "\n".join([head, "| --- " * 9 + "|", *(one.line() for one in found), ""])
    print(f"\n{table}")
    text = DOCUMENT.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    DOCUMENT.write_text(before + BEGIN + table + END + after, encoding="utf-8")
    assert [one.line() for one in found if not one.holds] == []
