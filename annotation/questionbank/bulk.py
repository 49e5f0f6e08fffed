"""Many rows at once: ``executemany`` into SQLite, ``COPY`` into PostgreSQL, and ids known before the rows are."""

from __future__ import annotations

import io
import json
import secrets
from collections.abc import Sequence
from typing import Any

from django.db import connection, models

from annotation.models.fields import public_id

Row = tuple[Any, ...]
COPIED_AT_ONCE = 1 << 20  # characters handed to PostgreSQL


def insert_rows(model: type[models.Model], columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Insert rows given in ``columns``; others take the default of their field, or of the database where it has one.
    Without any they are null.

    No signal, no save(). Values are texts, numbers and None; a JSON column takes its text.
    """
    if not rows:
        return
    given = (each for each in model._meta.concrete_fields if not each.has_db_default())
    fields = [each for each in given if not isinstance(each, models.AutoField)]
    rest = {str(each.column): _default(each) for each in fields if each.column not in columns}
    rest = {column: value for column, value in rest.items() if value is not None}
    names = ", ".join(map(connection.ops.quote_name, (*columns, *rest)))
    table, defaults = connection.ops.quote_name(model._meta.db_table), tuple(rest.values())
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cells = ([_cell(value) for value in row + defaults] for row in rows)
            text = io.StringIO("\n".join(map(",".join, cells)))
            cursor.copy_expert(f"COPY {table} ({names}) FROM STDIN (FORMAT csv)", text, COPIED_AT_ONCE)
        else:
            marks = ", ".join(["%s"] * (len(columns) + len(rest)))
            statement = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - names of our models
            cursor.executemany(statement, [row + defaults for row in rows])


def _cell(value: Any) -> str:
    """A value in a row of CSV, as COPY reads it: an empty cell without quotes is null."""
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return "" if value is None else str(value)


def _default(each: models.Field[Any, Any]) -> Any:
    value = each.get_default()
    return json.dumps(value) if isinstance(each, models.JSONField) and value is not None else value


def settings_for_many_rows() -> None:
    """For the transaction that is going on, in PostgreSQL: its commit does not wait for the disk, and indexes count.

    The log is written in order, so that the later commit that publishes carries all before it to the disk; a power
    cut before it loses some of the last batches, which the sweep would have removed anyway. Digests are looked up by
    their index even while the statistics do not know yet how much a table has grown.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO OFF; SET LOCAL enable_seqscan TO OFF")


def reserve_ids(model: type[models.Model], count: int) -> Sequence[int]:
    """``count`` primary keys that nobody else gets, for rows of the transaction that is going on."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":  # it has one writer, which is this transaction
            cursor.execute("SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = %s", [table])
            last: int = cursor.fetchone()[0]
            return range(last + 1, last + 1 + count)
        # the name is looked up once: in the list of columns it would be for every key
        name = "(SELECT pg_get_serial_sequence(%s, 'id')::regclass AS ids OFFSET 0) AS named"
        cursor.execute(f"SELECT nextval(ids) FROM {name}, generate_series(1, %s)", [table, count])  # noqa: S608
        return [row[0] for row in cursor.fetchall()]


def public_ids(count: int) -> list[str]:
    """``count`` random names for addresses, which share their first four characters; 72 bits of each are its own.

    So the rows of one batch are together in the index, which would otherwise be rewritten as a whole for each.
    """
    start, text = public_id()[:4], secrets.token_urlsafe(9 * count)
    return [start + text[at : at + 12] for at in range(0, 12 * count, 12)]
