"""Links to results over the API: who makes them, what their answers hold, and how they end."""

from __future__ import annotations

import json

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.models import AuditEvent, KeptAnswer, User
from readerstudy.enums import StudyState
from readerstudy.models import Analysis, ReaderStudy, ResultsLink
from tests.annotation.api.asking import Program, problem_of
from tests.conftest import NOON
from tests.readerstudy.api.programs import coordinating
from tests.readerstudy.results.made import analysed_study

LINKS = "studies/trial/links/"


@pytest.fixture
def analysis(db: None) -> Analysis:
    """Of a closed study, of which somebody has seen the results."""
    found = analysed_study()
    ReaderStudy.objects.update(unblinded_at=NOON)
    found.study.refresh_from_db()
    return found


@pytest.fixture
def script(cora: User, analysis: Analysis) -> Program:
    return coordinating(cora, analysis.study)


def share(analysis: Analysis) -> str:
    return f"studies/trial/analyses/{analysis.public_id}/share/"


def test_a_link_is_told_once_and_opens_until_it_is_revoked(script: Program, analysis: Analysis, client: Client) -> None:
    sent = {"days": 1, "note": "the board"}
    made = script.post(share(analysis), sent, idempotency_key="one")
    page = made.json()["link"]
    assert (made.status_code, client.get(page).status_code) == (201, 200)
    assert script.post(share(analysis), sent, idempotency_key="one").json() == {**made.json(), "link": None}
    assert page.rstrip("/").rpartition("/")[2] not in json.dumps(KeptAnswer.objects.get().body)
    [listed] = script.get(LINKS).json()["results"]
    assert (listed["note"], listed["analysis"], listed["link"]) == ("the board", analysis.public_id, None)
    assert listed["last_used_at"]
    address = f"{LINKS}{listed['id']}/"
    problem_of(script.post(f"{address}restore/"), 409, "link_ended")  # it is not revoked
    problem_of(script.post(f"{address}revoke/", if_match='"old"'), 412, "no_etag")
    for _twice in range(2):
        assert script.post(f"{address}revoke/").json()["revoked_at"]
    assert client.get(page).status_code == 404
    assert script.post(f"{address}restore/").json()["revoked_at"] is None
    assert client.get(page).status_code == 200
    acts = AuditEvent.objects.filter(act__startswith="results_link.").order_by("pk").values_list("act", flat=True)
    assert [act.partition(".")[2] for act in acts] == ["made", "first_used", "revoked", "restored"]


def test_a_link_that_cannot_be(script: Program, analysis: Analysis) -> None:
    for wrong in ({"days": 2}, {"days": "many"}, {"note": "x" * 201}, {"until": "2999-01-01"}):
        problem_of(script.post(share(analysis), wrong), 422, "invalid")
    problem_of(script.post("studies/trial/analyses/none/share/"), 404, "not_found")
    for act in ("revoke", "restore"):
        problem_of(script.post(f"{LINKS}99/{act}/"), 404, "not_found")
    for hidden in ({"unblinded_at": None}, {"state": StudyState.OPEN, "unblinded_at": NOON}):
        ReaderStudy.objects.filter(slug="trial").update(**hidden)
        problem_of(script.post(share(analysis)), 403, "forbidden")
    assert not ResultsLink.objects.exists()


def test_few_queries(script: Program, analysis: Analysis) -> None:
    for _thrice in range(3):
        script.post(share(analysis))
    with CaptureQueriesContext(connection) as asked:
        assert len(script.get(LINKS).json()["results"]) == 3
    assert len(asked) <= 12
