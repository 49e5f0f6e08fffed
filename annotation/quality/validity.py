"""V(Q), part by part: the result of one question, and how many questions of a bank pass, fail or were not examined.

Whoever calls has seen to it that the person may know: reasons may tell the key.

Which parts of V(Q) keep a question out of new samples: a rule of each bank, empty until a person sets it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import ImportKind
from annotation.models import Finding, Question, QuestionBank, Revision, User
from annotation.quality.checking import QualityRefused
from annotation.quality.kernels.question_checks import (
    CAN_FAIL,
    DIFFICULTY,
    DIVERSITY,
    IDENTIFIER_FREE,
    JUDGED,
    PARTS,
    STATED,
    PartState,
    ValidityPart,
)
from annotation.site.slugs import listed


class QuestionPart(Struct, frozen=True):
    """The result of a question in one part of V(Q). ``verdict``: of a validator, with its call and model."""

    part: ValidityPart
    state: PartState
    why: str = ""
    verdict: Finding | None = None


class PartCount(Struct, frozen=True):
    """How many of the questions are in each state; a dismissed fail counts as passed."""

    part: ValidityPart
    counts: dict[PartState, int]

    @property
    def n_questions(self) -> int:
        return sum(self.counts.values())

    @property
    def told(self) -> dict[str, int | None]:
        """By state, for whoever reads it; where no question is examined none passes and none fails: None."""
        is_known = self.n_not_examined < self.n_questions
        return {s.value: self.counts.get(s, 0) if is_known or s == PartState.NOT_EXAMINED else None for s in PartState}

    @property
    def n_pass(self) -> int:
        return self.counts.get(PartState.PASS, 0)

    @property
    def n_fail(self) -> int:
        return self.counts.get(PartState.FAIL, 0)

    @property
    def n_undecided(self) -> int:
        return self.counts.get(PartState.UNDECIDED, 0)

    @property
    def n_not_examined(self) -> int:
        return self.counts.get(PartState.NOT_EXAMINED, 0)


# --- one question ---
def parts_of_question(revision: Revision) -> list[QuestionPart]:
    """All seven, of the current wording of a question; three queries at most."""
    found = list(Finding.objects.filter(revision=revision, superseded_at=None).select_related("call__batch__prompt"))
    verdicts = {one.rule: one for one in found if one.call_id is not None}
    open_rules = {one.rule for one in found if one.call_id is None and one.dismissed_at is None}
    return [_part(part, revision, verdicts, open_rules) for part in PARTS.values()]


def _part(part: ValidityPart, revision: Revision, verdicts: dict[str, Finding], open_rules: set[str]) -> QuestionPart:
    if part.code in JUDGED:
        return _of_validator(part, verdicts.get(part.code))
    if part.code == DIFFICULTY:
        is_stated = revision.difficulty in STATED
        return QuestionPart(part, PartState.PASS if is_stated else PartState.NOT_EXAMINED)
    if open_rules & set(part.rules):
        return QuestionPart(part, PartState.FAIL, _("See the findings."))
    if part.code == DIVERSITY and not _is_compared(revision):
        return QuestionPart(part, PartState.NOT_EXAMINED, _("It was not compared with the other questions."))
    return QuestionPart(part, PartState.PASS)


def _of_validator(part: ValidityPart, verdict: Finding | None) -> QuestionPart:
    if verdict is None:
        return QuestionPart(part, PartState.NOT_EXAMINED)
    if verdict.verdict == PartState.FAIL and verdict.dismissed_at is not None:
        why = _("A person dismissed what the model found: %(why)s") % {"why": verdict.dismiss_reason}
        return QuestionPart(part, PartState.PASS, why, verdict)
    return QuestionPart(part, PartState(verdict.verdict), verdict.detail, verdict)


def _is_compared(revision: Revision) -> bool:
    last = QuestionBank.objects.filter(pk=revision.bank_id).values_list("compared_at", flat=True).first()
    return last is not None and Revision.objects.filter(_brought_by(last), pk=revision.pk).exists()


def _brought_by(at: datetime) -> Q:
    """Wordings that were there at that time."""
    return Q(edit__made_at__lte=at) | (~Q(bank_import__kind=ImportKind.EDITS) & Q(bank_import__finished_at__lte=at))


# --- a bank ---
def count_parts(bank: QuestionBank, hidden: QuerySet[Question]) -> list[PartCount]:
    """Over the current questions, without those that are hidden from the person who asks. Six queries."""
    current = Revision.objects.in_bank(bank).current().exclude(question__in=hidden)
    n_questions = current.count()
    verdicts = _verdict_counts(current)
    return [_counted(part, bank, current, n_questions, verdicts) for part in PARTS.values()]


def _counted(
    part: ValidityPart,
    bank: QuestionBank,
    current: QuerySet[Revision],
    n_questions: int,
    verdicts: dict[str, Counter[PartState]],
) -> PartCount:
    counts: Counter[PartState] = Counter()
    if part.code in JUDGED:
        counts = verdicts.get(part.code, counts)
    elif part.code == DIFFICULTY:
        counts[PartState.PASS] = current.filter(difficulty__in=STATED).count()
    elif part.code in (DIVERSITY, IDENTIFIER_FREE):
        counts[PartState.FAIL] = current.filter(pk__in=failing_revisions(bank, [part.code])).count()
        n_examined = n_questions if part.code == IDENTIFIER_FREE else _n_compared(bank, current)
        counts[PartState.PASS] = max(0, n_examined - counts[PartState.FAIL])
    counts[PartState.NOT_EXAMINED] = n_questions - sum(counts.values())
    return PartCount(part, dict(counts))


def _n_compared(bank: QuestionBank, current: QuerySet[Revision]) -> int:
    last = QuestionBank.objects.filter(pk=bank.pk).values_list("compared_at", flat=True).first()
    return 0 if last is None else current.filter(_brought_by(last)).count()


def _verdict_counts(current: QuerySet[Revision]) -> dict[str, Counter[PartState]]:
    """By validator; a "fail" that a person dismissed is a pass."""
    rows = Finding.objects.filter(revision__in=current.order_by().values("pk"), superseded_at=None, rule__in=JUDGED)
    counted = (
        rows.order_by()
        .values_list("rule", "verdict")
        .annotate(n=Count("pk"), n_open=Count("pk", filter=Q(dismissed_at=None)))
    )
    found: dict[str, Counter[PartState]] = {}
    for rule, verdict, n, n_open in counted:
        counts = found.setdefault(rule, Counter())
        is_fail = verdict == PartState.FAIL
        counts[PartState(verdict)] += n_open if is_fail else n
        counts[PartState.PASS] += n - n_open if is_fail else 0
    return found


def failing_revisions(bank: QuestionBank, parts: list[str]) -> QuerySet[Finding, Any]:
    """Wordings that fail one of these parts: something speaks against them that nobody dismissed."""
    rules = [rule for code in parts for rule in PARTS[code].rules]
    return Finding.objects.open().filter(bank=bank, rule__in=rules).order_by().values_list("revision", flat=True)


# --- Which parts of V(Q) keep a question out of new samples: a rule of each bank, empty -----------
@transaction.atomic
def keep_out(bank: QuestionBank, parts: Collection[str], *, actor: User | None, at: datetime) -> bool:
    """From now on no sample draws a question that fails one of these parts; none: nothing is kept out.

    False where it was so already. Raises QualityRefused (``archived``, ``no_part``).
    """
    if strange := [code for code in parts if code not in CAN_FAIL]:
        sentence = _("Nothing can fail by %(parts)s. Choose among: %(known)s.")
        facts = {"parts": listed(strange), "known": ", ".join(CAN_FAIL)}
        raise QualityRefused("no_part", sentence % facts, status=422, field="parts")
    locked = QuestionBank.objects.select_for_update(of=("self",)).get(pk=bank.pk)
    if locked.archived_at is not None:
        raise QualityRefused("archived", _("“%(bank)s” is archived: bring it back first.") % {"bank": bank.name})
    wanted = [code for code in CAN_FAIL if code in parts]
    if wanted == locked.kept_out_by:
        return False
    facts_of_change: dict[str, Any] = {"parts": wanted, "before": locked.kept_out_by}
    locked.kept_out_by = wanted
    locked.save(update_fields=["kept_out_by"])
    record("bank.kept_out_changed", actor=actor, at=at, subject=locked, facts=facts_of_change)
    return True


def kept_out(bank: QuestionBank) -> QuerySet[Any, Any] | None:
    """The wordings that no sample of the bank draws; None where the bank keeps nothing out."""
    return failing_revisions(bank, bank.kept_out_by) if bank.kept_out_by else None


def n_kept_out(bank: QuestionBank, hidden: QuerySet[Question]) -> int:
    """All that the rule of the bank keeps out, each question once."""
    out = kept_out(bank)
    current = Revision.objects.in_bank(bank).current().exclude(question__in=hidden)
    return 0 if out is None else current.filter(pk__in=out).count()
