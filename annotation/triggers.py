"""Triggers by which the database itself refuses to change rows, on SQLite and PostgreSQL, and the index of the words
of questions, which follows every edit by itself; migrations make them.

SQLite makes a table anew to change a column, and stops where a trigger of another table names it: a migration that
changes a column of such a table runs ``remove_triggers`` before and ``add_triggers`` after.
"""

from __future__ import annotations

from django.db import DatabaseError, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

INSERT_ONLY = (
    "annotation_auditevent",
    "annotation_reviewevent",
    "annotation_callattempt",
    "annotation_promptversion",
    "annotation_generationreport",
    "annotation_bullet",
)


def add_triggers(apps: StateApps | None, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for table in INSERT_ONLY:
        make_insert_only(schema_editor, table)


def remove_triggers(apps: StateApps | None, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for table in INSERT_ONLY:
        let_change(schema_editor, table)


def make_insert_only(schema_editor: BaseDatabaseSchemaEditor, table: str) -> None:
    """Rows of the table are neither changed nor deleted from now on."""
    text = f"{table} is insert-only"
    is_sqlite = schema_editor.connection.vendor == "sqlite"
    if not is_sqlite:
        schema_editor.execute(
            f"CREATE FUNCTION {table}_insert_only() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{text}'; END $$"
        )
    refuse = f"BEGIN SELECT RAISE(ABORT, '{text}'); END"
    body = refuse if is_sqlite else f"FOR EACH ROW EXECUTE FUNCTION {table}_insert_only()"
    for act in ("UPDATE", "DELETE"):
        schema_editor.execute(f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table} {body}")


def let_change(schema_editor: BaseDatabaseSchemaEditor, table: str) -> None:
    is_sqlite = schema_editor.connection.vendor == "sqlite"
    for act in ("update", "delete"):
        schema_editor.execute(f"DROP TRIGGER {table}_no_{act}" + ("" if is_sqlite else f" ON {table}"))
    if not is_sqlite:
        schema_editor.execute(f"DROP FUNCTION {table}_insert_only()")


# --- words of questions ---------------------------------------------------------------------------
# As annotation.models.fields.folded: small letters, without accents.
_FOLDED = """
CREATE FUNCTION rexvqa_folded(t text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT CASE
WHEN octet_length(t) = length(t) THEN lower(t COLLATE "C") COLLATE "default"
ELSE normalize(replace(replace(translate(
    regexp_replace(normalize(lower(t COLLATE "und-x-icu"), NFD), '[\\u0300-\\u036F]', '', 'g'),
    'łøđħ', 'lodh'), 'æ', 'ae'), 'œ', 'oe'), NFC) COLLATE "default" END $$"""
_ADD = "INSERT INTO annotation_revision_words (rowid, stem) VALUES (NEW.id, rexvqa_folded(NEW.stem));"
_TAKE = (
    "INSERT INTO annotation_revision_words (annotation_revision_words, rowid, stem) "
    "VALUES ('delete', OLD.id, rexvqa_folded(OLD.stem));"
)
_FOLLOWING = {"INSERT": _ADD, "DELETE": _TAKE, "UPDATE OF stem": _TAKE + _ADD}


def add_words(apps: StateApps | None, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """By three letters in a row each: pg_trgm on PostgreSQL, FTS5 on SQLite."""
    if schema_editor.connection.vendor == "postgresql":
        _make_trigrams(schema_editor)
        schema_editor.execute(_FOLDED, params=None)
        index = "revision_words ON annotation_revision USING gin (rexvqa_folded(stem) gin_trgm_ops)"
        schema_editor.execute(f"CREATE INDEX {index}")
        return
    options = "content='', columnsize=0, detail=none, tokenize='trigram'"
    schema_editor.execute(f"CREATE VIRTUAL TABLE annotation_revision_words USING fts5(stem, {options})")
    rows = "SELECT id, rexvqa_folded(stem) FROM annotation_revision"
    schema_editor.execute(f"INSERT INTO annotation_revision_words (rowid, stem) {rows}")
    for act, body in _FOLLOWING.items():
        name = f"annotation_revision_words_{act.split()[0].lower()}"
        schema_editor.execute(f"CREATE TRIGGER {name} AFTER {act} ON annotation_revision BEGIN {body} END")


def _make_trigrams(schema_editor: BaseDatabaseSchemaEditor) -> None:
    connection = schema_editor.connection
    try:
        with transaction.atomic(using=connection.alias):
            schema_editor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except DatabaseError as error:
        database, role = connection.settings_dict["NAME"], connection.settings_dict["USER"]
        raise DatabaseError(
            f"The extension pg_trgm, by which words of questions are found, cannot be made ({error}). Let whoever "
            "looks after PostgreSQL install its contrib modules (most packages bring them) and, as a superuser, run "
            f'GRANT CREATE ON DATABASE "{database}" TO "{role}"; then start again. Nothing was changed.'
        ) from error


def remove_words(apps: StateApps | None, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP INDEX revision_words")
        schema_editor.execute("DROP FUNCTION rexvqa_folded(text)")
        return
    for act in _FOLLOWING:
        schema_editor.execute(f"DROP TRIGGER annotation_revision_words_{act.split()[0].lower()}")
    schema_editor.execute("DROP TABLE annotation_revision_words")
