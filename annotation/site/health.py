"""Whether the site can do its work: can it read and write rows, keep files to itself, and is a worker alive?

Which parts an installation leaves out (the extras of ``make setup``), and which errors say that the site cannot store
for a while, since the disk is full or the database is away. The same in words, with versions, for who keeps it.
"""

from __future__ import annotations

import errno
import platform
import secrets
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from time import monotonic

import django
from django.conf import settings
from django.db import Error, InterfaceError, OperationalError, connection, transaction
from django.db.models import Count, Q
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from msgspec import Struct
from msgspec.structs import asdict

from annotation.enums import SWEEPS, JobQueue, JobState
from annotation.models import Job, WorkerBeat
from annotation.site.home_files import is_open_to_others
from annotation.site.media import FOLDER, fault_of_media

_PARQUET = ("pyarrow",)
_TEXT_SEARCH = ("cv2", "rapidocr", "onnxruntime")
_SENTENCE_MODELS = ("onnxruntime", "tokenizers")
INSTALL = "“make setup EXTRAS=%s” installs it"
INSTALL_PARQUET = INSTALL % "parquet"


def _is_here(modules: tuple[str, ...]) -> bool:
    return all(find_spec(name) is not None for name in modules)


def has_parquet() -> bool:
    return _is_here(_PARQUET)


def has_text_search() -> bool:
    return _is_here(_TEXT_SEARCH)


def has_sentence_models() -> bool:
    return _is_here(_SENTENCE_MODELS)


def extras_off() -> dict[str, str]:
    """What is off, by name, each with a sentence; empty where everything is installed."""
    off = {}
    if not has_parquet():
        off["parquet"] = f"off: pyarrow is not installed; {INSTALL_PARQUET}"
    if not has_text_search():
        off["text_search"] = f"off: every new image waits in quarantine for a person; {INSTALL % 'text-search'}"
    for name in ("EMBEDDING_FOLDERS", "CLASSIFIER_FOLDERS"):
        if getattr(settings, name) and not has_sentence_models():
            off[name.lower()] = f"off: onnxruntime or tokenizers is not installed; {INSTALL % 'embeddings'}"
    for name, library in (("SENTRY_DSN", "sentry_sdk"), ("OTEL_ENDPOINT", "opentelemetry")):
        if getattr(settings, name) and not _is_here((library,)):
            off[name.lower()] = f"off: {library} is not installed; {INSTALL % 'telemetry'}"
    return off


# SQLite meets a full disk as FULL, or as an error of the write-ahead log and its shared memory.
_FULL_SQLITE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE})
_FULL_POSTGRES = "53100"  # disk_full
_FULL_SYSTEM = frozenset({errno.ENOSPC, errno.EDQUOT})
_LOCKED_SQLITE = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})  # for longer than a writer waits
_AWAY_POSTGRES = ("08", "57P", "53300")  # connection exceptions, shutting down and starting up, too many connections
SECONDS_UNTIL_WORKER_IS_LATE = 30
SILENT_ONES_SHOWN = timedelta(minutes=5)
SECONDS_OF_A_LOCK = 4  # no act of ours writes so long
MOST_SECONDS_APART = 5.0  # of two clocks


class Health(Struct, frozen=True):
    """Each part is "ok" or says in one sentence what is wrong. What was not installed is named, and is no fault."""

    database: str
    storage: str
    images: str
    worker: str
    privacy: str
    clock: str

    @property
    def can_store(self) -> bool:
        return self.database == self.storage == "ok"

    @property
    def is_served(self) -> bool:
        return self.can_store and self.worker == "ok"

    def as_json(self) -> dict[str, str]:
        parts = asdict(self)
        is_well = all(state == "ok" for state in parts.values())
        return {"status": "ok" if is_well else "degraded" if self.can_store else "down", **parts, **extras_off()}


def health_of_site(*, at: datetime) -> Health:
    began = monotonic()
    database = _database()
    worker = state_of_workers(at) if database == "ok" else "not known without the database"
    # A database that took seconds until here is no clock that is off.
    by_now = at + timedelta(seconds=monotonic() - began)
    clock = fault_of_clock(at=by_now) or "ok" if database == "ok" else "not known without the database"
    images = fault_of_media() or "ok"
    return Health(database=database, storage=_storage(), images=images, worker=worker, privacy=_privacy(), clock=clock)


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


