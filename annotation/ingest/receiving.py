"""Images that machines send here: each on the disk and in the database before its sender is told that it is kept.

What came since the last silence is one upload without a job. Once nothing has come for a while a worker begins the job
that takes it in; what was kept when a receiver was stopped is found by the same look.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec import Struct, field

from annotation.ingest.kernels.dicomweb import UID
from annotation.ingest.uploading import JOB_KIND, IngestParams, folder_of, store_upload, uploads_of_images
from annotation.jobs.queueing import enqueue
from annotation.models import QuestionBank, Upload, User
from annotation.models.fields import public_id
from annotation.site import home_files

MOST_AT_ONCE = 500  # files of one upload


class Receiver(Struct, frozen=True):
    """For whom images are received: the person answers for them, as for an upload of their own."""

    person: User
    bank: QuestionBank | None
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def keep(self, data: bytes, uid: str, sender: str) -> None:
        """Raises OSError and DatabaseError; nothing is kept then."""
        with self.one_at_a_time:
            while not self._kept(data, uid, sender):
                pass  # a worker began the job of this upload in the meantime: into a new one

    def _kept(self, data: bytes, uid: str, sender: str) -> bool:
        mine = _without_job().filter(created_by=self.person, bank=self.bank, asked__sender=sender)
        upload = mine.filter(n_files__lt=MOST_AT_ONCE).first()
        name = upload.public_id if upload else public_id()
        path = _write(folder_of(name) / "files", uid, data)
        is_kept = False
        try:
            home_files.hand_over(path)
            if upload is None:
                more: dict[str, Any] = {"n_files": 1, "n_bytes": len(data), "asked": {"sender": sender}}
                store_upload(name, "", bank=self.bank, actor=self.person, at=timezone.now(), **more)
                is_kept = True
            else:
                more = {"n_files": F("n_files") + 1, "n_bytes": F("n_bytes") + len(data)}
                is_kept = _without_job().filter(pk=upload.pk).update(**more) == 1
        finally:
            if not is_kept:
                home_files.drop(path)
                _remove(path)
        return is_kept


def take_in_received(at: datetime) -> None:
    """Begin the jobs of what was sent, once it has been silent for a while."""
    for upload in _without_job():
        for files in home_files.children(folder_of(upload.public_id), "files"):  # none: written in this moment
            if at.timestamp() - files.changed_at >= settings.DICOM_SILENCE_SECONDS:
                _begin(upload, at=at)


@transaction.atomic
def _begin(upload: Upload, *, at: datetime) -> None:
    locked = _without_job().select_for_update(no_key=True, of=("self",)).filter(pk=upload.pk).first()
    if locked is None:
        return
    title = _("Images sent by %(sender)s") % {"sender": locked.asked["sender"]}
    locked.job = enqueue(JOB_KIND, title, IngestParams(upload=locked.public_id), actor=locked.created_by, at=at)
    locked.save(update_fields=["job"])


def _without_job() -> QuerySet[Upload]:
    return uploads_of_images().filter(job=None, asked__has_key="sender")


def _write(folder: Path, uid: str, data: bytes) -> Path:
    """On the disk when this returns, under a name that no other has."""
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    path = folder / f"{uid if UID.fullmatch(uid) else 'image'}.{public_id()[:8]}.dcm"
    try:
        with path.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        for place in (folder, folder.parent, folder.parent.parent):
            _sync(place)
    except BaseException:
        _remove(path)
        raise
    return path


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    """With its folders, where they are empty then."""
    path.unlink(missing_ok=True)
    with suppress(OSError):
        path.parent.rmdir()
        path.parent.parent.rmdir()
