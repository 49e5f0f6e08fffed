"""A benchmark: drafted, compared with public banks, frozen and closed; what its planned editions tell; its versions.

Freezing fixes which questions are asked, in which wording, under names that tell nothing and in an order of their own.
Keys go behind a commitment with a salt, as those of a study do.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any, TypedDict

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import Difficulty, ImageState, JobQueue, Task
from annotation.jobs.queueing import JobKind, enqueue
from annotation.model_calls.kernels.extraction import RULE as EXTRACTION
from annotation.models import AnswerKey, Image, Job, QuestionBank, Revision, User
from annotation.models.fields import public_id
from annotation.questionbank.bulk import insert_rows
from annotation.site.sentences import free_slug, listed
from readerstudy.design.kernels.documents import canonical, commitment, sha256_of, shown_sha256
from readerstudy.enums import BenchmarkState
from readerstudy.leaderboard.access import LeaderboardRefused, check_is_frozen, lock_benchmark, lock_draft, one_line
from readerstudy.leaderboard.kernels.release_rule import (
    ALL,
    FEWEST,
    FEWEST_IN_BENCHMARK,
    MOST_EDITIONS,
    ToldCell,
    editions_telling,
    shown_in,
)
from readerstudy.leaderboard.kernels.release_rule import RULE as RELEASE
from readerstudy.leaderboard.public_twins import decision_on, needs_comparison, questions_of, twin_numbers
from readerstudy.models import Benchmark, BenchmarkQuestion, BenchmarkVersion, Edition
from readerstudy.predictions.entries import leaderboard_asking
from readerstudy.predictions.listing import close_submissions

FORMAT = "leaderboard-protocol 1"
SCORING = "score-1"  # each question counts the same; a missing or failed answer is wrong
MOST_NAME, MOST_CONTACT, MOST_ABOUT = 100, 200, 5_000


class PackingParams(TypedDict):
    benchmark: int
    version: int


PACK: JobKind[PackingParams] = JobKind("pack_benchmark", JobQueue.IMAGES)  # its handler: versions.py


class BenchmarkWanted(Struct, frozen=True):
    name: str
    bank: QuestionBank
    contact: str
    about: str = ""
    editions: tuple[date, ...] = ()


# --- a draft --------------------------------------------------------------------------------------
@transaction.atomic
def create_benchmark(wanted: BenchmarkWanted, *, actor: User | None, at: datetime) -> Benchmark:
    """A draft. Raises LeaderboardRefused."""
    slug = free_slug(wanted.name, among=Benchmark.objects.all(), otherwise="leaderboard")
    return _store_draft(Benchmark(slug=slug, created_by=actor, created_at=at), wanted, "created", actor, at)


@transaction.atomic
def change_benchmark(benchmark: Benchmark, wanted: BenchmarkWanted, *, actor: User | None, at: datetime) -> Benchmark:
    """Everything that was wanted of a draft. Raises LeaderboardRefused once it is frozen."""
    lock_draft(benchmark)
    if wanted.bank != benchmark.bank:
        benchmark.decisions = {}
    return _store_draft(benchmark, wanted, "changed", actor, at)


def _store_draft(
    benchmark: Benchmark, wanted: BenchmarkWanted, act: str, actor: User | None, at: datetime
) -> Benchmark:
    _check_bank(wanted.bank)
    benchmark.bank = wanted.bank
    benchmark.name = one_line(wanted.name, MOST_NAME, "name", _("Give the leaderboard a name"))
    benchmark.contact = one_line(wanted.contact, MOST_CONTACT, "contact", _("Say whom teams write to"))
    benchmark.about = wanted.about.strip()
    if len(benchmark.about) > MOST_ABOUT:
        sentence = _("What it measures is told in at most %(n)d characters.") % {"n": MOST_ABOUT}
        raise LeaderboardRefused("too_long", sentence, status=422, field="about")
    _check_dates(wanted.editions, at)
    benchmark.save()
    benchmark.editions.all().delete()
    Edition.objects.bulk_create(
        Edition(benchmark=benchmark, number=number, due_on=due) for number, due in enumerate(wanted.editions, 1)
    )
    facts = {"name": benchmark.name, "bank": wanted.bank.slug, "editions": [f"{due}" for due in wanted.editions]}
    record(f"benchmark.{act}", actor=actor, at=at, subject=benchmark, facts=facts)
    return benchmark


def _check_dates(dates: Sequence[date], at: datetime) -> None:
    sentence = ""
    if not 1 <= len(dates) <= MOST_EDITIONS:
        sentence = _("Plan 1 to %(n)d editions.") % {"n": MOST_EDITIONS}
    elif wrong := [after for before, after in pairwise(dates) if after <= before]:
        sentence = _("The dates of editions ascend: %(date)s is not after the one before it.") % {"date": wrong[0]}
    elif dates[0] < at.astimezone(UTC).date():
        sentence = _("%(date)s is in the past: plan editions from today on.") % {"date": dates[0]}
    if sentence:
        raise LeaderboardRefused("bad_dates", sentence, status=422, field="editions")


def _check_bank(bank: QuestionBank) -> None:
    if bank.archived_at is not None:
        sentence = _("“%(bank)s” is archived: bring it back first.") % {"bank": bank.name}
        raise LeaderboardRefused("archived", sentence, field="bank")
    if bank.is_public:
        sentence = _("“%(bank)s” is public: a model may have learned its questions. Choose a bank that is not.")
        raise LeaderboardRefused("is_public", sentence % {"bank": bank.name}, field="bank")


# --- freezing -------------------------------------------------------------------------------------
def problems_of(benchmark: Benchmark, at: datetime) -> list[str]:
    """Everything that is in the way of freezing, each with what to do."""
    bank, found = benchmark.bank, list[str]()
    try:
        _check_bank(bank)
        _check_dates([one.due_on for one in benchmark.editions.all()], at)
    except LeaderboardRefused as refusal:
        found.append(str(refusal))
    other = Benchmark.objects.filter(bank=bank).exclude(state=BenchmarkState.DRAFT).exclude(pk=benchmark.pk).first()
    if other is not None:
        sentence = _("“%(name)s” asks questions of this bank: what both tell of its keys would add up.")
        found.append(sentence % {"name": other.name})
    n = questions_of(benchmark).count()
    if n < FEWEST_IN_BENCHMARK:
        sentence = _(
            "A leaderboard has at least %(least)d questions with their keys and images, this one has %(n)d: from "
            "fewer, editions would tell too much of the keys."
        )
        found.append(sentence % {"least": FEWEST_IN_BENCHMARK, "n": n})
    if needs_comparison(bank):
        sentence = _("“%(bank)s” was not compared with the public banks of this site since a question changed.")
        found.append(sentence % {"bank": bank.name})
    elif waiting := [str(number) for number in twin_numbers(benchmark) if not decision_on(benchmark, number)]:
        sentence = ngettext(
            "Question %(numbers)s stands nearly so in a public bank: decide whether it stays.",
            "Questions %(numbers)s stand nearly so in a public bank: decide whether they stay.",
            len(waiting),
        )
        found.append(sentence % {"numbers": listed(waiting)})
    return found


def check_nothing_blocks(benchmark: Benchmark, at: datetime) -> None:
    if problems := problems_of(benchmark, at):
        raise LeaderboardRefused("has_problems", " ".join(problems))


@transaction.atomic
def freeze_benchmark(benchmark: Benchmark, *, actor: User | None, at: datetime) -> Benchmark:
    """From now on teams send submissions, and its questions are answered nowhere else but in studies. Raises
    LeaderboardRefused with everything that is in the way.
    """
    QuestionBank.objects.select_for_update(of=("self",)).get(pk=benchmark.bank_id)
    lock_draft(benchmark)
    check_nothing_blocks(benchmark, at)
    revisions = list(questions_of(benchmark).order_by("pk").values_list("pk", flat=True))
    secrets.SystemRandom().shuffle(revisions)
    benchmark.state, benchmark.frozen_at = BenchmarkState.FROZEN, at
    benchmark.save(update_fields=["state", "frozen_at"])
    close_submissions(benchmark.bank, actor=actor, at=at)
    version = make_version(benchmark, [(public_id(), pk) for pk in revisions], changes=[], actor=actor, at=at)
    facts = {"questions": len(revisions), "protocol_sha256": version.protocol_sha256}
    record("benchmark.frozen", actor=actor, at=at, subject=benchmark, facts=facts)
    return benchmark


@transaction.atomic
def close_benchmark(benchmark: Benchmark, *, actor: User | None, at: datetime) -> Benchmark:
    """No further submission or edition; what was published stays. Raises LeaderboardRefused unless it is frozen."""
    lock_benchmark(benchmark)
    check_is_frozen(benchmark)
    benchmark.state, benchmark.closed_at = BenchmarkState.CLOSED, at
    benchmark.save(update_fields=["state", "closed_at"])
    record("benchmark.closed", actor=actor, at=at, subject=benchmark)
    return benchmark


def asks_bank(bank: QuestionBank) -> str:
    """Why the bank cannot be deleted; empty where no leaderboard asks its questions."""
    asking = Benchmark.objects.filter(bank=bank).first()
    return _("The leaderboard “%(name)s” is made of this bank.") % {"name": asking.name} if asking else ""


def keeps_private(bank: QuestionBank) -> str:
    """Why the bank cannot be marked as public; empty where no leaderboard under way asks its questions."""
    asking = leaderboard_asking(bank)
    sentence = _("“%(name)s” asks these questions as private ones: close that leaderboard first.")
    return sentence % {"name": asking.name} if asking else ""


# --- what editions tell ---------------------------------------------------------------------------
class PlannedCell(ToldCell, frozen=True):
    """All questions, or those of a task, a category or a difficulty."""

    @property
    def told(self) -> str:
        """ "editions 2, 4"."""
        if not self.editions and self.n >= FEWEST:
            return _("never: with what else is told it would tell too much")
        if not self.editions:
            return _("never: fewer than %(n)d questions") % {"n": FEWEST}
        numbers = ", ".join(map(str, self.editions))
        return ngettext("edition %(n)s", "editions %(n)s", len(self.editions)) % {"n": numbers}


def cells_of(version: BenchmarkVersion) -> list[PlannedCell]:
    columns = ("revision__task", "revision__category", "revision__difficulty")
    return _cells(version.questions.values_list(*columns), version.benchmark.editions.count())


def planned_cells(benchmark: Benchmark) -> list[PlannedCell]:
    """Of the newest version, or of what a draft would ask now."""
    if benchmark.state != BenchmarkState.DRAFT:
        return cells_of(current_version(benchmark))
    return _cells(questions_of(benchmark).values_list("task", "category", "difficulty"), benchmark.editions.count())


def fewer_editions(cells: Sequence[PlannedCell], n_editions: int) -> int:
    """So many editions at the most tell all questions each time, where the planned ones do not; else 0."""
    n = cells[0].n
    if not cells[0].editions or 1 in cells[0].editions:
        return 0
    return max(planned for planned in range(1, n_editions) if 1 in shown_in(n, planned))


def _cells(rows: Iterable[tuple[str, str, str]], n_editions: int) -> list[PlannedCell]:
    """In the order of the paper's tasks, categories by their name, difficulties from easy to hard."""
    rows = list(rows)
    tasks, categories, difficulties = (Counter(row[place] for row in rows) for place in range(3))
    named = [
        *((f"task:{one.value}", _(one.label), tasks[one.value]) for one in Task),
        *((f"category:{one}", one, n) for one, n in sorted(categories.items()) if one),
        *((f"difficulty:{one.value}", _(one.label), difficulties[one.value]) for one in Difficulty if one.value),
    ]
    cells = [(ALL, _("All questions"), len(rows)), *(one for one in named if one[-1])]
    told = editions_telling({name: n for name, _label, n in cells}, n_editions)
    return [PlannedCell(name, label, n, told[name]) for name, label, n in cells]


