"""A round is not opened in silence while its questions wait for images, and a sample leaves out what lost one."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client
from django.urls import reverse

from annotation.enums import ImageState, RoundState
from annotation.ingest.quarantine import quarantine_image, remove
from annotation.models import AuditEvent, Image, ReviewRound, User
from annotation.review.kernels.sampling import StratifyBy
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.rounds import create_round, open_round
from annotation.review.samples import SampleRefused, preview_sample
from tests.annotation.rounds.made import make_sample
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def draft(db: None, cora: User, rita: User, noon: datetime) -> ReviewRound:
    """Twelve questions on four exams."""
    return create_round(make_sample(12), name="Round", reviewers=[rita], actor=cora, at=noon)


def of_question(number: int) -> Image:
    return Image.objects.filter(exam__questions__number=number)[0]


def test_no_round_opens_when_every_image_is_missing(draft: ReviewRound, cora: User, noon: datetime) -> None:
    Image.objects.update(state=ImageState.PENDING)
    for reason in ("", "we hurry"):
        with refuses(ReviewRefused, "images_missing", match="12 of 12 questions lack an image .*: 1, 2, 3"):
            open_round(draft, actor=cora, at=noon, without_images=reason)
    assert ReviewRound.objects.get().state == RoundState.DRAFT


def test_with_some_missing_it_opens_with_a_reason_that_is_logged(
    draft: ReviewRound, cora: User, noon: datetime
) -> None:
    Image.objects.filter(pk=of_question(4).pk).update(state=ImageState.PENDING)
    client = Client()
    client.force_login(cora)
    page = client.get(reverse("round", args=[draft.slug])).content.decode()
    assert "3 of 12 questions lack an image that may be shown (missing or not released): 4, 5, 6." in page
    assert ">Open the round<" not in page
    client.post(reverse("round-open", args=[draft.slug]))
    assert ReviewRound.objects.get().state == RoundState.DRAFT
    client.post(reverse("round-open", args=[draft.slug]), {"without_images": "the lateral is enough"})
    assert ReviewRound.objects.get().state == RoundState.OPEN
    facts = AuditEvent.objects.get(act="round.opened").facts
    assert facts == {"n_without_images": 3, "reason": "the lateral is enough"}


def test_a_question_that_lost_an_image_is_named_and_not_drawn(
    draft: ReviewRound, cora: User, dina: User, noon: datetime
) -> None:
    image = of_question(4)
    quarantine_image(image, reason="a name", actor=dina, at=noon)
    bank = draft.plan.bank
    seen = preview_sample(bank, by=StratifyBy.NONE, per_thousand=1000, seed=1)
    assert [(one.number, one.why) for one in seen.lost] == [(n, "PA in quarantine: a name") for n in (4, 5, 6)]
    assert {one.number for one in seen.drawn} == {1, 2, 3, 7, 8, 9, 10, 11, 12}
    image.refresh_from_db()
    remove(image, reason="a name at the edge", actor=dina, at=noon)
    client = Client()
    client.force_login(cora)
    asked = {"bank": bank.slug, "by": "none", "per_thousand": "1000", "seed": "1"}
    page = client.get(reverse("sample-new"), asked).content.decode()
    assert "3 questions lost an image and are not drawn" in page
    assert "PA removed: a name at the edge" in page
    Image.objects.update(state=ImageState.REMOVED)
    with refuses(SampleRefused, "images_lost", match="has lost an image"):
        preview_sample(bank, by=StratifyBy.NONE, per_thousand=1000, seed=1)
