"""Job pages and /healthz."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client
from django.urls import reverse

from annotation.enums import JobState
from annotation.models import Job, User


@pytest.fixture
def job(cora: User, noon: datetime) -> Job:
    return Job.objects.create(kind="rehearsal", title="Rehearsal of Cora", created_by=cora, created_at=noon)


def address(job: Job, name: str = "job") -> str:
    return reverse(name, args=[job.public_id])


def test_a_coordinator_sees_the_job(client: Client, cora: User, job: Job) -> None:
    client.force_login(cora)
    assert "Rehearsal of Cora" in client.get(reverse("jobs")).content.decode()
    page = client.get(address(job)).content.decode()
    assert "<html" in page
    assert "every 1s" in page


def test_the_fragment_is_only_the_job(client: Client, cora: User, job: Job) -> None:
    client.force_login(cora)
    response = client.get(address(job), headers={"HX-Request": "true"})
    assert "<html" not in response.content.decode()
    assert "HX-Request" in response["Vary"]


def test_a_stranger_sees_nothing(client: Client, stan: User, job: Job) -> None:
    client.force_login(stan)
    assert client.get(address(job)).status_code == 404
    assert client.post(address(job, "job-cancel")).status_code == 404
    assert "Rehearsal of Cora" not in client.get(reverse("jobs")).content.decode()


def test_an_administrator_looks_but_does_not_steer(client: Client, ada: User, job: Job) -> None:
    client.force_login(ada)
    assert client.get(address(job)).status_code == 200
    assert client.post(address(job, "job-cancel")).status_code == 403


def test_a_get_does_not_cancel(client: Client, cora: User, job: Job) -> None:
    client.force_login(cora)
    assert client.get(address(job, "job-cancel")).status_code == 405


def test_cancel_and_try_again(client: Client, cora: User, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    client.force_login(cora)
    client.post(address(job, "job-cancel"))
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    client.post(address(job, "job-retry"))
    job.refresh_from_db()
    assert job.state == JobState.QUEUED


def test_refusals_are_listed_and_escaped(client: Client, cora: User, job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(
        state=JobState.SUCCEEDED,
        result={"files": 1, "refused": [{"file": "<b>x</b>", "code": "cut", "message": "The picture is cut."}]},
    )
    client.force_login(cora)
    page = client.get(address(job)).content.decode()
    assert "The picture is cut." in page
    assert "<b>x</b>" not in page


@pytest.mark.django_db
def test_healthz_says_what_is_missing(client: Client) -> None:
    response = client.get(reverse("healthz"))
    health = response.json()
    assert set(health) == {"status", "database", "storage", "worker"}
    assert health["storage"] == "ok"
    assert health["worker"] != "ok"