# --- versions -------------------------------------------------------------------------------------
class AskedWording(Struct, frozen=True):
    """What teams are shown of a wording; the rest is for cells."""

    stem: str
    options: list[str]
    images: list[Image]  # of its exam, those that count
    priors: list[Image]
    cell: tuple[str, str, str]  # task, category, difficulty

    @property
    def shown_sha256(self) -> str:
        own = [{"pixels_sha256": one.pixels_sha256} for one in self.images]
        before = [{"pixels_sha256": one.pixels_sha256, "prior": True} for one in self.priors]
        return shown_sha256(self.stem, self.options, [*own, *before])


def asked_of(bank: QuestionBank, revisions: Collection[int]) -> dict[int, AskedWording]:
    """By wording, with the images that are available now. Two queries."""
    by_exam: dict[int | None, list[Image]] = defaultdict(list)
    images = Image.objects.filter(exam__bank=bank, state=ImageState.AVAILABLE).order_by("position", "pk")
    for image in images.only("public_id", "pixels_sha256", "exam_id"):
        by_exam[image.exam_id].append(image)
    wanted, found = set(revisions), dict[int, AskedWording]()
    columns = ("pk", "stem", "options", "images_left_out", "task", "category", "difficulty")
    exams = ("question__exam_id", "question__exam__prior_id")
    for pk, stem, options, left_out, *cell, exam, prior in (
        Revision.objects.filter(bank=bank).values_list(*columns, *exams).iterator()
    ):
        if pk in wanted:
            own = [one for one in by_exam[exam] if one.public_id not in (left_out or ())]
            before = by_exam[prior] if prior is not None else []
            found[pk] = AskedWording(stem, options, own, before, (cell[0], cell[1], cell[2]))
    return found


