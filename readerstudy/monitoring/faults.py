"""Cases that readers flagged as faulty, and cases that are voided."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from annotation.exports.source_ids import source_ids_shown_to
from annotation.models import User
from readerstudy.enums import RemarkKind
from readerstudy.models import ReaderStudy, Remark, StudyCase, Voiding


@dataclass(frozen=True)
class Said:
    pseudonym: str
    text: str
    at: datetime


@dataclass(frozen=True)
class FlaggedCase:
    """A case with what its readers said; ``voiding`` is None while it counts."""

    case: StudyCase
    voiding: Voiding | None
    said: list[Said] = field(default_factory=list)


def flagged_cases(study: ReaderStudy) -> list[FlaggedCase]:
    """The newest words of each reader about each case; most often flagged first. One query."""
    rows = (
        Remark.objects.filter(reading__enrolment__study=study, kind=RemarkKind.FAULT)
        .select_related("reading__enrolment", "reading__case__revision__question", "reading__case__voiding")
        .order_by("pk")
    )
    newest = {one.reading_id: one for one in rows}
    found: dict[int, FlaggedCase] = {}
    for one in newest.values():
        case = one.reading.case
        flagged = found.setdefault(case.pk, FlaggedCase(case, getattr(case, "voiding", None)))
        flagged.said.append(Said(one.reading.enrolment.pseudonym, one.text, one.at))
    return sorted(found.values(), key=lambda one: (one.voiding is not None, -len(one.said), one.case.number))


def voidings_of(study: ReaderStudy, *, person: User) -> list[tuple[Voiding, str]]:
    """Each with the own id of its question, for coordinators who may see own ids; else with an empty word."""
    rows = Voiding.objects.filter(case__study=study).select_related("case__revision__question", "actor")
    voidings = list(rows.order_by("at", "pk"))
    questions = {one.case.revision.question_id for one in voidings}
    ids = source_ids_shown_to(person, study.bank_id, questions) if questions else {}
    return [(one, ids.get(one.case.revision.question_id, "")) for one in voidings]
