"""The pages with which a coordinator watches a study: what they show, and what is done there."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.enums import IdentifierKind, Role
from annotation.models import AuditEvent, Membership, ReviewRound, SourceIdentifier, User
from readerstudy.design.kernels.documents import Rules
from readerstudy.enums import Block, StudyState
from readerstudy.models import Enrolment, ReaderStudy, StudyRole, Voiding
from tests.annotation.review.cases import OPTIONS
from tests.conftest import NOON, make_person
from tests.emails import delivered
from tests.readerstudy.design.drafts import study_coordinator
from tests.readerstudy.exports.read_study import read, void
from tests.readerstudy.monitoring.conftest import WATCH, said
from tests.readerstudy.studies import enrol, make_study, places_of

pytestmark = pytest.mark.postgres
READER_ACTS = ["extend/", "remind/", "pass/", "withdraw/", "replace/"]


# --- who ---


def test_a_link_to_the_bank_is_for_people_who_may_follow_it(client: Client, study: ReaderStudy, cora: User) -> None:
    ruth = make_person("Ruth")
    StudyRole.objects.create(study=study, user=ruth, granted_at=timezone.now())
    for person, is_linked in ((cora, True), (ruth, False)):
        client.force_login(person)
        page = said(client)
        assert "question 1" in page
        assert (f"/banks/{study.bank.slug}/1/" in page) is is_linked


def test_administrators_look_and_do_nothing(client: Client, study: ReaderStudy, ada: User) -> None:
    client.force_login(ada)
    page = said(client)
    assert "R1" in page
    for words in ("two clavicles", "Break the glass", "Void", "Extend"):
        assert words not in page


def test_a_reader_of_another_study_is_not_there(client: Client, rita_reads: Enrolment, cora: User) -> None:
    client.force_login(cora)
    other = f"/studies/{make_study('Other').slug}/watch/{rita_reads.public_id}/"
    assert client.get(other).status_code == 404
    for tail in READER_ACTS:
        assert client.post(other + tail).status_code == 404, tail


# --- what it shows ---


def test_the_table_has_progress_and_problems_and_no_answer(coordinator: Client, study: ReaderStudy) -> None:
    page = coordinator.get(WATCH)
    text = page.content.decode()
    for words in ("R1", "7 / 8", "4.2", "n = 1", "1 case flagged", "2 answers refused", "=two clavicles", "withdrawn"):
        assert words in text, words
    assert "rule active-1" in text
    assert "(Europe/Berlin)" in text
    assert not [option for option in OPTIONS if option in text]
    assert "accuracy" not in text.lower()
    assert "HX-Request" in page["Vary"]
    assert "no-store" in page["Cache-Control"]


def test_the_table_says_whose_times_are_in_doubt(coordinator: Client, study: ReaderStudy, stan: User) -> None:
    read(places_of(enrol(study, stan))[0], {"option": "A", "time_flags": ["apart_from_server"]})
    assert "time of 1 answer in doubt" in " ".join(coordinator.get(WATCH).content.decode().split())


def test_the_page_has_one_name_everywhere(coordinator: Client, study: ReaderStudy, rita_reads: Enrolment) -> None:
    page = coordinator.get(WATCH).content.decode()
    assert "<title>Monitor readers of Trial" in page
    assert "<h1>Monitor readers</h1>" in page
    for address in (WATCH, "/studies/trial/", "/studies/trial/invite/", f"{WATCH}{rita_reads.public_id}/"):
        links = re.findall(rf'<a [^>]*href="{WATCH}"[^>]*>(.*?)</a>', coordinator.get(address).content.decode())
        assert set(links) == {"Monitor readers"}, address


def test_the_table_comes_alone_for_htmx(coordinator: Client, study: ReaderStudy) -> None:
    fragment = coordinator.get(WATCH, HTTP_HX_REQUEST="true").content.decode()
    assert fragment.lstrip().startswith('<div id="readers"')
    assert 'hx-trigger="every 15s"' in fragment
    assert "<html" not in fragment
    assert "Voided cases" not in fragment


def test_a_study_without_readers(coordinator: Client, db: None) -> None:
    make_study()
    assert "Nobody has joined yet" in said(coordinator)


def test_an_imported_reader_has_no_order_to_count_against(coordinator: Client, study: ReaderStudy) -> None:
    imported = Enrolment.objects.create(
        study=study, case_set=study.sets.get(), pseudonym="Elsewhere", source="old.csv", enrolled_at=timezone.now()
    )
    page = said(coordinator)
    assert "Elsewhere" in page
    assert "/ 0" not in page
    assert "imported" in page
    own = f"{WATCH}{imported.public_id}/"
    assert "/withdraw/" not in said(coordinator, own)
    assert "/replace/" not in said(coordinator, own)
    assert coordinator.post(f"{own}replace/", {"replace-reason": "ill"})["Location"] == own
    assert "Elsewhere read elsewhere" in said(coordinator, own)


def test_queries_do_not_grow_with_the_readers(
    coordinator: Client, study: ReaderStudy, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in (1, 2):
        with django_assert_max_num_queries(25):
            coordinator.get(WATCH)
        with django_assert_max_num_queries(16):
            coordinator.get(WATCH, HTTP_HX_REQUEST="true")
        enrol(study, make_person(f"Reader{number}"))


def test_a_reader_who_can_look_up_answers_is_listed(coordinator: Client, rita_reads: Enrolment, rita: User) -> None:
    """Both were given before either was refused, or straight into the database."""
    words = "Rita reads in this study and holds a role with which its answers can be looked up."
    assert words not in coordinator.get(WATCH).content.decode()
    role = Membership.objects.create(user=rita, role=Role.COORDINATOR, granted_at=NOON)
    assert words in coordinator.get(WATCH).content.decode()
    role.delete()
    StudyRole.objects.create(study=rita_reads.study, user=rita, granted_at=NOON)
    assert words in coordinator.get(WATCH).content.decode()


def test_one_reader_closely(coordinator: Client, rita_reads: Enrolment) -> None:
    Enrolment.objects.update(
        facts={"training": "resident", "years": 3, "chest_fellowship": False, "display": "laptop"},
        display={"width": 1366, "height": 768, "dark_step": True, "light_step": True, "n_failed": 1},  # before letters
    )
    page = said(coordinator, f"{WATCH}{rita_reads.public_id}/")
    for words in ("radiologist in training", "Chest fellowship", "laptop", "1366 × 768", "passed, 1 failed attempt"):
        assert words in page, words
    assert "another answer is stored already" in page
    assert ">open<" in page
    assert not [option for option in OPTIONS if option in page]


def test_nobody_is_invited_once_the_study_is_closed(client: Client, cora: User, study: ReaderStudy) -> None:
    client.force_login(cora)
    assert "/studies/trial/invite/" in client.get(WATCH).content.decode()
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    assert "/studies/trial/invite/" not in client.get(WATCH).content.decode()


def test_a_voided_case_is_named_by_its_own_id_for_coordinators(
    coordinator: Client, client: Client, study: ReaderStudy
) -> None:
    case = study.cases.select_related("revision__question").filter(block="main").first()
    assert case is not None
    question = case.revision.question
    SourceIdentifier.objects.filter(question_id=question.pk).delete()
    SourceIdentifier.objects.create(
        bank_id=study.bank_id, question_id=question.pk, kind=IdentifierKind.QUESTION_KEY, value="Torax-0815", digest=1
    )
    Voiding.objects.create(case=case, reason="turned", before_unblinding=True, at=NOON)
    page = coordinator.get(WATCH).content.decode()
    assert "Torax-0815" in page
    client.force_login(study_coordinator(study))
    assert "Torax-0815" not in client.get(WATCH).content.decode()
    assert f'href="/banks/{study.bank.slug}/{question.number}/"' in page


# --- acts ------------------------------------------------------------------------------------------
REASON = "The sponsor asked for a safety look."
SURE = {"confirmed": "yes"}


def local(days: int) -> str:
    return (timezone.now() + timedelta(days=days)).strftime("%Y-%m-%dT18:00")


def test_extending_in_the_zone_of_the_study(coordinator: Client, study: ReaderStudy, cora: User) -> None:
    User.objects.filter(pk=cora.pk).update(time_zone="Asia/Tokyo")
    coordinator.post(f"{WATCH}extend/", {"deadline": "2036-07-01T18:00", **SURE})
    study.refresh_from_db()
    assert study.deadline_at is not None
    assert study.deadline_at.isoformat() == "2036-07-01T16:00:00+00:00"
    assert "The deadline is 1 Jul 2036, 18:00 (Europe/Berlin) now." in said(coordinator)


def test_an_hour_that_the_person_does_not_have_can_be_a_deadline_of_the_study(
    coordinator: Client, study: ReaderStudy, cora: User
) -> None:
    """In Berlin the clocks jump from 2 to 3 on 30 March 2036; in New York they do not."""
    User.objects.filter(pk=cora.pk).update(time_zone="Europe/Berlin")
    ReaderStudy.objects.update(time_zone="America/New_York")
    coordinator.post(f"{WATCH}extend/", {"deadline": "2036-03-30T02:30", **SURE})
    study.refresh_from_db()
    assert study.deadline_at is not None
    assert study.deadline_at.isoformat() == "2036-03-30T06:30:00+00:00"


@pytest.mark.parametrize(
    ("deadline", "words"),
    [
        ("", "required"),
        ("soon", "valid date"),
        ("2020-01-01T10:00", "later"),
        ("2036-03-30T02:30", "does not exist in Europe/Berlin"),
        ("9999-12-31T23:59", "valid date"),
    ],
)
def test_deadlines_that_are_refused(coordinator: Client, study: ReaderStudy, deadline: str, words: str) -> None:
    before = study.deadline_at
    coordinator.post(f"{WATCH}extend/", {"deadline": deadline})
    assert words in said(coordinator)
    study.refresh_from_db()
    assert study.deadline_at == before


def test_an_hour_that_comes_twice_is_asked_for(coordinator: Client, study: ReaderStudy) -> None:
    coordinator.post(f"{WATCH}extend/", {"deadline": "2036-10-26T02:30"})
    assert "comes twice in Europe/Berlin" in said(coordinator)


def test_more_time_is_asked_back(coordinator: Client, study: ReaderStudy, rita_reads: Enrolment, stan: User) -> None:
    """A deadline never moves earlier again: first it is shown whose it is, from when to when."""
    before, kept = datetime(2036, 6, 1, 16, 0, tzinfo=UTC), datetime(2036, 8, 1, 16, 0, tzinfo=UTC)
    ReaderStudy.objects.update(deadline_at=before)
    other = enrol(study, stan).pseudonym
    new = {"deadline": "2036-07-01T18:00"}
    page = f"{WATCH}{rita_reads.public_id}/"
    both = f"2 readers who have not finished: R1, {other}"
    for address, whose in ((f"{page}extend/", "R1"), (f"{WATCH}extend/", both)):
        answer = coordinator.post(address, new)
        asked = answer.content.decode()
        assert answer.status_code == 200
        assert whose in asked
        assert "from 1 Jun 2036, 18:00 (Europe/Berlin) to 1 Jul 2036, 18:00 (Europe/Berlin)" in asked
        assert 'name="deadline" value="2036-07-01T18:00"' in asked
        study.refresh_from_db()
        rita_reads.refresh_from_db()
        assert (study.deadline_at, rita_reads.deadline_at) == (before, None)
    Enrolment.objects.filter(pk=rita_reads.pk).update(deadline_at=kept)
    asked = coordinator.post(f"{WATCH}extend/", new).content.decode()
    assert f"1 reader who has not finished: {other}" in asked
    assert "R1 keeps a later deadline: 1 Aug 2036, 18:00 (Europe/Berlin)" in asked
    assert f'href="{page}"' in coordinator.post(f"{page}extend/", {"deadline": "2036-09-01T18:00"}).content.decode()


def test_more_time_for_one_reader(coordinator: Client, rita_reads: Enrolment) -> None:
    page = f"{WATCH}{rita_reads.public_id}/"
    coordinator.post(f"{page}extend/", {"deadline": local(40), **SURE})
    assert "R1 has time until" in said(coordinator, page)
    coordinator.post(f"{page}extend/", {"deadline": local(35)})
    assert "only moves later" in said(coordinator, page)
    coordinator.post(f"{page}extend/", {"deadline": ""})
    assert "required" in said(coordinator, page)


def test_reminding(coordinator: Client, rita_reads: Enrolment, settings: Settings) -> None:
    page = f"{WATCH}{rita_reads.public_id}/"
    coordinator.post(f"{page}remind/")
    assert "no mail server is configured" in said(coordinator, page)
    coordinator.post(f"{WATCH}remind/")
    assert "no mail server is configured" in said(coordinator)
    settings.EMAIL_HOST = "smtp.example.org"
    coordinator.post(f"{page}remind/")
    coordinator.post(f"{WATCH}remind/")
    assert "1 e-mail was sent." in said(coordinator)
    assert [letter.to for letter in delivered()] == [["rita@example.org"]] * 2


def test_withdrawing_on_behalf_needs_a_reason(coordinator: Client, rita_reads: Enrolment) -> None:
    page = f"{WATCH}{rita_reads.public_id}/"
    coordinator.post(f"{page}withdraw/", {"withdraw-reason": " "})
    assert "Say why the reader leaves" in said(coordinator, page)
    coordinator.post(f"{page}withdraw/", {"withdraw-reason": "moved away"})
    assert "R1 has left the study" in said(coordinator, page)
    rita_reads.refresh_from_db()
    assert rita_reads.withdrawn_at


def test_a_reader_who_did_not_pass_the_practice_waits_for_a_decision(coordinator: Client, db: None, stan: User) -> None:
    enrolment = enrol(make_study(n_practice=2, rules=Rules(practice_pass=2)), stan)
    Enrolment.objects.update(practised_at=None)
    page = f"{WATCH}{enrolment.public_id}/"
    first, second = places_of(enrolment, Block.PRACTICE)
    read(first, {"option": "B"})
    assert "practice not passed" not in said(coordinator)
    coordinator.post(f"{page}pass/", {"pass-reason": "too early"})
    assert "R1 has practice cases left." in said(coordinator, page)
    read(second, {"option": "A"})
    assert "practice not passed" in said(coordinator)
    assert "1 of 2 practice cases are correct; the study requires 2." in said(coordinator, page)
    coordinator.post(f"{page}pass/", {"pass-reason": ""})
    assert "Say why the reader may go on" in said(coordinator, page)
    coordinator.post(f"{page}pass/", {"pass-reason": "a slip of the key"})
    assert "R1 can go on to the main block" in said(coordinator, page)
    enrolment.refresh_from_db()
    assert enrolment.practised_at
    assert AuditEvent.objects.get(act="enrolment.practice_let_pass").facts == {"reason": "a slip of the key"}


def test_replacing_shows_the_link_of_the_successor_once(coordinator: Client, rita_reads: Enrolment) -> None:
    page = f"{WATCH}{rita_reads.public_id}/"
    assert coordinator.post(f"{page}replace/", {"replace-reason": ""})["Location"] == page
    answer = coordinator.post(f"{page}replace/", {"replace-reason": "ill", "replace-name": "Nina"})
    assert re.search(r'value="http[^"]*/read/join/[^"]+"', answer.content.decode())
    assert coordinator.post(f"{page}replace/", {"replace-reason": "ill"})["Location"] == page
    assert "is replaced already" in said(coordinator, page)


def test_the_glass(coordinator: Client, study: ReaderStudy) -> None:
    assert coordinator.post(f"{WATCH}interim/", {"reason": "curious"})["Location"] == WATCH
    assert "Give a reason of at least 20 characters" in said(coordinator)
    assert "Results were seen before closing" not in said(coordinator)
    page = coordinator.post(f"{WATCH}interim/", {"reason": REASON})
    text = page.content.decode()
    assert "no-store" in page["Cache-Control"]
    assert "28.57" in text  # 2 of 7
    assert REASON in text
    watch = said(coordinator)
    assert "Results were seen before closing." in watch
    assert REASON in watch
    assert "28.57" not in watch


def test_voiding_before_and_after_results_were_seen(coordinator: Client, study: ReaderStudy) -> None:
    coordinator.post("/studies/trial/void/", {"case": "1", "reason": "two keys are right", **SURE})
    page = said(coordinator)
    assert "Case 1 is voided and left out of every result." in page
    assert "left out of every result" in page
    coordinator.post(f"{WATCH}interim/", {"reason": REASON})
    coordinator.post("/studies/trial/void/", {"case": "2", "reason": "an image of somebody else", **SURE})
    assert "only a sensitivity analysis leaves it out" in said(coordinator)
    voided = Voiding.objects.order_by("pk").values_list("case__number", "before_unblinding")
    assert list(voided) == [(1, True), (2, False)]


def test_a_voiding_is_asked_back_with_the_case_that_was_meant(coordinator: Client, study: ReaderStudy) -> None:
    question = study.cases.get(block="main", number=2).revision.question
    for given in ({"case": "2", "reason": "cut <off>"}, {"case": "2", "reason": "cut <off>", "confirmed": "no"}):
        answer = coordinator.post("/studies/trial/void/", given)
        page = answer.content.decode()
        assert answer.status_code == 200
        assert f"Case 2 is question {question.number}: “" in page
        assert "Nobody has seen a result" in page
        assert "Voiding cannot be undone." in page
        assert 'name="reason" value="cut &lt;off&gt;"' in page
        assert f'href="{WATCH}"' in page
    assert Voiding.objects.count() == 0
    ReaderStudy.objects.update(unblinded_at=timezone.now())
    assert (
        "all results but a labelled sensitivity analysis"
        in coordinator.post("/studies/trial/void/", given).content.decode()
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"case": "1", "reason": " "}, "Give the number of the case and the reason"),
        ({"case": "", "reason": "x"}, "Give the number of the case and the reason"),
        ({"case": "99", "reason": "x"}, "The study has no case 99"),
        ({"case": "9" * 30, "reason": "x"}, "The study has no case 999"),
        ({"case": "3", "reason": "x"}, "voided already"),
    ],
)
def test_voidings_that_are_refused(coordinator: Client, study: ReaderStudy, given: dict[str, str], words: str) -> None:
    void(study.cases.get(block="main", number=3))
    coordinator.post("/studies/trial/void/", {**given, **SURE})
    assert words in said(coordinator)
    assert Voiding.objects.count() == 1


def test_the_re_review(client: Client, study: ReaderStudy, cora: User) -> None:
    page = "/studies/trial/re-review/"
    client.force_login(cora)
    assert "Choose missed cases" not in said(client)
    answer = client.post(page, {"threshold": "50", "name": "Again"})
    assert answer.status_code == 422
    assert "Before closing" in answer.content.decode()
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    assert "Choose missed cases" in said(client)
    assert "Choosing missed cases is a look at results" in said(client, page)
    for given in ({"threshold": "0", "name": "Again"}, {"threshold": "50", "name": ""}, {}):
        assert client.post(page, given).status_code == 422
    answer = client.post(page, {"threshold": "50", "name": "Again"})
    assert "No case has answers of 2 readers" in answer.content.decode()
    assert not ReviewRound.objects.exists()
