"""The pages with which a coordinator watches a study: who opens them, and what they show."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotation.enums import IdentifierKind, Role
from annotation.models import Membership, SourceIdentifier, User
from readerstudy.enums import StudyState
from readerstudy.models import Enrolment, ReaderStudy, StudyRole, Voiding
from tests.annotation.review.cases import OPTIONS
from tests.conftest import NOON, make_person
from tests.readerstudy.design.drafts import study_coordinator
from tests.readerstudy.exports.read_study import read
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
