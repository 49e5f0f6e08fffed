"""What an owner of the database can do to the audit log, and whether it is found: run by ``manage.py shell``.

The triggers are taken away first. Each of the seeded changes is made in a transaction that is taken back.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction

from annotation.audit.recording import FaultKind, event_sha256, record, record_each, verify
from annotation.models import AuditEvent, User
from tests.conftest import NOON

N_EVENTS = 40
TABLE = "annotation_auditevent"
COLUMNS = ("at", "actor_id", "act", "subject_type", "subject_id", "facts", "previous_sha256", "sha256")


def main(n_changes: int) -> None:
    """Print what was not found, and how many changes were."""
    write_events()
    drop_triggers()
    head = verify().head_sha256
    n_found = 0
    for seed in range(n_changes):
        told = _try(seed, head)
        n_found += not told
        if told:
            print(told)
    print(f"{n_found} of {n_changes} found; afterwards {verify(head).fault}")


def write_events() -> None:
    people = [User.objects.create_user(f"{name}@example.org", name=name) for name in ("Ada", "Cora", "Rita")]
    with transaction.atomic():
        for n in range(N_EVENTS - len(people)):
            at = NOON + timedelta(minutes=n)
            record(f"test.act_{n % 4}", actor=(*people, None)[n % 4], at=at, subject=people[n % 3], facts={"n": n})
        record_each("test.each", people, actor=None, at=NOON + timedelta(hours=2))


def drop_triggers() -> None:
    with connection.cursor() as cursor:
        for act in ("update", "delete"):
            on_table = "" if connection.vendor == "sqlite" else f" ON {TABLE}"
            cursor.execute(f"DROP TRIGGER {TABLE}_no_{act}{on_table}")


def _try(seed: int, head: str) -> str:
    """What to say where the change was not found, or called by another name."""
    chance = random.Random(seed)
    change, kinds, needs_head = CHANGES[seed % len(CHANGES)]
    with transaction.atomic():
        change(chance, seed)
        fault = verify(head if needs_head else "").fault
        transaction.set_rollback(True)
    if fault is not None and fault.kind in kinds:
        return ""
    return f"seed {seed}, {change.__name__}: {fault}"


Change = Callable[[random.Random, int], None]


def change_column(chance: random.Random, seed: int) -> None:
    """Each column in turn."""
    column = COLUMNS[seed // len(CHANGES) % len(COLUMNS)]
    event = _any(chance)
    values: dict[str, Any] = {
        "at": event.at + timedelta(microseconds=1),
        "actor_id": None if event.actor_id else User.objects.order_by("pk")[0].pk,
        "act": f"{event.act}s",
        "subject_type": "question",
        "subject_id": f"{event.subject_id}0",
        "facts": {**event.facts, "n": -1},
        "previous_sha256": "a" * 64,
        "sha256": "b" * 64,
    }
    _rows(event).update(**{column: values[column]})


def change_with_own_hash(chance: random.Random, _seed: int) -> None:
    """A row changed and its hash computed again, but not those after it."""
    event = _any(chance, before_last=1)
    event.act = "test.forged"
    _rows(event).update(act=event.act, sha256=event_sha256(event))


def write_nonsense(chance: random.Random, _seed: int) -> None:
    event = _any(chance)
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA ignore_check_constraints = ON")
            column, value = chance.choice([("facts", "{"), ("at", "yesterday"), ("at", "2026-99-99 00:00:00")])
            cursor.execute(f"UPDATE {TABLE} SET {column} = %s WHERE id = %s", [value, event.pk])
        else:
            cursor.execute(f"UPDATE {TABLE} SET facts = 'null' WHERE id = %s", [event.pk])


def delete_one(chance: random.Random, _seed: int) -> None:
    _rows(_any(chance, before_last=1)).delete()


def delete_several(chance: random.Random, _seed: int) -> None:
    first = chance.randrange(N_EVENTS - 6)
    _delete(_ids()[first : first + chance.randint(2, 5)])


def delete_first(_chance: random.Random, _seed: int) -> None:
    _delete(_ids()[:1])


def insert(chance: random.Random, _seed: int) -> None:
    """A row with a hash that fits it and the row before it."""
    _make_room(place := chance.randrange(1, N_EVENTS - 1))
    _insert_at(place, chance)


def insert_and_link_next(chance: random.Random, _seed: int) -> None:
    _make_room(place := chance.randrange(1, N_EVENTS - 2))
    made = _insert_at(place, chance)
    _relink(after=made, most=1)


def reorder(chance: random.Random, _seed: int) -> None:
    """Two neighbours, or two rows far apart."""
    first = chance.randrange(N_EVENTS - 1)
    second = chance.choice([first + 1, chance.randrange(first + 1, N_EVENTS)])
    one, other = _ids()[first], _ids()[second]
    for now, then in ((one, 10_000), (other, one), (10_000, other)):
        AuditEvent.objects.filter(pk=now).update(id=then)


def move_time(chance: random.Random, _seed: int) -> None:
    event = _any(chance)
    _rows(event).update(at=event.at + chance.choice([-1, 1]) * timedelta(days=chance.randint(1, 400)))


def cut_tail(chance: random.Random, _seed: int) -> None:
    _delete(_ids()[-chance.randint(1, N_EVENTS) :])


def delete_and_link_all(chance: random.Random, _seed: int) -> None:
    """A row in the middle is gone, and every later hash is computed again."""
    place = chance.randrange(1, N_EVENTS - 1)
    ids = _ids()
    _delete([ids[place]])
    _relink(after=AuditEvent.objects.get(pk=ids[place - 1]))


def rewrite_all(chance: random.Random, _seed: int) -> None:
    event = _any(chance, before_last=1)
    event.actor_id = None if event.actor_id else User.objects.order_by("pk")[0].pk
    event.sha256 = event_sha256(event)
    _rows(event).update(actor_id=event.actor_id, sha256=event.sha256)
    _relink(after=event)


ANY_CHANGE = (FaultKind.CHANGED, FaultKind.TIME_MOVED)
CHANGES: tuple[tuple[Change, tuple[FaultKind, ...], bool], ...] = (  # what is done, what it is called, with the head
    (change_column, ANY_CHANGE, False),
    (change_column, ANY_CHANGE, False),
    (change_with_own_hash, (FaultKind.MISSING, FaultKind.INSERTED), False),
    (write_nonsense, (FaultKind.CHANGED,), False),
    (delete_one, (FaultKind.MISSING,), False),
    (delete_several, (FaultKind.MISSING,), False),
    (delete_first, (FaultKind.MISSING,), False),
    (insert, (FaultKind.INSERTED,), False),
    (insert_and_link_next, (FaultKind.MISSING, FaultKind.INSERTED), False),
    (reorder, (FaultKind.REORDERED,), False),
    (move_time, (FaultKind.TIME_MOVED,), False),
    (cut_tail, (FaultKind.CUT,), True),
    (delete_and_link_all, (FaultKind.CUT,), True),
    (rewrite_all, (FaultKind.CUT,), True),
)


def _ids() -> list[int]:
    return list(AuditEvent.objects.order_by("pk").values_list("pk", flat=True))


def _any(chance: random.Random, *, before_last: int = 0) -> AuditEvent:
    ids = _ids()
    return AuditEvent.objects.get(pk=ids[chance.randrange(len(ids) - before_last)])


def _rows(event: AuditEvent) -> Any:
    return AuditEvent.objects.filter(pk=event.pk)


def _delete(ids: list[int]) -> None:
    AuditEvent.objects.filter(pk__in=ids).delete()


def _make_room(place: int) -> None:
    for pk in reversed(_ids()[place:]):
        AuditEvent.objects.filter(pk=pk).update(id=pk + 1)


def _insert_at(place: int, chance: random.Random) -> AuditEvent:
    before = AuditEvent.objects.get(pk=_ids()[place - 1])
    at: datetime = before.at + timedelta(seconds=chance.randint(0, 50))
    made = AuditEvent(pk=before.pk + 1, at=at, act="test.forged", facts={}, previous_sha256=before.sha256)
    made.sha256 = event_sha256(made)
    made.save(force_insert=True)
    return made


def _relink(*, after: AuditEvent, most: int = N_EVENTS) -> None:
    previous = after.sha256
    for event in AuditEvent.objects.filter(pk__gt=after.pk).order_by("pk")[:most]:
        event.previous_sha256 = previous
        event.sha256 = previous = event_sha256(event)
        _rows(event).update(previous_sha256=event.previous_sha256, sha256=event.sha256)
