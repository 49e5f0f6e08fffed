"""The backups that lie in the folder of backups: the newest, whether it is too old, and a job that takes one more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypedDict

from django.conf import settings
from django.utils.translation import gettext as _

from annotation.backup.taking import take_backup
from annotation.jobs.handlers import JobKind, Progress, Result
from annotation.jobs.queueing import enqueue, job_under_way
from annotation.models import Job, User


class BackupParams(TypedDict):
    name: str
    at: str
    person: int


JOB_KIND: JobKind[BackupParams] = JobKind("take_backup")
PATTERN = "reading-room-*.tar"


class KeptBackup(NamedTuple):
    name: str
    taken_at: datetime
    n_bytes: int


def backup_name(at: datetime) -> str:
    return f"reading-room-{at:%Y%m%d-%H%M%S}.tar"


def kept_backups() -> list[KeptBackup]:
    """The newest first. A backup that is kept elsewhere, as it should be, is not known here."""
    found = []
    for path in settings.BACKUP_ROOT.glob(PATTERN):
        stat = path.stat()
        found.append(KeptBackup(path.name, datetime.fromtimestamp(stat.st_mtime, tz=UTC), stat.st_size))
    return sorted(found, key=lambda one: one.taken_at, reverse=True)


def is_backup_due(backups: list[KeptBackup], *, at: datetime) -> bool:
    """Whether the newest one is older than REXVQA_BACKUP_DAYS; never for 0 days, and in a demonstration."""
    days = settings.BACKUP_DAYS
    if settings.DEMO or not days:
        return False
    return not backups or at - backups[0].taken_at > timedelta(days=days)


def ask_for_backup(*, actor: User, at: datetime) -> Job:
    """A job that writes a backup into the folder; the one under way, where there is one."""
    under_way = job_under_way(JOB_KIND)
    if under_way is not None:
        return under_way
    params = BackupParams(name=backup_name(at), at=at.isoformat(), person=actor.pk)
    return enqueue(JOB_KIND, _("Backup"), params, actor=actor, at=at)


def run_backup(progress: Progress, params: BackupParams) -> Result:
    """The job. Raises BackupRefused; a run that was stopped in the middle leaves no file and is done anew."""
    target = settings.BACKUP_ROOT / params["name"]
    if not target.exists():
        at = datetime.fromisoformat(params["at"])
        actor = User.objects.get(pk=params["person"])
        take_backup(
            target, at=at, actor=actor, report=lambda done, total: progress.report(done, total, _("copying files"))
        )
    return {"file": target.name, "bytes": target.stat().st_size}
