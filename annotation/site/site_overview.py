"""What the site says of itself to whoever keeps it running: health in parts, versions, and the settings as read."""

from __future__ import annotations

import platform
import shutil
from datetime import datetime, timedelta
from importlib import metadata
from pathlib import Path

import django
from django.conf import settings
from django.db import connection
from django.db.models import Count, Q
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.enums import JobState
from annotation.models import Job
from annotation.site.health import Health, extras_off, health_of_site, seconds_ahead
from annotation.site.media import FOLDER

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
        SitePart(_("Database"), _sentence(health.database, _database()), health.database == OK),
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


def _database() -> str:
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
