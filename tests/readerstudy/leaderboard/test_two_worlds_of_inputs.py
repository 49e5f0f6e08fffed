"""A bank is frozen twice, and only what teams must not know differs: what they take away is the same, byte for byte."""

from __future__ import annotations

import io
import itertools
import random
import secrets
from typing import Any

import pytest
from django.db.models import F, Value
from django.db.models.functions import Concat

from annotation.enums import Difficulty, Task
from annotation.models import AnswerKey, Exam, QuestionBank, Report, Revision
from readerstudy.leaderboard import benchmarks, versions
from readerstudy.leaderboard.benchmarks import AskedWording, current_version, freeze_benchmark, sealed_of
from readerstudy.leaderboard.versions import write_inputs
from readerstudy.models import Benchmark, BenchmarkVersion
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.leaderboard.made import NOW, make_draft

pytestmark = pytest.mark.django_db
N = 12


def other_world(bank: QuestionBank) -> None:
    """Other keys, explanations, reports, tasks, categories, difficulties and facts of the patient; other lengths."""
    tasks, levels = itertools.cycle(Task), itertools.cycle(Difficulty)
    next(tasks)
    for place, one in enumerate(Revision.objects.filter(bank=bank).order_by("-pk")):
        one.task, one.difficulty = next(tasks), next(levels)
        one.category, one.subcategory, one.question_class = f"Category {place}", "sub" * place, f"class {place}"
        one.content_sha256 = f"{place:064d}"
        one.save()
        AnswerKey.objects.filter(pk=one.pk).update(
            key="ABCD"[place % 4], explanation="because " * place, extra='{"a":1}'
        )
    Report.objects.filter(exam__bank=bank).update(
        findings=Concat(F("findings"), Value(" Other words.")), indication="Fever"
    )
    Exam.objects.filter(bank=bank).update(
        pseudonym=Concat(Value("other"), F("pk")), patient_pseudonym="p", age_years=33
    )


def package(bank: QuestionBank, monkeypatch: pytest.MonkeyPatch) -> tuple[bytes, BenchmarkVersion]:
    """As it is written after freezing, where chance says the same each time."""
    chance, names = random.Random(7), itertools.count()
    monkeypatch.setattr(benchmarks, "FEWEST_IN_BENCHMARK", 3)
    monkeypatch.setattr(benchmarks, "public_id", lambda: f"q{next(names):06d}")
    monkeypatch.setattr(secrets, "SystemRandom", lambda: chance)
    monkeypatch.setattr(secrets, "token_hex", lambda _n: "a" * 64)
    version = current_version(freeze_benchmark(make_draft(bank), actor=None, at=NOW))
    to = io.BytesIO()
    write_inputs(version, to)
    return to.getvalue(), version


def both_worlds(monkeypatch: pytest.MonkeyPatch) -> tuple[bytes, bytes]:
    bank = make_questions(N)
    one, version = package(bank, monkeypatch)
    sealed, told = sealed_of(version), version.protocol
    for row in Benchmark.objects.all():  # the tables of the tests let them go
        for kept in (*row.versions.all(), *row.editions.all()):
            if isinstance(kept, BenchmarkVersion):
                kept.questions.all().delete()
            kept.delete()
        row.delete()
    other_world(bank)
    other, version = package(bank, monkeypatch)
    differ = [before != after for before, after in zip(sealed, sealed_of(version), strict=True)]
    assert all(differ), "the worlds differ in every question"
    assert told != version.protocol
    return one, other


def test_what_teams_take_away_is_the_same_in_both_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = both_worlds(monkeypatch)
    assert len(one) > 1_000
    assert one == other


def _with_task(shown: Any) -> Any:
    return lambda one, names: {**shown(one, names), "task": one.cell[0]}


def _with_category_in_order(questions: Any) -> Any:
    def sort(version: BenchmarkVersion) -> list[tuple[str, AskedWording]]:
        return sorted(questions(version), key=lambda pair: pair[1].cell)

    return sort


def _named_by_key(named: Any) -> Any:
    def names(version: BenchmarkVersion, asked: list[AskedWording]) -> dict[int, str]:
        letters = [one["key"] for one in sealed_of(version)]
        return {
            pk: f"{name}-{letters[place % len(letters)]}"
            for place, (pk, name) in enumerate(named(version, asked).items())
        }

    return names


LEAKS = {"_shown": _with_task, "_questions": _with_category_in_order, "_names_of_images": _named_by_key}


@pytest.mark.parametrize("name", LEAKS)
def test_a_planted_leak_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, name, LEAKS[name](getattr(versions, name)))
    one, other = both_worlds(monkeypatch)
    assert one != other
