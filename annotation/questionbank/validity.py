"""V(Q), part by part and as a whole: of one question, over a bank, and as a condition for queries.

The gate of a bank, which has versions, names the parts that its questions have to pass; V(Q) passes where all of them
do, and fails where one does. It is computed from what is stored whenever it is asked, never kept. What fails the gate
is not drawn.

Whoever calls has seen to it that the person may know: reasons may tell the key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime
from functools import reduce
from operator import and_, or_

from django.core.cache import cache
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import Difficulty, ImportKind, QuestionState, RoundState
from annotation.models import (
    Assignment,
    ClassScore,
    ClassThreshold,
    Finding,
    Gate,
    Question,
    QuestionBank,
    Revision,
    User,
)
from annotation.models.review import ANSWERED_BLIND
from annotation.questionbank.checking import QualityRefused
from annotation.questionbank.kernels.question_checks import (
    BIAS,
    BY_RATING,
    BY_VERDICT,
    DIVERSITY,
    FORM,
    GATED,
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
from annotation.site.sentences import listed


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
    if part.code == DIVERSITY and not Revision.objects.filter(_compared(revision.bank_id), pk=revision.pk).exists():
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


def _compared(bank_pk: int) -> Q:
    """Wordings that were there when the bank was last compared; none where it never was."""
    at = QuestionBank.objects.filter(pk=bank_pk).values_list("compared_at", flat=True).first()
    if at is None:
        return _NEVER
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
        n_examined = n_questions if part.code == IDENTIFIER_FREE else current.filter(_compared(bank.pk)).count()
        counts[PartState.PASS] = max(0, n_examined - counts[PartState.FAIL])
    counts[PartState.NOT_EXAMINED] = n_questions - sum(counts.values())
    return PartCount(part, dict(counts))


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
        scored = ClassScore.objects.filter(classifier__in=ClassThreshold.objects.filter(part=code).values("classifier"))
        examined = _judged(bank, code, tuple(PartState)) | _has(scored)
        return (examined & ~undecided if state == PartState.PASS else ~examined) & ~fails
    if state == PartState.UNDECIDED:
        return _judged(bank, code, (PartState.UNDECIDED,))
    if code in JUDGED and state == PartState.PASS:
        return _judged(bank, code, (PartState.PASS,), (PartState.PASS, PartState.FAIL))
    if code in JUDGED:
        return ~_judged(bank, code, tuple(PartState))
    examined = _compared(bank.pk) if code == DIVERSITY else ~_NEVER
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


def _has(found: QuerySet[Finding] | QuerySet[ClassScore]) -> Q:
    return Q(Exists(found.filter(revision=OuterRef("pk"))))


_NEVER = Q(pk__in=[])


def _any(conditions: Iterable[Q]) -> Q:
    return reduce(or_, conditions, _NEVER)


def _all(conditions: Iterable[Q]) -> Q:
    return reduce(and_, conditions, ~_NEVER)


# --- the gate of a bank -----------------------------------------------------------------------------
FIRST_NAME = "Gate"


def gate_of(bank: QuestionBank) -> Gate | None:
    """The newest; None where nobody set one, or the newest names no part."""
    newest = Gate.objects.filter(bank=bank).first()
    return newest if newest and newest.parts else None


WORST_FIRST = (PartState.FAIL, PartState.UNDECIDED, PartState.NOT_EXAMINED, PartState.PASS)


def state_by_gate(gate: Gate, parts: Iterable[QuestionPart]) -> PartState | None:
    """V(Q) of one question, as ``gate_is`` says it in queries; None where a part of the gate is not among these."""
    states = [one.state for one in parts if one.part.code in gate.parts]
    return min(states, key=WORST_FIRST.index) if len(states) == len(gate.parts) else None


@transaction.atomic
def set_gate(bank: QuestionBank, parts: Collection[str], *, name: str = "", actor: User | None, at: datetime) -> bool:
    """From now on V(Q) is by these parts, and no sample draws what fails one of them; none: there is no gate.

    Without a name it keeps the one it has. False where it was so already. Raises QualityRefused.
    """
    if strange := [code for code in parts if code not in GATED]:
        sentence = _("A gate cannot ask for %(parts)s. Choose among: %(known)s.")
        facts = {"parts": listed(strange), "known": ", ".join(GATED)}
        raise QualityRefused("no_part", sentence % facts, status=422, field="parts")
    locked = QuestionBank.objects.select_for_update(of=("self",)).get(pk=bank.pk)
    if locked.archived_at is not None:
        raise QualityRefused("archived", _("“%(bank)s” is archived: bring it back first.") % {"bank": bank.name})
    before = Gate.objects.filter(bank=bank).first()
    parts_before, name_before, number = (before.parts, before.name, before.number) if before else ([], FIRST_NAME, 0)
    wanted, name = [code for code in GATED if code in parts], name.strip() or name_before
    if (wanted, name) == (parts_before, name_before):
        return False
    if not wanted and name != name_before:
        raise QualityRefused("no_part", _("Choose parts for a gate of this name."), status=422, field="parts")
    Gate.objects.create(bank=bank, number=number + 1, name=name[:100], parts=wanted, set_by=actor, set_at=at)
    facts_of_change = {"gate": name, "version": number + 1, "parts": wanted, "before": parts_before}
    record("bank.gate_set", actor=actor, at=at, subject=locked, facts=facts_of_change)
    return True


def n_failing(bank: QuestionBank, hidden: QuerySet[Question]) -> int:
    """What fails the gate of the bank, each question once."""
    return _counted_by_gate(gate, hidden, PartState.FAIL) if (gate := gate_of(bank)) else 0


def _counted_by_gate(gate: Gate, hidden: QuerySet[Question], state: PartState) -> int:
    current = Revision.objects.in_bank(gate.bank).current().exclude(question__in=hidden)
    return current.filter(gate_is(gate.bank, gate.parts, state)).count()


class GateCount(Struct, frozen=True):
    """How many questions are in each state of V(Q), and which parts keep most of them from passing."""

    gate: Gate
    counts: dict[PartState, int]
    blocking: list[tuple[ValidityPart, PartState, int]]  # the parts of the gate with those that do not pass


MOST_COUNTED = 5_000  # questions; of more it is counted beside the page, and kept for KEPT_SECONDS
KEPT_SECONDS = 600
SHOWN_BLOCKING = 3


def count_gate(bank: QuestionBank, hidden: QuerySet[Question], *, person: User, n_questions: int) -> GateCount | None:
    """None without a gate."""
    if (gate := gate_of(bank)) is None:
        return None
    key = f"gate:{gate.pk}:{person.pk if hidden.filter(bank=bank).exists() else 0}"
    if n_questions > MOST_COUNTED and (kept := cache.get(key)):
        return GateCount(gate, *kept)
    parts = count_parts(bank, hidden)
    states = (PartState.PASS, PartState.FAIL, PartState.UNDECIDED)
    counts = {state: _counted_by_gate(gate, hidden, state) for state in states}
    counts[PartState.NOT_EXAMINED] = parts[0].n_questions - sum(counts.values())
    found: list[tuple[ValidityPart, PartState, int]] = [
        (one.part, state, n)
        for one in parts
        if one.part.code in gate.parts
        for state, n in one.counts.items()
        if state != PartState.PASS and n
    ]
    blocking = sorted(found, key=lambda one: -one[2])[:SHOWN_BLOCKING]
    cache.set(key, (counts, blocking), KEPT_SECONDS)
    return GateCount(gate, counts, blocking)
