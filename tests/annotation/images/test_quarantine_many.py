"""One decision about many images in quarantine, and undoing a release."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags
from pytest_django import DjangoAssertNumQueries

from annotation.audit.recording import record
from annotation.enums import ImageState, RenditionKind, Role
from annotation.ingest import quarantine
from annotation.ingest.kernels.credits import IngestRefused
from annotation.models import AuditEvent, Image, User
from tests.conftest import make_person
from tests.contributing import contribute
from tests.refusals import refuses

from .conftest import MakeImage

FINDING = {"box": [10, 10, 20, 8], "allowed": False, "length": 9, "score": 0.9}
HELD = ImageState.QUARANTINED


def states(images: list[Image]) -> list[str]:
    return [Image.objects.get(pk=image.pk).state for image in images]


def sent(images: list[Image], decision: str, **more: str) -> dict[str, object]:
    return {"image": [image.public_id for image in images], "decision": decision, **more}


@pytest.fixture
def held(make_image: MakeImage) -> list[Image]:
    return [make_image(HELD, state_reason="Text in the pixels."), make_image(HELD, text_findings=[FINDING])]


def test_the_list_has_a_box_for_each_image_and_what_follows_is_said_before_anything_changes(
    deidentifier: Client, held: list[Image]
) -> None:
    page = deidentifier.get(reverse("quarantine")).content.decode()
    assert re.findall(r'name="image" value="([^"]+)"', page) == [image.public_id for image in held]
    assert "data-select-all" in page
    for decision, words in (
        ("release", "In 1 of them text was found"),
        ("remove", "deleted for good. This cannot be undone"),
    ):
        answer = deidentifier.post(reverse("quarantine-decide"), sent(held, decision))
        assert (answer.status_code, states(held)) == (200, [HELD, HELD])
        assert words in answer.content.decode()
        assert "2 images" in answer.content.decode()


def test_an_image_that_nobody_searched_is_not_said_to_hold_no_text(
    deidentifier: Client, make_image: MakeImage, noon: datetime
) -> None:
    searched, unsearched = make_image(HELD), make_image(HELD)
    for image, rule in ((searched, "text-3"), (unsearched, "none")):
        record("image.searched", actor=None, at=noon, subject=image, facts={"rule": rule})
    page = deidentifier.post(reverse("quarantine-decide"), sent([searched, unsearched], "release")).content.decode()
    said = ["no text but allowed words" in one for one in page.split('<ul class="cards large">')[1].split("</li>")[:2]]
    assert sorted(said) == [False, True]
    assert page.count("not searched for text") == 1
    history = deidentifier.get(reverse("quarantined-image", args=[unsearched.public_id])).content.decode()
    assert "not searched for text: the search is not installed" in history


def test_found_text_is_shown_large_beside_the_whole_image(deidentifier: Client, make_image: MakeImage) -> None:
    apart = [{**FINDING, "box": [x, y, 6, 4]} for y in (2, 20, 40) for x in (2, 30, 60)]
    allowed = {**FINDING, "box": [50, 50, 9, 4], "allowed": True}
    make_image(HELD, text_findings=[FINDING, allowed])
    make_image(HELD, text_findings=[allowed])
    make_image(HELD, text_findings=apart)
    make_image(HELD)
    page = deidentifier.post(reverse("quarantine-decide"), sent(list(Image.objects.all()), "release")).content.decode()
    marked, allowed_only, many, none = page.split('<ul class="cards large">')[1].split("</li>")[:4]
    preview = Image.objects.order_by("pk")[0].renditions.get(kind=RenditionKind.PREVIEW)
    address = reverse("quarantine-rendition", args=[preview.name])
    assert marked.count(f'href="{address}"') == 1
    assert re.findall(r'viewBox="([^"]+)"', marked) == ["5 5 30 18"]
    assert re.findall(r'viewBox="([^"]+)"', allowed_only) == ["48 48 13 8"]
    assert many.count("<svg") == 6
    assert "3 more places with text" in many
    assert "<svg" not in none


def test_release_of_many_writes_an_event_for_each_and_can_be_undone_once(
    deidentifier: Client, dina: User, held: list[Image]
) -> None:
    answer = deidentifier.post(
        reverse("quarantine-decide"), sent(held, "release", confirmed="yes", reason="arrows only")
    )
    assert answer["Location"] == reverse("quarantine")
    assert states(held) == [ImageState.AVAILABLE] * 2
    events = AuditEvent.objects.filter(act="image.released").order_by("id")
    assert [event.subject_id for event in events] == [image.public_id for image in held]
    assert {(event.actor, event.facts["reason"]) for event in events} == {(dina, "arrows only")}
    assert "Put them back into quarantine" in deidentifier.get(reverse("quarantine")).content.decode()
    deidentifier.post(reverse("quarantine-undo"))
    assert states(held) == [HELD, HELD]
    assert AuditEvent.objects.filter(act="image.quarantined", actor=dina).count() == 2
    assert "Put them back" not in deidentifier.get(reverse("quarantine")).content.decode()
    assert deidentifier.post(reverse("quarantine-undo")).status_code == 302


def notices(page: str) -> list[str]:
    """The boxes at the top of a page that say something."""
    found = re.findall(r'class="notice[^"]*"[^>]*>(.*?)<(?:/p|/form)', page, re.DOTALL)
    return [" ".join(strip_tags(one).split()) for one in found]


def test_a_release_is_told_in_one_box(deidentifier: Client, held: list[Image]) -> None:
    """The one that offers to undo it; where that is not on the page, as on the next image, a sentence."""
    answer = deidentifier.post(
        reverse("quarantine-release", args=[held[0].public_id]), {"reason": "arrows"}, follow=True
    )
    assert [one for one in notices(answer.content.decode()) if "released" in one] == [
        "The image is released: it can be seen where its questions are reviewed."
    ]
    answer = deidentifier.post(
        reverse("quarantine-release", args=[held[1].public_id]), {"reason": "arrows"}, follow=True
    )
    [told] = notices(answer.content.decode())
    assert told.startswith("Your last decision released 1 image. Put it back")
    deidentifier.post(reverse("quarantine-undo"), follow=True)
    assert states(held) == [ImageState.AVAILABLE, HELD]
    answer = deidentifier.post(
        reverse("quarantine-decide"), sent(held, "release", confirmed="yes", reason="arrows"), follow=True
    )
    [told] = notices(answer.content.decode())
    assert told.startswith("Your last decision released 1 image.")


@pytest.mark.django_db(transaction=True)
def test_removal_of_many_deletes_their_pixels(deidentifier: Client, held: list[Image]) -> None:
    deidentifier.post(reverse("quarantine-decide"), sent(held, "remove", confirmed="yes", reason="not ours"))
    assert states(held) == [ImageState.REMOVED] * 2
    assert AuditEvent.objects.filter(act="image.removed").count() == 2
    page = deidentifier.get(reverse("quarantine")).content.decode()
    assert "Your last decision released" not in page  # what is deleted cannot be put back


def test_without_a_reason_a_selection_or_a_known_decision_nothing_is_decided(
    deidentifier: Client, dina: User, held: list[Image], noon: datetime
) -> None:
    answer = deidentifier.post(reverse("quarantine-decide"), sent(held, "release", confirmed="yes", reason=" "))
    assert (answer.status_code, "Say in a few words why" in answer.content.decode()) == (422, True)
    for images, decision in (([], "release"), (held, "mask"), (held, "")):
        told = sent(images, decision, confirmed="yes", reason="x")
        answer = deidentifier.post(reverse("quarantine-decide"), told, follow=True)
        assert "Select at least one image" in answer.content.decode(), decision
    with refuses(IngestRefused, "no_reason"):
        quarantine.decide_each(held, quarantine.release, reason=" ", actor=dina, at=noon)
    assert states(held) == [HELD, HELD]


def test_only_what_is_in_quarantine_is_decided_upon(deidentifier: Client, make_image: MakeImage) -> None:
    seen, held = make_image(), make_image(HELD)
    deidentifier.post(reverse("quarantine-decide"), sent([seen, held], "remove", confirmed="yes", reason="x"))
    assert states([seen, held]) == [ImageState.AVAILABLE, ImageState.REMOVED]


def test_one_that_is_being_read_stops_no_other(
    dina: User, held: list[Image], noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    contribute(monkeypatch, image_uses=(lambda pk: ["Study 1"] if pk == held[0].pk else [],))
    outcome = quarantine.decide_each(held, quarantine.remove, reason="x", actor=dina, at=noon)
    assert states(held) == [HELD, ImageState.REMOVED]
    assert [image.pk for image in outcome.done] == [held[1].pk]
    assert len(outcome.refusals) == 1
    assert "Study 1" in outcome.refusals[0]


def test_one_that_was_decided_meanwhile_is_counted(dina: User, held: list[Image], noon: datetime) -> None:
    quarantine.release(held[0], reason="first", actor=dina, at=noon)
    outcome = quarantine.decide_each(held, quarantine.release, reason="second", actor=dina, at=noon)
    assert (outcome.n_overtaken, len(outcome.done)) == (1, 1)
    assert AuditEvent.objects.filter(act="image.released").count() == 2


def released(client: Client, images: list[Image]) -> None:
    client.post(reverse("quarantine-decide"), sent(images, "release", confirmed="yes", reason="arrows"))


def test_undo_leaves_what_a_colleague_decided_later(deidentifier: Client, held: list[Image]) -> None:
    released(deidentifier, held)
    colleague = make_person("Dora", Role.DEIDENTIFIER)
    quarantine.quarantine_image(held[0], reason="a wristband", actor=colleague, at=timezone.now())
    quarantine.release(held[0], reason="no name on it", actor=colleague, at=timezone.now())
    assert "released 1 image" in deidentifier.get(reverse("quarantine")).content.decode()
    page = deidentifier.post(reverse("quarantine-undo"), follow=True).content.decode()
    assert states(held) == [ImageState.AVAILABLE, HELD]
    assert "Somebody else decided about 1 image" in page


def test_undo_leaves_an_older_release_of_the_same_person(deidentifier: Client, dina: User, held: list[Image]) -> None:
    released(deidentifier, held)
    AuditEvent.objects.bulk_create(
        AuditEvent(
            at=timezone.now() - timedelta(days=1), actor=dina, act="image.released", subject_type="image",
            subject_id=image.public_id, previous_sha256="0" * 64, sha256=f"{image.pk:064d}",
        )
        for image in held[:1]
    )  # fmt: skip
    deidentifier.post(reverse("quarantine-undo"))
    assert states(held) == [ImageState.AVAILABLE, HELD]


def test_the_check_and_the_undoing_are_one_step(dina: User, held: list[Image], noon: datetime) -> None:
    colleague = make_person("Dora", Role.DEIDENTIFIER)
    quarantine.release(held[0], reason="arrows", actor=colleague, at=noon)
    with refuses(IngestRefused, "not_to_be_quarantined"):
        quarantine.undo_release(held[0], since=noon, actor=dina, at=noon)
    with refuses(IngestRefused, "not_to_be_quarantined"):
        quarantine.undo_release(held[0], since=noon + timedelta(seconds=1), actor=colleague, at=noon)
    quarantine.undo_release(held[0], since=noon, actor=colleague, at=noon)
    assert states(held) == [HELD, HELD]


def test_undo_asks_first_where_readers_see_an_image(
    deidentifier: Client, held: list[Image], monkeypatch: pytest.MonkeyPatch
) -> None:
    released(deidentifier, held)
    contribute(monkeypatch, image_uses=(lambda pk: ["Study 1"] if pk == held[0].pk else [],))
    asked = deidentifier.post(reverse("quarantine-undo"))
    assert (asked.status_code, states(held)) == (200, [ImageState.AVAILABLE] * 2)
    assert "“Study 1”" in asked.content.decode()
    deidentifier.post(reverse("quarantine-undo"), {"confirmed": "yes"})
    assert states(held) == [HELD, HELD]


@pytest.mark.parametrize("decision", ["remove", "remove one", "mask"])
def test_a_later_decision_ends_the_offer_to_undo(
    deidentifier: Client, dina: User, held: list[Image], make_image: MakeImage, decision: str
) -> None:
    other = make_image(HELD)
    released(deidentifier, held)
    if decision == "remove":
        deidentifier.post(reverse("quarantine-decide"), sent([other], "remove", confirmed="yes", reason="not ours"))
    elif decision == "remove one":
        deidentifier.post(reverse("quarantine-remove", args=[other.public_id]), {"reason": "not ours"})
    else:
        box = {"x": [1], "y": [1], "width": [9], "height": [9], "reason": "a name", "confirmed": "yes"}
        deidentifier.post(reverse("quarantine-mask", args=[other.public_id]), box)
    assert AuditEvent.objects.filter(subject_id=other.public_id, actor=dina).exists()
    assert "Your last decision released" not in deidentifier.get(reverse("quarantine")).content.decode()
    deidentifier.post(reverse("quarantine-undo"))
    assert states(held) == [ImageState.AVAILABLE] * 2


def test_the_list_asks_for_no_row_by_row(
    deidentifier: Client, make_image: MakeImage, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    images = [make_image(HELD) for _ in range(6)]
    with django_assert_max_num_queries(9):
        deidentifier.get(reverse("quarantine"))
    with django_assert_max_num_queries(9):
        deidentifier.post(reverse("quarantine-decide"), sent(images, "release"))
