"""Words that are never names: the list, its versions, and what it lets out of quarantine."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.enums import ImageState
from annotation.imaging.kernels import text, textwords
from annotation.imaging.kernels.text import TextFinding
from annotation.ingest import quarantine, searching
from annotation.ingest.kernels.credits import IngestRefused
from annotation.models import AllowedWords, AuditEvent, Image, Job, User
from annotation.views.ingest import quarantine as quarantine_pages
from tests.pages import markup
from tests.refusals import refuses

from .conftest import MakeImage

Reads = Callable[..., None]
BOX = (10, 10, 20, 8)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """What the search reads in every image from now on."""

    def read(*readings: str) -> None:
        def find(_pixels: object, more: frozenset[str] = frozenset(), *_turn: object) -> list[TextFinding]:
            return [TextFinding(BOX, textwords.is_allowed(one, more), len(one), 0.9) for one in readings]

        monkeypatch.setattr(text, "find_text", find)

    return read


class Reports:
    def report(self, done: int, total: int, message: str = "") -> None:
        self.last = (done, total)


def searched(make_image: MakeImage, at: datetime) -> Image:
    image = make_image(ImageState.CHECKING)
    searching.check_text(image, at=at)
    image.refresh_from_db()
    return image


def facts_of(image: Image) -> list[dict[str, object]]:
    events = AuditEvent.objects.filter(act="image.searched", subject_id=image.public_id).order_by("id")
    return [event.facts for event in events]


@pytest.mark.parametrize(
    ("reading", "allowed"),
    [
        ("BETTAUFNAHME", True),
        ("AP BETTAUFNAHME", True),
        ("BETTAUFNAHM", False),  # exactly as listed: what is one letter off may be a name
        ("BETTAUFNAHME MEIER", False),
        ("BETT", False),
    ],
)
def test_a_listed_word_counts_exactly(reading: str, allowed: bool) -> None:
    assert textwords.is_allowed(reading, frozenset({"BETTAUFNAHME"})) is allowed
    assert not textwords.is_allowed("BETTAUFNAHME")


def test_each_change_is_a_version_and_is_audited(dina: User, noon: datetime) -> None:
    assert searching.current_words() == searching.AllowedList(0, frozenset())
    searching.add_word(" Bettaufnahme ", actor=dina, at=noon)
    searching.add_word("liegend", actor=dina, at=noon)
    assert searching.add_word("LIEGEND", actor=dina, at=noon).number == 2  # there already
    searching.remove_word("bettaufnahme", actor=dina, at=noon)
    assert searching.remove_word("bettaufnahme", actor=dina, at=noon).number == 3
    assert searching.current_words() == searching.AllowedList(3, frozenset({"LIEGEND"}))
    assert AllowedWords.objects.get(number=2).words == ["BETTAUFNAHME", "LIEGEND"]
    told = [(e.act, e.facts) for e in AuditEvent.objects.filter(act__startswith="words.").order_by("id")]
    assert told[0] == ("words.added", {"word": "BETTAUFNAHME", "version": 1})
    assert told[-1] == ("words.removed", {"word": "BETTAUFNAHME", "version": 3})


def test_what_may_be_a_name_is_refused(deidentifier: Client, dina: User, make_image: MakeImage, noon: datetime) -> None:
    for word, said in {
        "  ": "Type a word",
        "Auf Station": "One word at a time",
        "1931": "patient numbers",
        "4B": "patient numbers",
        "M": "can be an initial",
        "x" * 41: "can be an initial",
        "Portable": "allowed already",
    }.items():
        with refuses(IngestRefused, "word_not_listed", match=said):
            searching.add_word(word, actor=dina, at=noon)
        assert deidentifier.post(reverse("quarantine-words"), {"word": word}).status_code == 422, word
    assert not AllowedWords.objects.exists()
    make_image(ImageState.QUARANTINED)  # for something else than text
    deidentifier.post(reverse("quarantine-words"), {"word": "liegend"})
    assert AllowedWords.objects.exists()
    assert not Job.objects.exists()


def test_the_version_that_judged_an_image_stands_in_its_event(
    make_image: MakeImage, dina: User, noon: datetime, reads: Reads
) -> None:
    reads("LIEGEND")
    held = searched(make_image, noon)
    searching.add_word("liegend", actor=dina, at=noon)
    seen = searched(make_image, noon)
    assert (held.state, seen.state) == (ImageState.QUARANTINED, ImageState.AVAILABLE)
    assert [facts["words"] for image in (held, seen) for facts in facts_of(image)] == [0, 1]
    assert searching.check_text(held, at=noon) == ImageState.QUARANTINED
    assert [(facts["words"], facts["again"]) for facts in facts_of(held)] == [(0, False), (1, True)]


def test_what_only_the_word_held_is_offered_and_nothing_else(
    make_image: MakeImage, dina: User, noon: datetime, reads: Reads
) -> None:
    reads("LIEGEND")
    only_word, by_hand, blackened = (searched(make_image, noon) for _ in range(3))
    quarantine.release(by_hand, reason="fine", actor=dina, at=noon)
    quarantine.quarantine_image(by_hand, reason="a wristband", actor=dina, at=noon)
    quarantine.mask(blackened, [(40, 40, 5, 5)], reason="a name", actor=dina, at=noon)
    make_image(ImageState.QUARANTINED, text_findings=[{"box": list(BOX), "allowed": False, "length": 7, "score": 0.9}])
    reads("LIEGEND", "MEIER")
    searched(make_image, noon)
    assert list(searching.quarantined_for_words()) == []
    searching.add_word("liegend", actor=dina, at=noon)
    reads("LIEGEND")
    Image.objects.filter(pk=only_word.pk).update(state_reason="Text in the pixels.")
    for image in (only_word, by_hand, blackened, Image.objects.filter(state=ImageState.QUARANTINED)[3]):
        searching.check_text(image, at=noon)
    reads("LIEGEND", "MEIER")
    searching.check_text(Image.objects.latest("pk"), at=noon)
    assert list(searching.quarantined_for_words()) == [only_word]


def test_the_job_searches_what_is_held_again(make_image: MakeImage, dina: User, noon: datetime, reads: Reads) -> None:
    reads("LIEGEND")
    images = [searched(make_image, noon) for _ in range(2)]
    make_image(ImageState.QUARANTINED)  # without a finding there is nothing to judge again
    searching.add_word("liegend", actor=dina, at=noon)
    reports = Reports()
    assert searching.search_quarantined(reports, {}) == {"searched": 2, "failed": 0, "held_for_words": 2}
    assert reports.last == (1, 2)
    assert list(searching.quarantined_for_words()) == images
    assert {image.state for image in Image.objects.all()} == {ImageState.QUARANTINED}  # a person releases them


def test_an_image_removed_meanwhile_stops_no_search(
    make_image: MakeImage, dina: User, noon: datetime, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads("LIEGEND")
    first, second = (searched(make_image, noon) for _ in range(2))
    find = text.find_text

    def remove_the_second(*given: object) -> list[TextFinding]:
        quarantine.remove(second, reason="a name", actor=dina, at=noon)
        return find(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(text, "find_text", remove_the_second)
    result = searching.search_quarantined(Reports(), {})
    assert result == {"searched": 1, "failed": 1, "held_for_words": 0}
    assert facts_of(first)[-1]["again"]


def test_adding_a_word_begins_one_search_and_offers_what_it_found(
    client: Client, dina: User, make_image: MakeImage, noon: datetime, reads: Reads
) -> None:
    reads("LIEGEND")
    held = searched(make_image, noon)
    client.force_login(dina)
    assert client.post(reverse("quarantine-words"), {"word": "liegend"})["Location"] == reverse("quarantine-words")
    assert client.post(reverse("quarantine-words"), {"word": "stehend"}).status_code == 302
    job = Job.objects.get(kind="text_search_again")
    page = markup(client.get(reverse("quarantine-words")))
    assert reverse("job", args=[job.public_id]) in page
    assert held.public_id not in page
    searching.search_quarantined(Reports(), {})
    job.delete()
    page = markup(client.get(reverse("quarantine-words")))
    assert f'name="image" value="{held.public_id}" checked' in page
    sent = {"image": [held.public_id], "decision": "release", "confirmed": "yes", "reason": "position word only"}
    client.post(reverse("quarantine-decide"), sent)
    held.refresh_from_db()
    assert held.state == ImageState.AVAILABLE


def test_a_word_stands_on_the_page_whatever_its_capitals_and_goes_off_the_list(
    deidentifier: Client, dina: User, noon: datetime
) -> None:
    searching.add_word("liegend", actor=dina, at=noon)
    assert textwords.is_allowed(textwords.letters_of("Liegend"), searching.current_words().words)
    page = deidentifier.get(reverse("quarantine-words")).content.decode()
    assert "LIEGEND" in page
    assert "capital and small letters count as the same" in page
    assert "in capital or small letters" not in page
    deidentifier.post(reverse("quarantine-word-remove"), {"word": "LIEGEND"})
    assert searching.current_words().words == frozenset()
    assert "No word is listed yet" in deidentifier.get(reverse("quarantine-words")).content.decode()


def test_the_page_lists_a_page_of_them_loads_no_other_and_asks_for_no_row_by_row(
    deidentifier: Client,
    dina: User,
    make_image: MakeImage,
    noon: datetime,
    reads: Reads,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    searching.add_word("liegend", actor=dina, at=noon)
    reads("MEIER")
    for _ in range(5):
        searched(make_image, noon)
    make_image(ImageState.QUARANTINED)
    reads("LIEGEND")
    searching.search_quarantined(Reports(), {})
    with django_assert_max_num_queries(10):
        page = deidentifier.get(reverse("quarantine-words")).content.decode()
    assert page.count('name="image"') == 5
    monkeypatch.setattr(quarantine_pages, "IMAGES_PER_PAGE", 2)
    loaded: list[object] = []
    made = Image.from_db.__func__  # type: ignore[attr-defined]

    def from_db(cls: type[Image], *row: object) -> Image:
        loaded.append(row)
        image: Image = made(cls, *row)
        return image

    monkeypatch.setattr(Image, "from_db", classmethod(from_db))
    pages = [deidentifier.get(reverse("quarantine-words"), {"page": number}).content.decode() for number in (1, 2, 3)]
    assert [page.count('name="image"') for page in pages] == [2, 2, 1]
    assert "page 1 of 3" in pages[0]
    assert len(loaded) == 5
