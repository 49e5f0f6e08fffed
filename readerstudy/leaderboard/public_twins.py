"""Which questions of a bank a benchmark would ask, and what is decided about those that nearly stand in a public bank.

A model may have learned a question whose near-duplicate is public.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import ImportState, QuestionState
from annotation.ingest.completeness import has_lost_images, waits_for_images
from annotation.models import AnswerKey, BankImport, Finding, QuestionBank, Revision, User
from annotation.questionbank.checking import QualityRefused, public_banks_beside
from annotation.questionbank.kernels.rules import PUBLIC_TWIN
from readerstudy.leaderboard.access import MOST_REASON, LeaderboardRefused, lock_draft, one_line
from readerstudy.models import Benchmark

REST, LEFT_OUT = "all", "left out"  # in Benchmark.decisions: of the near-duplicates not named; is not asked


class Pool(Struct, frozen=True):
    """How many questions of the bank a draft would ask, and why others are not among them."""

    n: int
    n_in_bank: int
    n_left_out: int  # near-duplicates, by decision


def _current(bank: QuestionBank) -> QuerySet[Revision]:
    return Revision.objects.in_bank(bank).current().exclude(question__state=QuestionState.WITHDRAWN)


def questions_of(benchmark: Benchmark) -> QuerySet[Revision]:
    """What freezing would take now: keyed, not withdrawn or left out, with all of their images."""
    bank = benchmark.bank
    keyed = _current(bank).filter(Exists(AnswerKey.objects.filter(pk=OuterRef("pk"))))
    whole = keyed.exclude(has_lost_images(bank) | waits_for_images(bank))
    return whole.exclude(question__number__in=_left_out(benchmark))


def _left_out(benchmark: Benchmark) -> list[int]:
    return [number for number in twin_numbers(benchmark) if decision_on(benchmark, number) == LEFT_OUT]


def pool_of(benchmark: Benchmark) -> Pool:
    n_in_bank = Revision.objects.in_bank(benchmark.bank).current().count()
    return Pool(questions_of(benchmark).count(), n_in_bank, len(_left_out(benchmark)))


def twins_of(benchmark: Benchmark) -> QuerySet[Finding]:
    """Questions that stand in a public bank of the site, or nearly, which nobody dismissed; in their order."""
    found = Finding.objects.open().filter(bank=benchmark.bank, rule=PUBLIC_TWIN, revision__in=_current(benchmark.bank))
    return found.select_related("revision__question", "other__question__bank").order_by("revision__question__number")


def decision_on(benchmark: Benchmark, number: int) -> str:
    """Why a near-duplicate stays, or that it is left out; empty while nobody decided."""
    decided: str = benchmark.decisions.get(str(number), benchmark.decisions.get(REST, ""))
    return decided


@transaction.atomic
def decide(
    benchmark: Benchmark,
    numbers: Collection[int] = (),
    *,
    reason: str = "",
    leave_out: bool = False,
    actor: User | None,
    at: datetime,
) -> None:
    """Near-duplicates stay for a reason or are left out: these, or without numbers all others. Raises
    LeaderboardRefused.
    """
    lock_draft(benchmark)
    if unknown := set(numbers).difference(twin_numbers(benchmark)):
        sentence = _("Question %(n)d has no near-duplicate in a public bank: nothing is to be decided.")
        raise LeaderboardRefused("no_twin", sentence % {"n": min(unknown)}, status=422, field="numbers")
    said = LEFT_OUT if leave_out else one_line(reason, MOST_REASON, "reason", _("Say why they stay"))
    if said == LEFT_OUT and not leave_out:
        raise LeaderboardRefused("no_reason", _("Say why they stay."), status=422, field="reason")
    benchmark.decisions |= dict.fromkeys([str(number) for number in sorted(numbers)] or [REST], said)
    benchmark.save(update_fields=["decisions"])
    facts = {"questions": sorted(numbers) or REST, "decision": said}
    record("benchmark.twins_decided", actor=actor, at=at, subject=benchmark, facts=facts)


def needs_comparison(bank: QuestionBank) -> bool:
    """Whether a public bank is there with which the newest wording of either was not compared."""
    try:
        public = public_banks_beside(bank)
    except QualityRefused:
        return False
    imports = BankImport.objects.filter(bank__in=[bank.pk, *public], state=ImportState.PUBLISHED)
    times = imports.aggregate(imported=Max("finished_at"), edited=Max("heartbeat_at"))
    newest = max((one for one in times.values() if one), default=None)
    return bank.twins_sought_at is None or (newest is not None and bank.twins_sought_at < newest)


def twin_numbers(benchmark: Benchmark) -> list[int]:
    return list(twins_of(benchmark).values_list("revision__question__number", flat=True))
