"""The gate of a bank: the parts of V(Q) that its questions have to pass, its versions, and what it lets through."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from django.core.cache import cache
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.models import Gate, Question, QuestionBank, Revision, User
from annotation.questionbank.checking import QualityRefused
from annotation.questionbank.kernels.question_checks import GATED, PartState, ValidityPart
from annotation.questionbank.validity import QuestionPart, count_parts, gate_is
from annotation.site.slugs import listed

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
