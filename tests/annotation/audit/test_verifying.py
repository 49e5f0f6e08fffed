"""The audit log is checked from end to end, and what its owner did to it is found.

The audit log: one chain, written with the act, and closed to changes by the database itself.

Rows that never change: the database itself refuses it, on both kinds.
"""

from __future__ import annotations

import json
import os
import tracemalloc
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.db.migrations.recorder import MigrationRecorder
from pytest_django.fixtures import Settings

from annotation.audit.belonging import NOTED, check_keys, check_program
from annotation.audit.recording import (
    FIRST,
    AuditRefused,
    FaultKind,
    checked_head,
    record,
    seal,
    seal_hourly,
    verify,
    verify_seals,
)
from annotation.models import AuditEvent, User
from annotation.people.accounts import change_profile
from annotation.site.home_files import SiteRefused
from annotation.triggers import INSERT_ONLY
from tests.processes import manage
from tests.refusals import refuses

N_CHANGES = 100


def write(n: int, actor: User | None, at: datetime) -> list[AuditEvent]:
    with transaction.atomic():
        return [record("test.act", actor=actor, at=at, facts={"n": one}) for one in range(n)]


def test_whatever_an_owner_of_the_database_does_to_the_log_is_found(migrated: dict[str, str]) -> None:
    script = f"from tests.annotation.audit.tampering import main; main({N_CHANGES})"
    done = manage("shell", "-v0", "-c", script, env={**migrated, "DJANGO_SETTINGS_MODULE": "rexvqa_site.settings"})
    assert done.stdout.splitlines() == [f"{N_CHANGES} of {N_CHANGES} found; afterwards None"], done.stderr


def test_events_after_the_head_that_was_kept_are_counted_and_an_empty_log_is_whole(cora: User, noon: datetime) -> None:
    found = verify()
    assert (found.n_events, found.head_sha256, found.fault) == (0, FIRST, None)
    events = write(4, cora, noon) + write(1, cora, noon.astimezone(timezone(timedelta(hours=2))))
    found = verify(events[2].sha256)
    assert (found.n_events, found.head_sha256, found.n_after_head) == (5, events[-1].sha256, 2)
    assert found.fault is None, "a time of another zone is the same moment"


def test_the_command_prints_how_many_and_the_head(
    cora: User, noon: datetime, capsys: pytest.CaptureFixture[str]
) -> None:
    events = write(3, cora, noon)
    call_command("verify_audit", head=events[0].sha256.upper())
    out = capsys.readouterr().out
    assert f"3 events, head {events[-1].sha256}" in out
    assert "with 2 events after it" in out
    call_command("verify_audit", json=True)
    assert json.loads(capsys.readouterr().out)["n_events"] == 3


def test_the_command_fails_with_the_first_fault(cora: User, noon: datetime, capsys: pytest.CaptureFixture[str]) -> None:
    events = write(3, cora, noon)
    AuditEvent.objects.filter(pk=events[1].pk).update(act="test.forged")
    with pytest.raises(CommandError, match=f"Event {events[1].pk} is not as it was written") as failed:
        call_command("verify_audit")
    assert failed.value.returncode == 1
    assert f"1 events, head {events[0].sha256}" in capsys.readouterr().out
    with pytest.raises(CommandError, match="has 64 characters") as refused:
        call_command("verify_audit", head="abc")
    assert refused.value.returncode == 2


def test_a_cut_end_is_found_by_the_hash_that_was_kept(cora: User, noon: datetime) -> None:
    head = write(4, cora, noon)[-1].sha256
    AuditEvent.objects.filter(sha256=head).delete()
    assert verify().fault is None
    fault = verify(head).fault
    assert fault is not None
    assert fault.kind == FaultKind.CUT
    assert checked_head("") == ""
    with pytest.raises(AuditRefused):
        checked_head("g" * 64)


