"""What only one transaction at a time may do. SQLite has one writer anyway, PostgreSQL such locks."""

from __future__ import annotations

from enum import IntEnum

from django.db import connection


class OneAtATime(IntEnum):
    """The numbers are known to PostgreSQL only, and to every process of the site."""

    LOG = 7_203_111  # writing to the audit log
    INGEST = 7_203_112  # storing images
    NAME = 7_203_113  # giving a bank, sample, round or study its name and address


def lock(what: OneAtATime) -> None:
    """Wait until no other transaction holds this lock, and hold it until this one ends.

    What is asked afterwards sees all that those before have stored.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [what.value])
