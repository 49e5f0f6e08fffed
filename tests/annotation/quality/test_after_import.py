"""A sent question file: its wording is checked in the job that stored it, once the questions can be seen."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from annotation.enums import ImportState, JobState
from annotation.jobs import queueing
from annotation.jobs.handlers import JobCancelled
from annotation.models import BankImport, Finding, Job, Question, Upload, User
from annotation.questionbank import uploads
from tests.annotation.quality.conftest import records
from tests.jobs import worked

pytestmark = pytest.mark.django_db


@pytest.fixture
def upload(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, cora: User, noon: datetime) -> Upload:
    """A sent file that waits to be stored; nobody listens to the queue."""
    settings.HOME = tmp_path / "home"
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)
    content = [json.dumps(records()).encode()]
    sent = uploads.receive_file(content, "bank.json", None, bank_name="Bank", actor=cora, at=noon)
    work()
    uploads.store_checked(Upload.objects.get(pk=sent.pk), actor=cora, at=noon)
    return sent


def work() -> Job:
    return worked(Job.objects.get(state=JobState.QUEUED))


def test_the_result_of_the_job_tells_what_was_found(upload: Upload) -> None:
    job = work()
    assert job.state == JobState.SUCCEEDED
    assert job.result is not None
    assert job.result["checked"]["questions"] == 5
    assert job.result["checked"]["added"] == Finding.objects.count() > 0
    assert (job.progress_done, job.progress_total, job.message) == (5, 5, "Checking the wording")


def test_questions_can_be_seen_before_they_are_checked(upload: Upload, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def look(*_all: Any, **_options: Any) -> Any:
        seen.append(BankImport.objects.get().state)
        raise JobCancelled

    monkeypatch.setattr(uploads, "check_revisions", look)
    job = work()
    assert seen == [ImportState.PUBLISHED]
    assert job.state == JobState.SUCCEEDED
    assert job.result is not None
    assert (job.result["stored"], job.result["checked"]) == (True, None)
    assert Question.objects.count() == 5


def test_a_job_that_was_killed_while_checking_checks_all_of_it_when_run_again(
    upload: Upload, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_all: Any, **_options: Any) -> Any:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(uploads, "check_revisions", killed)
        with pytest.raises(SystemExit):
            work()
    Job.objects.filter(state=JobState.RUNNING).update(state=JobState.QUEUED)
    job = work()
    assert job.result is not None
    assert (job.result["unchanged"], job.result["checked"]["questions"]) == (5, 5)
    assert Finding.objects.exists()