def test_only_a_batch_is_in_memory(cora: User, noon: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.audit.recording.BATCH", 50)
    write(2000, cora, noon)
    told: list[tuple[int, int]] = []
    tracemalloc.start()
    assert verify(report=lambda done, all_: told.append((done, all_))).n_events == 2000
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000
    assert told[0] == (50, 2000)


def test_seals_find_a_log_that_was_written_again_and_names_that_were_changed(
    cora: User, rita: User, noon: datetime, tmp_path: Path
) -> None:
    file = tmp_path / "seals.jsonl"
    events = write(3, cora, noon)
    assert seal(file, at=noon) == events[-1].sha256
    write(1, cora, noon)
    seal(file, at=noon)
    assert "Cora" not in file.read_text()
    assert verify_seals(file) is None
    change_profile(rita, name="Rita Rey", time_zone="UTC", wants_digest=False, at=noon)
    assert verify_seals(file) is None
    User.objects.filter(pk=cora.pk).update(name="Somebody else")
    fault = verify_seals(file)
    assert fault
    assert (fault.kind, f"Person {cora.pk} " in fault.sentence) == (FaultKind.NAME, True)
    with pytest.raises(CommandError, match="another name"):
        call_command("verify_audit", seals=file)
    lines = file.read_text()
    file.write_text(lines.replace(events[-1].sha256, events[0].sha256))
    fault = verify_seals(file)
    assert fault
    assert fault.kind == FaultKind.SEAL
    with pytest.raises(AuditRefused):
        seal(file, at=noon)


def test_a_sealed_end_that_was_cut_off_is_found(cora: User, noon: datetime, tmp_path: Path, settings: Settings) -> None:
    write(3, cora, noon)
    file = tmp_path / "seals.jsonl"
    try:
        with transaction.atomic():
            write(1, cora, noon)
            seal(file, at=noon)
            raise LookupError  # cut off again
    except LookupError:
        assert verify().fault is None
    fault = verify_seals(file)
    assert fault
    assert fault.kind == FaultKind.CUT
    settings.PSEUDONYM_KEY = "another"
    fault = verify_seals(file)
    assert fault
    assert fault.kind == FaultKind.SEAL


def test_a_worker_seals_once_an_hour_where_a_file_is_named(
    cora: User, noon: datetime, tmp_path: Path, settings: Settings
) -> None:
    write(1, cora, noon)
    seal_hourly(noon)
    settings.AUDIT_SEALS = file = tmp_path / "seals.jsonl"
    for minutes, n_lines in ((0, 1), (59, 1), (60, 2)):
        seal_hourly(noon + timedelta(minutes=minutes))
        assert len(file.read_text().splitlines()) == n_lines
        os.utime(file, (noon.timestamp(), noon.timestamp()))
    assert verify_seals(file) is None


def test_events_form_one_whole_chain_in_which_a_forged_one_is_found(cora: User, noon: datetime) -> None:
    events = []
    for n in range(3):
        with transaction.atomic():
            events.append(record("test.act", actor=cora, at=noon, subject=cora, facts={"n": n}))
    hashes = list(AuditEvent.objects.order_by("id").values_list("previous_sha256", "sha256"))
    assert [before for before, _ in hashes[1:]] == [after for _, after in hashes[:-1]]
    assert verify().fault is None
    AuditEvent.objects.filter(pk=events[1].pk).update(facts={"n": 99})
    found = verify()
    assert found.fault is not None
    assert (found.fault.kind, found.fault.event, found.n_events) == (FaultKind.CHANGED, events[1].pk, 1)


@pytest.mark.django_db(transaction=True)
def test_an_event_outside_a_transaction_is_refused(noon: datetime) -> None:
    with pytest.raises(transaction.TransactionManagementError):
        record("test.act", actor=None, at=noon)


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


# --- a site starts with the database and the keys that belong to it, and says what is wrong otherwise ---
@pytest.mark.django_db
@pytest.mark.logs(NOTED)
@pytest.mark.parametrize("name", ["SECRET_KEY", "PSEUDONYM_KEY"])
def test_another_home_with_other_keys_is_refused_until_it_is_told_to_take_them(
    noon: datetime, settings: Settings, name: str
) -> None:
    for _start in range(2):
        check_keys(at=noon)
    assert AuditEvent.objects.filter(act=NOTED).count() == 1
    noted = AuditEvent.objects.get(act=NOTED).facts
    assert not any(key in str(noted) for key in (settings.SECRET_KEY, settings.PSEUDONYM_KEY))
    setattr(settings, name, "another key, as long as a key has to be, and longer")
    with refuses(SiteRefused, "other_keys", match=f"another {name.lower()}\\."):
        check_keys(at=noon)
    check_keys(at=noon, takes_them=True)
    check_keys(at=noon)
    assert AuditEvent.objects.filter(act=NOTED).count() == 2


@pytest.mark.django_db
def test_a_newer_database_and_one_that_is_not_migrated_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    applied = {("readerstudy", "9000_of_next_year")}
    monkeypatch.setattr(MigrationRecorder, "applied_migrations", lambda _recorder: dict.fromkeys(applied))
    with refuses(SiteRefused, "newer_database", match="9000_of_next_year of readerstudy"):
        check_program(will_migrate=True)
    applied.clear()
    check_program(will_migrate=True)
    with refuses(SiteRefused, "not_migrated", match="0001_initial of annotation"):
        check_program(will_migrate=False)
