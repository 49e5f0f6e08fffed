"""The pages of a reader, from the consent to the last page."""

from __future__ import annotations

import base64
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.case.kernels.display import draw_pattern
from annotation.models import SeenKey, User
from readerstudy.design.kernels.documents import Rules
from readerstudy.enrolment.participation import consent_sha256, pattern_now
from readerstudy.enrolment.rules_in_words import facts_in_words
from readerstudy.enums import StudyState
from readerstudy.models import Enrolment, PresentationOrder, ReaderStudy
from tests.emails import delivered
from tests.readerstudy.exports.read_study import read
from tests.readerstudy.studies import FACTS, enrol, make_study, places_of, seen_by


@pytest.fixture
def study(db: None) -> ReaderStudy:
    return make_study(n_practice=2, contact="study@example.org")


@pytest.fixture
def new(study: ReaderStudy, rita: User) -> Enrolment:
    return enrol(study, rita, ready=False)


@pytest.fixture
def reader(client: Client, rita: User) -> Client:
    client.force_login(rita)
    return client


def set_all(**columns: Any) -> None:
    Enrolment.objects.update(**columns)


def ready() -> None:
    now = timezone.now()
    set_all(consented_at=now, instructed_at=now, display_checked_at=now, facts={"training": "resident"})


@pytest.mark.logs("reader.instructed", "reader.declared")
def test_the_whole_way(reader: Client, new: Enrolment) -> None:
    """Each step leads to the next, and none can be jumped over."""
    assert reader.get("/read/trial/")["Location"] == "/read/trial/consent/"
    for tail in ("facts/", "instructions/", "display/", "done/"):
        assert reader.get(f"/read/trial/{tail}")["Location"] == "/read/trial/", tail
    agreed = {"answer": "agree", "agreed": "yes", "sha256": consent_sha256(new.study)}
    reader.post("/read/trial/consent/", agreed)
    assert reader.get("/read/trial/")["Location"] == "/read/trial/facts/"
    assert reader.get("/read/trial/display/")["Location"] == "/read/trial/"
    reader.post("/read/trial/facts/", FACTS)
    assert reader.get("/read/trial/")["Location"] == "/read/trial/instructions/"
    reader.post("/read/trial/instructions/")
    assert reader.get("/read/trial/")["Location"] == "/read/trial/display/"
    reader.post("/read/trial/display/", seen_by(new))
    assert "Start the practice" in reader.get("/read/trial/").content.decode()
    set_all(practised_at=timezone.now())
    assert "From the first one on, everything counts" in reader.get("/read/trial/").content.decode()
    set_all(finished_at=timezone.now())
    assert reader.get("/read/trial/")["Location"] == "/read/trial/done/"
    reader.post("/read/trial/done/", {"declared": "yes"})
    assert "Thank you" in reader.get("/read/trial/done/").content.decode()
    new.refresh_from_db()
    assert new.facts["films_per_week"] == 40
    assert new.facts["chest_fellowship"] is False
    assert (new.display["width"], new.display["pixel_ratio"]) == (1366, 1.25)
    assert new.declared_at


def test_agreeing_needs_the_tick_and_the_text(reader: Client, new: Enrolment) -> None:
    right = consent_sha256(new.study)
    for given, words in (
        ({"answer": "agree", "sha256": right}, "Tick the box"),
        ({"answer": "agree", "agreed": "yes", "sha256": "0" * 64}, "The text has changed since you opened the page"),
        ({}, "Tick the box"),
    ):
        answer = reader.post("/read/trial/consent/", given)
        assert answer.status_code == 422
        assert words in answer.content.decode()
    new.refresh_from_db()
    assert new.consented_at is None


def test_a_copy_of_the_consent_is_mailed_and_can_be_downloaded(
    reader: Client, new: Enrolment, settings: Settings
) -> None:
    settings.EMAIL_HOST = "smtp.example.org"
    reader.post("/read/trial/consent/", {"answer": "agree", "agreed": "yes", "sha256": consent_sha256(new.study)})
    [letter] = delivered()
    assert letter.to == ["rita@example.org"]
    copy = reader.get("/read/trial/consent/copy/")
    assert copy["Content-Disposition"] == 'attachment; filename="trial-consent.txt"'
    assert copy.content.decode() == letter.body
    assert "Rita agreed on" in letter.body


