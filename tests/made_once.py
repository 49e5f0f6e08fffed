"""What many tests of a file make alike is made once, and its rows are written again where the database is as it was."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from django.db import connection, models, transaction

from annotation.models import User

P = ParamSpec("P")
T = TypeVar("T")
Rows = dict[str, set[tuple[Any, ...]]]  # by table
DIFFERENT = {"password", "created_at"}  # of a person, whenever one is made
FILES = {"pixels", "give_images"}  # words that ask for some
MOST = 20  # of which as much is remembered


def made_once(make: Callable[P, T]) -> Callable[P, T]:
    """For what stores rows and nothing else, with times of its own. Elsewhere than on SQLite it is as it was."""
    kept: dict[bytes, tuple[Rows, bytes]] = {}

    @wraps(make)
    def once(*args: P.args, **kwargs: P.kwargs) -> T:
        if connection.vendor != "sqlite" or FILES & kwargs.keys():
            return make(*args, **kwargs)
        before, wanted = _stored(), [_word(one) for one in (*args, *sorted(kwargs.items()))]
        asked = repr((wanted, {table: sorted(_alike(table, rows)) for table, rows in sorted(before.items())})).encode()
        if asked not in kept:
            if len(kept) > MOST:
                kept.clear()
            made = make(*args, **kwargs)
            changed = {table: rows - before.get(table, set()) for table, rows in _stored().items()}
            kept[asked] = {table: rows for table, rows in changed.items() if rows}, pickle.dumps(made)
            return made
        rows_of, packed = kept[asked]
        with transaction.atomic():
            for table, rows in rows_of.items():
                signs = ", ".join("?" * len(_columns(table)))
                connection.connection.executemany(f'INSERT OR REPLACE INTO "{table}" VALUES ({signs})', sorted(rows))
        again: T = pickle.loads(packed)
        return again

    return once


def _word(one: object) -> str:
    if isinstance(one, models.Model):
        return f"{one._meta.label} {one.pk}"
    return f"[{', '.join(map(_word, one))}]" if isinstance(one, list | tuple) else repr(one)


def _stored() -> Rows:
    connection.ensure_connection()
    filled = [name for (name,) in connection.connection.execute("SELECT name FROM sqlite_sequence ORDER BY name")]
    found = {name: set(connection.connection.execute(_select(name))) for name in (*filled, *_without_numbers())}
    return {name: rows for name, rows in found.items() if rows}


@cache
def _without_numbers() -> list[str]:
    """Tables of which SQLite keeps no count, but that of words, which follows by itself."""
    kept = "type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'annotation_revision_words%'"
    words = f"SELECT name FROM sqlite_master WHERE {kept} AND sql NOT LIKE ?"
    return [name for (name,) in connection.connection.execute(words, ["% AUTOINCREMENT%"])]


@cache
def _columns(table: str) -> list[str]:
    return [row[1] for row in connection.connection.execute(f'PRAGMA table_info("{table}")')]


@cache
def _select(table: str) -> str:
    """As they are stored: of an expression SQLite names no type that would be read into."""
    return f'SELECT {", ".join(f"+{chr(34)}{name}{chr(34)}" for name in _columns(table))} FROM "{table}"'


def _alike(table: str, rows: Iterable[tuple[Any, ...]]) -> Iterable[str]:
    is_person = table == User._meta.db_table
    told = [place for place, name in enumerate(_columns(table)) if not (is_person and name in DIFFERENT)]
    return (repr([row[place] for place in told]) for row in rows)
