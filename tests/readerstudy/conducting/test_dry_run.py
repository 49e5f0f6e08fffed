"""The dry run: what a reader goes through, with nothing stored."""

from __future__ import annotations

import pytest
from django.test import Client

from annotation.models import User
from readerstudy.models import ReaderStudy
from tests.readerstudy.design.drafts import make_draft, statuses, study_coordinator
from tests.readerstudy.studies import enrol, make_study

ADDRESS = "/studies/trial/dry-run/"


@pytest.fixture
def draft(cora: User) -> ReaderStudy:
    return make_draft(cora)


def test_who_walks_through(client: Client, draft: ReaderStudy, cora: User, ada: User, rita: User, stan: User) -> None:
    enrol(make_study("Other", n_cases=1), rita)
    assert statuses(client, ADDRESS, [cora, study_coordinator(draft), ada, rita, stan]) == [200, 200, 200, 404, 404]
    client.force_login(cora)
    assert client.post(ADDRESS).status_code == 405
    assert client.get("/studies/nothing/dry-run/").status_code == 404


def test_the_way_of_a_reader_stands_on_the_page(client: Client, draft: ReaderStudy, cora: User) -> None:
    client.force_login(cora)
    page = client.get(ADDRESS).content.decode()
    for words in ("You agree to take part.", "Choose one option.", "4 cases in all sets together"):
        assert words in page
