"""A film that by its file lies otherwise than usual: held, chosen by a person, marked, undone."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from datetime import datetime

import numpy as np
import pydicom
import pytest
from django.test import Client
from django.urls import reverse

from annotation.enums import ImageState, Turn
from annotation.imaging.kernels import text
from annotation.imaging.kernels.rendering import payload_of
from annotation.ingest import quarantine, searching, storage, storing
from annotation.ingest.kernels.credits import IngestRefused
from annotation.ingest.serving import image_descriptors
from annotation.models import AuditEvent, Image, User
from tests.pages import Page, markup
from tests.refusals import refuses

from .conftest import Assign, MakeImage, rendition_of

Held = Callable[..., Image]
MARK = {"box": [2, 2, 6, 8], "allowed": True, "length": 1, "score": 0.99, "side": "L"}


@pytest.fixture
def held(make_image: MakeImage) -> Held:
    def make(turn: Turn = Turn.MIRRORED, **columns: object) -> Image:
        return make_image(ImageState.QUARANTINED, turn=turn, view_position="PA", **columns)

    return make


def pixels_of(image: Image) -> np.ndarray:
    full = rendition_of(image)
    return payload_of(storage.load(full.name), full.width, full.height)


def choose(client: Client, image: Image, shown: str, **more: str) -> Page:
    sent = {"shown": shown, "reason": "the heart", **more}
    return client.post(reverse("quarantine-release", args=[image.public_id]), sent)


def test_the_search_holds_it_and_looks_at_both_pictures(
    make_image: MakeImage, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    image, given = make_image(ImageState.CHECKING, turn=Turn.HALF), list[Turn]()

    def find(_pixels: object, _more: object, turn: Turn) -> list[object]:
        given.append(turn)
        return []

    monkeypatch.setattr(text, "find_text", find)
    assert searching.check_text(image, at=noon) == ImageState.QUARANTINED
    assert given == [Turn.HALF]
    image.refresh_from_db()
    assert image.state_reason == "By its file it lies otherwise than usual."


def test_it_is_not_released_before_somebody_chose(held: Held, dina: User, noon: datetime) -> None:
    with refuses(IngestRefused, "not_chosen"):
        quarantine.release(held(), reason="fine", actor=dina, at=noon)


@pytest.mark.parametrize("turn", [turn for turn in Turn if turn])
def test_turned_and_undone_without_loss(held: Held, dina: User, noon: datetime, turn: Turn) -> None:
    image = held(turn, text_findings=[MARK])
    before, object_before, old = pixels_of(image), storage.load(image.object_name), image.object_name
    assert quarantine.show_turned(image, True, reason="the heart", actor=dina, at=noon)
    image.refresh_from_db()
    stored = pydicom.dcmread(io.BytesIO(storage.load(image.object_name)))
    assert np.array_equal(pixels_of(image), stored.pixel_array)
    assert (image.is_turned, image.rows, image.columns) == (True, *stored.pixel_array.shape)
    assert not storage.is_there(old)
    seen = Image(pk=1, state=ImageState.AVAILABLE, display=image.display)
    assert (
        image_descriptors([seen], names={1: {"preview": "p", "full": "f"}})[0]["caption"]
        == f"corrected after import ({Turn(turn).label})"
    )
    assert not quarantine.show_turned(image, True, reason="again", actor=dina, at=noon)
    assert quarantine.show_turned(image, False, reason="it was right", actor=dina, at=noon)
    image.refresh_from_db()
    assert np.array_equal(pixels_of(image), before)
    assert storage.load(image.object_name) == object_before
    assert (image.text_findings, "turned" in (image.display or {})) == ([MARK], False)
    facts = [event.facts for event in AuditEvent.objects.filter(act="image.turned").order_by("id")]
    assert [(one["turn"], one["turned"]) for one in facts] == [(turn, True), (turn, False)]


def test_what_was_found_before_it_was_turned_is_not_stored(
    held: Held, dina: User, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = held(text_findings=[MARK])

    def find(*_given: object) -> list[text.TextFinding]:
        turn_it(image, dina, noon)
        return [text.TextFinding((2, 2, 6, 8), True, 1, 0.99, "L")]

    monkeypatch.setattr(text, "find_text", find)
    searching.check_text(image, at=noon)
    image.refresh_from_db()
    assert [one["box"] for one in image.text_findings] == [[72, 2, 6, 8]]


def test_blacking_out_keeps_what_was_done(held: Held, dina: User, noon: datetime) -> None:
    image = held()
    quarantine.show_turned(image, True, reason="the heart", actor=dina, at=noon)
    image.refresh_from_db()
    quarantine.mask(image, [(0, 0, 5, 5)], reason="a name", actor=dina, at=noon)
    image.refresh_from_db()
    assert (image.display or {})["turned"] == Turn.MIRRORED


def turn_it(image: Image, actor: User, at: datetime) -> None:
    quarantine.show_turned(image, True, reason="the heart", actor=actor, at=at)


def black_out(image: Image, actor: User, at: datetime) -> None:
    quarantine.mask(image, [(0, 0, 5, 5)], reason="a name", actor=actor, at=at)


def take_away(image: Image, actor: User, at: datetime) -> None:
    quarantine.remove(image, reason="a name", actor=actor, at=at)


@pytest.mark.parametrize("first", [turn_it, black_out, take_away])
def test_who_comes_second_is_told_so(held: Held, dina: User, noon: datetime, first: Callable[..., None]) -> None:
    image = held()
    as_loaded = [Image.objects.get(pk=image.pk) for _second in range(2)]
    first(image, dina, noon)
    for loaded, second in zip(as_loaded, (turn_it, black_out), strict=True):
        with refuses(IngestRefused, "not_in_quarantine"):
            second(loaded, dina, noon)
    lost = held()
    storage.remove([lost.object_name])
    with pytest.raises(FileNotFoundError):  # is not called the decision of somebody else
        turn_it(lost, dina, noon)


def test_the_page_shows_both_and_asks_for_one(deidentifier: Client, held: Held) -> None:
    image = held(text_findings=[MARK])
    page = markup(deidentifier.get(reverse("quarantined-image", args=[image.public_id])))
    assert page.count('type="radio"') == 2
    assert 'class="turn-mirrored"' in page
    assert page.index("its side mark speaks against it") < page.index("Mirrored left to right")
    response = deidentifier.post(reverse("quarantine-release", args=[image.public_id]), {"reason": "fine"})
    assert response.status_code == 422
    assert "Choose which of the two pictures is right." in markup(response)


def test_a_choice_outlives_a_missing_reason(deidentifier: Client, held: Held, dina: User, noon: datetime) -> None:
    image = held()
    turn_it(image, dina, noon)
    page = markup(choose(deidentifier, image, "as_it_came", reason=" "))
    assert re.findall(r'value="(\w+)"[^>]*checked', page) == ["as_it_came"]


def test_chosen_with_its_mark_it_is_released_turned_and_against_it_only_after_a_second_look(
    deidentifier: Client, held: Held
) -> None:
    for shown, more, state, is_turned in (
        ("as_it_came", {}, ImageState.QUARANTINED, None),
        ("as_it_came", {"confirmed": "yes"}, ImageState.AVAILABLE, False),
        ("turned", {}, ImageState.AVAILABLE, True),
    ):
        image = held(text_findings=[MARK])
        asked = choose(deidentifier, image, shown, **more)
        assert ("speaks for the other picture" in markup(asked)) == (is_turned is None)
        image.refresh_from_db()
        assert (image.state, image.is_turned) == (state, is_turned)


def test_a_side_mark_says_nothing_of_a_film_that_may_be_lateral(held: Held) -> None:
    image = held(text_findings=[MARK])
    for view, turn, speaks in (
        ("PA", Turn.HALF, True),
        ("unknown", Turn.HALF, False),  # it may be lateral
        ("oblique", Turn.RIGHT, False),
        ("unknown", Turn.MIRRORED, True),
        ("LL", Turn.HALF, False),
    ):
        image.view_position, image.turn = view, turn
        assert quarantine.mark_against(image, False) is speaks, (view, turn)


def test_many_at_once_leave_it_held_and_say_so_before_a_reason_is_asked_for(
    deidentifier: Client, held: Held, make_image: MakeImage
) -> None:
    image, other = held(), make_image(ImageState.QUARANTINED)
    alone = {"decision": "release", "image": [image.public_id]}
    page = markup(deidentifier.post(reverse("quarantine-decide"), alone, follow=True))
    assert "1 film lies otherwise than usual by its file and stays here: open it and choose" in page
    both = alone | {"image": [image.public_id, other.public_id]}
    page = markup(deidentifier.post(reverse("quarantine-decide"), both))
    assert "1 film lies otherwise" in page
    assert image.public_id not in page
    deidentifier.post(reverse("quarantine-decide"), both | {"confirmed": "yes", "reason": "fine"})
    states = [Image.objects.get(pk=one.pk).state for one in (image, other)]
    assert states == [ImageState.QUARANTINED, ImageState.AVAILABLE]
    assert not searching.quarantined_for_words().exists()


def test_undone_in_one_act_on_its_page(coordinator: Client, held: Held, dina: User, noon: datetime) -> None:
    image = held()
    before = pixels_of(image)
    quarantine.show_turned(image, True, reason="the heart", actor=dina, at=noon)
    image.refresh_from_db()
    quarantine.release(image, reason="fine", actor=dina, at=noon)
    address = reverse("image", args=[image.public_id])
    assert "It was mirrored left to right" in " ".join(markup(coordinator.get(address)).split())
    sent = {"shown": "as_it_came", "reason": "the file was wrong"}
    page = coordinator.post(reverse("image-turn", args=[image.public_id]), sent, follow=True)
    assert "Turn it as its file asks" in markup(page)
    image.refresh_from_db()
    assert (image.state, image.is_turned) == (ImageState.AVAILABLE, False)
    assert np.array_equal(pixels_of(image), before)


def test_not_under_the_eyes_of_reviewers(held: Held, cora: User, dina: User, noon: datetime, assign: Assign) -> None:
    image = held()
    quarantine.show_turned(image, True, reason="the heart", actor=dina, at=noon)
    image.refresh_from_db()
    assign(image.exam, cora)
    with refuses(IngestRefused, "being_read"):
        quarantine.show_turned(image, False, reason="no", actor=dina, at=noon)


def test_not_in_a_round_that_opens_while_it_is_turned(
    held: Held, cora: User, dina: User, noon: datetime, assign: Assign, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = held()
    turn_it(image, dina, noon)
    image.refresh_from_db()
    write_renditions = storing.write_renditions

    def write(*given: object) -> object:
        assign(image.exam, cora)
        return write_renditions(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(storing, "write_renditions", write)
    with refuses(IngestRefused, "being_read"):
        quarantine.show_turned(image, False, reason="no", actor=dina, at=noon)
    assert storage.is_there(rendition_of(image).name)


def test_an_image_whose_file_asks_for_nothing_is_not_turned(make_image: MakeImage, dina: User, noon: datetime) -> None:
    with refuses(IngestRefused, "not_to_be_turned"):
        quarantine.show_turned(make_image(), True, reason="x", actor=dina, at=noon)
