"""Draw a sample from a bank, with hidden repeats, and store it with all that is needed to draw it again.

A repeat is an assignment that names the first one. It looks like any other question, is answered blind again, and
enters neither outcomes nor settling. It stays with its reviewer: where the first one goes, it goes too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct, field
from msgspec.structs import asdict

from annotation.audit.deleting import BinRefused, note_purged
from annotation.audit.recording import record
from annotation.contributions import contributed
from annotation.enums import AssignmentState, QuestionState
from annotation.ingest.completeness import has_lost_images
from annotation.models import Assignment, Gate, QuestionBank, ReviewRound, Revision, SampledQuestion, SamplingPlan, User
from annotation.models.fields import AsRead
from annotation.questionbank.bulk import insert_rows
from annotation.questionbank.filters import BankSearch, in_state
from annotation.questionbank.kernels.question_checks import PartState
from annotation.questionbank.validity import gate_is, gate_of
from annotation.refusals import Refused
from annotation.review.frames import LostQuestion, described_frame, listed_frame, lost_questions
from annotation.review.kernels.allotment import repeats_in
from annotation.review.kernels.transitions import GONE, UNREVIEWED
from annotation.site.sentences import free_slug
from annotation.site.sorted_tables import Columns, OneAtATime, analyze, counted, lock
from annotation.statistics.kernels.sampling import (
    RULE,
    SEED_MAX,
    Drawn,
    RatedBy,
    StratifyBy,
    allocate,
    draw,
    frame_of,
    sample_size,
)

STORED_AT_ONCE = 2_000
DEFAULT_PER_THOUSAND = 100
FEWEST_PROPOSED = 50
DEFAULT_SEED = 1
SAMPLES_SORTED_BY: Columns = {
    "sample": AsRead("name"),
    "bank": AsRead("bank__name"),
    "questions": "n_drawn",
    "frame": "n_frame",
    "drawn": "created_at",
}


class SampleRefused(Refused):
    """A sample cannot be drawn, stored or removed; the sentence says why and what to do."""


NOTHING_EXPLAINED: Mapping[int, tuple[str, str]] = {}


def counted_samples() -> QuerySet[SamplingPlan]:
    """As lists show them."""
    rows = SamplingPlan.objects.select_related("bank", "created_by")
    return rows.annotate(n_drawn=counted(SampledQuestion.objects.all(), "plan"))


class Stratum(Struct, frozen=True):
    stratum: str
    n_frame: int
    n_drawn: int


class Draw(Struct, frozen=True):
    """A sample as it would be stored: ``drawn`` and ``revision_ids`` run in parallel."""

    bank: QuestionBank
    by: StratifyBy
    per_thousand: int
    seed: int
    n_frame: int
    frame_sha256: str
    strata: list[Stratum]
    drawn: list[Drawn]
    revision_ids: list[int]
    lost: list[LostQuestion] = field(default_factory=list)  # left out of the frame
    frame: dict[str, Any] = field(default_factory=dict)  # as SamplingPlan has it
    n_kept_out: int = 0  # they fail the gate: left out of the frame


def preview_sample(
    bank: QuestionBank,
    *,
    by: StratifyBy,
    per_thousand: int,
    seed: int,
    wanted: Mapping[str, str] | None = None,
    numbers: Collection[int] = (),
    rated_by: RatedBy = RatedBy.STATED,
) -> Draw:
    """Draw from the current questions of the bank without storing anything.

    None that lost an image is drawn, nor one that fails the gate of the bank. One whose images
    have not come can be drawn, since they may come for the drawn questions alone; the frame says how many those are.

    ``wanted``: filters of the bank that narrow the frame, by what every coordinator may know. ``numbers``: the
    questions that a person chose. ``rated_by``: whose difficulty makes the strata, where they are of difficulty.

    Raises SampleRefused for a share or seed out of range, an archived bank and a bank without questions.
    """
    import numpy as np  # not at every start

    check_request(bank, per_thousand, seed)
    column = {StratifyBy.NONE: "task"}.get(by, by.value)
    is_lost = has_lost_images(bank)
    asked = BankSearch(bank, wanted or {}).revisions()
    if numbers:
        asked = asked.filter(question__number__in=numbers)
    there = asked.exclude(question__state=QuestionState.WITHDRAWN)
    gate = gate_of(bank)
    whole, n_kept_out = _without_kept_out(there.exclude(is_lost), gate)
    lost = lost_questions(there, is_lost)
    ids, of_frame, codes, values, n_waiting = listed_frame(whole, column, bank)
    if not len(ids) and (wanted or numbers):
        sentence = _(
            "None of these questions can be drawn: they are withdrawn, kept out, or lost an image, or none matches."
        )
        raise SampleRefused("no_questions", sentence, status=422)
    if not len(ids) and n_kept_out:
        sentence = _("Every question of “%(bank)s” that could be drawn fails the gate.")
        raise SampleRefused("kept_out", sentence % {"bank": bank.name})
    if not len(ids) and lost:
        raise SampleRefused("images_lost", _("Every question of “%(bank)s” has lost an image.") % {"bank": bank.name})
    if not len(ids):
        raise SampleRefused("no_questions", _("“%(bank)s” holds no questions yet: import some first.") % {"bank": bank})
    is_rated = by == StratifyBy.DIFFICULTY and rated_by != RatedBy.STATED
    if is_rated:
        rated = _rated(bank, ids.tolist(), rated_by)
        values = list(dict.fromkeys(rated))
        codes = np.fromiter(map(values.index, rated), np.int32, len(rated))
    frame = frame_of(of_frame, codes, values, by)
    allocation = allocate(frame.counts(), sample_size(frame.n, per_thousand), by)
    drawn = draw(frame, allocation, seed)
    places = np.searchsorted(frame.numbers, np.array([one.number for one in drawn], dtype=np.int64))
    return Draw(
        bank=bank,
        by=by,
        per_thousand=per_thousand,
        seed=seed,
        n_frame=frame.n,
        frame_sha256=frame.sha256(),
        strata=[Stratum(name, size, allocation[name]) for name, size in frame.counts().items()],
        drawn=drawn,
        revision_ids=ids[places].tolist(),
        lost=lost,
        frame=described_frame(frame.n if numbers else 0, wanted or {}, gate, n_kept_out)
        | ({"rated_by": rated_by.value} if is_rated else {})
        | {
            "left_out": {
                "withdrawn": asked.filter(question__in=in_state(bank, QuestionState.WITHDRAWN)).count(),
                "quarantine": sum(one.is_withheld for one in lost),
                "removed": sum(not one.is_withheld for one in lost),
                "kept_out": n_kept_out,
            },
            "n_waiting": n_waiting,
        },
        n_kept_out=n_kept_out,
    )


def _rated(bank: QuestionBank, revisions: Collection[int], rated_by: RatedBy) -> list[str]:
    """The difficulties of another source; what it does not rate is unknown."""
    levels = contributed().difficulties[rated_by.value](bank)
    found = [levels.get(pk, "") for pk in revisions]
    if not any(found):
        sentence = _("No question of the frame has a difficulty “%(source)s”: take the one that the bank states.")
        raise SampleRefused("no_ratings", sentence % {"source": _(rated_by.label)}, status=422, field="rated_by")
    return found


def _without_kept_out(whole: QuerySet[Revision], gate: Gate | None) -> tuple[QuerySet[Revision], int]:
    if gate is None:
        return whole, 0
    fails = gate_is(gate.bank, gate.parts, PartState.FAIL)
    return whole.filter(~fails), whole.filter(fails).count()


def check_request(bank: QuestionBank, per_thousand: int, seed: int) -> None:
    if bank.archived_at is not None:
        sentence = _("“%(bank)s” is archived: bring it back first.") % {"bank": bank.name}
        raise SampleRefused("bank_archived", sentence)
    if not 1 <= per_thousand <= 1000:
        sentence = _("%(n)s questions per thousand cannot be drawn: give a number from 1 to 1000.")
        raise SampleRefused("out_of_range", sentence % {"n": per_thousand})
    if not 0 <= seed <= SEED_MAX:
        sentence = _("The seed must be a whole number from 0 to %(max)s.") % {"max": SEED_MAX}
        raise SampleRefused("out_of_range", sentence)


def draw_sample(
    bank: QuestionBank,
    *,
    actor: User | None,
    at: datetime,
    name: str = "",
    by: StratifyBy = StratifyBy.DIFFICULTY,
    per_thousand: int = DEFAULT_PER_THOUSAND,
    seed: int = DEFAULT_SEED,
    seen_frame_sha256: str = "",
    wanted: Mapping[str, str] | None = None,
    numbers: Collection[int] = (),
    rated_by: RatedBy = RatedBy.STATED,
) -> SamplingPlan:
    """Draw and store. ``seen_frame_sha256`` is the frame of the preview that a person agreed to.

    Raises SampleRefused as preview_sample does, for a name that is taken, and when the bank has changed since the
    preview.
    """
    found = preview_sample(
        bank, by=by, per_thousand=per_thousand, seed=seed, wanted=wanted, numbers=numbers, rated_by=rated_by
    )
    if seen_frame_sha256 and seen_frame_sha256 != found.frame_sha256:
        sentence = _("The bank has changed since this preview was drawn: look at the new one, then store it.")
        raise SampleRefused("bank_changed", sentence)
    return store_sample(found, name=name or default_name(found), actor=actor, at=at)


def usual_per_thousand(n: int) -> int:
    """What a page proposes for a bank of ``n`` questions: a tenth, but FEWEST_PROPOSED where it has so many."""
    return min(1000, max(DEFAULT_PER_THOUSAND, -(-FEWEST_PROPOSED * 1000 // n)))


def default_name(found: Draw) -> str:
    words = _("%(bank)s, %(n)s per thousand by %(by)s, seed %(seed)s") % {
        "bank": found.bank.name[:120],
        "n": found.per_thousand,
        "by": found.by.label,
        "seed": found.seed,
    }
    return words[:200]


@transaction.atomic
def store_sample(
    found: Draw,
    *,
    name: str,
    actor: User | None,
    at: datetime,
    rule: str = RULE,
    explained: Mapping[int, tuple[str, str]] = NOTHING_EXPLAINED,
) -> SamplingPlan:
    """Store what was drawn, under the name of the rule that drew it. Raises SampleRefused for a name that is taken.

    ``explained``: by wording a model and its explanation, which is graded in place of the question's own.
    """
    name = name.strip()
    if len(name) > 200:
        raise SampleRefused("name_too_long", _("The name is longer than 200 characters."), field="name")
    lock(OneAtATime.NAME)
    if SamplingPlan.objects.filter(name=name).exists():
        sentence = _("A sample named “%(name)s” exists already: give this one another name.") % {"name": name}
        raise SampleRefused("name_taken", sentence, field="name")
    plan = SamplingPlan.objects.create(
        name=name,
        slug=free_slug(name, among=SamplingPlan.objects.all(), otherwise="sample"),
        bank=found.bank,
        rule=rule,
        stratify_by=found.by,
        per_thousand=found.per_thousand,
        seed=found.seed,
        strata=[asdict(stratum) for stratum in found.strata],
        n_frame=found.n_frame,
        frame=found.frame,
        frame_sha256=found.frame_sha256,
        created_by=actor,
        created_at=at,
    )
    for start in range(0, len(found.drawn), STORED_AT_ONCE):
        some = zip(
            found.drawn[start : start + STORED_AT_ONCE], found.revision_ids[start : start + STORED_AT_ONCE], strict=True
        )
        rows = [
            (plan.pk, position, pk, one.stratum, *explained.get(pk, ("", "")))
            for position, (one, pk) in enumerate(some, start + 1)
        ]
        insert_rows(SampledQuestion, ("plan_id", "position", "revision_id", "stratum", "model", "explanation"), rows)
    analyze(len(found.drawn), SampledQuestion)
    facts = {"n_frame": found.n_frame, "n_drawn": len(found.drawn), "seed": found.seed, "rule": rule}
    record("sample.drawn", actor=actor, at=at, subject=plan, facts=facts)
    return plan


def hide_sample(plan: SamplingPlan) -> None:
    """Raises BinRefused while a round was made from it."""
    if plan.rounds.exists():
        raise BinRefused("in_use", _("A round was made from this sample: archive the sample instead."))


def show_sample(plan: SamplingPlan) -> None:
    """Raises BinRefused while its bank is in the bin."""
    if plan.bank.deleted_at is not None:
        raise BinRefused("parent_deleted", _("Restore its bank “%(name)s” first.") % {"name": plan.bank.name})


@transaction.atomic
def purge_sample(plan: SamplingPlan, at: datetime) -> bool:
    if ReviewRound.everywhere.filter(plan=plan).exists():
        return False
    note_purged(plan, at=at)
    plan.delete()
    return True


BATCH = 2000
MOST_REPEATED = 20  # percent


def place_repeats(review_round: ReviewRound, reviewers: Collection[int]) -> int:
    """Put repeats among what these people have not opened yet; who has some already gets no more. Returns how many."""
    if not review_round.percent_repeated:
        return 0
    rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    columns = ("pk", "reviewer", "revision", "state", "opened_at", "position", "repeats", "revision__question__number")
    there = Assignment.objects.filter(round=review_round, reviewer__in=reviewers).exclude(state__in=GONE)
    for row in there.order_by("position").values(*columns):
        rows[row["reviewer"]].append(row)
    made: list[Assignment] = []
    moved: list[Assignment] = []
    for stream, (reviewer, theirs) in enumerate(sorted(rows.items())):
        if any(row["repeats"] for row in theirs):
            continue
        waiting = [row for row in theirs if row["state"] == AssignmentState.WAITING and row["opened_at"] is None]
        of_number = {row["revision__question__number"]: row for row in waiting}
        coming: dict[int, list[Assignment]] = defaultdict(list)
        for number, place in repeats_in(list(of_number), review_round.percent_repeated, review_round.seed, stream):
            first = of_number[number]
            again = Assignment(
                round=review_round, reviewer_id=reviewer, revision_id=first["revision"], repeats_id=first["pk"]
            )
            coming[place].append(again)
        if not coming:
            continue
        position = waiting[0]["position"]
        for place in range(len(waiting) + 1):
            for again in coming[place]:
                again.position = position
                made.append(again)
                position += 1
            if place < len(waiting):
                moved.append(Assignment(pk=waiting[place]["pk"], position=position))
                position += 1
    Assignment.objects.bulk_update(moved, ["position"], batch_size=BATCH)
    return len(Assignment.objects.bulk_create(made, batch_size=BATCH))


def withdraw_repeats(review_round: ReviewRound) -> None:
    """The repeats of questions that are no longer with their reviewer."""
    rows = Assignment.objects.filter(round=review_round, repeats__state__in=GONE, state__in=UNREVIEWED)
    rows.update(state=AssignmentState.WITHDRAWN)
