"""Triggers by which the database itself refuses to change what readers did, what was analysed and what a study froze.

Cases, sets, arms, orders, places and images of a study that is no longer a draft, the columns of its design, and the
wording and keys of its questions do not change; a reader still takes an order, and a question is still superseded by a
new revision. Of an open study the rows that name the files of its images do not change either.

SQLite makes a table anew to change a column, and stops where a trigger of another table names it: a migration that
changes a column of studies, cases, sets or orders runs ``remove_triggers`` before and ``add_triggers`` after.
"""

from __future__ import annotations

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from annotation.triggers import let_change, make_insert_only

INSERT_ONLY = (
    "readerstudy_response",
    "readerstudy_refusedanswer",
    "readerstudy_remark",
    "readerstudy_timingevent",
    "readerstudy_voiding",
    "readerstudy_analysis",
)
LEDGERS = tuple(
    f"readerstudy_{name}"
    for name in ("benchmarkversion", "benchmarkquestion", "editionresult", "publishednumber", "boardnote")
)
BENCHMARKED = (  # table, what does not change, the column that names the wording
    ("annotation_revision", "UPDATE OF stem, options", "id"),
    ("annotation_answerkey", "UPDATE OF key, explanation", "revision_id"),
)
ASKED = "EXISTS (SELECT 1 FROM readerstudy_benchmarkquestion b WHERE b.revision_id = OLD.{column})"
NOT_A_DRAFT = "EXISTS (SELECT 1 FROM readerstudy_readerstudy s WHERE s.id = {row}.study_id AND s.state <> 'draft')"
OF_A_SET = (
    "EXISTS (SELECT 1 FROM readerstudy_caseset c JOIN readerstudy_readerstudy s ON s.id = c.study_id "
    "WHERE c.id = {row}.caseset_id AND s.state <> 'draft')"
)
OF_AN_ORDER = (
    "EXISTS (SELECT 1 FROM readerstudy_presentationorder o JOIN readerstudy_readerstudy s ON s.id = o.study_id "
    "WHERE o.id = {row}.order_id AND s.state <> 'draft')"
)
USED = (
    "EXISTS (SELECT 1 FROM readerstudy_studycase c JOIN readerstudy_readerstudy s ON s.id = c.study_id "
    "WHERE c.revision_id = OLD.{column} AND s.state <> 'draft')"
)
OF_A_CASE = (
    "EXISTS (SELECT 1 FROM readerstudy_studycase c JOIN readerstudy_readerstudy s ON s.id = c.study_id "
    "WHERE c.id = {row}.case_id AND s.state <> 'draft')"
)
BEING_READ = (
    "EXISTS (SELECT 1 FROM readerstudy_shownimage i JOIN readerstudy_studycase c ON c.id = i.case_id "
    "JOIN readerstudy_readerstudy s ON s.id = c.study_id WHERE i.image_id = OLD.image_id AND s.state = 'open')"
)
WHOLE_ROWS = {
    "readerstudy_studycase": NOT_A_DRAFT,
    "readerstudy_arm": NOT_A_DRAFT,
    "readerstudy_caseset": NOT_A_DRAFT,
    "readerstudy_studycase_sets": OF_A_SET,
    "readerstudy_presentedcase": OF_AN_ORDER,
    "readerstudy_shownimage": OF_A_CASE,
}
ORDER = ("study_id", "arm_id", "case_set_id", "number", "rule")
DESIGN = (
    *("name", "bank_id", "seed", "draw", "rules", "analysis", "n_readers", "n_orders", "instructions", "consent"),
    *("consent_version", "contact", "protocol", "protocol_sha256", "keys_salt", "frozen_at", "simulated"),
)


