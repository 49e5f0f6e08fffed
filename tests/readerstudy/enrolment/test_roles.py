"""Whoever reads in a study gets no role that shows its keys, tasks or categories before it is over."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client
from django.urls import reverse

from annotation.enums import LinkState, Role
from annotation.models import Membership, User
from annotation.people.invitations import Grant, invite
from annotation.people.links import PeopleRefused
from annotation.people.roles import grant
from readerstudy.enums import StudyState
from readerstudy.models import Enrolment, ReaderStudy
from tests.annotation.review.cases import make_round
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