@transaction.atomic
def make_version(
    benchmark: Benchmark,
    questions: Sequence[tuple[str, int]],
    *,
    changes: Sequence[Mapping[str, Any]],
    actor: User | None,
    at: datetime,
) -> BenchmarkVersion:
    """Store these names and wordings in this order, with their protocol, and have them packed for teams."""
    version = BenchmarkVersion(
        benchmark=benchmark,
        number=benchmark.versions.count() + 1,
        keys_salt=secrets.token_hex(32),
        changes=list(changes),
        made_by=actor,
        made_at=at,
    )
    version.protocol = canonical(_protocol(version, questions))
    version.protocol_sha256 = sha256_of(version.protocol)
    version.save(force_insert=True)
    rows = [(version.pk, place, name, revision) for place, (name, revision) in enumerate(questions)]
    insert_rows(BenchmarkQuestion, ("version_id", "place", "name", "revision_id"), rows)
    enqueue_packing(version, actor=actor, at=at)
    return version


def enqueue_packing(version: BenchmarkVersion, *, actor: User | None, at: datetime) -> Job:
    title = _("Questions and images of “%(name)s” for teams") % {"name": version.benchmark.name}
    return enqueue(PACK, title, PackingParams(benchmark=version.benchmark_id, version=version.pk), actor=actor, at=at)