def test_declining_is_possible(reader: Client, new: Enrolment) -> None:
    reader.post("/read/trial/consent/", {"answer": "decline", "agreed": "yes"})
    page = reader.get("/read/trial/").content.decode()
    assert "You declined to take part" in page
    assert reader.get("/read/trial/consent/")["Location"] == "/read/trial/"
    assert not PresentationOrder.objects.filter(enrolment__isnull=False).exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"training": "emperor"},
        {"training": ""},
        {"years": "-1"},
        {"years": "many"},
        {"films_per_week": "50000"},
        {"chest_fellowship": "perhaps"},
        {"display": ""},
        {"exposure": ""},
        {"exposure_text": "x" * 501},
    ],
)
def test_bad_facts_store_nothing(reader: Client, new: Enrolment, wrong: dict[str, str]) -> None:
    set_all(consented_at=timezone.now())
    answer = reader.post("/read/trial/facts/", FACTS | wrong)
    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == set(wrong)
    new.refresh_from_db()
    assert new.facts == {}


def test_facts_that_were_told_are_in_the_form(reader: Client, new: Enrolment) -> None:
    set_all(consented_at=timezone.now())
    reader.post("/read/trial/facts/", FACTS)
    page = reader.get("/read/trial/facts/").content.decode()
    assert 'value="resident" required id="id_training_1" checked' in page
    assert 'value="no" required id="id_chest_fellowship_1" checked' in page


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"width": ""}, "could not be measured"),
        ({"pixel_ratio": "0"}, "could not be measured"),
        ({"dark": "", "light": ""}, "Change nothing on a calibrated display"),
        ({"light": "XXX"}, "ask your medical physicist"),
        ({"dark": "", "width": "900"}, "this study needs at least 1000 × 700"),
        ({"display": "", "luminance": "no"}, "Correct what is marked below"),
        ({"attempt": "7"}, "new ones are drawn"),
        ({"attempt": "7", "luminance": "no"}, 'name="attempt" value="0"'),
        ({"checked_on": "1989-12-31"}, "Give a day from 1990-01-01 to today"),
        ({"checked_on": "9999-01-01"}, "Give a day from 1990-01-01 to today"),
    ],
)
def test_a_display_check_that_fails_says_what_to_do(
    reader: Client, rita: User, given: dict[str, str], words: str
) -> None:
    """It tells nobody to turn up a calibrated display."""
    enrolment = enrol(make_study(rules=Rules(least_width=1000, least_height=700)), rita)
    set_all(display_checked_at=None)
    answer = reader.post("/read/trial/display/", seen_by(enrolment, **given))
    assert answer.status_code == 422
    page = answer.content.decode()
    assert words in page
    assert "brightness" not in page
    enrolment.refresh_from_db()
    assert enrolment.display_checked_at is None


def test_the_page_shows_the_pattern_and_nothing_of_its_letters(reader: Client, new: Enrolment) -> None:
    ready()
    answer = reader.get("/read/trial/display/")
    drawn = draw_pattern(pattern_now(new))
    assert base64.b64encode(drawn).decode() in answer.content.decode()
    told = re.sub(r"base64,[^\"]+", "", answer.content.decode())
    assert pattern_now(new).dark not in told
    assert pattern_now(new).light not in told


def test_instructions_say_the_rules_and_the_keys(reader: Client, rita: User) -> None:
    enrol(make_study(rules=Rules(time_limit_s=60), n_practice=1, instructions="Look twice."), rita)
    page = reader.get("/read/trial/instructions/").content.decode()
    for words in ("Look twice.", "You have 60 seconds", "1 practice case", "<kbd>Enter</kbd>"):
        assert words in page
    assert "I have read this" not in page  # they were read before
    assert reader.post("/read/trial/instructions/").status_code == 302


@pytest.mark.parametrize("tail", ["", "consent/", "facts/", "instructions/", "display/", "withdraw/"])
def test_every_page_has_contact_deadline_and_protocol(reader: Client, rita: User, tail: str) -> None:
    deadline = datetime(2036, 12, 4, 17, 0, tzinfo=timezone.get_default_timezone())
    enrol(make_study(contact="study@example.org", deadline_at=deadline, time_zone="Europe/Berlin"), rita)
    page = reader.get(f"/read/trial/{tail}").content.decode()
    assert "Contact: study@example.org" in page
    assert "Deadline: 4 Dec 2036, 18:00 (Europe/Berlin)" in page
    assert 'title="c0ffee' in page
    assert '<span class="mono">c0ffee000000</span>' in page
    assert '<html lang="en" class="dark">' in page


