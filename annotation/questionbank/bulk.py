"""Many rows at once: ``executemany`` into SQLite, ``COPY`` into PostgreSQL, and ids known before the rows are."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
from collections.abc import Iterator, Sequence
from types import NoneType
from typing import Any

from django.db import connection, models, transaction

Row = tuple[Any, ...]
BLOCK = 20  # batches for which keys are taken at once
COPY_BYTES = 1 << 18  # handed to PostgreSQL at once


def insert_rows(model: type[models.Model], columns: Sequence[str], rows: list[Row]) -> None:
    """Insert rows given in ``columns``; other columns take the default of their field. No signal, no save().

    Values are texts, numbers and None; a JSON column takes its text.
    """
    if not rows:
        return
    names, constants = _with_defaults(model, columns)
    table = connection.ops.quote_name(model._meta.db_table)
    listed = ", ".join(map(connection.ops.quote_name, names))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.copy_expert(f"COPY {table} ({listed}) FROM STDIN", _copy_text(rows, constants), COPY_BYTES)
            return
        marks = ", ".join(["%s"] * len(columns) + [_literal(value) for value in constants])
        cursor.executemany(f"INSERT INTO {table} ({listed}) VALUES ({marks})", rows)  # noqa: S608 - names of our models


@contextlib.contextmanager
def settings_for_many_rows() -> Iterator[None]:
    """Commits that do not wait for the disk, for rows that nobody sees before a later commit that does wait.

    Both databases write one log in order: the synchronous commit that publishes carries all before it to the disk.
    A power cut before it loses some of the last chunks, which the sweep would have removed anyway. PostgreSQL looks
    digests up by their index even while its statistics do not know yet how much a table has grown. Has no effect
    inside a transaction.
    """
    if connection.in_atomic_block:
        yield
        return
    off, on = _SETTINGS[connection.vendor]
    _execute(off)
    try:
        yield
    finally:
        if connection.connection is not None:
            _execute(on)


_SETTINGS = {
    "postgresql": (
        ["SET synchronous_commit TO OFF", "SET enable_seqscan TO OFF"],
        ["SET synchronous_commit TO ON", "RESET enable_seqscan"],
    ),
    "sqlite": (
        ["PRAGMA synchronous=NORMAL", "PRAGMA wal_autocheckpoint=900"],
        ["PRAGMA synchronous=FULL", "PRAGMA wal_autocheckpoint=1000"],
    ),
}


def _execute(statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


class IdBlocks:
    """Primary keys that nobody else gets, taken from the database in blocks; those not used stay unused."""

    def __init__(self) -> None:
        self._left: dict[type[models.Model], Sequence[int]] = {}

    def take(self, model: type[models.Model], count: int) -> Sequence[int]:
        """``count`` keys. The first block is as small as its batch, so that a small import leaves no gap."""
        if count == 0:
            return ()
        left = self._left.get(model)
        if left is None:
            left = reserve_ids(model, count)
        elif len(left) < count:
            left = reserve_ids(model, BLOCK * count)
        self._left[model] = left[count:]
        return left[:count]


@transaction.atomic
def reserve_ids(model: type[models.Model], count: int) -> Sequence[int]:
    """``count`` primary keys from the model's sequence: they are never handed out again."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # the name is looked up once: in the list of columns it would be for every key
            name = "(SELECT pg_get_serial_sequence(%s, 'id')::regclass AS ids OFFSET 0) AS named"
            cursor.execute(f"SELECT nextval(ids) FROM {name}, generate_series(1, %s)", [table, count])  # noqa: S608 - fixed text
            return [row[0] for row in cursor.fetchall()]
        absent = "NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = %s)"  # until the first row of the table
        cursor.execute(f"INSERT INTO sqlite_sequence (name, seq) SELECT %s, 0 WHERE {absent}", [table, table])
        cursor.execute("UPDATE sqlite_sequence SET seq = seq + %s WHERE name = %s", [count, table])
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        last = cursor.fetchone()[0]
        return range(last - count + 1, last + 1)


def random_names(count: int) -> list[str]:
    """``count`` public ids of 16 characters. Those of one call share their first four.

    The last 72 bits of each are random. The shared start keeps the rows of one chunk together in the index, which
    would otherwise be rewritten as a whole for every chunk; it tells no more than that they came in together.
    """
    start = base64.urlsafe_b64encode(os.urandom(3)).decode()
    text = base64.urlsafe_b64encode(os.urandom(9 * count)).decode()
    return [start + text[at : at + 12] for at in range(0, 12 * count, 12)]


def _with_defaults(model: type[models.Model], columns: Sequence[str]) -> tuple[list[str], list[Any]]:
    """All columns to fill, and the constant values of those that were not given."""
    names, constants = list(columns), []
    for field in model._meta.concrete_fields:
        if field.column in columns or (field.primary_key and isinstance(field, models.AutoField | models.BigAutoField)):
            continue
        if not field.null:
            value = field.get_default() if field.has_default() else ""
            names.append(str(field.column))
            constants.append(json.dumps(value) if isinstance(field, models.JSONField) else value)
    return names, constants


def _literal(value: Any) -> str:
    """A constant of our own models, as SQL."""
    if isinstance(value, int):
        return str(int(value))
    return "'" + str(value).replace("'", "''").replace("%", "%%") + "'"


def _copy_text(rows: list[Row], constants: list[Any]) -> io.BytesIO:
    """Rows in the text form of COPY. A column is looked at as a whole, so that few texts are escaped one by one."""
    columns = [_copy_column(column) for column in zip(*rows, strict=True)]
    end = "".join("\t" + _copy_value(value) for value in constants) + "\n"
    return io.BytesIO((end.join(map("\t".join, zip(*columns, strict=True))) + end).encode())


def _copy_column(values: tuple[Any, ...]) -> Sequence[str]:
    kinds = set(map(type, values))
    if kinds == {int}:
        return list(map(str, values))
    if kinds == {NoneType}:
        return ["\\N"] * len(values)
    if kinds == {str}:
        joined = "".join(values)
        if "\\" in joined or "\n" in joined or "\t" in joined or "\r" in joined:
            return list(map(_escaped, values))
        return values
    return list(map(_copy_value, values))


def _copy_value(value: Any) -> str:
    if value is None:
        return "\\N"
    if type(value) is bool:
        return "t" if value else "f"
    return _escaped(value) if isinstance(value, str) else str(value)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