def _protocol(version: BenchmarkVersion, questions: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """What everybody may read. Which question has a near-duplicate is not told: its answer may be public."""
    benchmark = version.benchmark
    asked = asked_of(benchmark.bank, [revision for _name, revision in questions])
    editions = list(benchmark.editions.all())
    decided = [said for number in twin_numbers(benchmark) if (said := decision_on(benchmark, number))]
    cells = _cells([asked[revision].cell for _name, revision in questions], len(editions))
    return {
        "format": FORMAT,
        "benchmark": benchmark.name,
        "version": version.number,
        "n": len(questions),
        "rules": {"extraction": EXTRACTION, "scoring": SCORING, "release": RELEASE},
        "editions": [{"number": one.number, "date": f"{one.due_on}"} for one in editions],
        "cells": [{"name": one.name, "n": one.n, "editions": list(one.editions)} for one in cells],
        "near_duplicates_in_public_banks": sorted(Counter(decided).items()),
        "questions": [{"name": name, "shown_sha256": asked[revision].shown_sha256} for name, revision in questions],
        "keys_commitment": commitment(version.keys_salt, _sealed(benchmark.bank_id, questions)),
    }


def sealed_of(version: BenchmarkVersion) -> list[dict[str, str]]:
    """What the commitment holds: name, key, explanation, task, category and difficulty of each question, in order."""
    return _sealed(version.benchmark.bank_id, list(version.questions.values_list("name", "revision")))


def _sealed(bank: int, questions: Sequence[tuple[str, int]]) -> list[dict[str, str]]:
    wanted = {revision for _name, revision in questions}
    columns = ("pk", "key", "explanation", "revision__task", "revision__category", "revision__difficulty")
    truths = AnswerKey.objects.filter(revision__bank=bank).values_list(*columns).iterator()
    sealed = {
        pk: {
            "key": str(key),
            "explanation_sha256": sha256_of(explanation),
            "task": str(task),
            "category": category,
            "difficulty": str(difficulty),
        }
        for pk, key, explanation, task, category, difficulty in truths
        if pk in wanted
    }
    return [{"name": name, **sealed[revision]} for name, revision in questions]


def commitment_holds(version: BenchmarkVersion) -> bool:
    """Whether protocol and keys are those that were frozen: the hash fits, and the salt opens the commitment."""
    if sha256_of(version.protocol) != version.protocol_sha256:
        return False
    promised: str = json.loads(version.protocol)["keys_commitment"]
    return commitment(version.keys_salt, sealed_of(version)) == promised


def current_version(benchmark: Benchmark) -> BenchmarkVersion:
    """The newest; a draft has none."""
    return benchmark.versions.select_related("benchmark__bank").latest("number")