@pytest.mark.parametrize(
    ("columns", "state", "words"),
    [
        ({}, StudyState.FROZEN, "The study is not open yet"),
        ({}, StudyState.CLOSED, "The study is closed. Thank you"),
        ({"withdrawn_at": timezone.now()}, StudyState.OPEN, "You have left the study"),
        ({"replaced_at": timezone.now()}, StudyState.OPEN, "Another reader has replaced you"),
        ({"deadline_at": timezone.now() - timedelta(days=1)}, StudyState.OPEN, "Your deadline has passed"),
    ],
)
def test_who_cannot_read_is_told_why(
    reader: Client, new: Enrolment, columns: dict[str, Any], state: StudyState, words: str
) -> None:
    ready()
    set_all(**columns)
    ReaderStudy.objects.update(state=state)
    page = reader.get("/read/trial/").content.decode()
    assert words in page
    assert "/room/" not in page
    assert "/withdraw/" not in page or not columns.keys() & {"withdrawn_at", "replaced_at"}


@pytest.mark.parametrize("cannot_tell", [True, False])
def test_the_own_result_says_what_cannot_tell_counted_as(reader: Client, rita: User, cannot_tell: bool) -> None:
    study = make_study(n_cases=1, rules=Rules(show_results=True, cannot_tell=cannot_tell), state=StudyState.CLOSED)
    enrolment = enrol(study, rita)
    read(places_of(enrolment)[0], {"option": "B"})
    Enrolment.objects.update(finished_at=timezone.now(), declared_at=timezone.now())
    page = reader.get("/read/trial/done/").content.decode()
    assert "1 of 1 correct" in page
    assert ("counts as incorrect here, whatever the guess" in page) is cannot_tell


def test_the_declaration_needs_the_tick(reader: Client, new: Enrolment) -> None:
    ready()
    set_all(finished_at=timezone.now())
    answer = reader.post("/read/trial/done/", {})
    assert answer.status_code == 422
    assert "Tick the box" in answer.content.decode()
    new.refresh_from_db()
    assert new.declared_at is None


def test_withdrawing_asks_first(reader: Client, new: Enrolment) -> None:
    ready()
    assert "cannot be undone" in reader.get("/read/trial/withdraw/").content.decode()
    new.refresh_from_db()
    assert new.withdrawn_at is None
    reader.post("/read/trial/withdraw/")
    assert "You have left the study" in reader.get("/read/trial/").content.decode()
    assert reader.get("/read/trial/withdraw/")["Location"] == "/read/trial/"


def test_the_list_of_studies(reader: Client, rita: User, stan: User) -> None:
    assert "You are not a reader in any study" in reader.get("/read/").content.decode()
    enrol(make_study("First"), rita)
    enrol(make_study("Second"), rita)
    enrol(make_study("Other"), stan)
    Enrolment.objects.filter(study__name="Second").update(finished_at=timezone.now(), declared_at=timezone.now())
    listed = reader.get("/read/").context["studies"]
    shown = [(one.enrolment.study.name, one.step, one.n) for one in listed]
    assert shown == [("First", "main", 3), ("Second", "done", 3)]


def test_what_waits_on_the_home_page(reader: Client, new: Enrolment) -> None:
    page = reader.get("/").content.decode()
    assert "Next step in “Trial”: Consent" in page
    ready()
    set_all(practised_at=timezone.now())
    page = reader.get("/").content.decode()
    assert "3 cases left in “Trial”." in page
    assert 'href="/read/trial/"' in page
    assert "0 of 3" in page


