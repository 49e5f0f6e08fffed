"""V(Q), part by part and as a whole: of one question, over a bank, and as a condition for queries.

The gate of a bank names the parts that its questions have to pass; V(Q) passes where all of them do, and fails where
one does. It is computed from what is stored whenever it is asked, never kept. What fails the gate is not drawn.

Whoever calls has seen to it that the person may know: reasons may tell the key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime
from functools import reduce
from operator import and_, or_

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.enums import Difficulty, ImportKind, QuestionState, RoundState
from annotation.models import (
    Assignment,
    ClassScore,
    ClassThreshold,
    Finding,
    Question,
    QuestionBank,
    Revision,
)
from annotation.models.review import ANSWERED_BLIND
from annotation.questionbank.kernels.question_checks import (
    BIAS,
    BY_RATING,
    BY_VERDICT,
    DIVERSITY,
    FORM,
    IDENTIFIER_FREE,
    JUDGED,
    MODEL_NOT_EASY,
    OF_COLUMN,
    PARTS,
    RATING,
    STATED,
    PartState,
    ValidityPart,
)


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
    def n_not_examined(self) -> int:
        return self.counts.get(PartState.NOT_EXAMINED, 0)


# --- one question ---
def parts_of_question(revision: Revision) -> list[QuestionPart]:
    """All of them, of the current wording of a question; five queries at most."""
    found = list(Finding.objects.filter(revision=revision, superseded_at=None).select_related("call__batch__prompt"))
    verdicts = {one.rule: one for one in found if one.call_id is not None}
    open_rules = {one.rule for one in found if one.call_id is None and not one.verdict and one.dismissed_at is None}
    kept, scored = any(one.verdict for one in found if one.call_id is None), _scored_below(revision)
    return [_part(part, revision, verdicts, open_rules, scored, kept=kept) for part in PARTS.values()]


def _scored_below(revision: Revision) -> dict[str, str]:
    """By part: what a classifier with a threshold gave this wording, in words."""
    columns = ("classifier__thresholds__part", "classifier__thresholds__label", "classifier__thresholds__threshold")
    rows = ClassScore.objects.filter(revision=revision).exclude(classifier__thresholds=None).order_by("pk")
    found = {}
    for part, label, limit, folder, labels, p in rows.values_list(
        *columns, "classifier__folder", "classifier__labels", "probabilities"
    ):
        facts = {"label": label, "p": f"{p[labels.index(label)]:.3f}", "folder": folder, "threshold": f"{limit:g}"}
        found[part] = _("P(%(label)s) is %(p)s by the classifier %(folder)s, threshold %(threshold)s.") % facts
    return found


def _part(
    part: ValidityPart,
    revision: Revision,
    verdicts: dict[str, Finding],
    open_rules: set[str],
    scored: dict[str, str],
    *,
    kept: bool,
) -> QuestionPart:
    if open_rules & set(part.rules):
        return QuestionPart(part, PartState.FAIL, _("See the findings."))
    if part.code in verdicts or part.code in BY_VERDICT:
        return _of_validator(part, verdicts.get(part.code))
    if part.code == BIAS:
        is_scored = BIAS in scored
        return QuestionPart(part, PartState.PASS if is_scored else PartState.NOT_EXAMINED, scored.get(BIAS, ""))
    if part.code == FORM:
        return QuestionPart(part, PartState.PASS)
    if part.code in OF_COLUMN:
        column, by_state = OF_COLUMN[part.code]
        is_stated = column == "difficulty"
        word = revision.difficulty if is_stated else revision.question.state
        state = next(state for state, words in by_state.items() if word in words)
        label = _(Difficulty(word).label if is_stated else QuestionState(word).label)
        return QuestionPart(part, state, label if is_stated else _("state: %(state)s") % {"state": label})
    if part.code in BY_RATING:
        return _of_rating(part, revision, verdicts)
    if part.code == DIVERSITY and kept:
        return QuestionPart(part, PartState.PASS, _("It is the one of its near-duplicates that is kept."))
    if part.code == DIVERSITY and not _is_compared(revision):
        return QuestionPart(part, PartState.NOT_EXAMINED, _("It was not compared with the other questions."))
    return QuestionPart(part, PartState.PASS, scored.get(part.code, ""))


def _of_rating(part: ValidityPart, revision: Revision, verdicts: dict[str, Finding]) -> QuestionPart:
    if part.code == MODEL_NOT_EASY:
        rated = [verdicts[RATING].verdict] if RATING in verdicts else []
    else:
        rated = list(_blind_answers(revision=revision).values_list("blind_answer__difficulty", flat=True))
    if not rated:
        return QuestionPart(part, PartState.NOT_EXAMINED)
    n_easy = rated.count(Difficulty.EASY)
    why = _("%(k)s of %(n)s: easy") % {"k": n_easy, "n": len(rated)}
    return QuestionPart(part, PartState.FAIL if 2 * n_easy > len(rated) else PartState.PASS, why)


def _blind_answers(**where: object) -> QuerySet[Assignment]:
    """Whose difficulties are the rating of the reviewers: in closed rounds, as ``panel_difficulty`` takes them."""
    return Assignment.objects.filter(ANSWERED_BLIND, round__state=RoundState.CLOSED, **where).order_by()


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
    if part.code in (BIAS, *BY_RATING):
        states = (PartState.PASS, PartState.FAIL, PartState.UNDECIDED)
        counts.update({state: current.filter(part_is(bank, part.code, state)).count() for state in states})
    elif part.code in BY_VERDICT:
        counts = verdicts.get(part.code, counts)
    elif part.code == FORM:
        counts[PartState.PASS] = n_questions
    elif part.code in OF_COLUMN:
        column, by_state = OF_COLUMN[part.code]
        found = dict(current.order_by().values_list(column).annotate(n=Count("pk")))
        for state, words in by_state.items():
            counts[state] = sum(found.get(word, 0) for word in words)
        return PartCount(part, dict(counts))
    elif part.code in (DIVERSITY, IDENTIFIER_FREE):
        counts[PartState.FAIL] = current.filter(part_is(bank, part.code, PartState.FAIL)).count()
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


def _against(bank: QuestionBank, parts: Collection[str]) -> QuerySet[Finding]:
    rules = [rule for code in parts for rule in PARTS[code].rules]
    return Finding.objects.open().filter(bank=bank, rule__in=rules).order_by()


# --- as a condition on current wordings -----------------------------------------------------------
def part_is(bank: QuestionBank, code: str, state: PartState) -> Q:
    """Those of which this part is in this state, as ``parts_of_question`` says of each."""
    if code in OF_COLUMN:
        column, words = OF_COLUMN[code]
        return Q(**{f"{column}__in": words.get(state, ())})
    if code in BY_RATING:
        rated, easy = _rated(bank, code)
        by_state = {PartState.FAIL: easy, PartState.PASS: rated & ~easy, PartState.NOT_EXAMINED: ~rated}
        return by_state.get(state, _NEVER)
    if state == PartState.FAIL:
        return _has(_against(bank, [code]))
    if code == BIAS:
        fails, undecided = _has(_against(bank, [code])), _judged(bank, code, (PartState.UNDECIDED,))
        if state == PartState.UNDECIDED:
            return undecided & ~fails
        examined = _judged(bank, code, tuple(PartState)) | _has(_with_threshold(code))
        return (examined & ~undecided if state == PartState.PASS else ~examined) & ~fails
    if state == PartState.UNDECIDED:
        return _judged(bank, code, (PartState.UNDECIDED,))
    if code in JUDGED and state == PartState.PASS:
        return _judged(bank, code, (PartState.PASS,), (PartState.PASS, PartState.FAIL))
    if code in JUDGED:
        return ~_judged(bank, code, tuple(PartState))
    examined = _examined(bank, code)
    return (examined if state == PartState.PASS else ~examined) & ~_has(_against(bank, [code]))


def gate_is(bank: QuestionBank, parts: Collection[str], state: PartState) -> Q:
    """Those of which V(Q) is in this state, by a gate of these parts.

    It fails where one of them does, else is undecided where one is, and passes where all do.
    """
    fails = _has(_against(bank, parts)) | _any(
        part_is(bank, code, PartState.FAIL) for code in parts if code in (*OF_COLUMN, *BY_RATING)
    )
    if state == PartState.FAIL:
        return fails
    may_be = (*JUDGED, *OF_COLUMN)
    undecided = _any(part_is(bank, code, PartState.UNDECIDED) for code in parts if code in may_be)
    if state == PartState.UNDECIDED:
        return undecided & ~fails
    passes = ~fails & _all(part_is(bank, code, PartState.PASS) for code in parts)
    return passes if state == PartState.PASS else ~passes & ~undecided & ~fails


def _rated(bank: QuestionBank, code: str) -> tuple[Q, Q]:
    """Those that were rated at all, and those that count as easy."""
    if code == MODEL_NOT_EASY:
        return _judged(bank, RATING, STATED), _judged(bank, RATING, STATED[:1])
    by_wording = _blind_answers(revision__bank=bank).values("revision")
    n_easy = Count("pk", filter=Q(blind_answer__difficulty=Difficulty.EASY))
    easy = by_wording.annotate(n=Count("pk"), easy=n_easy).filter(n__lt=2 * F("easy"))
    return Q(pk__in=by_wording.values("revision")), Q(pk__in=easy.values("revision"))


def _judged(bank: QuestionBank, code: str, standing: Collection[str], dismissed: Collection[str] | None = None) -> Q:
    """Those with one of these verdicts, which an index leads to by whether a person dismissed it."""
    found = Finding.objects.filter(bank=bank, rule=code, superseded_at=None)
    of_dismissed = found.filter(dismissed_at__isnull=False, verdict__in=dismissed or standing)
    return _has(found.filter(dismissed_at=None, verdict__in=standing)) | _has(of_dismissed)


def _with_threshold(code: str) -> QuerySet[ClassScore]:
    """Scores by a classifier with a threshold for this part."""
    return ClassScore.objects.filter(classifier__in=ClassThreshold.objects.filter(part=code).values("classifier"))


def _has(found: QuerySet[Finding] | QuerySet[ClassScore]) -> Q:
    return Q(Exists(found.filter(revision=OuterRef("pk"))))


_NEVER = Q(pk__in=[])


def _any(conditions: Iterable[Q]) -> Q:
    return reduce(or_, conditions, _NEVER)


def _all(conditions: Iterable[Q]) -> Q:
    return reduce(and_, conditions, ~_NEVER)


def _examined(bank: QuestionBank, code: str) -> Q:
    if code != DIVERSITY:
        return ~_NEVER
    last = QuestionBank.objects.filter(pk=bank.pk).values_list("compared_at", flat=True).first()
    return _NEVER if last is None else _brought_by(last)
