"""One reader closely: sittings and refused answers, without what was answered."""

from __future__ import annotations

from readerstudy.models import Enrolment, ReadingSession, RefusedAnswer

MOST = 200


def sittings(enrolment: Enrolment) -> list[ReadingSession]:
    """Newest first."""
    return list(ReadingSession.objects.filter(enrolment=enrolment).order_by("-started_at", "-pk")[:MOST])


def refused_answers(enrolment: Enrolment) -> list[RefusedAnswer]:
    """When and why, newest first; the option stays out of the query."""
    rows = RefusedAnswer.objects.filter(presented__order__enrolment=enrolment).only("reason", "at")
    return list(rows.order_by("-at", "-pk")[:MOST])
