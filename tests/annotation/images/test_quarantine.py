"""The quarantine: acts with their audit rows, and the pages of those who may decide."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import partial

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import strip_tags

from annotation.enums import ImageState, RenditionKind
from annotation.imaging.kernels import text
from annotation.imaging.kernels.rendering import payload_of
from annotation.imaging.kernels.text import TextFinding
from annotation.ingest import quarantine, searching, storage
from annotation.ingest.kernels.credits import IngestRefused
from annotation.models import AuditEvent, Image, Job, User
from annotation.site import media
from annotation.templatetags.pages import ACTS as ACTS_IN_WORDS
from tests.architecture.source import ROOT
from tests.pages import markup
from tests.refusals import refuses

from .conftest import MakeImage, rendition_of

FINDING = {"box": [10, 10, 20, 8], "allowed": False, "length": 9, "score": 0.9}
WORD = TextFinding((10, 10, 20, 8), False, 9, 0.9)
MARK = TextFinding((1, 1, 5, 5), True, 1, 0.99)


def last_event(image: Image) -> AuditEvent:
    event = AuditEvent.objects.filter(subject_id=image.public_id).order_by("-id").first()
    assert event
    return event


def pixels_of(image: Image) -> np.ndarray:
    full = rendition_of(image)
    return payload_of(storage.load(full.name), full.width, full.height)


def test_the_search_decides(make_image: MakeImage, noon: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    for findings, state in (
        ([], ImageState.AVAILABLE),
        ([MARK], ImageState.AVAILABLE),
        ([MARK, WORD], ImageState.QUARANTINED),
    ):
        image = make_image(ImageState.CHECKING)
        monkeypatch.setattr(text, "find_text", lambda *_given, found=findings: found)
        assert searching.check_text(image, at=noon) == state
        image.refresh_from_db()
        assert (image.state, len(image.text_findings)) == (state, len(findings))
        assert last_event(image).act == "image.searched"
        assert searching.check_text(image, at=noon) == state, "once it is decided"


def test_the_page_is_headed_by_the_image_and_tells_its_history_in_words(
    deidentifier: Client, make_image: MakeImage, dina: User, noon: datetime
) -> None:
    image = make_image(source_sha256="0123456789abcdef" * 4)
    quarantine.quarantine_image(image, reason="a flag", actor=dina, at=noon)
    page = markup(deidentifier.get(reverse("quarantined-image", args=[image.public_id])))
    heading = strip_tags(page.partition("<h1>")[2].partition("</h1>")[0])
    assert heading == "Image 0123456789ab"
    assert "view not known" in page
    history = page.partition("<h2>History</h2>")[2].partition("</table>")[0]
    assert "image.quarantined" not in history
    assert "put into quarantine" in history


def test_every_act_on_an_image_has_words() -> None:
    sources = "".join(
        path.read_text() for path in (ROOT / "annotation").rglob("*.py") if "templatetags" not in path.parts
    )
    acts = set(re.findall(r'record\(\s*"(image\.\w+)"', sources))
    assert acts - {"image.refused"} == set(ACTS_IN_WORDS)  # what was refused is no image


def test_a_search_changes_no_decision(make_image: MakeImage, noon: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    released, held = make_image(), make_image(ImageState.QUARANTINED, state_reason="flag")
    monkeypatch.setattr(text, "find_text", lambda *_given: [WORD])
    assert searching.check_text(released, at=noon) == ImageState.AVAILABLE
    monkeypatch.setattr(text, "find_text", lambda *_given: [])
    assert searching.check_text(held, at=noon) == ImageState.QUARANTINED


class Reports:
    def report(self, done: int, total: int, message: str = "") -> None:
        self.last = (done, total)


def test_the_job_searches_all_and_passes_over_broken_files(
    make_image: MakeImage, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, whole = make_image(ImageState.CHECKING), make_image(ImageState.CHECKING)
    storage.remove([rendition_of(broken).name])
    monkeypatch.setattr(text, "find_text", lambda *_given: [])
    assert searching.search_waiting(Reports(), {}) == {"searched": 1, "quarantined": 0, "failed": 1}
    whole.refresh_from_db()
    broken.refresh_from_db()
    assert (whole.state, broken.state) == (ImageState.AVAILABLE, ImageState.CHECKING)


def test_a_lost_search_is_begun_once_and_none_where_there_is_nothing_to_search(
    make_image: MakeImage, noon: datetime
) -> None:
    make_image()
    later = noon.replace(hour=13)
    assert searching.begin_search(later) is None
    make_image(ImageState.CHECKING)
    assert searching.begin_search(noon) is None  # it came in just now
    assert searching.begin_search(later) is not None
    assert searching.begin_search(later) is None
    assert Job.objects.filter(kind="text_search").count() == 1


def test_an_image_is_held_and_released_each_once_and_with_a_reason(
    make_image: MakeImage, cora: User, dina: User, noon: datetime
) -> None:
    image = make_image()
    for reason in (" a name on a wristband ", "again"):
        quarantine.quarantine_image(image, reason=reason, actor=cora, at=noon)
    image.refresh_from_db()
    assert (image.state, image.state_reason) == (ImageState.QUARANTINED, "a name on a wristband")
    assert [one.act for one in AuditEvent.objects.filter(subject_id=image.public_id)][-1:] == ["image.quarantined"]
    assert AuditEvent.objects.filter(act="image.quarantined").count() == 1
    for decide in (quarantine.release, partial(quarantine.mask, boxes=[(0, 0, 5, 5)]), quarantine.remove):
        with refuses(IngestRefused, "no_reason"):
            decide(image, reason="  ", actor=dina, at=noon)
    quarantine.release(image, reason="an arrow only", actor=dina, at=noon)
    image.refresh_from_db()
    assert image.state == ImageState.AVAILABLE
    event = last_event(image)
    assert (event.act, event.actor, event.facts["reason"]) == ("image.released", dina, "an arrow only")
    with refuses(IngestRefused, "not_in_quarantine"):
        quarantine.release(image, reason="again", actor=dina, at=noon)
    with refuses(IngestRefused, "not_to_be_quarantined"):  # it has no pixels
        quarantine.quarantine_image(make_image(ImageState.REMOVED), reason="x", actor=cora, at=noon)


def test_mask_blackens_every_copy_and_deletes_the_old_ones(make_image: MakeImage, dina: User, noon: datetime) -> None:
    image = make_image(ImageState.QUARANTINED, text_findings=[FINDING, {**FINDING, "box": [60, 50, 10, 5]}])
    before, old = pixels_of(image), [image.object_name, *image.renditions.values_list("name", flat=True)]
    quarantine.mask(image, [(8, 8, 24, 12), (70, 55, 100, 100)], reason="name", actor=dina, at=noon)
    image.refresh_from_db()
    after = pixels_of(image)
    assert np.all(after[8:20, 8:32] == before.min())
    assert np.all(after[55:, 70:] == before.min())
    assert np.array_equal(after[20:50], before[20:50])
    assert image.state == ImageState.QUARANTINED
    assert [finding["box"] for finding in image.text_findings] == [[60, 50, 10, 5]]
    assert not any(storage.is_there(name) for name in old)
    assert {r.kind for r in image.renditions.all()} == {RenditionKind.PREVIEW, RenditionKind.FULL}
    event = last_event(image)
    assert (event.act, event.facts["boxes"][1]) == ("image.masked", [70, 55, 10, 5])


def test_mask_that_misses_or_is_overtaken_changes_nothing_and_leaves_no_file(
    make_image: MakeImage, dina: User, noon: datetime
) -> None:
    image = make_image(ImageState.QUARANTINED)
    files = {one.key for one in media.entries()}
    with refuses(IngestRefused, "nothing_to_black_out"):
        quarantine.mask(image, [(500, 500, 5, 5)], reason="x", actor=dina, at=noon)
    Image.objects.filter(pk=image.pk).update(state=ImageState.AVAILABLE)
    for known in (image, Image.objects.get()):
        with refuses(IngestRefused, "not_in_quarantine"):
            quarantine.mask(known, [(0, 0, 5, 5)], reason="x", actor=dina, at=noon)
    assert {one.key for one in media.entries()} == files


@pytest.mark.django_db(transaction=True)
def test_remove_deletes_the_pixels_and_keeps_the_row(make_image: MakeImage, dina: User, noon: datetime) -> None:
    image = make_image(ImageState.QUARANTINED)
    names = [image.object_name, *image.renditions.values_list("name", flat=True)]
    quarantine.remove(image, reason="not ours", actor=dina, at=noon)
    image.refresh_from_db()
    assert (image.state, image.state_reason, image.object_name) == (ImageState.REMOVED, "not ours", "")
    assert not any(storage.is_there(name) for name in names)
    assert last_event(image).act == "image.removed"


def test_the_list_and_the_count_in_the_navigation(deidentifier: Client, make_image: MakeImage) -> None:
    assert "Nothing is in quarantine" in deidentifier.get(reverse("quarantine")).content.decode()
    image = make_image(ImageState.QUARANTINED, state_reason="Text in the pixels.")
    page = deidentifier.get(reverse("quarantine")).content.decode()
    assert "Text in the pixels." in page
    assert '<span class="tag warn">1</span>' in page
    assert reverse("quarantined-image", args=[image.public_id]) in page


def test_the_page_draws_the_boxes(deidentifier: Client, make_image: MakeImage) -> None:
    image = make_image(ImageState.QUARANTINED, text_findings=[FINDING])
    page = deidentifier.get(reverse("quarantined-image", args=[image.public_id])).content.decode()
    assert '<rect class="box" x="10" y="10" width="20" height="8"/>' in page
    assert 'name="width" min="1" value="20"' in page
    assert "style=" not in page


def test_acts_by_page(deidentifier: Client, make_image: MakeImage) -> None:
    image = make_image(ImageState.QUARANTINED)
    boxes = {"x": ["1", ""], "y": ["1", ""], "width": ["5", ""], "height": ["5", ""]}
    address = reverse("quarantine-mask", args=[image.public_id])
    before = image.object_name
    asked = deidentifier.post(address, {**boxes, "reason": "name"})
    assert asked.status_code == 200
    assert "This cannot be undone." in asked.content.decode()
    image.refresh_from_db()
    assert image.object_name == before  # nothing is black yet
    sent = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', asked.content.decode()))
    sent.pop("csrfmiddlewaretoken", None)
    assert sent == {"confirmed": "yes", "x": "1", "y": "1", "width": "5", "height": "5", "reason": "name"}
    answer = deidentifier.post(address, sent)
    assert answer.status_code == 302
    image.refresh_from_db()
    assert image.object_name != before
    assert deidentifier.get(reverse("quarantine-release", args=[image.public_id])).status_code == 405
    answer = deidentifier.post(reverse("quarantine-release", args=[image.public_id]), {"reason": "clean now"})
    assert answer["Location"] == reverse("quarantine")
    image.refresh_from_db()
    assert image.state == ImageState.AVAILABLE


def test_boxes_that_make_no_sense_and_a_missing_reason_are_refused(deidentifier: Client, make_image: MakeImage) -> None:
    image = make_image(ImageState.QUARANTINED)
    for boxes in (
        {"x": ["1"], "y": ["1"], "width": ["five"], "height": ["5"]},
        {"x": ["1"], "y": ["1"], "width": ["0"], "height": ["5"]},
        {"x": ["1", "2"], "y": ["1"], "width": ["5"], "height": ["5"]},
        {"x": ["900"], "y": ["1"], "width": ["5"], "height": ["5"]},
        {"x": ["1e999"], "y": ["1"], "width": ["5"], "height": ["5"]},
        {},
    ):
        answer = deidentifier.post(reverse("quarantine-mask", args=[image.public_id]), {**boxes, "reason": "x"})
        assert answer.status_code == 422, boxes
        assert 'class="notice error"' in answer.content.decode(), boxes
    for act in ("quarantine-release", "quarantine-remove"):
        answer = deidentifier.post(reverse(act, args=[image.public_id]), {"reason": " "})
        assert (answer.status_code, "Say in a few words why" in answer.content.decode()) == (422, True), act
    for name in (make_image().public_id, "nothing"):
        assert deidentifier.get(reverse("quarantined-image", args=[name])).status_code == 404
        assert deidentifier.post(reverse("quarantine-release", args=[name]), {"reason": "x"}).status_code == 404


def test_a_decision_leads_to_the_next_image_and_after_the_last_one_to_the_list(
    deidentifier: Client, make_image: MakeImage, noon: datetime
) -> None:
    images = [make_image(ImageState.QUARANTINED, state_reason="text") for _ in range(3)]
    for minutes, image in zip((2, 1, 3), images, strict=True):
        Image.objects.filter(pk=image.pk).update(ingested_at=noon + timedelta(minutes=minutes))

    def decide(image: Image) -> str:
        return deidentifier.post(reverse("quarantine-release", args=[image.public_id]), {"reason": "an arrow"})[
            "Location"
        ]

    first, second, third = images[1], images[0], images[2]  # in the order of the list
    assert decide(second) == reverse("quarantined-image", args=[third.public_id])
    assert decide(third) == reverse("quarantined-image", args=[first.public_id])
    assert decide(first) == reverse("quarantine")
