"""Jobs: the row is the truth, whatever happens to messages and workers; and what ``manage.py jobs`` tells of them."""

from __future__ import annotations

from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from amqp.exceptions import PreconditionFailed
from billiard.exceptions import TimeLimitExceeded
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.utils import timezone
from pytest_django import Settings

from annotation.contributions import contributing_apps
from annotation.enums import JobQueue, JobState
from annotation.jobs import queueing, running
from annotation.jobs.queueing import (
    REHEARSAL,
    SOON,
    JobHandler,
    JobPostponed,
    JobRefused,
    Progress,
    RehearsalParams,
    handler_for,
)
from annotation.management.commands import jobs
from annotation.models import AuditEvent, Job, User
from annotation.site.logs import about
from tests.refusals import refuses


@pytest.fixture
def nudges(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    sent: list[str] = []
    monkeypatch.setattr("annotation.jobs.running.send", lambda job: sent.append(job.public_id))
    monkeypatch.setattr("annotation.jobs.running.n_messages", lambda _queue: 0)
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


def test_a_job_runs_to_its_result_once(job: Job, noon: datetime, cora: User) -> None:
    assert running.run(job.public_id, clock=lambda: noon)
    assert not running.run(job.public_id, clock=lambda: noon), "a second message changes nothing"
    assert (refreshed(job).state, job.attempts, job.result) == (JobState.SUCCEEDED, 1, {"steps": 2})
    assert (job.progress_done, job.progress_total) == (2, 2)
    with refuses(JobRefused, "over"):
        queueing.cancel(job, actor=cora, at=noon)
    with refuses(JobRefused, "not_failed"):
        queueing.retry(job, actor=cora, at=noon)


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


@pytest.mark.logs("job.retried")
def test_a_failed_job_is_tried_again(job: Job, noon: datetime, cora: User) -> None:
    Job.objects.filter(pk=job.pk).update(state=JobState.FAILED, error="disk full", attempts=1)
    queueing.retry(job, actor=cora, at=noon)
    assert running.run(job.public_id, clock=lambda: noon)
    assert refreshed(job).state == JobState.SUCCEEDED
    assert job.error == ""


def abandon(job: Job, *, since: datetime, attempts: int = 1) -> None:
    Job.objects.filter(pk=job.pk).update(state=JobState.RUNNING, runner="dead", heartbeat_at=since, attempts=attempts)


def test_a_job_of_a_killed_worker_is_found_and_run_again_three_times_in_all(
    job: Job, noon: datetime, nudges: list[str]
) -> None:
    abandon(job, since=noon)
    assert queueing.requeue_abandoned(at=noon + timedelta(seconds=5)) == 0, "one that beats is left alone"
    queueing.sweep(at=noon + timedelta(minutes=2))
    assert nudges == [job.public_id]
    assert running.run(job.public_id, clock=lambda: noon)
    assert refreshed(job).state == JobState.SUCCEEDED
    abandon(job, since=noon, attempts=3)
    queueing.requeue_abandoned(at=noon + timedelta(minutes=2))
    assert refreshed(job).state == JobState.FAILED
    assert "begun 3 times" in job.error


@pytest.mark.parametrize("error", [JobPostponed("Another import runs.", seconds=3), ConnectionResetError()])
def test_what_was_cancelled_is_not_begun_again(
    job: Job, noon: datetime, cora: User, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def cancelled(_progress: Progress, _params: dict[str, Any]) -> dict[str, Any]:
        queueing.cancel(job, actor=cora, at=noon)
        raise error

    handle_with(monkeypatch, cancelled)
    running.run(job.public_id, clock=lambda: noon)
    assert refreshed(job).state == JobState.CANCELLED
    abandon(job, since=noon)
    queueing.requeue_abandoned(at=noon + timedelta(minutes=2))
    assert refreshed(job).state == JobState.CANCELLED


def test_a_job_of_a_queue_that_is_not_known_stops_no_sweep(job: Job, noon: datetime) -> None:
    Job.objects.update(queue="gone")
    abandoned = Job.objects.create(kind="rehearsal", title="Killed", created_at=noon)
    abandon(abandoned, since=noon)
    queueing.sweep(at=noon + timedelta(minutes=2))
    assert refreshed(abandoned).state == JobState.QUEUED


def test_a_late_limit_ends_no_run_of_another_worker(job: Job) -> None:
    now = timezone.now()
    Job.objects.update(state=JobState.RUNNING, runner="another", started_at=now)
    running._over_the_limit(exception=TimeLimitExceeded(1), args=(job.public_id,))
    assert refreshed(job).state == JobState.RUNNING
    Job.objects.update(started_at=now - timedelta(days=1))
    running._over_the_limit(exception=TimeLimitExceeded(1), args=(job.public_id,))
    assert refreshed(job).state == JobState.FAILED


def test_a_broker_that_refuses_loses_nothing(noon: datetime, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_job: Job) -> None:
        raise PreconditionFailed("x-max-priority")

    monkeypatch.setattr("annotation.jobs.running.send", refuse)
    queueing.nudge(Job(kind="rehearsal"))


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


def test_a_message_that_a_busy_worker_holds_is_sent_again_soon(job: Job, noon: datetime, nudges: list[str]) -> None:
    Job.objects.create(kind="rehearsal", title="Long", state=JobState.RUNNING, created_at=noon, heartbeat_at=noon)
    for seconds in (9, 11, 16, 22):
        queueing.nudge_forgotten(at=noon + timedelta(seconds=seconds))
    assert nudges == [job.public_id] * 2  # after 11 and 22 seconds


def test_messages_do_not_pile_up_while_all_workers_are_busy(
    job: Job, noon: datetime, nudges: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two jobs one has lost its message: nobody knows which, so that both are told of, once."""
    other = queueing.enqueue(REHEARSAL, "Other", RehearsalParams(steps=2), actor=None, at=noon)
    in_the_queue = 1
    monkeypatch.setattr("annotation.jobs.running.n_messages", lambda _queue: in_the_queue + len(nudges))
    for minutes in (1, 2, 3, 4):
        queueing.nudge_forgotten(at=noon + timedelta(minutes=minutes))
    assert nudges == [job.public_id, other.public_id]


def test_a_message_queue_that_is_away_is_no_error_of_a_sweep(
    job: Job, noon: datetime, nudges: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is asked every few seconds: errors would wake somebody each time."""

    def away(_queue: str) -> int:
        raise ConnectionError("refused")

    monkeypatch.setattr("annotation.jobs.running.n_messages", away)
    queueing.nudge_forgotten(at=noon + timedelta(minutes=1))
    assert ([line.levelname for line in caplog.records], nudges) == (["WARNING"], [])
    monkeypatch.setattr("annotation.jobs.running.n_messages", lambda _queue: 0)
    queueing.nudge_forgotten(at=noon + timedelta(minutes=1))
    assert nudges == [job.public_id], "the next sweep tells of it"


def test_a_job_that_must_wait_its_turn_is_begun_again_and_counts_no_attempt(
    job: Job, noon: datetime, monkeypatch: pytest.MonkeyPatch, nudges: list[str]
) -> None:
    def busy(_progress: Progress, _params: dict[str, Any]) -> dict[str, Any]:
        raise JobPostponed("Another import runs.", seconds=10)

    with monkeypatch.context() as handled:
        handle_with(handled, busy)
        assert running.run(job.public_id, clock=lambda: noon)
    assert (refreshed(job).state, job.message, job.attempts) == (JobState.QUEUED, "Another import runs.", 0)
    assert not running.run(job.public_id, clock=lambda: noon + timedelta(seconds=9))
    for seconds, n_told in ((9, 0), (10, 1), (11, 1)):
        queueing.nudge_forgotten(at=noon + timedelta(seconds=seconds))
        assert len(nudges) == n_told, seconds
    assert running.run(job.public_id, clock=lambda: noon + timedelta(seconds=10))
    assert refreshed(job).state == JobState.SUCCEEDED


@pytest.mark.parametrize("error", [ConnectionRefusedError("no mail server"), OperationalError("database is locked")])
def test_what_passes_is_tried_again_ever_later_and_then_given_up(
    job: Job, noon: datetime, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(_progress: Progress, _params: dict[str, Any]) -> dict[str, Any]:
        raise error

    handle_with(monkeypatch, fails)
    at, waits = noon, []
    while refreshed(job).state == JobState.QUEUED:
        running.run(job.public_id, clock=lambda: at)  # noqa: B023 - called at once
        due = refreshed(job).due_at
        if due and job.state == JobState.QUEUED:
            waits.append((due - at).total_seconds())
            at = due
    assert waits == [5, 20, 80, 320]
    assert (job.state, job.error) == (JobState.FAILED, str(error))


def test_a_message_goes_into_the_queue_of_its_kind_with_the_limit_of_that(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(running.run_job, "apply_async", lambda _args, **how: sent.append({"task": "run_job", **how}))
    monkeypatch.setattr(running.run_long_job, "apply_async", lambda _args, **how: sent.append({"task": "long", **how}))
    for queue, broker in ((JobQueue.ANALYSIS, "amqp://host"), (JobQueue.MAIL, "redis://host")):
        settings.CELERY_BROKER_URL = broker
        running.send(Job(kind="any", queue=queue, priority=SOON))
    assert [(one["task"], one["queue"], one["priority"]) for one in sent] == [
        ("long", "analysis", 9),
        ("run_job", "mail", 0),  # of Redis the lowest number is taken first
    ]
    assert [one["soft_time_limit"] for one in sent] == [settings.JOB_MINUTES[q] * 60 for q in ("analysis", "mail")]


def test_one_of_several_workers_sweeps_at_a_time(job: Job, noon: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    swept: list[datetime] = []
    monkeypatch.setattr(queueing, "requeue_abandoned", swept.append)
    for seconds in (0, 1, 5, 5, 6, 10):
        queueing.sweep(at=noon + timedelta(seconds=seconds))
    assert [(at - noon).seconds for at in swept] == [0, 5, 10]


def test_what_a_sweep_logs_is_not_told_of_the_job_that_its_thread_ran_before(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[dict[str, str] | None] = []

    def tell(*_given: object, **_more: object) -> dict[str, Any]:
        told.append(about.get())
        return {}

    handle_with(monkeypatch, tell)
    monkeypatch.setattr(running, "sweep", tell)
    running.run_job(job.public_id)
    running.run_sweep()
    assert told == [{"job": job.public_id, "kind": job.kind}, None]


def test_old_jobs_of_the_site_go_and_those_of_people_stay(
    job: Job, noon: datetime, cora: User, settings: Settings
) -> None:
    old = {"state": JobState.SUCCEEDED, "created_at": noon, "finished_at": noon - timedelta(days=31)}
    rows = {
        "of a person": Job(kind="make_report", created_by=cora, **old),
        "letter": Job(kind="send_letter", queue=JobQueue.MAIL, created_by=cora, **old),
        "own": Job(kind="text_search", **old),
        "own, newer": Job(kind="text_search", **old | {"finished_at": noon - timedelta(days=1)}),
        "newest letter": Job(kind="send_letter", queue=JobQueue.MAIL, **old),
    }
    for title, row in rows.items():
        row.title = title
        row.save()
    settings.JOB_DAYS = 0
    queueing.delete_old(at=noon)
    assert Job.objects.count() == 6
    settings.JOB_DAYS = 30
    queueing.delete_old(at=noon)
    left = set(Job.objects.values_list("title", flat=True))
    assert left == {"Rehearsal", "of a person", "own, newer", "newest letter"}


def test_every_kind_has_one_handler() -> None:
    work = [work for app in contributing_apps() for work in (app.background_work(), app.waiting_work())]
    kinds = [one.kind for of_app in work for one in of_app.jobs]
    assert len(kinds) == len(set(kinds)) == len({handler_for(kind).run for kind in kinds})


# --- manage.py jobs ---
def told(*arguments: str) -> str:
    out = StringIO()
    call_command("jobs", *arguments, stdout=out)
    return out.getvalue()


def test_the_list_names_state_and_progress(job: Job, noon: datetime) -> None:
    assert told().split() == [job.public_id, "queued", "Rehearsal"]
    running.run(job.public_id, clock=lambda: noon)
    assert told().split() == [job.public_id, "succeeded", "2/2", "Rehearsal"]


def test_a_job_is_followed_with_a_bar_until_it_ends(
    job: Job, noon: datetime, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looks: list[float] = []

    def next_look(seconds: float) -> None:
        looks.append(seconds)
        running.run(job.public_id, clock=lambda: noon)

    monkeypatch.setattr("annotation.management.commands.jobs.time.sleep", next_look)
    assert "done" in told(job.public_id)
    assert "Rehearsal" in capsys.readouterr().out
    assert looks.count(jobs.SECONDS_BETWEEN_LOOKS) == 1


def test_a_job_that_failed_says_why_with_status_1_and_one_that_is_not_there_with_2(job: Job) -> None:
    Job.objects.update(state=JobState.FAILED, error="the disk is full")
    for name, said, status in (
        (job.public_id, "failed: the disk is full", 1),
        ("nonsense", "there is no job nonsense", 2),
    ):
        with pytest.raises(CommandError, match=said) as refused:
            told(name)
        assert refused.value.returncode == status
