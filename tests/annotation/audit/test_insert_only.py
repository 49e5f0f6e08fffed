"""Rows that never change: the database itself refuses it, on both kinds."""

from __future__ import annotations

from annotation.triggers import INSERT_ONLY
from tests.processes import manage

TAMPER = """
import tempfile
from pathlib import Path
from django.apps import apps
from django.db import DatabaseError, transaction
from django.db.models import F
from annotation.audit.recording import verify
from annotation.models import ReviewEvent, User
from annotation.triggers import INSERT_ONLY
from tests.annotation.generation.made import bank_with_reports, written_run
from tests.annotation.review.cases import NOON, make_round
with tempfile.TemporaryDirectory() as folder:
    written_run(bank_with_reports(Path(folder), 3))
rita = User.objects.create_user("rita@example.org", "correct horse battery", name="Rita")
made = make_round(rita, n_questions=1)
for n in range(2):
    ReviewEvent.objects.bulk_create([ReviewEvent(assignment=made.assignments.get(), page="p", sequence=1, kind="quiet",
        client_ms=1.0, received_at=NOON)], ignore_conflicts=True)
print("clock", ReviewEvent.objects.count())
tables = {one._meta.db_table: one for one in apps.get_models()}
for table in INSERT_ONLY:
    rows = tables[table]._base_manager.all()
    before = list(rows.values())
    for act, change in (("update", lambda: rows.update(id=F("id"))), ("delete", lambda: rows._raw_delete("default"))):
        try:
            with transaction.atomic():
                change()
            print(table, act, "went through")
        except DatabaseError as error:
            print(table, act, "insert-only" in str(error))
    print(table, "rows", bool(before) and before == list(rows.values()))
print("fault", verify().fault)
"""


def test_the_database_refuses_to_change_or_delete_them(migrated: dict[str, str]) -> None:
    done = manage("shell", "-v0", "-c", TAMPER, env=migrated)
    told = [f"{table} {what} True" for table in INSERT_ONLY for what in ("update", "delete", "rows")]
    assert done.stdout.splitlines()[-len(told) - 2 :] == ["clock 1", *told, "fault None"], done.stderr
