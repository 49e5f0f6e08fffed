"""Jobs: the row is the truth, whatever happens to messages and workers."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from annotation.contributions import contributing_apps
from annotation.enums import JobState
from annotation.jobs import queueing, running
from annotation.jobs.handlers import REHEARSAL, JobHandler, JobRefused, Progress, RehearsalParams, handler_for
from annotation.models import AuditEvent, Job, User
from tests.refusals import refuses


@pytest.fixture
def nudges(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    sent: list[str] = []
    monkeypatch.setattr("annotation.jobs.running.run_job.delay", sent.append)
    return sent


@pytest.fixture
def job(db: None, noon: datetime, nudges: list[str]) -> Job:
    return queueing.enqueue(REHEARSAL, "Rehearsal", RehearsalParams(steps=2), actor=None, at=noon)


def refreshed(job: Job) -> Job:
    job.refresh_from_db()
    return job


def handle_with(monkeypatch: pytest.MonkeyPatch, handler: Any) -> None:
    monkeypatch.setattr("annotation.jobs.running.handler_for", lambda kind: JobHandler(REHEARSAL, handler))


def test_a_job_of_another_version_fails_in_words(job: Job, noon: datetime) -> None:
    Job.objects.update(kind="nonsense")
    assert running.run(job.public_id, clock=lambda: noon)
    assert (refreshed(job).state, job.error) == (JobState.FAILED, "this program has no job of the kind 'nonsense'")


@pytest.mark.django_db(transaction=True)
def test_the_message_is_sent_after_the_commit(noon: datetime, nudges: list[str]) -> None:
    job = queueing.enqueue(REHEARSAL, "Rehearsal", RehearsalParams(), actor=None, at=noon)
    assert nudges == [job.public_id]


def test_a_job_runs_to_its_result(job: Job, noon: datetime) -> None:
    assert running.run(job.public_id, clock=lambda: noon)
    assert refreshed(job).state == JobState.SUCCEEDED
    assert job.result == {"steps": 2}
    assert (job.progress_done, job.progress_total) == (2, 2)


def test_a_second_message_changes_nothing(job: Job, noon: datetime) -> None:
    running.run(job.public_id, clock=lambda: noon)
    assert not running.run(job.public_id, clock=lambda: noon)
    assert refreshed(job).attempts == 1


def test_a_failure_says_what_was_wrong(job: Job, noon: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(progress: Progress, params: dict[str, Any]) -> dict[str, Any]:
        raise ValueError("row 7 has no options")

    handle_with(monkeypatch, fail)
    running.run(job.public_id, clock=lambda: noon)
    assert refreshed(job).state == JobState.FAILED
    assert job.error == "row 7 has no options"


def test_a_waiting_job_is_cancelled_at_once(job: Job, noon: datetime, cora: User) -> None:
    queueing.cancel(job, actor=cora, at=noon)
    assert refreshed(job).state == JobState.CANCELLED
    assert not running.run(job.public_id, clock=lambda: noon)
    assert AuditEvent.objects.filter(act="job.cancelled", actor=cora).exists()


def test_a_running_job_is_cancelled_at_its_next_report(
    job: Job, noon: datetime, cora: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancelled_midway(progress: Progress, params: dict[str, Any]) -> dict[str, Any]:
        queueing.cancel(job, actor=cora, at=noon)
        progress.report(1, 1)
        pytest.fail("the report must not return")

    handle_with(monkeypatch, cancelled_midway)
    running.run(job.public_id, clock=lambda: noon)
    assert refreshed(job).state == JobState.CANCELLED


def test_a_job_that_is_over_cannot_be_cancelled(job: Job, noon: datetime, cora: User) -> None:
    running.run(job.public_id, clock=lambda: noon)
    with refuses(JobRefused, "over"):
        queueing.cancel(job, actor=cora, at=noon)


@pytest.mark.logs("job.retried")
def test_a_failed_job_is_tried_again(job: Job, noon: datetime, cora: User) -> None:
    Job.objects.filter(pk=job.pk).update(state=JobState.FAILED, error="disk full", attempts=1)
    queueing.retry(job, actor=cora, at=noon)
    assert running.run(job.public_id, clock=lambda: noon)
    assert refreshed(job).state == JobState.SUCCEEDED
    assert job.error == ""


def test_a_succeeded_job_is_not_tried_again(job: Job, noon: datetime, cora: User) -> None:
    running.run(job.public_id, clock=lambda: noon)
    with refuses(JobRefused, "not_failed"):
        queueing.retry(job, actor=cora, at=noon)


def abandon(job: Job, *, since: datetime, attempts: int = 1) -> None:
    Job.objects.filter(pk=job.pk).update(state=JobState.RUNNING, runner="dead", heartbeat_at=since, attempts=attempts)


def test_a_job_of_a_killed_worker_is_found_and_run_again(job: Job, noon: datetime, nudges: list[str]) -> None:
    abandon(job, since=noon)
    queueing.sweep("w", at=noon + timedelta(minutes=2))
    assert nudges == [job.public_id]
    assert running.run(job.public_id, clock=lambda: noon)
    assert refreshed(job).state == JobState.SUCCEEDED


def test_a_job_that_beats_is_left_alone(job: Job, noon: datetime) -> None:
    abandon(job, since=noon)
    assert queueing.requeue_abandoned(at=noon + timedelta(seconds=5)) == 0


def test_after_three_attempts_a_job_fails(job: Job, noon: datetime) -> None:
    abandon(job, since=noon, attempts=3)
    queueing.requeue_abandoned(at=noon + timedelta(minutes=2))
    assert refreshed(job).state == JobState.FAILED
    assert "3 times" in job.error


def test_a_worker_that_was_thought_dead_changes_nothing(
    job: Job, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtaken(progress: Progress, params: dict[str, Any]) -> dict[str, Any]:
        Job.objects.filter(pk=job.pk).update(runner="another")
        progress.report(1, 1)
        return {"never": "stored"}

    handle_with(monkeypatch, overtaken)
    running.run(job.public_id, clock=lambda: noon)
    assert refreshed(job).state == JobState.RUNNING
    assert job.result is None


def test_a_lost_message_is_sent_again(job: Job, noon: datetime, nudges: list[str]) -> None:
    queueing.nudge_forgotten(at=noon + timedelta(seconds=5))
    assert nudges == []
    queueing.nudge_forgotten(at=noon + timedelta(minutes=1))
    assert nudges == [job.public_id]


def test_a_lost_message_is_found_while_other_jobs_run_for_days(job: Job, noon: datetime, nudges: list[str]) -> None:
    Job.objects.create(kind="rehearsal", title="Long", state=JobState.RUNNING, created_at=noon, heartbeat_at=noon)
    for minutes in (1, 3, 4, 6):
        queueing.nudge_forgotten(at=noon + timedelta(minutes=minutes))
    assert nudges == [job.public_id] * 2  # after 3 and 6 minutes


def test_every_kind_has_one_handler() -> None:
    kinds = [one.kind for app in contributing_apps() for one in app.background_work().jobs]
    assert len(kinds) == len(set(kinds)) == len({handler_for(kind).run for kind in kinds})
