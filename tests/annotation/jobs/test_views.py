"""Job pages and /healthz."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from unittest import mock

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from annotation.enums import JobQueue, JobState
from annotation.models import Job, User, WorkerBeat
from annotation.site.health import health_of_site, seconds_ahead
from tests.pages import markup


@pytest.fixture
def job(cora: User, noon: datetime) -> Job:
    return Job.objects.create(kind="rehearsal", title="Rehearsal of Cora", created_by=cora, created_at=noon)


def address(job: Job, name: str = "job") -> str:
    return reverse(name, args=[job.public_id])


def test_a_coordinator_sees_the_job_and_a_stranger_nothing(client: Client, cora: User, stan: User, job: Job) -> None:
    client.force_login(stan)
    assert "Rehearsal of Cora" not in client.get(reverse("jobs")).content.decode()
    client.force_login(cora)
    assert "Rehearsal of Cora" in client.get(reverse("jobs")).content.decode()
    page = client.get(address(job)).content.decode()
    assert ("<html" in page, "every 1s" in page) == (True, True)
    part = client.get(address(job), headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()
    assert "HX-Request" in part["Vary"]


def test_cancel_and_try_again(coordinator: Client, job: Job) -> None:
    assert coordinator.get(address(job, "job-cancel")).status_code == 405
    for act, state in (("job-cancel", JobState.CANCELLED), ("job-retry", JobState.QUEUED)):
        coordinator.post(address(job, act))
        job.refresh_from_db()
        assert job.state == state


def test_administrators_see_which_worker_is_silent(client: Client, ada: User, cora: User) -> None:
    for name, seconds in (("here-1", 5), ("lost-2", 90)):
        WorkerBeat.objects.create(name=name, queues="images", beat_at=timezone.now() - timedelta(seconds=seconds))
    client.force_login(ada)
    page = markup(client.get(reverse("jobs")))
    here, lost = page.split("here-1")[1].split("lost-2")
    assert "at work" in here
    assert "silent" not in here
    assert "silent" in lost
    assert "begun again by another" not in lost, "nobody sweeps"
    assert "No worker takes the jobs of: imports, analysis, models, mail, sweeps." in page
    for queues, is_promised in (("mail sweeps", True), ("sweeps", True), ("mail imports", False)):
        WorkerBeat.objects.update_or_create(name="also", defaults={"queues": queues, "beat_at": timezone.now()})
        lost = markup(client.get(reverse("jobs"))).split("lost-2")[1]
        assert ("begun again by another" in lost) is is_promised
    WorkerBeat.objects.filter(name="here-1").update(queues="imports")
    assert "begun again by another" not in markup(client.get(reverse("jobs"))), "nobody takes images"
    client.force_login(cora)
    page = client.get(reverse("jobs")).content.decode()
    assert "here-1" not in page
    assert "No worker" not in page


def test_a_silent_worker_is_listed_for_minutes_or_while_its_job_is_left(client: Client, ada: User, job: Job) -> None:
    def listed() -> str:
        return client.get(reverse("jobs")).content.decode()

    client.force_login(ada)
    fell_silent = timezone.now() - timedelta(minutes=4)
    WorkerBeat.objects.create(name="lost-2", queues="images", beat_at=fell_silent)
    assert "lost-2" in listed()
    fell_silent -= timedelta(minutes=2)
    WorkerBeat.objects.update(beat_at=fell_silent)
    Job.objects.update(queue="images", state=JobState.RUNNING, heartbeat_at=fell_silent - timedelta(minutes=9))
    assert "lost-2" not in listed(), "it is the job of another"
    Job.objects.update(heartbeat_at=fell_silent + timedelta(seconds=4))
    assert "lost-2" in listed()
    Job.objects.update(state=JobState.SUCCEEDED)
    assert "lost-2" not in listed()
    assert "No worker has been seen for" in listed()


def test_a_result_is_told_in_words(coordinator: Client, job: Job) -> None:
    Job.objects.update(
        state=JobState.SUCCEEDED,
        result={"n_of_files": 3, "finished": True, "inputs_sha256": "c0ffee", "analysis": "xyz"},
    )
    page = markup(coordinator.get(f"/jobs/{job.public_id}/"))
    assert "<dt>Of files</dt><dd>3</dd>" in page
    assert "<dt>Finished</dt><dd>yes</dd>" in page
    for raw in ("n_of_files", "sha256", "c0ffee", "xyz"):
        assert raw not in page


def test_a_job_that_starts_again_says_so(coordinator: Client, job: Job) -> None:
    for attempts, state, is_told in ((1, "running", False), (2, "running", True), (1, "queued", True)):
        Job.objects.update(attempts=attempts, state=state)
        page = coordinator.get(f"/jobs/{job.public_id}/").content.decode()
        assert ("The worker was stopped in the middle" in page) is is_told


def test_a_step_is_shown_while_it_is_taken_and_bytes_have_a_unit(coordinator: Client, job: Job) -> None:
    for state, is_shown in ((JobState.RUNNING, True), (JobState.SUCCEEDED, False), (JobState.FAILED, False)):
        Job.objects.update(state=state, message="asking the PACS")
        assert ("asking the PACS" in coordinator.get(address(job)).content.decode()) is is_shown
    Job.objects.update(kind="store_questions", message="", progress_done=58_458_112, progress_total=67_371_991)
    assert "55.8 MB / 64.3 MB" in markup(coordinator.get(address(job))).replace("\xa0", " ")
    Job.objects.update(message="Checking the wording")
    assert "58,458,112 / 67,371,991" in markup(coordinator.get(address(job)))


def test_refusals_are_listed_and_escaped(coordinator: Client, job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(
        state=JobState.SUCCEEDED,
        result={"files": 1, "refused": [{"file": "<b>x</b>", "code": "cut", "message": "The picture is cut."}]},
    )
    page = coordinator.get(address(job)).content.decode()
    assert "The picture is cut." in page
    assert "<b>x</b>" not in page


@pytest.fixture
def monitor(settings: Settings) -> Client:
    """A program with the token, which reads what is wrong."""
    settings.HEALTH_TOKEN = "token of the monitoring"
    return Client(headers={"Authorization": f"Bearer {settings.HEALTH_TOKEN}"})


def test_healthz_tells_strangers_whether_the_site_serves_and_no_more(
    client: Client, monitor: Client, ada: User, cora: User
) -> None:
    address = reverse("healthz")
    for person in (None, cora):
        if person:
            client.force_login(person)
        assert set(client.get(address).json()) == {"status"}
    assert set(Client(headers={"Authorization": "Bearer "}).get(address).json()) == {"status"}
    client.force_login(ada)
    assert client.get(address).json() == monitor.get(address).json()


@pytest.mark.django_db
def test_healthz_says_what_is_missing(monitor: Client) -> None:
    response = monitor.get(reverse("healthz"))
    health = response.json()
    assert set(health) == {"status", "database", "storage", "images", "worker", "privacy", "clock"}
    assert health["storage"] == "ok"
    assert health["worker"] != "ok"


@pytest.mark.django_db
def test_healthz_says_how_far_a_clock_is_off_and_what_to_do(monitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert seconds_ahead(at=timezone.now()) == pytest.approx(0, abs=4)
    if connection.vendor == "postgresql":
        assert seconds_ahead(at=timezone.now() - timedelta(minutes=5)) == pytest.approx(-300, abs=4)
    assert monitor.get(reverse("healthz")).json()["clock"] == "ok"
    with monkeypatch.context() as slow:
        slow.setattr("annotation.site.health.monotonic", partial(next, iter((0.0, 300.0))))
        late = health_of_site(at=timezone.now() - timedelta(minutes=5))
    assert late.clock == "ok", "a database that takes five minutes is no wrong clock"
    for seconds, words in ((300, "300 s ahead of"), (-300, "300 s behind")):
        monkeypatch.setattr("annotation.site.health.seconds_ahead", lambda at, off=seconds: off)
        told = monitor.get(reverse("healthz")).json()
        assert f"{words} that of the database: let NTP set both" in told["clock"]
        assert told["status"] == "degraded"


def test_healthz_knows_a_worker_by_its_last_sign_of_life(monitor: Client, db: None) -> None:
    WorkerBeat.objects.create(name="w", queues="images imports analysis models", beat_at=timezone.now())
    without_mail = monitor.get(reverse("healthz")).json()
    assert (without_mail["status"], without_mail["worker"]) == ("degraded", "no worker takes the jobs of: mail, sweeps")
    WorkerBeat.objects.create(name="v", queues="mail sweeps", beat_at=timezone.now())
    well = monitor.get(reverse("healthz"))
    assert (well.status_code, well.json()["status"]) == (200, "ok")
    WorkerBeat.objects.update(beat_at=timezone.now() - timedelta(seconds=100))
    late = monitor.get(reverse("healthz"))
    assert (late.status_code, late.json()["status"]) == (503, "degraded")
    assert "no worker has been seen for 1" in late.json()["worker"]


def test_healthz_is_down_where_files_cannot_be_written_or_the_database_does_not_answer(
    monitor: Client, db: None, settings: Settings
) -> None:
    with mock.patch.object(connection, "cursor", side_effect=OperationalError("gone")):
        down = monitor.get(reverse("healthz"))
    assert (down.status_code, down.json()["status"]) == (503, "down")
    assert "does not answer" in down.json()["database"]
    settings.TEMP_ROOT = Path("/nowhere")
    down = monitor.get(reverse("healthz"))
    assert (down.status_code, down.json()["status"]) == (503, "down")
    assert "cannot be written" in down.json()["storage"]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL locks rows and tables, never a whole database")
@pytest.mark.django_db(transaction=True)
def test_healthz_is_down_where_another_program_keeps_the_database(
    monitor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.site.health.SECONDS_OF_A_LOCK", 0)
    with closing(sqlite3.connect(connection.settings_dict["NAME"])) as other:
        other.execute("BEGIN IMMEDIATE")
        down = monitor.get(reverse("healthz"))
    assert (down.status_code, down.json()["status"]) == (503, "down")
    assert "the database is locked" in down.json()["database"]
    assert monitor.get(reverse("healthz")).json()["database"] == "ok"


def test_prometheus_reads_figures_by_the_token(
    client: Client, monitor: Client, cora: User, tmp_path: Path, settings: Settings
) -> None:
    """By the header that Prometheus 3 sends; what it asks for waits since a minute, another job failed."""
    settings.BACKUP_ROOT = tmp_path
    asks = {"Accept": "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1"}
    at = timezone.now()
    made = {"kind": "send_letter", "title": "Letter", "queue": JobQueue.MAIL, "created_at": at - timedelta(minutes=1)}
    Job.objects.create(state=JobState.QUEUED, **made)
    Job.objects.create(state=JobState.FAILED, finished_at=at, **made)
    answer = monitor.get(reverse("healthz"), headers=asks)
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    lines = answer.content.decode().splitlines()
    assert all(re.fullmatch(r'[a-z_]+(\{([a-z]+="[a-z0-9_]+",?)+\})? [0-9.]+', line) for line in lines), lines
    told = dict(line.rsplit(" ", 1) for line in lines)
    assert told['rexvqa_jobs{queue="mail",state="queued"}'] == told['rexvqa_jobs_failed_in_a_day{queue="mail"}'] == "1"
    assert 60 <= int(told['rexvqa_job_waiting_seconds{queue="mail"}']) < 3600
    assert told['rexvqa_part_ok{part="worker"}'] == "0"
    assert told['rexvqa_rows_written{table="annotation_user"}'] == str(cora.pk)
    assert "rexvqa_backup_age_seconds" not in told, "there is no backup: its age is not known"
    assert "rexvqa_drill_age_seconds" not in told
    (tmp_path / "drilled").touch()  # as docs/deploy/drill does
    os.utime(tmp_path / "drilled", (0, at.timestamp() - 86_400))
    again = monitor.get(reverse("healthz"), headers=asks).content.decode()
    assert re.search(r"(?m)^rexvqa_drill_age_seconds 8640\d$", again)
    assert set(client.get(reverse("healthz"), headers=asks).json()) == {"status"}
