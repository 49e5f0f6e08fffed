"""Databases of earlier versions, and the triggers that the migrations make."""

from __future__ import annotations

import json

import pytest

from tests.processes import manage

pytestmark = pytest.mark.check

EARLIER = """
from importlib import import_module
from django.db.migrations.recorder import MigrationRecorder
from django.db import connection
check = import_module("annotation.migrations.0002_from_the_last_before").check_last_before
recorder = MigrationRecorder(connection)
recorder.record_applied("annotation", "0002_append_only")
"""
CHECKED = """
with connection.schema_editor() as editor:
    check(None, editor)
"""
TRIGGERS = """
import json
from django.db import connection
from annotation import triggers as of_questions
from readerstudy import triggers as of_studies
def there():
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT tbl_name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name")
        else:
            cursor.execute(
                "SELECT pg_get_triggerdef(oid), pg_get_functiondef(tgfoid) FROM pg_trigger "
                "WHERE NOT tgisinternal ORDER BY tgname"
            )
        print(json.dumps(cursor.fetchall()))
there()
for act in ("remove_triggers", "add_triggers"):
    for app in (of_studies, of_questions):
        with connection.schema_editor() as editor:
            getattr(app, act)(None, editor)
    with connection.schema_editor() as editor:
        getattr(of_studies, act.replace("_t", "_board_t"))(None, editor)
        getattr(of_questions, act.replace("_triggers", "_words"))(None, editor)
    there()
"""


def test_a_database_of_the_last_version_goes_on_and_an_older_one_says_what_to_do(migrated: dict[str, str]) -> None:
    older = manage("shell", "-v0", "-c", EARLIER + CHECKED, env=migrated)
    assert older.returncode != 0
    assert "Start the site once with 0.1.0" in older.stderr
    last = 'recorder.record_applied("annotation", "0044_forms_ask_by_hand")'
    done = manage("shell", "-v0", "-c", EARLIER + last + CHECKED, env=migrated)
    assert done.returncode == 0, done.stderr


def test_what_keeps_rows_from_change_can_be_taken_away_and_put_back(migrated: dict[str, str]) -> None:
    done = manage("shell", "-v0", "-c", TRIGGERS, env=migrated)
    assert done.returncode == 0, done.stderr
    before, without, after = (json.loads(line) for line in done.stdout.splitlines())
    assert len(before) == (63 if migrated["DATABASE_URL"] else 66)  # SQLite has three for words
    assert without == []
    assert after == before