def test_the_pages_take_few_queries(
    reader: Client, new: Enrolment, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    ready()
    for tail in ("", "consent/", "facts/", "instructions/", "display/"):
        with django_assert_max_num_queries(7):  # session, person, roles, messages; the enrolment, cases, answers
            assert reader.get(f"/read/trial/{tail}").status_code == 200
    for name in ("A", "B", "C"):
        enrol(make_study(name), new.reader)  # type: ignore[arg-type]
    with django_assert_max_num_queries(7):
        reader.get("/read/")


def test_after_the_last_case_remarks_and_the_questionnaire_are_kept(reader: Client, rita: User) -> None:
    study = make_study(n_cases=1, rules=Rules(questionnaire=("NASA-TLX", "Which tool was missing?")))
    enrol(study, rita)
    Enrolment.objects.update(finished_at=timezone.now())
    page = reader.get("/read/trial/done/").content.decode()
    for words in ("Mental demand", "Frustration", "Which tool was missing?", "Remarks"):
        assert words in page
    sent = {"declared": "yes", "question_1": "55", "question_7": "A ruler.", "remarks": "Case 3 was dark."}
    assert reader.post("/read/trial/done/", {**sent, "question_2": "101"}).status_code == 422
    reader.post("/read/trial/done/", sent)
    enrolment = Enrolment.objects.get()
    answers = {"Mental demand": 55, "Which tool was missing?": "A ruler."}
    assert enrolment.closing == {"answers": answers, "remarks": "Case 3 was dark."}
    in_words = dict(facts_in_words({"closing": enrolment.closing}))
    assert in_words == {"Mental demand": "55", "Which tool was missing?": "A ruler.", "Remarks": "Case 3 was dark."}


@pytest.mark.parametrize("shows", [True, False])
def test_a_study_may_show_each_case_with_its_key(reader: Client, rita: User, shows: bool) -> None:
    study = make_study(n_cases=2, rules=Rules(show_results=True, show_cases=shows), state=StudyState.CLOSED)
    enrolment = enrol(study, rita)
    for place, option in zip(places_of(enrolment), "BC", strict=True):
        read(place, {"option": option})
    Enrolment.objects.update(finished_at=timezone.now())
    assert "Your cases" not in reader.get("/read/trial/done/").content.decode()  # before the declaration
    Enrolment.objects.update(declared_at=timezone.now())
    page = reader.get("/read/trial/done/").content.decode()
    assert ("Your cases" in page, page.count(">correct<"), page.count(">incorrect<")) == (shows, shows, shows)
    assert SeenKey.objects.filter(person=rita).count() == 2 * shows


def test_an_old_page_checks_no_other_screen_and_odd_measures_are_left_out(reader: Client, new: Enrolment) -> None:
    ready()
    set_all(display_checked_at=None)
    odd = {"zoom_percent": "1280", "colour_depth": "0"}
    sent, part = seen_by(new, **odd), {"HX-Request": "true"}
    for n in (1, 2):
        assert reader.post("/read/trial/display/", sent, headers=part).status_code == 204, "sent twice"
        new.refresh_from_db()
        assert (new.display["n_attempts"], set(odd) & set(new.display)) == (1, set()), n
    other = reader.post("/read/trial/display/", {**sent, "screen_width": "2560"}, headers=part)
    assert (other.status_code, 'name="attempt" value="1"' in other.content.decode()) == (422, True)


def test_the_display_check_keeps_what_was_read_and_the_room(reader: Client, new: Enrolment) -> None:
    ready()
    set_all(display_checked_at=None)
    said = {"luminance": "350", "checked_on": "2026-11-02", "n_displays": "2", "zoom_percent": "125", "fine": "5"}
    missed = reader.post("/read/trial/display/", seen_by(new, light="", **said)).content.decode()
    assert 'value="350"' in missed, "what is known of the display is not asked twice"
    sent = seen_by(new, **said)
    assert reader.post("/read/trial/display/", sent).status_code == 302
    assert reader.post("/read/trial/display/", sent).status_code == 302, "sent twice"
    new.refresh_from_db()
    kept = {"luminance": 350, "checked_on": "2026-11-02", "n_displays": 2, "zoom_percent": 125}
    kept |= {"display": "monitor", "bits_shown": 8, "n_attempts": 2}
    assert {name: new.display[name] for name in kept} == kept
    assert new.display["answered"]["fine"] == 5
    again = reader.get("/read/trial/display/").content.decode()
    assert 'value="350"' not in again, "another screen is another display"
    assert 'value="2"' in again
    assert reader.post("/read/trial/display/", seen_by(new), headers={"HX-Request": "true"}).status_code == 204
