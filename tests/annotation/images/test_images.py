"""The list of images and the page of one, for coordinators."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponseBase
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.enums import ImageState, JobState, Role, ViewPosition
from annotation.imaging.kernels import text
from annotation.ingest import uploading
from annotation.ingest.describing import StatedView, stated_views
from annotation.ingest.exams import ingest_paths
from annotation.models import AuditEvent, Exam, Image, Job, Membership, QuestionBank, Rendition, Upload, User
from tests.annotation.imaging.dicomfiles import make_dicom
from tests.annotation.ingest.planted import planted_forms, planted_in
from tests.pages import markup

from .conftest import MakeImage
from .test_uploads import Reports


def test_the_list_filters_and_says_what_is_missing_in_few_queries(
    coordinator: Client,
    make_image: MakeImage,
    bank: QuestionBank,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    assert "No image is here yet" in coordinator.get(reverse("images")).content.decode()
    make_image(attribution="Institute X")
    Image.objects.create(exam=Exam.objects.create(bank=bank, pseudonym="E1"))
    page = coordinator.get(reverse("images")).content.decode()
    for words in ("2 images", "Institute X", "missing"):
        assert words in page
    pending = coordinator.get(reverse("images"), {"state": "pending", "bank": "bank"}).content.decode()
    assert "Institute X" not in pending
    assert "their files are missing" in pending
    fragment = coordinator.get(reverse("images"), headers={"HX-Request": "true"}).content.decode()
    assert fragment.lstrip().startswith('<div id="image-list">')
    for _ in range(4):
        make_image()
    with django_assert_max_num_queries(8):
        assert coordinator.get(reverse("images"), {"state": "nonsense"}).status_code == 200


def test_the_page_in_each_state(coordinator: Client, make_image: MakeImage) -> None:
    image = make_image()
    for state, words in {
        ImageState.AVAILABLE: "data-viewer",
        ImageState.PENDING: "a question names it",
        ImageState.CHECKING: "waiting to be searched",
        ImageState.QUARANTINED: "is in quarantine",
        ImageState.REMOVED: "was removed",
    }.items():
        Image.objects.update(state=state)
        page = coordinator.get(reverse("image", args=[image.public_id])).content.decode()
        assert words in page
        assert ("/images/" + image.renditions.all()[0].name in page) is (state == ImageState.AVAILABLE), state


def test_a_view_is_corrected_with_an_audit_row(coordinator: Client, make_image: MakeImage) -> None:
    image = make_image()
    address = reverse("image-view", args=[image.public_id])
    assert coordinator.post(address, {"view_position": "LL", "laterality": "L"}).status_code == 302
    image.refresh_from_db()
    assert (image.view_position, image.laterality) == ("LL", "L")
    event = AuditEvent.objects.get(act="image.view_corrected")
    assert event.facts == {"before": ["unknown", ""], "after": ["LL", "L"]}
    coordinator.post(address, {"view_position": "LL", "laterality": "L"})
    assert AuditEvent.objects.filter(act="image.view_corrected").count() == 1
    refused = coordinator.post(address, {"view_position": "XX"}, follow=True)
    assert "Select a valid choice" in refused.content.decode()
    assert coordinator.get(address).status_code == 405


@pytest.mark.logs("image.credited")
def test_credits_are_stored(coordinator: Client, make_image: MakeImage) -> None:
    image = make_image()
    address = reverse("image-credits", args=[image.public_id])
    coordinator.post(address, {"attribution": "Institute <X>", "licence": "CC0"})
    image.refresh_from_db()
    assert (image.attribution, image.licence) == ("Institute <X>", "CC0")
    assert "Institute <X>" not in coordinator.get(reverse("image", args=[image.public_id])).content.decode()
    refused = coordinator.post(address, {"attribution": "x" * 301}, follow=True)
    assert "at most 300 characters" in refused.content.decode()


def test_a_coordinator_can_quarantine(coordinator: Client, make_image: MakeImage) -> None:
    image = make_image()
    address = reverse("image-quarantine", args=[image.public_id])
    refused = coordinator.post(address, {"reason": ""}, follow=True)
    assert "Say in a few words why." in refused.content.decode()
    coordinator.post(address, {"reason": "a name on the collar"})
    image.refresh_from_db()
    assert image.state == ImageState.QUARANTINED
    assert coordinator.get(reverse("image", args=["nothing"])).status_code == 404


# --- Views that files state and nobody understands: told after an import, and mapped by one act ---
@pytest.fixture
def films(home: Path, noon: datetime, db: None) -> None:
    folder = home / "films"
    folder.mkdir()
    for number, view in enumerate(("LIGGEND", "LIGGEND", "Z Q", "PA"), 1):
        uid = f"1.2.{number}"
        (folder / f"{number}.dcm").write_bytes(make_dicom(ViewPosition=view, SOPInstanceUID=uid, StudyInstanceUID=uid))
    ingest_paths([folder], bank=None, actor=None, at=noon)


def say(client: Client, words: str, view: str, means: str) -> str:
    sent = {"words": words, "view": view, "means": means}
    return markup(client.post(reverse("views-said"), sent, follow=True))


def test_one_act_maps_all_images_with_the_same_words(coordinator: Client, films: None) -> None:
    first, _second, third = Image.objects.order_by("pk")[:3]
    assert stated_views() == [
        StatedView("LIGGEND", ViewPosition.UNKNOWN, 2, first.public_id),
        StatedView("Z Q", ViewPosition.UNKNOWN, 1, third.public_id),
    ]
    assert "The views of 2 images are changed." in say(coordinator, "LIGGEND", "unknown", "AP")
    assert Image.objects.filter(view_position="AP").count() == 2
    facts = AuditEvent.objects.get(act="images.views_said").facts
    assert facts == {"before": "unknown", "after": "AP", "images": 2}
    say(coordinator, "LIGGEND", "AP", "unknown")
    assert Image.objects.filter(view_position="unknown").count() == 3


def test_what_is_not_on_the_page_changes_nothing_and_rows_said_together_change_no_image_twice(
    coordinator: Client, films: None
) -> None:
    before = list(Image.objects.values_list("view_position", flat=True))
    for words, view, means in (("LIGGEND", "PA", "AP"), ("PA", "PA", "AP"), ("Z Q", "unknown", "X")):
        assert "Nothing was changed." in say(coordinator, words, view, means)
        assert list(Image.objects.values_list("view_position", flat=True)) == before, words
    first, second = Image.objects.filter(view_position="unknown").order_by("pk")[:2]
    Image.objects.filter(pk=first.pk).update(view_position="PA")
    sent = {"words": ["LIGGEND"] * 2, "view": ["unknown", "PA"], "means": ["PA", "unknown"]}
    coordinator.post(reverse("views-said"), sent)
    views = dict(Image.objects.values_list("pk", "view_position"))
    assert (views[first.pk], views[second.pk]) == ("unknown", "PA")


def test_images_in_the_bin_keep_their_view(coordinator: Client, films: None, noon: datetime) -> None:
    image = Image.objects.filter(view_position="unknown").order_by("pk").first()
    assert image
    gone = QuestionBank.objects.create(name="Gone", slug="gone", created_at=noon, deleted_at=noon)
    Exam.objects.filter(pk=image.exam_id).update(bank=gone)
    assert "The view of 1 image is changed." in say(coordinator, "LIGGEND", "unknown", "AP")
    image.refresh_from_db()
    assert image.view_position == ViewPosition.UNKNOWN


def test_words_that_are_not_shown_have_no_common_meaning(coordinator: Client, home: Path, noon: datetime) -> None:
    (home / "films").mkdir()
    for number, view in enumerate((b"<B>UP", b"T\xcaTE")):
        data = make_dicom(ViewPosition="12345", SOPInstanceUID=f"1.2.{number}", StudyInstanceUID=f"1.2.{number}")
        (home / "films" / f"{number}.dcm").write_bytes(data.replace(b"12345 ", view.ljust(6)))
    assert ingest_paths([home / "films"], bank=None, actor=None, at=noon).missed_views == {"?": 2}
    assert stated_views() == []
    assert "No stated view waits for its meaning." in markup(coordinator.get(reverse("views-said")))


# --- Files with planted identifiers, sent by page: none of them is in anything that the site serves afterwards ---
def whole(answer: HttpResponseBase) -> bytes:
    """Headers and body."""
    assert answer.status_code == 200
    body = b"".join(answer) if answer.streaming else answer.content  # type: ignore[attr-defined]
    return bytes(answer.serialize_headers()) + body


def addresses(upload: Upload) -> Iterator[str]:
    """Every page about the upload, its job and its images, and every file of an image that people may see."""
    yield from (reverse(name) for name in ("home", "uploads", "images", "jobs", "quarantine"))
    yield from (reverse(name, args=[upload.public_id]) for name in ("upload", "upload-report"))
    assert upload.job
    yield reverse("job", args=[upload.job.public_id])
    for image in Image.objects.all():
        yield reverse("image", args=[image.public_id])
        held = image.state == ImageState.QUARANTINED
        if held:
            yield reverse("quarantined-image", args=[image.public_id])
        for rendition in Rendition.objects.filter(image=image):
            yield reverse("quarantine-rendition" if held else "rendition", args=[rendition.name])


def test_no_page_and_no_file_serves_a_planted_identifier(
    coordinator: Client, cora: User, home: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch, noon: datetime
) -> None:
    Membership.objects.create(user=cora, role=Role.DEIDENTIFIER, granted_at=noon)
    files = [
        SimpleUploadedFile(path.name, path.read_bytes()) for path in sorted((shared_data / "hostile/phi").iterdir())
    ]
    assert coordinator.post(reverse("upload-new"), {"files": files}).status_code == 302
    upload = Upload.objects.get()
    monkeypatch.setattr(text, "find_text", lambda *_given: [])
    result = uploading.ingest_upload(Reports(), {"upload": upload.public_id})
    assert (result["images"], result["quarantined"]) == (len(files), 1)
    Job.objects.update(state=JobState.SUCCEEDED, result=result)
    served = {address: whole(coordinator.get(address)) for address in addresses(upload)}
    assert len(served) > 3 * len(files)
    assert not planted_in(served, planted_forms(shared_data / "hostile"))
