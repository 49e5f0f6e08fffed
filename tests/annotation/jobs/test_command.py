"""``manage.py jobs``: what is listed, and how a job is followed to its end."""

from __future__ import annotations

from datetime import datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.enums import JobState
from annotation.jobs import queueing, running
from annotation.jobs.handlers import REHEARSAL, RehearsalParams
from annotation.management.commands import jobs
from annotation.models import Job


@pytest.fixture
def job(db: None, noon: datetime, monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.setattr("annotation.jobs.running.send", lambda _job: None)
    return queueing.enqueue(REHEARSAL, "Rehearsal", RehearsalParams(steps=2), actor=None, at=noon)


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


def test_a_job_that_failed_says_why_with_status_1(job: Job) -> None:
    Job.objects.update(state=JobState.FAILED, error="the disk is full")
    with pytest.raises(CommandError, match="failed: the disk is full") as refused:
        told(job.public_id)
    assert refused.value.returncode == 1


def test_a_job_that_is_not_there_is_told_with_status_2(db: None) -> None:
    with pytest.raises(CommandError, match="there is no job nonsense") as refused:
        told("nonsense")
    assert refused.value.returncode == 2
