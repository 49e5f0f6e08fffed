"""What a site holds, in numbers that two copies of it must share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings

from annotation.models import AuditEvent, WorkerBeat

Scalar = Callable[[str], Any]  # runs one SELECT and returns its first value, or None


def ledger(scalar: Scalar) -> dict[str, Any]:
    """Rows per table of the project's own apps, and the last link of the audit chain."""
    own = [app for app in apps.get_app_configs() if Path(app.path).parent == settings.BASE_DIR]
    tables = sorted(model._meta.db_table for app in own for model in app.get_models() if model is not WorkerBeat)
    audit = AuditEvent._meta.db_table
    return {
        "rows": {table: scalar(f'SELECT COUNT(*) FROM "{table}"') for table in tables},  # noqa: S608
        "audit_sha256": scalar(f'SELECT sha256 FROM "{audit}" ORDER BY id DESC LIMIT 1') or "",  # noqa: S608
    }