def _conditions(differs: str) -> list[tuple[str, str, str]]:
    """(table, act, when it is refused)."""

    def changed(columns: tuple[str, ...]) -> str:
        return "(" + " OR ".join(f"OLD.{column} {differs} NEW.{column}" for column in columns) + ")"

    found = []
    for table, held in WHOLE_ROWS.items():
        old, new = held.format(row="OLD"), held.format(row="NEW")
        found += [(table, "INSERT", new), (table, "UPDATE", f"{old} OR {new}"), (table, "DELETE", old)]
    orders, old = "readerstudy_presentationorder", NOT_A_DRAFT.format(row="OLD")
    found += [
        (orders, "INSERT", NOT_A_DRAFT.format(row="NEW")),
        (orders, "UPDATE", f"{old} AND {changed(ORDER)}"),
        (orders, "DELETE", old),
    ]
    back = "NEW.state = 'draft'"
    studies = "readerstudy_readerstudy"
    found += [
        (studies, "UPDATE", f"OLD.state <> 'draft' AND ({back} OR {changed(DESIGN)})"),
        (studies, "DELETE", "OLD.state <> 'draft'"),
        ("annotation_rendition", "UPDATE", BEING_READ),
        ("annotation_rendition", "DELETE", BEING_READ),
        (
            "annotation_revision",
            "UPDATE OF stem, options",  # an import that supersedes revisions does not wake it
            f"{changed(('stem', 'options'))} AND {USED.format(column='id')}",
        ),
        (
            "annotation_answerkey",
            "UPDATE OF key, explanation",
            f"{changed(('key', 'explanation'))} AND {USED.format(column='revision_id')}",
        ),
    ]
    return found


def _name(table: str, act: str, holder: str = "") -> str:
    return f"{table}_{holder}frozen_{act.split()[0].lower()}"


def add_triggers(apps: StateApps | None, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for table in INSERT_ONLY:
        make_insert_only(schema_editor, table)
    hold_frozen(schema_editor)


def remove_triggers(apps: StateApps | None, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for table in INSERT_ONLY:
        let_change(schema_editor, table)
    for table, act, _refused in _conditions(""):
        remove_trigger(schema_editor, table, act)


def hold_frozen(schema_editor: BaseDatabaseSchemaEditor) -> None:
    """What a study froze does not change from now on."""
    is_sqlite = schema_editor.connection.vendor == "sqlite"
    for table, act, refused in _conditions("IS NOT" if is_sqlite else "IS DISTINCT FROM"):
        add_trigger(schema_editor, table, act, refused)


def add_board_triggers(apps: StateApps | None, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """What leaderboards keep: the ledger, and wording and keys of what a benchmark froze."""
    for table in LEDGERS:
        make_insert_only(schema_editor, table)
    differs = "IS NOT" if schema_editor.connection.vendor == "sqlite" else "IS DISTINCT FROM"
    for table, act, column in BENCHMARKED:
        changed = " OR ".join(f"OLD.{one} {differs} NEW.{one}" for one in act.removeprefix("UPDATE OF ").split(", "))
        add_trigger(schema_editor, table, act, f"({changed}) AND {ASKED.format(column=column)}", "benchmark_")


def remove_board_triggers(apps: StateApps | None, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for table in LEDGERS:
        let_change(schema_editor, table)
    for table, act, _column in BENCHMARKED:
        remove_trigger(schema_editor, table, act, "benchmark_")


def add_trigger(schema_editor: BaseDatabaseSchemaEditor, table: str, act: str, refused: str, holder: str = "") -> None:
    name, text = _name(table, act, holder), f"{table}: the {holder.strip('_') or 'study'} is frozen"
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute(
            f"CREATE TRIGGER {name} BEFORE {act} ON {table} WHEN {refused} BEGIN SELECT RAISE(ABORT, '{text}'); END"
        )
        return
    schema_editor.execute(
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF {refused} THEN RAISE EXCEPTION '{text}'; END IF; "
        f"RETURN {'OLD' if act == 'DELETE' else 'NEW'}; END $$"
    )
    schema_editor.execute(f"CREATE TRIGGER {name} BEFORE {act} ON {table} FOR EACH ROW EXECUTE FUNCTION {name}()")


def remove_trigger(schema_editor: BaseDatabaseSchemaEditor, table: str, act: str, holder: str = "") -> None:
    name, is_sqlite = _name(table, act, holder), schema_editor.connection.vendor == "sqlite"
    schema_editor.execute(f"DROP TRIGGER {name}" + ("" if is_sqlite else f" ON {table}"))
    if not is_sqlite:
        schema_editor.execute(f"DROP FUNCTION {name}()")
