"""Readers and coordinators of a study on the pages about people."""

from __future__ import annotations

import pytest
from django.test import Client

from annotation.models import User
from readerstudy.enums import StudyState
from readerstudy.models import Enrolment, ReaderStudy, StudyRole
from tests.conftest import NOON, make_person
from tests.readerstudy.studies import enrol, make_study


@pytest.fixture
def as_ada(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


def roles_shown(client: Client, person: User) -> list[str]:
    """What the list and the page of a person say of their roles."""
    in_list = client.get(f"/people/?q={person.name}").content.decode().partition('<td class="roles">')[2]
    on_page = client.get(f"/people/{person.pk}/").content.decode().partition("<h2>Roles</h2>")[2]
    return [in_list.partition("</td>")[0], on_page.partition("<h3>")[0]]


def test_a_reader_of_a_study_is_named_as_one(as_ada: Client) -> None:
    nina = make_person("Nina")
    enrol(make_study("Trial"), nina)
    for shown in roles_shown(as_ada, nina):
        assert 'reader · <a href="/studies/trial/"><bdi>Trial</bdi></a>' in shown
        assert "none" not in shown.lower()
    Enrolment.objects.update(withdrawn_at=NOON)
    for shown in roles_shown(as_ada, nina):
        assert "Trial" not in shown
        assert "none" in shown.lower()


def test_so_is_who_coordinates_one_study_alone(as_ada: Client, cora: User) -> None:
    nina = make_person("Nina")
    StudyRole.objects.create(
        study=make_study("Trial", state=StudyState.DRAFT), user=nina, granted_by=cora, granted_at=NOON
    )
    for shown in roles_shown(as_ada, nina):
        assert "coordinator of a study · " in shown
        assert "none" not in shown.lower()
    ReaderStudy.objects.update(deleted_at=NOON)  # in the bin
    assert all("Trial" not in shown for shown in roles_shown(as_ada, nina))
