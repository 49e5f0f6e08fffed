"""How many cases of the main block readers have right. Whoever calls this has a reason to see it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from annotation.models import AnswerKey
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share
from readerstudy.enums import Block
from readerstudy.models import Enrolment, ReaderStudy, Response
from readerstudy.study.kernels.counting import counted_state, is_correct


@dataclass(frozen=True)
class ScoredReading:
    """A reading that counts, right or wrong."""

    enrolment_id: int
    case_id: int
    is_right: bool


def scored_readings(study: ReaderStudy, enrolments: Collection[int] | None = None) -> Iterator[ScoredReading]:
    """Of the main block, without voided cases; a confirmed response stands before the newest other. Two queries."""
    rows = Response.objects.filter(
        reading__enrolment__study=study, reading__case__block=Block.MAIN, reading__case__voiding__isnull=True
    )
    if enrolments is not None:
        rows = rows.filter(reading__enrolment__in=enrolments)
    columns = ("reading_id", "reading__enrolment_id", "reading__case_id", "reading__case__revision_id")
    final = {
        row[0]: row for row in rows.order_by("is_confirmed", "pk").values_list(*columns, "state", "option")
    }  # the last one stays
    revisions = study.cases.filter(block=Block.MAIN).values("revision")
    keys = dict(AnswerKey.objects.filter(revision__in=revisions).values_list("revision_id", "key"))
    for _reading, enrolment_id, case_id, revision_id, state, option in final.values():
        is_right = is_correct(counted_state(state), option, keys[revision_id])
        if is_right is not None:
            yield ScoredReading(enrolment_id, case_id, is_right)


@dataclass(frozen=True)
class ReaderTally:
    """One reader's accuracy over the cases answered so far, with Wilson's interval."""

    enrolment: Enrolment
    accuracy: Estimate


def tallies(study: ReaderStudy) -> list[ReaderTally]:
    """Of every reader, also of those who have left."""
    right, n = Counter[int](), Counter[int]()
    for one in scored_readings(study):
        n[one.enrolment_id] += 1
        right[one.enrolment_id] += one.is_right
    rows = study.enrolments.select_related("reader").order_by("pk")
    return [ReaderTally(one, share(right[one.pk], n[one.pk])) for one in rows]


def accuracy_of(enrolment: Enrolment) -> Estimate:
    found = [one.is_right for one in scored_readings(enrolment.study, [enrolment.pk])]
    return share(sum(found), len(found))
