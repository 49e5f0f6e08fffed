"""A file that a person sent: kept as it came, first checked by a job, then stored by a second one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.enums import JobState
from annotation.jobs.handlers import JobKind, JobRefused
from annotation.jobs.queueing import enqueue
from annotation.models import Job, Upload, User


@dataclass(frozen=True)
class CheckedFiles:
    """One kind of such files: the folder of the home that keeps them, and the kinds of its two jobs."""

    folder: str
    check: JobKind[Any]
    store: JobKind[Any]

    def folder_of(self, upload: Upload) -> Path:
        return Path(settings.HOME) / self.folder / upload.public_id

    @contextmanager
    def received(self, upload: Upload, files: Mapping[str, Iterable[bytes]]) -> Iterator[int]:
        """The number of bytes, once all files lie in the folder of the upload; nothing stays where the block fails."""
        folder = self.folder_of(upload)
        folder.mkdir(parents=True, mode=0o700)
        try:
            yield sum(_write(folder / name, content) for name, content in files.items())
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def store_job(self, upload: Upload) -> Job | None:
        """The newest job that stores this file."""
        return self.store_jobs([upload.public_id]).get(upload.public_id)

    def store_jobs(self, uploads: Iterable[str]) -> dict[str, Job]:
        """The newest job that stores each of these files, by the public id of the file: one query."""
        jobs = Job.objects.filter(kind=self.store, params__upload__in=list(uploads)).order_by("pk")
        return {job.params["upload"]: job for job in jobs}

    @transaction.atomic
    def store_checked(
        self, upload: Upload, title: str, may_store: Callable[[Job], bool], *, actor: User, at: datetime, **more: object
    ) -> Job:
        """Start the import of a file whose check was good; asking twice gives the same job.

        ``title`` is filled with the parameters of the check, which the second job gets as well, with ``more`` beside
        them. Refused (``not_checked``) before.
        """
        Upload.objects.select_for_update(no_key=True).get(pk=upload.pk)  # two at once would each see no job
        stored, check = self.store_job(upload), upload.job
        if stored is not None and stored.state not in (JobState.FAILED, JobState.CANCELLED):
            return stored
        if check is None or not may_store(check):
            sentence = _("The file must be checked and found good before it can be stored.")
            raise JobRefused("not_checked", sentence)
        return enqueue(self.store, (title % check.params)[:200], check.params | more, actor=actor, at=at)


def _write(path: Path, chunks: Iterable[bytes]) -> int:
    with path.open("xb") as file:
        return sum(file.write(chunk) for chunk in chunks)
