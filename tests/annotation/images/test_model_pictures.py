"""Pictures for models are made once, kept under their hash, and go with the pixels that they were made of."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest
from django.conf import settings

from annotation.enums import ImageState
from annotation.imaging.kernels.picture_policies import BLANK, QUARTER, STORED, policy_named
from annotation.ingest import quarantine, storage
from annotation.ingest.serving import (
    PictureRefused,
    images_of_exam,
    known_pictures,
    picture_bytes,
    pictures_for,
    policy_for,
)
from annotation.models import Image, ModelPicture, QuestionBank, User
from annotation.site import media
from tests.annotation.imaging.greyscale import greys_of

from .conftest import MakeImage


def files() -> list[Path]:
    return [path for path in Path(settings.MEDIA_ROOT).glob("??/*") if len(path.name) == 64]


def made_of(images: list[Image], policy: str, at: datetime) -> list[ModelPicture]:
    chosen = policy_named(policy)
    return pictures_for(images, chosen, known_pictures([image.pk for image in images], chosen), at=at)


def test_one_is_made_for_each_image_and_policy_and_kept(make_image: MakeImage, noon: datetime) -> None:
    images = [make_image(), make_image()]
    made = made_of(images, QUARTER, noon)
    assert [(one.image_id, one.width, one.height) for one in made] == [(image.pk, 20, 15) for image in images]
    assert made_of(images, QUARTER, noon) == made
    assert len(files()) == ModelPicture.objects.count() == 2
    assert greys_of(picture_bytes(made[0].sha256)).shape == (15, 20)
    made_of(images, STORED, noon)
    assert ModelPicture.objects.count() == 4
    content = picture_bytes(made[0].sha256)
    storage.remove([made[0].sha256])  # gone, it is made again with the same bytes
    assert made_of(images, QUARTER, noon) == made
    assert picture_bytes(made[0].sha256) == content
    media.write(storage.key_of(made[0].sha256), b"broken")
    with pytest.raises(PictureRefused, match="broken"):
        picture_bytes(made[0].sha256)


def test_a_bank_of_quarters_is_not_quartered_again(bank: QuestionBank) -> None:
    assert policy_for(bank, QUARTER).name == QUARTER
    bank.holds_quarters = True
    assert policy_for(bank, QUARTER).name == STORED
    assert policy_for(bank, "longest-512-1").name == "longest-512-1"
    with pytest.raises(PictureRefused, match="There is no policy 'half'"):
        policy_for(bank, "half")


def test_nothing_of_an_exam_goes_out_while_an_image_of_it_must_not(make_image: MakeImage) -> None:
    image = make_image()
    other = Image.objects.create(exam=image.exam, position=1)
    images = [image, other]
    for other.state in (ImageState.PENDING, ImageState.CHECKING, ImageState.QUARANTINED):
        with pytest.raises(PictureRefused, match="nothing of it is sent"):
            images_of_exam(image.exam, images)
        assert images_of_exam(image.exam, images, frozenset({other.public_id})) == [image]
    other.state = ImageState.REMOVED
    assert images_of_exam(image.exam, images) == [image]


def test_an_image_that_is_blacked_out_or_removed_takes_its_pictures_along(
    make_image: MakeImage, noon: datetime, dina: User, django_capture_on_commit_callbacks: object
) -> None:
    images = [make_image(), make_image()]
    before = made_of(images, STORED, noon)
    Image.objects.update(state=ImageState.QUARANTINED)
    masked, removed = Image.objects.order_by("pk")
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        quarantine.mask(masked, [(0, 0, 20, 20)], reason="name", actor=dina, at=noon)
        quarantine.remove(removed, reason="name", actor=dina, at=noon)
    assert not ModelPicture.objects.exists()
    assert not files()
    with pytest.raises(PictureRefused) as refusal:
        picture_bytes(before[0].sha256)
    assert refusal.value.code == "picture_gone"
    masked.refresh_from_db()
    quarantine.release(masked, reason="seen", actor=dina, at=noon)
    masked.refresh_from_db()
    (after,) = made_of([masked], STORED, noon)
    assert after.sha256 != before[0].sha256
    assert greys_of(picture_bytes(after.sha256))[:20, :20].max() == 0


def test_a_sweep_of_files_keeps_those_that_a_row_names(make_image: MakeImage, noon: datetime) -> None:
    made_of([make_image()], STORED, noon)
    orphan = storage.store_by_hash(b"nobody's")
    for path in files():
        os.utime(path, (0, 0))
    assert storage.sweep_orphans(at=noon) == 1
    assert orphan not in {path.name for path in files()}
    assert len(files()) == 1


@pytest.mark.parametrize("decide", ["hold", "mask", "remove"])
def test_an_image_loaded_before_it_was_held_blacked_out_or_removed_leaves_no_picture(
    make_image: MakeImage, noon: datetime, dina: User, decide: str, django_capture_on_commit_callbacks: object
) -> None:
    loaded = make_image()
    quarantine.quarantine_image(Image.objects.get(), reason="name", actor=dina, at=noon)
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        if decide == "mask":
            quarantine.mask(Image.objects.get(), [(0, 0, 20, 20)], reason="name", actor=dina, at=noon)
            quarantine.release(Image.objects.get(), reason="seen", actor=dina, at=noon)
        elif decide == "remove":
            quarantine.remove(Image.objects.get(), reason="name", actor=dina, at=noon)
    with pytest.raises(PictureRefused, match="quarantined, blacked out or removed just now"):
        made_of([loaded], STORED, noon)
    assert not ModelPicture.objects.exists()
    assert not files()


def test_a_picture_shared_with_another_image_stays_when_one_of_them_is_refused(
    make_image: MakeImage, noon: datetime, dina: User
) -> None:
    other, loaded = make_image(), make_image()
    (kept,) = made_of([other], BLANK, noon)
    quarantine.quarantine_image(Image.objects.get(pk=loaded.pk), reason="name", actor=dina, at=noon)
    with pytest.raises(PictureRefused):
        made_of([loaded], BLANK, noon)
    assert picture_bytes(kept.sha256)
