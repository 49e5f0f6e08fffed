"""A command where there is no site says so in one sentence and makes nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from rexvqa_site.commands import MAKE_OR_NEED_NONE
from tests.processes import ROOT, environment, free_port, manage, migrated_home

pytestmark = pytest.mark.check

NO_SITE = "There is no site in this folder: run make serve or set REXVQA_HOME"
COMMANDS = [
    ["backup"],
    ["jobs"],
    ["work"],
    ["first_administrator"],
    ["import_questions", "bank.json", "--bank", "Bank"],
    ["export_responses", "--study", "s", "--format", "csv", "--output", "r.csv"],
    ["changepassword", "ada@example.org"],
]


def is_refused(done: subprocess.CompletedProcess[str], home: Path) -> bool:
    return (done.returncode, done.stderr) == (2, f"{NO_SITE} ({home})\n")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command_without_a_home(tmp_path: Path, command: list[str]) -> None:
    home = tmp_path / "home"
    done = manage(*command, env=environment(home))
    assert is_refused(done, home), done.stderr
    assert not home.exists()


def test_a_command_in_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    done = manage("backup", env=environment(tmp_path))
    assert is_refused(done, tmp_path), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("what", ["no database", "no tables"])
def test_a_command_in_a_home_without_tables(tmp_path: Path, what: str) -> None:
    home = tmp_path / "home"
    shutil.copytree(migrated_home(), home)
    (home / "db.sqlite3").unlink()
    if what == "no tables":
        (home / "db.sqlite3").touch()
    before = {path.name for path in home.iterdir()}
    done = manage("jobs", env=environment(home))
    assert is_refused(done, home), done.stderr
    assert {path.name for path in home.iterdir()} - {"db.sqlite3-wal", "db.sqlite3-shm"} == before


@pytest.mark.parametrize("command", ["jobs", "serve"])
def test_a_database_that_does_not_answer_is_said_in_one_line(tmp_path: Path, command: str) -> None:
    home = tmp_path / "home"
    shutil.copytree(migrated_home(), home)
    done = manage(command, env=environment(home, "postgres://127.0.0.1:1/nowhere", PORT=str(free_port())))
    assert done.returncode == 2
    assert done.stderr.startswith("The database does not answer: ")
    assert done.stderr.count("\n") == 1


def test_make_backup_makes_nothing_either(tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = environment(home)
    told = subprocess.run(
        ["make", "-n", "--no-print-directory", "backup"], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    program = told.stdout.splitlines()[-1]
    done = subprocess.run(program, shell=True, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert is_refused(done, home), done.stderr
    assert not home.exists()


def test_a_setting_that_makes_no_sense_is_one_sentence(tmp_path: Path) -> None:
    done = manage("serve", env=environment(tmp_path / "home", PORT="nope"))
    assert (done.returncode, done.stderr) == (2, "PORT='nope' is not a whole number\n")


def test_no_command_on_the_list_is_gone() -> None:
    assert {path.stem for path in ROOT.glob("*/management/commands/*.py")} >= MAKE_OR_NEED_NONE


# --- databases of earlier versions, and the triggers that the migrations make ---


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
