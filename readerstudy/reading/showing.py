"""What the reading page of one reader may hold now: loads what visible_parts names, and nothing else reaches a page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from msgspec import Struct

from annotation.models import Image
from annotation.models.fields import AsRead
from annotation.site.sorted_tables import KeptQuery
from readerstudy.design.kernels.documents import MOST_READY, Rules
from readerstudy.design.kernels.ordering import in_order
from readerstudy.design.shown import Views, views_of
from readerstudy.enums import Block, Refusal, RemarkKind, StudyState
from readerstudy.models import Enrolment, PresentedCase, ReaderStudy, Response, ShownImage, StudyCase
from readerstudy.reading.case_opening import still_asked
from readerstudy.reading.kernels.visibility import CaseProgress, Part, seconds_left, visible_parts
from readerstudy.reading.prefetched import (
    ENROLMENTS,
    ReaderPosition,
    is_last_image,
    is_prefetched_image,
    last_presented,
    live_session,
    may_read,
    position_of,
    reading_of,
    rules_of,
    why_not,
)

# Images of the prefetched cases as they were frozen, and whether each may be seen now.
_CASES = (int,) * (1 + MOST_READY)
_NO_CASE = 0
_IMAGES: KeptQuery[tuple[int, int, str, dict[str, Any]]] = KeptQuery(
    lambda *cases: (
        ShownImage.objects.filter(case_id__in=cases)
        .order_by("case_id", "position")
        .values_list("case_id", "image_id", "image__state", "frozen")
    ),
    *_CASES,
)
NOTHING = Views([], [])
_CONFIRMED: KeptQuery[Response] = KeptQuery(lambda pk: _final(pk), int)


class ShownCase(Struct, frozen=True, kw_only=True):
    """One prefetched case; what may not be seen is empty."""

    id: str
    position: int
    stem: str
    options: list[tuple[str, str]]  # canonical letter and text, in the order shown
    views: list[dict[str, Any]]
    withheld: list[dict[str, str]]  # images of the case that are not shown: view, and why
    information: dict[str, Any] | None
    opened: bool
    painted: bool
    choice: str
    choice_sequence: int
    seconds_left: float | None
    seconds_open: float | None = None  # since its opening
    break_before: bool  # a break is offered before it: nobody has opened it
    begins: bool  # the first case after the practice block: nobody has opened it


class ShownLast(Struct, frozen=True, kw_only=True):
    """The case that was closed last, and what can still be remarked on it."""

    id: str
    asked: RemarkKind | None  # before the next case opens
    may_slip: bool
    option: str
    stem: str  # where a guess is asked: the page may have been loaded again since
    options: list[tuple[str, str]]  # as a place has them, where a guess is asked or a slip can be reported


class ShownState(Struct, frozen=True, kw_only=True):
    """Everything that the page of a reader may contain now."""

    enrolment: Enrolment
    rules: Rules
    position: ReaderPosition
    session: str | None
    paused: bool
    cases: list[ShownCase]
    last: ShownLast | None
    ended: Refusal | None = None  # why nothing is taken any more

    @property
    def writer(self) -> bool:
        return self.session is not None

    @property
    def finished(self) -> bool:
        return self.position.is_finished or self.position.is_undecided


def show_state(enrolment: Enrolment, *, token: str, at: datetime) -> ShownState:
    """Where the reader is. Cases only for the page that holds the write lease, and only while this reader may read."""
    rules = rules_of(enrolment)
    position = position_of(enrolment, rules, at=at)
    live = live_session(enrolment)
    session = token if live is not None and live.public_id == token else None
    reads = may_read(enrolment, at)
    prefetched = position.prefetched if session is not None and reads else ()
    return ShownState(
        enrolment=enrolment,
        rules=rules,
        position=position,
        session=session,
        paused=enrolment.paused_at is not None,
        cases=_shown_cases(prefetched, rules, has_practice=position.has_practice, at=at),
        last=_shown_last(enrolment, rules) if session is not None and reads else None,
        ended=why_not(enrolment, at),
    )


def _shown_cases(
    prefetched: Sequence[PresentedCase], rules: Rules, *, has_practice: bool, at: datetime
) -> list[ShownCase]:
    if not prefetched:
        return []
    views = _views_of([presented.case_id for presented in prefetched])
    parts = [
        visible_parts(
            CaseProgress(
                may_read=True,
                block=presented.block,
                information=presented.order.arm.information,
                is_prefetched=True,
                awaits_opening=rules.time_limit_s is not None and reading_of(presented) is None,
                answered=False,
            )
        )
        for presented in prefetched
    ]
    return [
        _shown(presented, seen, views.get(presented.case_id, NOTHING), rules, has_practice=has_practice, at=at)
        for presented, seen in zip(prefetched, parts, strict=True)
    ]


def _shown(
    presented: PresentedCase, parts: frozenset[Part], views: Views, rules: Rules, *, has_practice: bool, at: datetime
) -> ShownCase:
    revision, reading = presented.case.revision, reading_of(presented)
    views = views if Part.IMAGES in parts else NOTHING
    return ShownCase(
        id=presented.public_id,
        position=presented.position,
        stem=revision.stem if Part.STEM in parts else "",
        options=in_order(presented.options, revision.options) if Part.OPTIONS in parts else [],
        views=views.shown,
        withheld=views.withheld,
        information=_information(presented, parts),
        opened=reading is not None,
        painted=reading is not None and reading.painted_at is not None,
        choice=reading.choice if reading is not None and Part.OWN_CHOICE in parts else "",
        choice_sequence=reading.choice_sequence if reading is not None else 0,
        seconds_left=seconds_left(reading.deadline_at, at) if reading is not None else None,
        seconds_open=(at - reading.opened_at).total_seconds() if reading and reading.opened_at else None,
        break_before=reading is None and rules.has_break_before(presented.block, presented.position),
        begins=reading is None and has_practice and presented.block == Block.MAIN and presented.position == 1,
    )


def _shown_last(enrolment: Enrolment, rules: Rules) -> ShownLast | None:
    presented = last_presented(enrolment)
    reading = reading_of(presented) if presented is not None else None
    if presented is None or reading is None:
        return None
    answer = _CONFIRMED.first(reading.pk)
    option = answer.option if answer is not None else ""
    may_slip, asked = rules.slips and bool(option), still_asked(reading, rules)
    parts = visible_parts(
        CaseProgress(
            may_read=True,
            block=presented.block,
            is_prefetched=False,
            is_last=True,
            answered=answer is not None,
            may_slip=may_slip,
            guesses=asked == RemarkKind.GUESS,
        )
    )
    revision = presented.case.revision
    return ShownLast(
        id=presented.public_id,
        asked=asked,
        may_slip=may_slip,
        option=option,
        stem=revision.stem if Part.STEM in parts else "",
        options=in_order(presented.options, revision.options) if Part.OPTIONS in parts else [],
    )


def _final(reading: int) -> QuerySet[Response]:
    return Response.objects.filter(reading=reading, is_confirmed=True)


def _views_of(cases: Sequence[int]) -> dict[int, Views]:
    """The images of each case as the viewer wants them; one query for all."""
    asked = (*dict.fromkeys(cases), *(_NO_CASE,) * len(_CASES))[: len(_CASES)]
    images: dict[int, list[tuple[int, str, dict[str, Any]]]] = {}
    for case, image, state, frozen in _IMAGES(*asked):
        images.setdefault(case, []).append((image, state, frozen))
    return {case: views_of(of_one) for case, of_one in images.items()}


def _information(presented: PresentedCase, parts: frozenset[Part]) -> dict[str, Any] | None:
    """What the arm shows of what was frozen beside the images."""
    if Part.AGE_SEX not in parts:
        return None
    frozen = presented.case.information or {}
    indication = frozen.get("indication", "") if Part.INDICATION in parts else ""
    return {"age": frozen.get("age"), "sex": frozen.get("sex", ""), "indication": indication}


# --- which images of a study a person may fetch: its readers and its coordinators -----------------
_MINE: KeptQuery[Enrolment] = KeptQuery(
    lambda person, image: ENROLMENTS.filter(
        reader=person, study__state=StudyState.OPEN, orders__places__case__shown_images__image=image
    ).distinct(),
    *(int, int),
)


def shows_images(person_id: int, image: Image, at: datetime) -> bool:
    """A rule of annotation.contributions: whether some place that shows its images to this person shows this one."""
    return any(_shows(enrolment, image.pk, at) for enrolment in _MINE(person_id, image.pk))


def _shows(enrolment: Enrolment, image: int, at: datetime) -> bool:
    """The practice block is prefetched until it is done, the main block from then on."""
    reads = may_read(enrolment, at)
    block = Block.MAIN if enrolment.practised_at is not None else Block.PRACTICE
    if _is_part(CaseProgress(may_read=reads, block=block, is_prefetched=True)) and is_prefetched_image(
        image, enrolment, block, rules_of(enrolment)
    ):
        return True
    last = CaseProgress(may_read=reads, block=block, is_prefetched=False, is_last=True)
    return _is_part(last) and is_last_image(image, enrolment)


def _is_part(position: CaseProgress) -> bool:
    return Part.IMAGES in visible_parts(position)


def shows_to_coordinators(person_id: int, image: Image, _at: datetime) -> bool:
    """A rule of annotation.contributions: a coordinator of a study, who does not read in it, sees the exams of its
    cases with their priors, and what is frozen with them.
    """
    exam = image.exam_id
    of_exam = Q(revision__question__exam=exam) | Q(revision__question__exam__prior=exam)
    its = of_exam | Q(shown_images__image=image)
    mine = StudyCase.objects.filter(its, study__coordinators__user=person_id, study__deleted_at=None)
    return mine.exclude(study__enrolments__reader=person_id).exists()


def open_studies_with(image_id: int) -> list[str]:
    """A rule of annotation.contributions: the studies in which this image is being read."""
    studies = ReaderStudy.objects.filter(state=StudyState.OPEN, cases__shown_images__image=image_id)
    return list(studies.order_by(AsRead("name")).values_list("name", flat=True).distinct())
