"""What the reading page of one reader may hold now: loads what visible_parts names, and nothing else reaches a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from annotation.enums import ImageState
from annotation.ingest.serving import image_descriptors
from annotation.kept_queries import KeptQuery
from annotation.models import AnswerKey, Image, Rendition
from readerstudy.design.options import in_order
from readerstudy.design.rules import MOST_READY, Rules
from readerstudy.enums import RemarkKind
from readerstudy.models import Enrolment, PresentedCase, Response
from readerstudy.reading.armed import Standing, last_place, reading_of, standing_of
from readerstudy.reading.holding import live_session, may_read, rules_of
from readerstudy.reading.limits import seconds_left
from readerstudy.reading.opening import still_asked
from readerstudy.reading.visibility import Part, visible_parts
from readerstudy.reading.visibility import Standing as PlaceStanding

# Images of the armed cases, and what the viewer needs of them; removed ones are gone.
_EXAMS = (int,) * (1 + MOST_READY)
_NO_EXAM = 0
_IMAGES = KeptQuery(
    lambda *exams: (
        Image.objects.exclude(state=ImageState.REMOVED)
        .filter(exam_id__in=exams)
        .only(
            *("public_id", "exam_id", "position", "state", "view_position", "laterality"),
            *("display", "simulated", "attribution", "licence"),
        )
        .order_by("position", "pk")
    ),
    *_EXAMS,
)
_RENDITIONS = KeptQuery(
    lambda *exams: Rendition.objects.filter(image__exam_id__in=exams).values_list("image_id", "kind", "name"), *_EXAMS
)
_CONFIRMED: KeptQuery[Response] = KeptQuery(lambda pk: _final(pk), int)


@dataclass(frozen=True, kw_only=True)
class ShownPlace:
    """One armed place; what may not be seen is empty."""

    id: str
    position: int
    stem: str
    options: list[tuple[str, str]]  # canonical letter and text, in the order shown
    views: list[dict[str, Any]]
    information: dict[str, Any] | None
    opened: bool
    painted: bool
    choice: str
    choice_sequence: int
    seconds_left: float | None
    break_before: bool  # a break is offered before it: nobody has opened it


@dataclass(frozen=True, kw_only=True)
class ShownLast:
    """The place that was closed last, and what can still be said about it."""

    id: str
    asked: RemarkKind | None  # before the next case opens
    may_slip: bool
    option: str
    stem: str  # where a guess is asked: the page may have been loaded again since
    options: list[tuple[str, str]]  # as a place has them, where a guess is asked or a slip can be reported


@dataclass(frozen=True, kw_only=True)
class ShownState:
    """Everything that the page of a reader may contain now."""

    enrolment: Enrolment
    rules: Rules
    standing: Standing
    session: str | None
    paused: bool
    cases: list[ShownPlace]
    last: ShownLast | None

    @property
    def writer(self) -> bool:
        return self.session is not None

    @property
    def finished(self) -> bool:
        return self.standing.is_finished or self.standing.is_undecided


def show_state(enrolment: Enrolment, *, token: str, at: datetime) -> ShownState:
    """Where the reader is. Cases only for the page that holds the pen, and only while this reader may read."""
    rules = rules_of(enrolment)
    standing = standing_of(enrolment, rules, at=at)
    live = live_session(enrolment)
    session = token if live is not None and live.public_id == token else None
    reads = may_read(enrolment, at)
    armed = standing.armed if session is not None and reads else ()
    return ShownState(
        enrolment=enrolment,
        rules=rules,
        standing=standing,
        session=session,
        paused=enrolment.paused_at is not None,
        cases=_shown_places(armed, rules, at=at),
        last=_shown_last(enrolment, rules) if session is not None and reads else None,
    )


def _shown_places(armed: Sequence[PresentedCase], rules: Rules, *, at: datetime) -> list[ShownPlace]:
    if not armed:
        return []
    views = views_of([place.case.revision.question.exam_id for place in armed])
    parts = [
        visible_parts(
            PlaceStanding(
                may_read=True, block=place.block, information=place.order.arm.information, is_armed=True, answered=False
            )
        )
        for place in armed
    ]
    indications = _indications(armed, parts)
    return [
        _shown(place, seen, views.get(place.case.revision.question.exam_id, []), indications, rules, at=at)
        for place, seen in zip(armed, parts, strict=True)
    ]


def _shown(
    place: PresentedCase,
    parts: frozenset[Part],
    views: list[dict[str, Any]],
    indications: dict[int, str],
    rules: Rules,
    *,
    at: datetime,
) -> ShownPlace:
    revision, reading = place.case.revision, reading_of(place)
    exam = revision.question.exam
    information = None
    if Part.AGE_SEX in parts:
        information = {
            "age": exam.age_years,
            "sex": exam.sex,
            "indication": indications.get(place.case.revision_id, ""),
        }
    return ShownPlace(
        id=place.public_id,
        position=place.position,
        stem=revision.stem if Part.STEM in parts else "",
        options=in_order(place.options, revision.options) if Part.OPTIONS in parts else [],
        views=views if Part.IMAGES in parts else [],
        information=information,
        opened=reading is not None,
        painted=reading is not None and reading.painted_at is not None,
        choice=reading.choice if reading is not None and Part.OWN_CHOICE in parts else "",
        choice_sequence=reading.choice_sequence if reading is not None else 0,
        seconds_left=seconds_left(reading.deadline_at, at) if reading is not None else None,
        break_before=reading is None and rules.has_break_before(place.block, place.position),
    )


def _shown_last(enrolment: Enrolment, rules: Rules) -> ShownLast | None:
    place = last_place(enrolment)
    reading = reading_of(place) if place is not None else None
    if place is None or reading is None:
        return None
    answer = _CONFIRMED.first(reading.pk)
    option = answer.option if answer is not None else ""
    may_slip, asked = rules.slips and bool(option), still_asked(reading, rules)
    parts = visible_parts(
        PlaceStanding(
            may_read=True,
            block=place.block,
            is_armed=False,
            is_last=True,
            answered=answer is not None,
            may_slip=may_slip,
            guesses=asked == RemarkKind.GUESS,
        )
    )
    revision = place.case.revision
    return ShownLast(
        id=place.public_id,
        asked=asked,
        may_slip=may_slip,
        option=option,
        stem=revision.stem if Part.STEM in parts else "",
        options=in_order(place.options, revision.options) if Part.OPTIONS in parts else [],
    )


def _final(reading: int) -> QuerySet[Response]:
    return Response.objects.filter(reading=reading, is_confirmed=True)


def views_of(exams: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
    """The images of each exam as the viewer wants them; two queries for all."""
    asked = (*dict.fromkeys(exams), *(_NO_EXAM,) * len(_EXAMS))[: len(_EXAMS)]
    names: dict[int, dict[str, str]] = {}
    for image_id, kind, name in _RENDITIONS(*asked):
        names.setdefault(image_id, {})[kind] = name
    images: dict[int, list[Image]] = {}
    for image in _IMAGES(*asked):
        images.setdefault(image.exam_id, []).append(image)
    return {exam: image_descriptors(of_one, names=names) for exam, of_one in images.items()}


def _indications(armed: Sequence[PresentedCase], parts: Sequence[frozenset[Part]]) -> dict[int, str]:
    """By revision: of the report that belongs to its wording only the indication, and only where the arm shows it."""
    asked = [place.case.revision_id for place, seen in zip(armed, parts, strict=True) if Part.INDICATION in seen]
    rows = AnswerKey.objects.filter(pk__in=asked).values_list("pk", "report__indication") if asked else ()
    return {revision: indication or "" for revision, indication in rows}
