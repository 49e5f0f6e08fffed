"""Figures of the site for Prometheus, which asks /healthz: of the database, so that every web server says the same."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from time import perf_counter

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.models import Count, Min
from django.db.models.functions import Coalesce
from msgspec.structs import asdict

from annotation.backup.taking import kept_backups, own_tables
from annotation.enums import JobQueue, JobState
from annotation.models import Job
from annotation.models.people import UNFINISHED_JOBS
from annotation.site.health import Health

TYPE = "text/plain; version=0.0.4"  # of the format


def figures(health: Health, *, at: datetime) -> str:
    """In the text format of Prometheus. What is not known, as the age of a backup where there is none, is left out."""
    lines = [f'rexvqa_part_ok{{part="{part}"}} {int(state == "ok")}' for part, state in asdict(health).items()]
    for place, folder in (("home", settings.HOME), ("backups", settings.BACKUP_ROOT)):
        if folder.is_dir():
            lines.append(f'rexvqa_disk_free_bytes{{place="{place}"}} {shutil.disk_usage(folder).free}')
    if backups := kept_backups():
        lines.append(f"rexvqa_backup_age_seconds {(at - backups[0].taken_at).total_seconds():.0f}")
    if (drilled := settings.BACKUP_ROOT / "drilled").exists():
        lines.append(f"rexvqa_drill_age_seconds {at.timestamp() - drilled.stat().st_mtime:.0f}")
    if health.database == "ok":
        before = perf_counter()
        lines += _jobs(at)
        lines.append(f"rexvqa_database_seconds {perf_counter() - before:.6f}")
        lines += _rows()
    return "".join(f"{line}\n" for line in lines)


def _jobs(at: datetime) -> Iterator[str]:
    """How many, those that failed in the last day, and for how long the oldest that is due has waited.

    Letters and webhooks are the queue ``mail``.
    """
    due = Min(Coalesce("due_at", "created_at"))
    grouped = Job.objects.filter(state__in=UNFINISHED_JOBS).order_by().values_list("queue", "state")
    found = {(queue, state): (n, since) for queue, state, n, since in grouped.annotate(n=Count("pk"), since=due)}
    failed = Job.objects.filter(state=JobState.FAILED, created_at__gte=at - timedelta(days=1)).order_by()
    n_failed = dict(failed.values_list("queue").annotate(Count("pk")))
    for queue in JobQueue:
        for state in (JobState.QUEUED, JobState.RUNNING):
            yield f'rexvqa_jobs{{queue="{queue}",state="{state}"}} {found.get((queue, state), (0, at))[0]}'
        yield f'rexvqa_jobs_failed_in_a_day{{queue="{queue}"}} {n_failed.get(queue, 0)}'
        since = found.get((queue, JobState.QUEUED), (0, at))[1]
        yield f'rexvqa_job_waiting_seconds{{queue="{queue}"}} {max((at - since).total_seconds(), 0):.0f}'


def _rows() -> Iterator[str]:
    """The newest number of each table, which only grows: answers stored are those of responses and reviews."""
    names = {model._meta.db_table: model._meta.pk for model in apps.get_models()}
    counted = [table for table in own_tables() if (pk := names[table]) is not None and pk.column == "id"]
    union = " UNION ALL ".join(f"SELECT '{table}', MAX(id) FROM \"{table}\"" for table in counted)  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(union)
        for table, newest in cursor.fetchall():
            yield f'rexvqa_rows_written{{table="{table}"}} {newest or 0}'
