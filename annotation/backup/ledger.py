"""What a site holds, in numbers that two copies of it must share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings

from annotation.models import AuditEvent, WorkerBeat

Scalar = Callable[[str], Any]  # runs one SELECT and returns its first value, or None
TABLE_NAME = re.compile(r"[a-z][a-z0-9_]*")


def own_tables() -> list[str]:
    """Those of the project's own apps, in this version of it."""
    own = [app for app in apps.get_app_configs() if Path(app.path).parent == settings.BASE_DIR]
    return sorted(model._meta.db_table for app in own for model in app.get_models() if model is not WorkerBeat)


def ledger(scalar: Scalar, tables: Iterable[str]) -> dict[str, Any]:
    """Rows of each table, and the last link of the audit chain. The names match TABLE_NAME."""
    audit = AuditEvent._meta.db_table
    return {
        "rows": {table: scalar(f'SELECT COUNT(*) FROM "{table}"') for table in tables},  # noqa: S608
        "audit_sha256": scalar(f'SELECT sha256 FROM "{audit}" ORDER BY id DESC LIMIT 1') or "",  # noqa: S608
    }