def has_worker(at: datetime) -> bool:
    return state_of_workers(at) == "ok"


def state_of_workers(at: datetime) -> str:
    """ "ok", or what is wrong."""
    beats = list(WorkerBeat.objects.exclude(queues="").order_by("beat_at").values_list("beat_at", "queues"))
    if not beats:
        return "no worker is at work"
    seconds = int((at - beats[-1][0]).total_seconds())
    if seconds > SECONDS_UNTIL_WORKER_IS_LATE:
        return f"no worker has been seen for {seconds} s"
    taken = _taken(at, beats)
    left = [queue for queue in (*JobQueue.values(), SWEEPS) if queue not in taken]
    return f"no worker takes the jobs of: {', '.join(left)}" if left else "ok"


def seen_workers(at: datetime) -> list[tuple[WorkerBeat, bool, bool]]:
    """Each with whether it is silent, which one that ended well is not, and whether others begin its jobs again.

    Silent ones for some minutes, or as long as a job is called running that fell silent with it.
    """
    limit = timedelta(seconds=SECONDS_UNTIL_WORKER_IS_LATE)
    beats = list(WorkerBeat.objects.exclude(queues="").order_by("name"))
    taken = _taken(at, ((one.beat_at, one.queues) for one in beats))
    silent_jobs = Job.objects.filter(state=JobState.RUNNING, heartbeat_at__lt=at - limit)
    jobs = list(silent_jobs.values_list("queue", "heartbeat_at"))
    found = []
    for one in beats:
        queues, is_silent = set(one.queues.split()), one.beat_at < at - limit
        has_job = any(queue in queues and abs(last - one.beat_at) < limit for queue, last in jobs if last)
        if has_job or at - one.beat_at < SILENT_ONES_SHOWN:
            found.append((one, is_silent, queues | {SWEEPS} <= taken))
    return found


def _taken(at: datetime, beats: Iterable[tuple[datetime, str]]) -> set[str]:
    """The queues whose jobs a worker takes now."""
    alive = at - timedelta(seconds=SECONDS_UNTIL_WORKER_IS_LATE)
    return {queue for beat_at, queues in beats if beat_at >= alive for queue in queues.split()}


def _privacy() -> str:
    if is_open_to_others(settings.HOME):
        return "other users of this machine can read the home of this site; starting the site again takes that away"
    return "ok"


def seconds_ahead(*, at: datetime) -> float:
    """How far the clock of this machine is before that of the database; SQLite has none of its own."""
    if connection.vendor != "postgresql":
        return 0.0
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return float((at - cursor.fetchone()[0]).total_seconds())


def fault_of_clock(*, at: datetime) -> str:
    """Empty where both agree. Jobs of a worker that is behind look abandoned to others, which begin them again."""
    ahead = seconds_ahead(at=at)
    if abs(ahead) <= MOST_SECONDS_APART:
        return ""
    words = f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} that of the database"
    return f"the clock of this machine is {words}: let NTP set both (timedatectl set-ntp true)"


class Outage(StrEnum):
    """Each word is the reason that scripts of pages read."""

    STORAGE_FULL = "storage_full"
    DATABASE_AWAY = "database_away"


def outage_of(error: BaseException | None) -> Outage | None:
    """What this error, or one that it came from, says of the site; None for every other fault."""
    chain = list(_chain(error))
    if any(_says_full(one) for one in chain):
        return Outage.STORAGE_FULL
    return Outage.DATABASE_AWAY if any(_says_away(one) for one in chain) else None


