"""A study in which everything has happened that a table must tell."""

from __future__ import annotations

from typing import Any

from annotation.models import User
from readerstudy.enums import Block, RemarkKind, ResponseState
from readerstudy.models import (
    Enrolment,
    PresentedCase,
    ReaderStudy,
    Reading,
    ReadingSession,
    RefusedAnswer,
    Remark,
    Response,
    StudyCase,
    TimingEvent,
    Voiding,
)
from tests.annotation.review.cases import NOON
from tests.made_once import made_once
from tests.readerstudy.studies import enrol, later, make_study, places_of


def read(place: PresentedCase, *responses: dict[str, Any]) -> Reading:
    """A reading of a place with its responses, in the order in which they were stored."""
    enrolment = place.order.enrolment
    assert enrolment is not None
    reading = Reading.objects.create(
        enrolment=enrolment,
        case=place.case,
        arm=place.order.arm,
        presented=place,
        position=place.position,
        opened_at=NOON,
        painted_at=later(1),
        closed_at=later(9),
    )
    for response in responses:
        state = response.setdefault("state", ResponseState.ANSWERED)
        unconfirmed = state in (ResponseState.UNCONFIRMED, ResponseState.TIMED_OUT)
        Response.objects.create(
            reading=reading,
            **{
                "is_confirmed": not unconfirmed,
                "stored_at": later(9),
                "committed_at": None if unconfirmed else later(9),
                **response,
            },
        )
    return reading


@made_once
def read_study(rita: User, remo: User, **fields: Any) -> ReaderStudy:
    """Rita has read in all ways and has not reached the last case; Remo has left; the key of every case is B."""
    study = make_study("Trial", n_cases=8, n_practice=1, **fields)
    theirs = enrol(study, rita)
    PresentedCase.objects.filter(order__enrolment=theirs, block=Block.MAIN).update(options="CBDA")
    read(places_of(theirs, Block.PRACTICE)[0], {"option": "A"})
    places = places_of(theirs)
    first = read(
        places[0],
        {
            "option": "B",
            "key": "k1",
            "active_ms": 4200,
            "elapsed_ms": 5000,
            "n_sittings": 1,
            "time_rule": "active-1",
            "time_flags": ["quiet", "blurred"],
            "viewport": {"views": [{"zoom": 2, "invert": True}, None]},
        },
    )
    read(places[1], {"option": "C"})
    read(places[2], {"state": ResponseState.DECLINED})
    read(places[3], {"state": ResponseState.LATE, "option": "B", "limit_ms": 30_000})
    read(places[4], {"state": ResponseState.UNCONFIRMED, "option": "B", "limit_ms": 30_000})
    read(
        places[5],
        {"state": ResponseState.UNCONFIRMED, "option": "B"},
        {"option": "A", "delivered_late": True, "unreadable": ["image1"]},
    )
    read(places[6], {"state": ResponseState.TIMED_OUT, "limit_ms": 30_000})
    for key, value in (("r1", "40"), ("r2", "80")):
        Remark.objects.create(reading=first, kind=RemarkKind.CONFIDENCE, value=value, key=key, at=NOON)
    Remark.objects.create(reading=first, kind=RemarkKind.SLIP, value="D", key="r3", at=NOON)
    Remark.objects.create(reading=first, kind=RemarkKind.FAULT, text="=two clavicles", key="r4", at=NOON)
    RefusedAnswer.objects.create(presented=places[0], reason="other_answer", option="A", key="k2", at=NOON)
    RefusedAnswer.objects.create(presented=places[7], reason="not_the_writer", option="C", key="k3", at=NOON)
    session = ReadingSession.objects.create(
        enrolment=theirs, started_at=NOON, seen_at=later(9), device={"width": 1366, "pixel_ratio": 1.5}
    )
    for sequence, kind in enumerate(("painted", "selected", "submitted"), start=1):
        TimingEvent.objects.create(
            reading=first,
            session=session,
            page="page-one",
            sequence=sequence,
            kind=kind,
            client_ms=100.25 * sequence,
            received_at=later(sequence),
            details={"option": "B"} if kind == "selected" else {},
        )
    Enrolment.objects.filter(pk=enrol(study, remo).pk).update(withdrawn_at=later(60))
    return study


def void(case: StudyCase, *, before_unblinding: bool = True, **fields: Any) -> Voiding:
    given = {"reason": "two keys are right", "at": NOON, **fields}
    return Voiding.objects.create(case=case, before_unblinding=before_unblinding, **given)
