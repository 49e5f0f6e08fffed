"""A release with its images as one ZIP file, written by a job and kept until it is written in another size.

It can be written again at any time, and is in no backup.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from pathlib import Path
from typing import TypedDict

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.enums import JobQueue
from annotation.exports.release_files import ImageSize, check_handed_out, renditions_of, zip_of
from annotation.exports.tables import ExportRefused, whole_file
from annotation.jobs.handlers import JobKind, Progress, Result
from annotation.jobs.queueing import enqueue, job_under_way
from annotation.models import Job, Release, User
from annotation.site import home_files
from annotation.site.media import StoredFile


class PackingParams(TypedDict):
    bank: int
    release: int
    images: str


KIND: JobKind[PackingParams] = JobKind("pack_release", JobQueue.IMAGES)


class PackedRelease(Struct, frozen=True):
    images: ImageSize
    n_bytes: int


def ask_to_pack(made: Release, images: ImageSize, *, actor: User, at: datetime) -> Job:
    """One that waits or runs already is enough. Raises ExportRefused for a withdrawn release."""
    check_handed_out(made)
    params = PackingParams(bank=made.bank_id, release=made.pk, images=images.value)
    title = _("Images and files of the release “%(name)s”") % {"name": made.name}
    return job_under_way(KIND, **params) or enqueue(KIND, title, params, actor=actor, at=at)


def pack_release(progress: Progress, params: PackingParams) -> Result:
    """The handler. Memory holds one image; run twice it keeps one file."""
    made, images = Release.objects.select_related("bank", "gate").get(pk=params["release"]), ImageSize(params["images"])
    check_handed_out(made)
    path = _path(made, images)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with whole_file(path) as file:
        n_images = zip_of(made, file, images=images, watch=progress.report)
    n_bytes = path.stat().st_size
    home_files.hand_over(path)
    home_files.drop_others(path, f"{made.pk}-*.zip")
    try:
        check_handed_out(made)
    except ExportRefused:  # withdrawn while it was written, when there was no file to remove
        forget_packed(made)
        raise
    return {"page": reverse("bank-releases", args=[made.bank.slug]), "images": n_images, "bytes": n_bytes}


def packed_of(made: Release) -> PackedRelease | None:
    """What is kept of it, also where an image changed since."""
    found = next(iter(_kept(made)), None)
    return PackedRelease(ImageSize(found.key.split("-")[-2]), found.n_bytes) if found else None


def packed_file(made: Release, images: ImageSize) -> Path:
    """Where it lies here. Raises ExportRefused where none is kept, and where an image changed since it was written."""
    path = home_files.here(_path(made, images))
    if not path.is_file():
        sentence = _("There is no such file, or an image changed since it was written: have it written again.")
        raise ExportRefused("not_packed", sentence)
    return path


def forget_packed(made: Release) -> None:
    for kept in _kept(made):
        home_files.drop(_folder() / kept.key)


def _path(made: Release, images: ImageSize) -> Path:
    """Named by its images: where one is withheld, or its pixels change, it is another file."""
    digest = hashlib.sha256("".join(renditions_of(made).values_list("name", flat=True)).encode())
    return _folder() / f"{made.pk}-{images}-{digest.hexdigest()[:16]}.zip"


def _folder() -> Path:
    return Path(settings.HOME) / "releases"


def _kept(made: Release) -> list[StoredFile]:
    return home_files.children(_folder(), f"{made.pk}-*.zip")
