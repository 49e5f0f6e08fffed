"""Which images of an exam go over the wire with a question, and what never does."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from typing import Any

import pytest

from annotation.call_enums import BatchState, SentImages
from annotation.enums import ImageState
from annotation.imaging.kernels.picture_policies import BLANK_GREY, QUARTER, STORED
from annotation.ingest import quarantine
from annotation.ingest.serving import PictureRefused
from annotation.model_calls.asking import ask_endpoint
from annotation.model_calls.request_bodies import request_of, swapped_exams
from annotation.models import CallBatch, Exam, Image, ModelCall, QuestionBank, User
from tests.annotation.imaging.greyscale import greys_of
from tests.annotation.model_calls.simulated_calls import ENDPOINT, NOON, SHORT, asked_server, make_batch

from .conftest import MakeImage

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def batch(make_image: MakeImage) -> CallBatch:
    """One question whose exam has two images."""
    made = make_batch(1, images=SentImages.ALL, picture_policy=STORED)
    call = made.calls.get()
    assert call.revision is not None
    exam = call.revision.question.exam
    Image.objects.filter(exam=exam).delete()
    Image.objects.filter(pk__in=[make_image().pk, make_image().pk]).update(exam=exam)
    for position, image in enumerate(exam.images.order_by("pk")):
        Image.objects.filter(pk=image.pk).update(position=position)
    ModelCall.objects.update(exam=exam)
    return made


def ask(batch: CallBatch) -> int:
    """The number of requests."""
    with asked_server() as server:
        ask_endpoint(ENDPOINT, clock=lambda: NOON, limits=SHORT)
        batch.refresh_from_db()
        return len(server.ledger)


def pictures(batch: CallBatch) -> list[Any]:
    """The greys of each picture of the request, as it was sent."""
    (message,) = json.loads(request_of(batch.calls.get()).body)["messages"]
    parts = [part["image_url"]["url"] for part in message["content"] if part["type"] == "image_url"]
    return [greys_of(base64.b64decode(url.removeprefix("data:image/png;base64,"))) for url in parts]


def test_all_images_stand_before_the_text_in_their_order(batch: CallBatch) -> None:
    assert ask(batch) == 1
    (message,) = json.loads(request_of(batch.calls.get()).body)["messages"]
    assert [part["type"] for part in message["content"]] == ["image_url", "image_url", "text"]
    first, second = pictures(batch)
    assert first.shape == second.shape == (60, 80)
    assert (first != second).any()
    assert batch.state == BatchState.COMPLETE


@pytest.mark.parametrize(
    ("changes", "sizes"),
    [
        pytest.param(
            {"images": SentImages.FIRST, "picture_policy": QUARTER}, [(15, 20)], id="first alone at a quarter"
        ),
        pytest.param({"images": SentImages.BLANK}, [(60, 80)] * 2, id="blank ones of the same sizes"),
    ],
)
def test_what_is_sent_in_place_of_all_images(
    batch: CallBatch, changes: dict[str, str], sizes: list[tuple[int, int]]
) -> None:
    CallBatch.objects.update(**changes)
    ask(batch)
    assert [one.shape for one in pictures(batch)] == sizes
    is_blank = {one.min() == one.max() == BLANK_GREY for one in pictures(batch)}
    assert is_blank == {changes["images"] == SentImages.BLANK}


def test_an_image_that_the_question_leaves_out_is_not_sent(batch: CallBatch) -> None:
    call = batch.calls.get()
    assert call.revision is not None
    call.revision.images_left_out = [Image.objects.order_by("position")[0].public_id]
    call.revision.save()
    ask(batch)
    assert len(pictures(batch)) == 1


@pytest.mark.parametrize("state", [ImageState.QUARANTINED, ImageState.CHECKING, ImageState.PENDING])
def test_one_image_in_quarantine_and_the_batch_pauses_with_nothing_sent(batch: CallBatch, state: ImageState) -> None:
    Image.objects.filter(position=1).update(state=state)
    assert ask(batch) == 0
    assert batch.state == BatchState.PAUSED
    assert "nothing of it is sent" in batch.paused_because
    assert batch.calls.get().n_sent == 0


def test_images_of_another_bank_are_never_sent(batch: CallBatch) -> None:
    other = QuestionBank.objects.create(name="Foreign", slug="foreign", created_at=NOON)
    Exam.objects.update(bank=other)
    assert ask(batch) == 0
    assert "is of another bank" in batch.paused_because


def test_a_request_whose_image_was_blacked_out_since_cannot_be_made_again(
    batch: CallBatch, dina: User, noon: datetime
) -> None:
    ask(batch)
    Image.objects.filter(position=0).update(state=ImageState.QUARANTINED)
    quarantine.mask(Image.objects.get(position=0), [(0, 0, 9, 9)], reason="name", actor=dina, at=noon)
    with pytest.raises(PictureRefused, match="blacked out or removed"):
        request_of(batch.calls.get())


def test_images_are_swapped_with_those_of_another_patient_with_the_same_views(batch: CallBatch) -> None:
    bank = batch.bank
    own = batch.calls.get().exam
    assert own is not None
    Exam.objects.filter(pk=own.pk).update(patient_pseudonym="a")
    views = sorted(own.images.values_list("view_position", flat=True))
    exams = {name: Exam.objects.create(bank=bank, pseudonym=name, patient_pseudonym=name) for name in "bcd"}
    for exam, states in ((exams["b"], "available"), (exams["c"], "quarantined")):
        for position, view in enumerate(views):
            Image.objects.create(exam=exam, position=position, view_position=view, state=states)
    Image.objects.create(exam=exams["d"], view_position=views[0], state=ImageState.AVAILABLE)
    assert swapped_exams(bank, [own.pk], seed=1) == {own.pk: exams["b"].pk}
