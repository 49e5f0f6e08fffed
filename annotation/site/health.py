"""Whether the site can do its work: can it read and write rows, keep files to itself, and is a worker alive?"""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from datetime import datetime

from django.conf import settings
from django.db import Error, connection, transaction

from annotation.models import WorkerBeat
from annotation.site.extras import extras_off
from annotation.site.outages import is_locked
from annotation.site.privacy import is_open_to_others

SECONDS_UNTIL_WORKER_IS_LATE = 30
SECONDS_OF_A_LOCK = 4  # no act of ours writes so long


@dataclass(frozen=True)
class Health:
    """Each part is "ok" or says in one sentence what is wrong. What was not installed is named, and is no fault."""

    database: str
    storage: str
    worker: str
    privacy: str

    @property
    def can_store(self) -> bool:
        return self.database == self.storage == "ok"

    def as_json(self) -> dict[str, str]:
        parts = asdict(self)
        is_well = all(state == "ok" for state in parts.values())
        return {"status": "ok" if is_well else "degraded" if self.can_store else "down", **parts, **extras_off()}


def health_of_site(*, at: datetime) -> Health:
    database = _database()
    worker = _worker(at) if database == "ok" else "not known without the database"
    return Health(database=database, storage=_storage(), worker=worker, privacy=_privacy())


def _database() -> str:
    try:
        WorkerBeat.objects.exists()
        if connection.vendor == "sqlite":
            _write_soon()
    except Error as error:
        if is_locked(error):
            return f"the database is locked: another program has been writing for {SECONDS_OF_A_LOCK} s or more"
        return "the database does not answer, or has no tables yet"
    return "ok"


def _write_soon() -> None:
    """Take the right to write and give it back. Raises OperationalError when another program keeps it."""
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {SECONDS_OF_A_LOCK * 1000}")
        try:
            with transaction.atomic():
                pass
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {settings.SQLITE_OPTIONS['timeout'] * 1000}")


def _storage() -> str:
    probe = settings.TEMP_ROOT / f"probe-{secrets.token_hex(4)}"
    try:
        probe.write_bytes(b"ok")
        probe.unlink()
    except OSError as error:
        return f"files cannot be written: {error.strerror}"
    return "ok"


def _worker(at: datetime) -> str:
    beat = WorkerBeat.objects.order_by("-beat_at").values_list("beat_at", flat=True).first()
    if beat is None:
        return "no worker has been seen yet"
    seconds = int((at - beat).total_seconds())
    return "ok" if seconds <= SECONDS_UNTIL_WORKER_IS_LATE else f"no worker has been seen for {seconds} s"


def _privacy() -> str:
    if is_open_to_others(settings.HOME):
        return "other users of this machine can read the home of this site; starting the site again takes that away"
    return "ok"
