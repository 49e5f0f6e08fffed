"""A reader at a desk: the acts of the reading room with times in seconds after noon, and a page clock that agrees."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from annotation.case.kernels.traces import SentEvent, Trace
from annotation.enums import EventKind
from annotation.models import Image, User
from readerstudy.models import Enrolment, PresentedCase, Reading, Remark, Response
from readerstudy.reading.case_opening import open_case
from readerstudy.reading.committing import CommittedAnswer, SentRemark, commit_answer, make_remark, save_choice
from readerstudy.reading.sessions import Lease, pause, resume, take_write_lease
from readerstudy.reading.showing import ShownState, show_state
from readerstudy.reading.timing_events import record_events
from tests.readerstudy.studies import later, places_of


def new_key() -> str:
    return str(uuid.uuid4())


class Desk:
    """One page. ``seconds`` of its methods is the server's time; the page's clock shows the same unless ``ms`` says."""

    def __init__(self, enrolment: Enrolment) -> None:
        assert enrolment.reader is not None
        self.enrolment, self.reader = enrolment, enrolment.reader
        self.places = places_of(enrolment)
        self.token = ""
        self.page = new_key()
        self.sequence = 0

    @property
    def who(self) -> dict[str, Any]:
        return {"session": self.token, "actor": self.reader}

    def begin(self, seconds: float = 0, *, take_over: bool = False) -> Lease:
        lease = take_write_lease(
            self.enrolment, token=self.token, take_over=take_over, actor=self.reader, at=later(seconds)
        )
        self.token = lease.session or self.token
        return lease

    def state(self, seconds: float = 0) -> ShownState:
        now = Enrolment.objects.select_related("study").get(pk=self.enrolment.pk)
        return show_state(now, token=self.token, at=later(seconds))

    def event(self, kind: EventKind, ms: float, **details: Any) -> SentEvent:
        self.sequence += 1
        return SentEvent(self.sequence, kind, ms, 1_763_000_000_000.0 + ms, details)

    def painted(self, place: PresentedCase, ms: float) -> SentEvent:
        return self.event(EventKind.PAINTED, ms, views=images_of(place))

    def open(self, place: PresentedCase, seconds: float) -> Reading:
        return open_case(self.enrolment, place.public_id, at=later(seconds), **self.who)

    def tell(self, place: PresentedCase, *events: SentEvent, seconds: float) -> None:
        record_events(self.enrolment, place.public_id, Trace(self.page, events), at=later(seconds), **self.who)

    def paint(self, place: PresentedCase, seconds: float) -> None:
        self.tell(place, self.painted(place, seconds * 1000), seconds=seconds)

    def choose(
        self, place: PresentedCase, option: str, sequence: int, seconds: float, *, ms: float | None = None
    ) -> bool:
        """``ms`` is when the page's own clock says that the option was chosen."""
        chosen = self.event(EventKind.SELECTED, seconds * 1000 if ms is None else ms, option=option)
        trace = Trace(self.page, (chosen,))
        return save_choice(
            self.enrolment, place.public_id, option, sequence, trace=trace, at=later(seconds), **self.who
        )

    def commit(
        self,
        place: PresentedCase,
        option: str = "A",
        *,
        seconds: float,
        ms: float | None = None,
        key: str = "",
        events: tuple[SentEvent, ...] = (),
        **answer: Any,
    ) -> Response:
        """``ms`` is when the page's own clock says that the answer was committed."""
        end = self.event(EventKind.SUBMITTED, seconds * 1000 if ms is None else ms)
        trace = Trace(self.page, (*events, end))
        sent = CommittedAnswer(**{"key": key or new_key(), "option": option, "trace": trace, **answer})
        return commit_answer(self.enrolment, place.public_id, sent, at=later(seconds), **self.who)

    def read(self, place: PresentedCase, option: str = "A", *, seconds: float, takes: float = 8.0) -> Response:
        """Open, look, and answer after ``takes`` seconds."""
        self.open(place, seconds)
        self.paint(place, seconds)
        return self.commit(place, option, seconds=seconds + takes)

    def decline(self, place: PresentedCase, *, seconds: float, takes: float = 8.0) -> Response:
        """Open, look, and say after ``takes`` seconds that one cannot tell."""
        self.open(place, seconds)
        self.paint(place, seconds)
        return self.commit(place, "", declined=True, seconds=seconds + takes)

    def say(self, place: PresentedCase, kind: str, value: str = "", *, seconds: float, **more: str) -> Remark:
        said = SentRemark(**{"key": new_key(), "kind": kind, "value": value, **more})
        return make_remark(self.enrolment, place.public_id, said, at=later(seconds), **self.who)

    def pause(self, seconds: float) -> None:
        pause(self.enrolment, at=later(seconds), **self.who)

    def resume(self, seconds: float) -> None:
        resume(self.enrolment, at=later(seconds), **self.who)


def images_of(place: PresentedCase) -> list[str]:
    images = Image.objects.filter(exam__questions__revisions=place.case.revision_id)
    return list(images.values_list("public_id", flat=True))


def reading_at(place: PresentedCase) -> Reading:
    return Reading.objects.get(presented=place)


def at(seconds: float) -> datetime:
    return later(seconds)


def person(enrolment: Enrolment) -> User:
    assert enrolment.reader is not None
    return enrolment.reader
