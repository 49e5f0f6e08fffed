"""Whoever reads in a study gets no role that shows its keys, tasks or categories before it is over."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client
from django.urls import reverse

from annotation.enums import LinkState, Role
from annotation.models import AuditEvent, Membership, SampledQuestion, User
from annotation.people.invitations import Grant, invite
from annotation.people.roles import grant
from annotation.people.tokens import PeopleRefused
from readerstudy.enrolment.inviting import name_coordinator, readers_with_keys_at_hand
from readerstudy.enums import StudyState
from readerstudy.models import Enrolment, ReaderStudy, ReadingSession, StudyCase, StudyRole
from readerstudy.reading.prefetched import ReadingRefused
from readerstudy.reading.sessions import take_write_lease
from readerstudy.study.permissions import StudyRefused, may_coordinate_study
from tests.annotation.review.cases import make_round
from tests.conftest import make_person
from tests.readerstudy.studies import enrol, make_study
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
SENTENCE = "Stan reads in the study “Trial”"


@pytest.fixture
def study(stan: User) -> ReaderStudy:
    study = make_study()
    enrol(study, stan)
    return study


@pytest.mark.parametrize("role", [Role.COORDINATOR, Role.ADMINISTRATOR])
def test_a_reader_comes_to_no_role_that_shows_keys_or_tasks(
    study: ReaderStudy, ada: User, stan: User, role: Role, noon: datetime
) -> None:
    with refuses(PeopleRefused, "role_conflict", match=SENTENCE):
        grant(stan, role, actor=ada, at=noon)
    assert not Membership.objects.filter(user=stan).exists()
    grant(stan, Role.REVIEWER, actor=ada, at=noon)
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    grant(stan, role, actor=ada, at=noon)


def test_whoever_left_the_study_may_have_it(study: ReaderStudy, ada: User, stan: User, noon: datetime) -> None:
    Enrolment.objects.update(withdrawn_at=noon)
    grant(stan, Role.COORDINATOR, actor=ada, at=noon)


def test_a_round_is_coordinated_by_readers_of_other_questions(ada: User, stan: User, noon: datetime) -> None:
    review_round, other = make_round(n_questions=1), make_round(n_questions=1, name="Other")
    study = make_study(n_cases=1)
    study.cases.update(revision=review_round.plan.questions.get().revision)
    enrol(study, stan)
    with refuses(PeopleRefused, "role_conflict", match=SENTENCE):
        grant(stan, Role.COORDINATOR, review_round=review_round, actor=ada, at=noon)
    grant(stan, Role.COORDINATOR, review_round=other, actor=ada, at=noon)


def test_the_page_of_people_says_so(client: Client, study: ReaderStudy, ada: User, stan: User) -> None:
    client.force_login(ada)
    answer = client.post(reverse("person-grant", args=[stan.pk]), {"role": "coordinator"})
    assert answer.status_code == 422
    assert SENTENCE in answer.content.decode()


def test_so_does_a_link_and_it_stays_open(
    client: Client, study: ReaderStudy, ada: User, stan: User, noon: datetime
) -> None:
    issued = invite(Grant(Role.COORDINATOR), email="", name="", actor=ada, at=datetime.now(noon.tzinfo))
    client.force_login(stan)
    answer = client.post(reverse("invitation", args=[issued.token]))
    assert answer.status_code == 409
    assert SENTENCE in answer.content.decode()
    issued.invitation.refresh_from_db()
    assert issued.invitation.state(datetime.now(noon.tzinfo)) is LinkState.OPEN


# --- coordinators of one study --------------------------------------------------------------------
def test_a_person_coordinates_one_study_and_its_page_names_them(client: Client, cora: User) -> None:
    nina = make_person("Nina")
    study, other = make_study(state=StudyState.FROZEN), make_study("Other")
    client.force_login(cora)
    for _twice in range(2):
        client.post("/studies/trial/coordinators/name/", {"email": nina.email})
    assert "Nina" in client.get("/studies/trial/").content.decode()
    assert AuditEvent.objects.get(act="study.coordinator_named").facts == {"person": nina.pk}
    assert (may_coordinate_study(nina, study), may_coordinate_study(nina, other)) == (True, False)
    client.force_login(nina)
    assert client.get("/studies/trial/").status_code == 200
    assert client.get("/studies/other/").status_code == 404
    client.post("/studies/trial/coordinators/remove/", {"email": nina.email})
    assert may_coordinate_study(nina, study), "nobody shuts themselves out"
    client.force_login(cora)
    client.post("/studies/trial/coordinators/remove/", {"email": nina.email})
    assert not may_coordinate_study(nina, study)


def test_who_reads_the_cases_coordinates_no_study_of_them(rita: User, cora: User, noon: datetime) -> None:
    study = make_study()
    enrol(study, rita)
    with refuses(StudyRefused, "reads"):
        name_coordinator(study, email=rita.email, actor=cora, at=noon)
    with refuses(StudyRefused, "no_account"):
        name_coordinator(study, email="nobody@example.org", actor=cora, at=noon)
    name_coordinator(make_study("Other"), email=rita.email, actor=cora, at=noon)


def test_keys_at_hand_in_another_study_of_the_same_questions_begin_no_session(rita: User, noon: datetime) -> None:
    first = make_study()
    enrolment = enrol(make_study("Other", n_cases=1), rita)
    take_write_lease(enrolment, actor=rita, at=noon)
    ReadingSession.objects.update(ended_at=noon, end="left")
    role = StudyRole.objects.create(study=first, user=rita, granted_at=noon)
    take_write_lease(enrolment, actor=rita, at=noon)
    ReadingSession.objects.update(ended_at=noon, end="left")
    role.delete()
    draft = ReaderStudy.objects.create(name="Copy", slug="copy", bank=enrolment.study.bank, created_at=noon)
    StudyCase.objects.create(study=draft, number=1, revision=enrolment.study.cases.get().revision)
    StudyRole.objects.create(study=draft, user=rita, granted_at=noon)
    with refuses(ReadingRefused, "keys_at_hand"):
        take_write_lease(enrolment, actor=rita, at=noon)
    assert readers_with_keys_at_hand(enrolment.study) == [rita]


def test_keys_at_hand_in_a_round_of_the_same_questions_begin_no_session(rita: User, noon: datetime) -> None:
    enrolment, other = enrol(make_study(), rita), make_round(n_questions=1, name="Other")
    role = Membership.objects.create(user=rita, role=Role.COORDINATOR, round=other, granted_at=noon)
    take_write_lease(enrolment, actor=rita, at=noon)  # of other questions
    ReadingSession.objects.update(ended_at=noon, end="left")
    revision = enrolment.study.cases.all()[0].revision
    SampledQuestion.objects.create(plan=other.plan, position=2, revision=revision, stratum="all")
    with refuses(ReadingRefused, "keys_at_hand"):
        take_write_lease(enrolment, actor=rita, at=noon)
    assert readers_with_keys_at_hand(enrolment.study) == [rita]
    Membership.objects.filter(pk=role.pk).update(role=Role.REVIEWER)
    take_write_lease(enrolment, actor=rita, at=noon)
