"""Cases that are left out, each with a reason. A voided case stays stored; its voiding is never taken back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.design.kernels.documents import VoidingRow
from readerstudy.design.questions import find_cases
from readerstudy.enums import Block, StudyState
from readerstudy.models import ReaderStudy, Response, StudyCase, Voiding
from readerstudy.study.permissions import StudyRefused, lock_study

STATEMENT = "decided in the original study"  # what whoever declares voidings says of them


class VoidingsImported(Struct, frozen=True):
    n_stored: int
    n_there: int  # voided before, for the same reason


@transaction.atomic
def void_case(case: StudyCase, reason: str, *, actor: User | None, at: datetime) -> Voiding:
    """Leave a case out: before anybody saw a result of everything, afterwards of a sensitivity analysis only."""
    lock_study(case.study)
    _check_state(case.study)
    check_may_void(case, reason)
    voiding = Voiding.objects.create(
        case=case, reason=reason.strip(), before_unblinding=case.study.unblinded_at is None, actor=actor, at=at
    )
    facts = {"case": case.number, "reason": voiding.reason, "before_unblinding": voiding.before_unblinding}
    record("study.case_voided", actor=actor, at=at, subject=case.study, facts=facts)
    return voiding


def main_case(study: ReaderStudy, number: int) -> StudyCase:
    """By its number in the main block. Raises StudyRefused."""
    cases = study.cases.select_related("study", "revision__question")
    case = cases.filter(block=Block.MAIN, number=number).first()
    if case is None:
        sentence = _("The study has no case %(number)s.") % {"number": number}
        raise StudyRefused("no_such_case", sentence, status=422, field="case")
    return case


class CheckedVoidings(Struct, frozen=True):
    """Rows of a file that can be stored: ``fresh`` by the id of the case."""

    fresh: Mapping[int, VoidingRow]
    n_there: int  # voided before, for the same reason


@transaction.atomic
def import_voidings(
    study: ReaderStudy,
    rows: Sequence[VoidingRow],
    *,
    source: str,
    actor: User | None,
    at: datetime,
    unreadable: Sequence[tuple[int, str]] = (),
) -> VoidingsImported:
    """All rows or none. Refused with every row that cannot be stored (``rows``), the ``unreadable`` ones included.

    Once somebody has seen a result they are a sensitivity analysis only, also where the study was read elsewhere.
    """
    lock_study(study)
    checked = _checked(study, rows, unreadable)
    early = study.unblinded_at is None
    _store(checked, source=source, before_unblinding=early, declared=False, actor=actor, at=at)
    facts = {"n": len(checked.fresh), "n_there": checked.n_there, "source": source[:200], "before_unblinding": early}
    record("study.voidings_imported", actor=actor, at=at, subject=study, facts=facts)
    return VoidingsImported(len(checked.fresh), checked.n_there)


def check_declared(
    study: ReaderStudy, rows: Sequence[VoidingRow], unreadable: Sequence[tuple[int, str]] = ()
) -> CheckedVoidings:
    """Voidings of an older study, to be declared with the import of its readings: before these are in, and blind.

    Refused as by ``import_voidings``, and once readings are in or a result was seen; not for the same rows again.
    """
    checked = _checked(study, rows, unreadable)
    if checked.fresh and study.unblinded_at is not None:
        sentence = _(
            "Somebody has seen a result of this study: no voiding can be declared as older any more. Void these "
            "cases with import_voidings or on the page “Monitor readers”: they are left out of a labelled "
            "sensitivity analysis then."
        )
        raise StudyRefused("unblinded", sentence)
    if checked.fresh and Response.objects.filter(reading__enrolment__study=study).exists():
        sentence = _(
            "Readings of this study are in already: voidings of the older study are declared with their first "
            "import. Void these cases with import_voidings or on the page “Monitor readers”: nobody has seen a "
            "result, so that they are left out of everything, as decided here."
        )
        raise StudyRefused("has_readings", sentence)
    return checked


def declare_voidings(
    study: ReaderStudy, checked: CheckedVoidings, *, source: str, actor: User | None, at: datetime
) -> None:
    """Store what ``check_declared`` let through, in the transaction that stores the readings."""
    if not checked.fresh:
        return
    _store(checked, source=source, before_unblinding=True, declared=True, actor=actor, at=at)
    facts = {"n": len(checked.fresh), "n_there": checked.n_there, "source": source[:200], "statement": STATEMENT}
    record("study.voidings_declared", actor=actor, at=at, subject=study, facts=facts)


def _checked(study: ReaderStudy, rows: Sequence[VoidingRow], unreadable: Sequence[tuple[int, str]]) -> CheckedVoidings:
    """Refused with every row that cannot be stored, and for a draft."""
    _check_state(study)
    cases = find_cases(study, {row.case for row in rows})
    there = dict(Voiding.objects.filter(case__study=study).values_list("case_id", "reason"))
    bad = list(unreadable)
    fresh: dict[int, VoidingRow] = {}
    n_there = 0
    for row in rows:
        case = cases.get(row.case)
        if case is None:
            bad.append(
                (
                    row.row,
                    _("the study has no case “%(case)s”: give the key of its question, or the number in the bank.")
                    % {"case": row.case[:80]},
                )
            )
        elif case.pk in fresh:
            bad.append((row.row, _("the case “%(case)s” comes twice.") % {"case": row.case[:80]}))
        elif there.get(case.pk) == row.reason.strip():
            n_there += 1
        elif why := _fault(case, row.reason.strip(), is_voided=case.pk in there):
            bad.append((row.row, why))
        else:
            fresh[case.pk] = row
    if bad:
        sentences = [_("Row %(row)s: %(why)s") % {"row": row, "why": why} for row, why in sorted(bad)]
        raise StudyRefused("bad_rows", " ".join(sentences), rows=sorted(bad))
    return CheckedVoidings(fresh, n_there)


def _store(
    checked: CheckedVoidings, *, source: str, before_unblinding: bool, declared: bool, actor: User | None, at: datetime
) -> None:
    Voiding.objects.bulk_create(
        Voiding(
            case_id=pk,
            reason=row.reason.strip(),
            before_unblinding=before_unblinding,
            declared=declared,
            source=source[:200],
            actor=actor,
            at=at,
        )
        for pk, row in checked.fresh.items()
    )


def _check_state(study: ReaderStudy) -> None:
    if study.state == StudyState.DRAFT:
        raise StudyRefused("draft", _("The study is a draft: take the case out of it instead of voiding it."))


def check_may_void(case: StudyCase, reason: str) -> None:
    """Refused without a reason, for a practice case and for a case that is voided already."""
    if why := _fault(case, reason.strip(), is_voided=Voiding.objects.filter(case=case).exists()):
        raise StudyRefused("may_not_void", why)


def _fault(case: StudyCase, reason: str, *, is_voided: bool) -> str:
    """Why this case is not voided for this reason; empty where it can be."""
    if not reason:
        return _("Say why the case is left out.")
    if case.block != Block.MAIN:
        return _("Practice cases are never in the results and need not be voided.")
    if is_voided:
        return _("The case is voided already, for another reason; a voiding is never changed.")
    return ""
