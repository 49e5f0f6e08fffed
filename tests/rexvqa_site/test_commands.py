"""A command where there is no site says so in one sentence and makes nothing."""

from __future__ import annotations

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
