"""A question file that a person sent or named: kept as it came, first checked, then stored by a background job."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import JobState
from annotation.jobs.handlers import Params, Progress, Result
from annotation.jobs.queueing import enqueue
from annotation.models import Job, Upload, User
from annotation.questionbank.importing import ImportResult, QuestionFile, import_questions, locate

PURPOSE = "questions"
CHECK, STORE = "check_questions", "store_questions"
SHOWN_ROWS = 200
SHOWN_ERRORS = 2_000


class PathNotAllowed(Exception):
    """The path names no file in a folder that the server offers."""


class NotChecked(Exception):
    """Only a file whose check found it acceptable is stored."""


def allowed_path(text: str) -> Path:
    """A question file in one of the folders of REXVQA_SERVER_FOLDERS. Raises PathNotAllowed."""
    path = Path(text.strip()).resolve()
    if not any(path.is_relative_to(folder) for folder in settings.SERVER_FOLDERS):
        offered = ", ".join(str(folder) for folder in settings.SERVER_FOLDERS) or _("none")
        raise PathNotAllowed(_("This path is in none of the folders that the server offers: %s.") % offered)
    if not path.is_file():
        raise PathNotAllowed(_("There is no file at this path."))
    return path


def receive_file(
    content: Iterable[bytes],
    name: str,
    difficulties: Iterable[bytes] | None,
    *,
    bank_name: str,
    actor: User,
    at: datetime,
) -> Upload:
    """Keep a sent file and its side file, and start the check."""
    upload = Upload(created_by=actor, created_at=at, purpose=PURPOSE)
    folder = _folder_of(upload)
    folder.mkdir(parents=True, mode=0o700)
    try:
        n_bytes = _write(folder / "questions.json", content)
        if difficulties is not None:
            n_bytes += _write(folder / "difficulty.csv", difficulties)
        return _begin(upload, {"name": Path(name).name[:200]}, n_bytes, bank_name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def receive_path(path: Path, *, bank_name: str, actor: User, at: datetime) -> Upload:
    """Start the check of a file that lies on the server."""
    upload = Upload(created_by=actor, created_at=at, purpose=PURPOSE)
    return _begin(upload, {"name": path.name[:200], "path": str(path)}, path.stat().st_size, bank_name)


@transaction.atomic
def _begin(upload: Upload, params: Params, n_bytes: int, bank_name: str) -> Upload:
    actor, at = upload.created_by, upload.created_at
    params |= {"upload": upload.public_id, "bank": bank_name}
    title = _("Check %(file)s for the bank %(bank)s") % {"file": params["name"], "bank": bank_name}
    upload.job = enqueue(CHECK, title[:200], params, actor=actor, at=at)
    upload.n_files, upload.n_bytes = 1, n_bytes
    upload.save(force_insert=True)
    record("questions.received", actor=actor, at=at, subject=upload, facts={"bank": bank_name, "bytes": n_bytes})
    return upload


@transaction.atomic
def store_checked(upload: Upload, *, skip_refused: bool = False, actor: User, at: datetime) -> Job:
    """Start the import of a file whose check was good; asking twice gives the same job.

    A file of which some records were refused is stored without them, if ``skip_refused``. Raises NotChecked.
    """
    stored = store_job(upload)
    if stored is not None and stored.state not in (JobState.FAILED, JobState.CANCELLED):
        return stored
    check = upload.job
    if check is None or not may_store(check, skip_refused=skip_refused):
        raise NotChecked(_("The file must be checked and found good before it can be stored."))
    names = {"file": check.params["name"], "bank": check.params["bank"]}
    title = _("Import %(file)s into the bank %(bank)s") % names
    return enqueue(STORE, title[:200], check.params | {"skip_refused": skip_refused}, actor=actor, at=at)


def may_store(check: Job, *, skip_refused: bool) -> bool:
    """Whether the file that this job checked can be stored, whole or without what was refused."""
    if check.kind != CHECK or check.state != JobState.SUCCEEDED:
        return False
    result = check.result or {}
    return bool(result["n_errors"] and result.get("rest_acceptable") if skip_refused else not result["n_errors"])


def store_job(upload: Upload) -> Job | None:
    """The newest job that stores this file."""
    return Job.objects.filter(kind=STORE, params__upload=upload.public_id).order_by("-pk").first()


# Handlers of the jobs


def check_questions(progress: Progress, params: Params) -> Result:
    """Dry run: read, check and compare everything, store nothing."""
    result = _run(progress, params, dry_run=True)
    rows = [{"key": key, "act": act} for key, act in result.rows[:SHOWN_ROWS]]
    rest = result.is_acceptable(skip_refused=True) and result.read > result.rejected
    return {**_shown(result), "rest_acceptable": rest, "rows": rows}


def store_questions(progress: Progress, params: Params) -> Result:
    """Import into the bank. Run again after it was stopped, it starts over: what was half stored is swept first."""
    result = _run(progress, params, dry_run=False)
    return {**_shown(result), "stored": result.stored}


def _run(progress: Progress, params: Params, *, dry_run: bool) -> ImportResult:
    upload = Upload.objects.select_related("created_by").get(public_id=params["upload"])
    job = None if dry_run else store_job(upload)
    return import_questions(
        _source(upload, params),
        bank_name=params["bank"],
        actor=upload.created_by,
        clock=timezone.now,
        dry_run=dry_run,
        skip_refused=bool(params.get("skip_refused")),
        job=job,
        watch=lambda done, total: progress.report(min(done, total), total),
    )


def _source(upload: Upload, params: Params) -> QuestionFile:
    if "path" in params:
        return locate(allowed_path(params["path"]))
    folder = _folder_of(upload)
    path, side_file = folder / "questions.json", folder / "difficulty.csv"
    root = f"/uploaded/{params['bank']}"
    return QuestionFile(path, params["name"], root, difficulties=side_file if side_file.exists() else None)


def _shown(result: ImportResult) -> dict[str, Any]:
    shown = result.as_json()
    return {**shown, "errors": shown["errors"][:SHOWN_ERRORS], "n_errors": result.n_errors}


def _folder_of(upload: Upload) -> Path:
    return Path(settings.HOME) / "question_files" / upload.public_id


def _write(path: Path, chunks: Iterable[bytes]) -> int:
    size = 0
    with path.open("xb") as file:
        for chunk in chunks:
            size += file.write(chunk)
    return size
