"""Tables change so that a web server of the release before goes on with them (docs/deploy.md, "Upgrade").

It asks for every column that it knows, and stores nothing in one that it does not know. What a migration does by hand
(RunPython, RunSQL, triggers) only its author knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import pytest
from django.db import migrations, models
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import NOT_PROVIDED

from tests.architecture.source import ROOT

LAST_RELEASED = {"annotation": "0021_report_of_answer_keys", "readerstudy": "0006_closing"}  # of 1.1.0
BREAKS = (
    *(migrations.RemoveField, migrations.DeleteModel, migrations.RenameField, migrations.RenameModel),
    *(migrations.AlterModelTable, migrations.AddConstraint, migrations.AlterUniqueTogether),
)
WHAT_TO_DO = """The release before still runs on these tables. Give a new column null=True or a db_default. To take one
away, give it a db_default and remove it by `state_operations` of SeparateDatabaseAndState, so that no program knows it;
the release after drops it by RunSQL. Add a constraint in the release after the one whose program keeps to it.
What breaks nothing all the same stands in ALLOWED, with the reason."""
ALLOWED: dict[str, str] = {}
GONE = migrations.RemoveField("bank", "name")


def wants_value(field: models.Field[Any, Any]) -> bool:
    return not (field.many_to_many or field.null or field.db_default is not NOT_PROVIDED)


def breaks(app: str, done: Any, before: ProjectState) -> bool:
    """Whether a program that knows the tables ``before`` meets an error afterwards, or might."""
    if isinstance(done, migrations.AddField):
        return wants_value(done.field)
    if isinstance(done, migrations.AlterField):
        old = before.models[app, done.model_name_lower].fields[done.name]
        return (wants_value(done.field) and not wants_value(old)) or (done.field.unique and not old.unique)
    return isinstance(done, BREAKS)


def broken(app: str, operations: Sequence[Operation], state: ProjectState, known: set[tuple[str, str]]) -> list[str]:
    """What breaks a program that knows the models ``known``; ``state`` goes on."""
    found = []
    for operation in operations:
        for done in getattr(operation, "database_operations", [operation]):
            model = getattr(done, "model_name", getattr(done, "name", "")).lower()
            if (app, model) in known and breaks(app, done, state):
                found.append(done.describe())
        operation.state_forwards(app, state)
    return found


def test_a_server_of_the_release_before_works_on_the_tables_of_this_one() -> None:
    state, found = ProjectState(), list[str]()
    for app, last in LAST_RELEASED.items():
        known = set[tuple[str, str]]()
        for path in sorted((ROOT / app / "migrations").glob("0*.py")):
            operations = import_module(f"{app}.migrations.{path.stem}").Migration.operations
            found += [f"{app}.{path.stem}: {one}" for one in broken(app, operations, state, known)]
            known |= state.models.keys() if path.stem == last else set()
        assert known, f"there is no {last} any more"
    assert sorted(set(found) - ALLOWED.keys()) == [], WHAT_TO_DO
    assert sorted(ALLOWED.keys() - set(found)) == [], "released or gone since: take it out of ALLOWED"


@pytest.mark.parametrize(
    ("operation", "found"),
    [
        (GONE, ["Remove field name from bank"]),
        (migrations.DeleteModel("Bank"), ["Delete model Bank"]),
        (migrations.RenameField("bank", "name", "title"), ["Rename field name on bank to title"]),
        (migrations.AddField("bank", "n", models.IntegerField(default=0)), ["Add field n to bank"]),
        (migrations.AddField("bank", "n", models.IntegerField(db_default=0)), []),
        (migrations.AddField("bank", "n", models.IntegerField(null=True)), []),
        (migrations.AlterField("bank", "name", models.CharField(max_length=9)), ["Alter field name on bank"]),
        (migrations.AlterField("bank", "name", models.CharField(max_length=9, null=True)), []),
        (migrations.SeparateDatabaseAndState([], [GONE]), []),
        (migrations.SeparateDatabaseAndState([GONE]), ["Remove field name from bank"]),
        (migrations.CreateModel("Round", [("name", models.TextField())]), []),
    ],
)
def test_what_breaks_is_seen(operation: Operation, found: list[str]) -> None:
    state = ProjectState()
    migrations.CreateModel("Bank", [("name", models.CharField(max_length=9, null=True))]).state_forwards("a", state)
    assert broken("a", [operation], state, set(state.models)) == found
