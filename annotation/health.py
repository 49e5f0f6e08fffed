"""Whether the site can do its work: can it read and write rows, keep files, and is a worker alive?"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import DatabaseError, connection

from annotation.jobs.sweeping import last_beat

SECONDS_UNTIL_WORKER_IS_LATE = 30


@dataclass(frozen=True)
class Health:
    """Each part is "ok" or says in one sentence what is wrong."""

    database: str
    storage: str
    worker: str

    @property
    def can_store(self) -> bool:
        return self.database == self.storage == "ok"

    def as_json(self) -> dict[str, str]:
        status = "ok" if self.can_store and self.worker == "ok" else "degraded" if self.can_store else "down"
        return {"status": status, "database": self.database, "storage": self.storage, "worker": self.worker}


def health_of_site(*, at: datetime) -> Health:
    database = _database()
    worker = _worker(at) if database == "ok" else "not known without the database"
    return Health(database=database, storage=_storage(), worker=worker)


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM django_migrations LIMIT 1")
            cursor.fetchone()
    except DatabaseError:
        return "the database does not answer, or has no tables yet"
    return "ok"


def _storage() -> str:
    probe = settings.TEMP_ROOT / f"probe-{secrets.token_hex(4)}"
    try:
        probe.write_bytes(b"ok")
        probe.unlink()
    except OSError as error:
        return f"files cannot be written: {error.strerror}"
    return "ok"


def _worker(at: datetime) -> str:
    beat = last_beat()
    if beat is None:
        return "no worker has been seen yet"
    seconds = int((at - beat).total_seconds())
    return "ok" if seconds <= SECONDS_UNTIL_WORKER_IS_LATE else f"no worker has been seen for {seconds} s"
