"""What must not stay for good, because identifiers of patients may be in it.

Originals that a killed process left in the folder for temporary files, files of questions whose bank is gone or that
were never stored, e-mails that were never sent, and the names of refused files in the reports of uploads.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation.enums import JobState
from annotation.models import BankImport, Job, Upload

KEEP_WORK = timedelta(hours=12)  # of something that is being received, decoded or packed: nothing takes so long
KEEP_TO_TRY_AGAIN = timedelta(days=7)
BETWEEN_SWEEPS = timedelta(hours=1)
INGEST, QUESTIONS = "ingest_upload", ("check_questions", "store_questions")  # kinds of jobs
AT_ONCE = 200

_last: list[datetime] = []  # when this process swept last


def sweep_leftovers(at: datetime) -> int:
    """Once an hour; how much was removed."""
    if _last and at - _last[0] < BETWEEN_SWEEPS:
        return 0
    _last[:] = [at]
    return clear_leftovers(at)


def clear_leftovers(at: datetime) -> int:
    gone = [*_old_work(at), *_unsent_emails(at), *_question_files(at)]
    for path in gone:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return len(gone) + forget_names_of_refused_files(at)


def forget_names_of_refused_files(at: datetime) -> int:
    """The report of an upload keeps what was wrong and how often; names of its files go. How many reports changed."""
    reports = Job.objects.filter(kind=INGEST, finished_at__lt=at - KEEP_TO_TRY_AGAIN, result__isnull=False)
    old = list(reports.exclude(result__has_key="names_removed").order_by("pk")[:AT_ONCE])
    for job in old:
        result: dict[str, Any] = job.result or {}
        for part in ("refused", "credits_refused"):
            if part in result:
                result[part] = [{**one, "file": f"file {n}"} for n, one in enumerate(result[part], start=1)]
        Job.objects.filter(pk=job.pk).update(result={**result, "names_removed": True})
    return len(old)


def _old_work(at: datetime) -> Iterator[Path]:
    for path in _older(Path(settings.TEMP_ROOT), at - KEEP_WORK):
        if path.name.startswith("upload-"):
            if _is_over(path, at):
                yield path
        elif path.name not in ("letters", "demonstration"):
            yield path


def _is_over(folder: Path, at: datetime) -> bool:
    """Whether nobody takes in the files of this upload any more: it is done, gone, or failed long ago."""
    upload = Upload.everywhere.select_related("job").filter(public_id=folder.name.removeprefix("upload-")).first()
    if upload is None or upload.job is None or upload.job.state == JobState.SUCCEEDED:
        return True
    return not upload.job.is_unfinished and _is_older(folder, at - KEEP_TO_TRY_AGAIN)


def _unsent_emails(at: datetime) -> Iterator[Path]:
    return _older(Path(settings.TEMP_ROOT) / "letters", at - KEEP_TO_TRY_AGAIN)


def _question_files(at: datetime) -> Iterator[Path]:
    """Files of which no bank holds an import any more, or never did."""
    for path in _older(Path(settings.HOME) / "question_files", at - KEEP_TO_TRY_AGAIN):
        jobs = Job.objects.filter(kind__in=QUESTIONS, params__upload=path.name)
        recent = jobs.filter(finished_at__gt=at - KEEP_TO_TRY_AGAIN)
        is_needed = jobs.unfinished().exists() or recent.exists()
        if not is_needed and not BankImport.objects.filter(job__in=jobs.values("pk")).exists():
            yield path


def _older(folder: Path, than: datetime) -> Iterator[Path]:
    if folder.is_dir():
        yield from [path for path in folder.iterdir() if _is_older(path, than)]


def _is_older(path: Path, than: datetime) -> bool:
    """Neither the file nor, of a folder, anything in it has changed since then."""
    try:
        times = [one.lstat().st_mtime for one in (path, *(path.iterdir() if path.is_dir() else ()))]
    except FileNotFoundError:
        return False
    newest: float = max(times)
    return newest < than.timestamp()
