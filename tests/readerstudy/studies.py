"""Small studies, made in code without the designer: cases with an exam each, orders, readers in the middle of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F

from annotation.models import Image, QuestionBank, User
from readerstudy.design.freezing import keep_shown
from readerstudy.design.kernels.documents import Rules
from readerstudy.enrolment.participation import pattern_now
from readerstudy.enums import Block, StudyState
from readerstudy.models import (
    Arm,
    CaseSet,
    Enrolment,
    PresentationOrder,
    PresentedCase,
    ReaderStudy,
    ShownImage,
    StudyCase,
)
from tests.annotation.review.cases import NOON, make_bank, make_revisions
from tests.annotation.review.pixels import give_pixels_to
from tests.made_once import made_once


@made_once
def make_study(
    name: str = "Trial",
    *,
    n_cases: int = 3,
    n_practice: int = 0,
    n_orders: int = 4,
    state: StudyState = StudyState.OPEN,
    bank: QuestionBank | None = None,
    pixels: bool = False,
    rules: Rules | None = None,
    give_images: Callable[[], object] = lambda: None,
    **fields: Any,
) -> ReaderStudy:
    """A frozen study: order 1 goes forwards through the cases, every further one starts one case later.

    ``give_images`` is called before it is frozen, where the exams get others than ``pixels`` gives.
    """
    bank = bank or make_bank(f"Bank of {name}")
    study = ReaderStudy.objects.create(
        name=name,
        slug=name.lower(),
        bank=bank,
        rules=(rules or Rules()).as_json(),
        n_orders=n_orders,
        created_at=NOON,
        protocol_sha256="c0ffee" + "0" * 58,
        **{
            "frozen_at": NOON,
            "opened_at": NOON,
            "consent": "You agree to take part.",
            "instructions": "Choose one option.",
            **fields,
        },
    )
    arm = Arm.objects.create(study=study)
    case_set = CaseSet.objects.create(study=study, name="All cases")
    blocks = {Block.PRACTICE: n_practice, Block.MAIN: n_cases}
    cases = {block: _cases(study, block, n, pixels) for block, n in blocks.items()}
    case_set.cases.set(cases[Block.MAIN])
    for number in range(1, n_orders + 1):
        order = PresentationOrder.objects.create(study=study, arm=arm, case_set=case_set, number=number, rule="test")
        for block, chosen in cases.items():
            shift = (number - 1) % max(1, len(chosen)) if block == Block.MAIN else 0
            PresentedCase.objects.bulk_create(
                PresentedCase(order=order, block=block, position=position, case=case)
                for position, case in enumerate(chosen[shift:] + chosen[:shift], start=1)
            )
    give_images()
    keep_shown(study)
    study.state = state  # last: the database refuses cases and orders of a study that is no draft
    study.save(update_fields=["state"])
    return study


def keep_again(study: ReaderStudy) -> None:
    """As if it were frozen now: after a test has changed what its cases show."""
    ShownImage.objects.filter(case__study=study).delete()
    keep_shown(study)


def _cases(study: ReaderStudy, block: Block, n: int, pixels: bool) -> list[StudyCase]:
    first = 1 + (1000 if block == Block.PRACTICE else 0)
    revisions = make_revisions(study.bank, {number: {} for number in range(first, first + n)})
    if pixels:
        images = Image.objects.filter(exam__questions__revisions__in=revisions).order_by("pk")
        seed = F("exam__questions__number") * 2 + F("position")
        give_pixels_to((image, image.seed) for image in images.annotate(seed=seed))
    return StudyCase.objects.bulk_create(
        StudyCase(study=study, number=number, block=block, revision=revision)
        for number, revision in enumerate(revisions, start=1)
    )


def enrol(study: ReaderStudy, reader: User, *, at: datetime = NOON, ready: bool = True) -> Enrolment:
    """A reader with the next free order; ``ready``: consent, instructions, display check and practice are done."""
    case_set = study.sets.get()
    done = at if ready else None
    enrolment = Enrolment.objects.create(
        study=study,
        reader=reader,
        case_set=case_set,
        pseudonym=f"R{study.enrolments.count() + 1}",
        enrolled_at=at,
        consented_at=done,
        facts={"training": "radiologist"} if ready else {},
        instructed_at=done,
        display_checked_at=done,
        practised_at=done,
    )
    order = case_set.orders.filter(enrolment__isnull=True).first()
    assert order is not None
    order.enrolment = enrolment
    order.save()
    return enrolment


def places_of(enrolment: Enrolment, block: Block = Block.MAIN) -> list[PresentedCase]:
    """The cases of a reader in their own order."""
    return list(PresentedCase.objects.filter(order__enrolment=enrolment, block=block).order_by("position"))


def later(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


FACTS = {  # as a reader fills in the form
    "training": "resident",
    "years": "3",
    "chest_fellowship": "no",
    "films_per_week": "40",
    "display": "monitor",
    "exposure": "some",
    "exposure_text": "A talk.",
}
WINDOW = {"width": "1366", "height": "768", "screen_width": "1920", "screen_height": "1080", "pixel_ratio": "1.25"}


def seen_by(enrolment: Enrolment, **other: str) -> dict[str, str]:
    """The form of the display check as a reader fills it in who reads all letters."""
    enrolment.refresh_from_db()
    pattern, n = pattern_now(enrolment), enrolment.display.get("n_attempts", 0)
    return {"dark": pattern.dark, "light": pattern.light, "display": "monitor", "attempt": str(n), **WINDOW, **other}
