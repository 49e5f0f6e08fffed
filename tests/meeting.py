"""Two people in the same instant, where two can write at a time; for scripts that run inside of a site."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction

from annotation.refusals import Refused

PATIENCE = 20  # seconds


def meet(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[Any, Any]:
    """What both acts give. The first has done its act and not committed; the second goes on as far as it comes, until
    it waits for a lock.
    """
    acted, may_commit, said = threading.Event(), threading.Event(), dict[str, Any]()

    def act_first() -> None:
        with transaction.atomic():
            said["first"] = first()
            acted.set()
            assert may_commit.wait(PATIENCE)
        connection.close()

    def act_second() -> None:
        said["second"] = second()
        connection.close()

    one, other = threading.Thread(target=act_first), threading.Thread(target=act_second)
    one.start()
    assert acted.wait(PATIENCE)
    other.start()
    while other.is_alive() and not _waits():
        pass
    may_commit.set()
    one.join(PATIENCE)
    other.join(PATIENCE)
    return said["first"], said["second"]


def said_of(act: Callable[[], Any]) -> str:
    """ "done", or the code of the refusal."""
    try:
        act()
    except Refused as refusal:
        return refusal.code
    return "done"


def _waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        return bool(cursor.fetchone()[0])