def is_locked(error: BaseException | None) -> bool:
    """Whether another program keeps SQLite from writing."""
    codes = (getattr(one, "sqlite_errorcode", None) for one in _chain(error))
    return any(code is not None and code & 0xFF in _LOCKED_SQLITE for code in codes)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _says_full(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno in _FULL_SYSTEM:
        return True
    return getattr(error, "sqlite_errorcode", None) in _FULL_SQLITE or getattr(error, "pgcode", "") == _FULL_POSTGRES


def _says_away(error: BaseException) -> bool:
    """PostgreSQL gives no code where it gave no answer."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    code = getattr(error.__cause__, "pgcode", "")
    return code is None or (bool(code) and code.startswith(_AWAY_POSTGRES)) or is_locked(error)


# --- in words, for whoever keeps the site running ----------------------------------------------------
LEAST_FREE = 0.05  # of a disk, below which the page warns
RECENT = timedelta(days=7)
LIBRARIES = ("granian", "celery", "djangorestframework", "pydicom", "imagecodecs", "pillow", "numpy", "scikit-learn")
OK = "ok"


class SitePart(Struct, frozen=True):
    """One part of the site, in words; ``is_well`` is None where nothing is wrong and something is off."""

    label: str
    sentence: str
    is_well: bool | None = True


def parts_of_site(*, at: datetime) -> list[SitePart]:
    """How database, files, disk, worker, jobs, mail and clock are; extras that are not installed come last."""
    health = health_of_site(at=at)
    images = str(settings.MEDIA_ROOT) if settings.MEDIA == FOLDER else settings.MEDIA
    parts = [
        SitePart(_("Database"), _sentence(health.database, _database_in_words()), health.database == OK),
        SitePart(_("Files"), _sentence(health.storage, str(settings.HOME)), health.storage == OK),
        SitePart(_("Images"), _sentence(health.images, images), health.images == OK),
        SitePart(_("Privacy of the files"), _sentence(health.privacy, _("only this user")), health.privacy == OK),
        _disk(settings.HOME),
        SitePart(_("Worker"), _sentence(health.worker, _("runs")), health.worker == OK),
        *_jobs_and_mail(at),
        _clock(health, at),
    ]
    labels = {"parquet": _("Parquet"), "text_search": _("Search for text in pixels")}
    return parts + [SitePart(labels[name], sentence, None) for name, sentence in extras_off().items()]


def versions() -> dict[str, str]:
    """Of the program's parts, by name."""
    found = {"Python": platform.python_version(), "Django": django.get_version(), **_version_of_database()}
    return found | {name: metadata.version(name) for name in LIBRARIES}


def _sentence(state: str, well: str) -> str:
    return well if state == OK else state


def _database_in_words() -> str:
    """Its kind, version and size."""
    ((name, version),) = _version_of_database().items()
    statement = (
        "SELECT pg_database_size(current_database())"
        if connection.vendor == "postgresql"
        else "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement)
        (n_bytes,) = cursor.fetchone()
    return f"{name} {version}, {filesizeformat(n_bytes)}"


def _version_of_database() -> dict[str, str]:
    if connection.vendor != "postgresql":
        return {"SQLite": ".".join(map(str, connection.get_database_version()))}
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        return {"PostgreSQL": str(cursor.fetchone()[0])}


def _disk(folder: Path) -> SitePart:
    space = shutil.disk_usage(folder)
    words = {"free": filesizeformat(space.free), "all": filesizeformat(space.total)}
    return SitePart(_("Disk"), _("%(free)s free of %(all)s") % words, space.free >= LEAST_FREE * space.total)


def _jobs_and_mail(at: datetime) -> list[SitePart]:
    """What waits and what failed lately; and which server sends e-mails, if it took them."""
    failed = Q(state=JobState.FAILED, finished_at__gte=at - RECENT)
    n = Job.objects.aggregate(
        waiting=Count("pk", filter=Q(state=JobState.QUEUED)),
        failed=Count("pk", filter=failed),
        unsent=Count("pk", filter=failed & Q(kind__startswith="send_")),
    )
    jobs = SitePart(_("Jobs"), _("%(waiting)d waiting, %(failed)d failed within 7 days") % n, n["failed"] == 0)
    if not settings.EMAIL_HOST:
        return [jobs, SitePart(_("E-mail"), _("no mail server: whoever makes a link passes it on"), None)]
    words = {"server": f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}", "n": n["unsent"]}
    return [jobs, SitePart(_("E-mail"), _("%(server)s, %(n)d not sent within 7 days") % words, n["unsent"] == 0)]


def _clock(health: Health, at: datetime) -> SitePart:
    """How far the clock of the database is from that of this machine; SQLite has none of its own."""
    now = date_format(timezone.localtime(at), "DATETIME_FORMAT")
    if connection.vendor != "postgresql" or health.database != OK:
        return SitePart(_("Clock"), now)
    apart = _("%(now)s; that of the database is %(s).1f s away") % {"now": now, "s": abs(seconds_ahead(at=at))}
    return SitePart(_("Clock"), _sentence(health.clock, apart), health.clock == OK)
