"""An earlier exam beside the exam of a question."""

from __future__ import annotations

from annotation.enums import ImageState, ViewPosition
from annotation.models import Exam, Image
from tests.annotation.review.pixels import give_pixels


def give_prior(exam: Exam, *, seed: int = 90, with_pixels: bool = True) -> Exam:
    """One frontal and one lateral image, of an exam without a question of its own."""
    prior = Exam.objects.create(bank=exam.bank, pseudonym=f"before {exam.pseudonym}"[:16])
    for position, view in enumerate((ViewPosition.AP, ViewPosition.LATERAL)):
        image = Image.objects.create(exam=prior, position=position, state=ImageState.PENDING, view_position=view)
        if with_pixels:
            give_pixels(image, seed=seed + position)
    exam.prior = prior
    exam.save()
    return prior
