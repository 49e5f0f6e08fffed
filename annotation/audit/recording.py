"""The audit log: one row per act, written in the same transaction as the act; and whether it is as it was written.

The chain by itself tells any change but one at its end: whoever owns the database can cut the newest events off, or
write all later hashes again. A hash of its end kept elsewhere (a backup, an export, a printed line) tells that, and
so does a file of seals, which the key of the site signs.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, models, transaction
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.enums import Word
from annotation.enums import _ as marked
from annotation.hashes import keyed_digest, keyed_pseudonym
from annotation.models import AuditEvent, User
from annotation.refusals import Refused
from annotation.site.sorted_tables import KeptQuery, OneAtATime, lock

FIRST = "0" * 64
_NEWEST = KeptQuery(lambda: AuditEvent.objects.order_by("-id").values_list("sha256")[:1])


def record(
    act: str,
    *,
    actor: User | None,
    at: datetime,
    subject: models.Model | None = None,
    facts: dict[str, Any] | None = None,
) -> AuditEvent:
    """Append one event that carries the hash of the one before it.

    ``facts`` hold neither a tag value of an image nor an answer key. Must run inside the transaction of the act.
    """
    event = _event(act, actor, at, subject, facts, previous=_newest())
    event.save(force_insert=True)
    return event


def record_each(
    act: str,
    subjects: Iterable[models.Model],
    *,
    actor: User | None,
    at: datetime,
    facts: dict[str, Any] | None = None,
) -> None:
    """One event for each subject of an act on many, as ``record`` writes it, in few statements."""
    previous, events = _newest(), list[AuditEvent]()
    for subject in subjects:
        events.append(_event(act, actor, at, subject, facts, previous=previous))
        previous = events[-1].sha256
    AuditEvent.objects.bulk_create(events, batch_size=500)


def record_once(act: str, *, actor: User | None, at: datetime, subject: models.Model) -> None:
    """For what is looked at again and again: an event the first time that this person does this with this thing."""
    thing = {"subject_type": subject._meta.model_name or "", "subject_id": _name_of(subject)}
    if AuditEvent.objects.filter(**thing, act=act, actor=actor).exists():
        return
    with transaction.atomic():
        record(act, actor=actor, at=at, subject=subject)


def _name_of(subject: models.Model) -> str:
    return str(getattr(subject, "public_id", None) or subject.pk)


def _newest() -> str:
    """The hash of the newest event, after which nobody else writes until the transaction ends."""
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("an audit event is written in the transaction of its act")
    lock_log()
    (previous,) = _NEWEST.first() or (FIRST,)
    return str(previous)


def _event(
    act: str,
    actor: User | None,
    at: datetime,
    subject: models.Model | None,
    facts: dict[str, Any] | None,
    *,
    previous: str,
) -> AuditEvent:
    event = AuditEvent(
        at=at,
        actor=actor,
        act=act,
        subject_type=subject._meta.model_name or "" if subject is not None else "",
        subject_id=_name_of(subject) if subject is not None else "",
        facts=facts or {},
        previous_sha256=previous,
    )
    event.sha256 = event_sha256(event)
    return event


def lock_log() -> None:
    """Let nobody else write to the log until the transaction ends. An act that does this first sees, in what it asks
    then, all that was logged before it; what is logged from now on comes after it.
    """
    lock(OneAtATime.LOG)


def event_sha256(event: AuditEvent) -> str:
    """SHA-256 over the fields of an event and the hash of the one before it."""
    fields = [
        event.previous_sha256,
        event.at.astimezone(UTC).isoformat(),  # as a database gives it back
        event.actor_id,
        event.act,
        event.subject_type,
        event.subject_id,
        event.facts,
    ]
    return hashlib.sha256(json.dumps(fields, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


# --- sealing: what an owner of the database alone cannot write again ---------------------------------
def seal(to: Path, *, at: datetime) -> str:
    """Append a line to a file outside of the database, and return the head that it seals.

    It holds the head, a keyed digest of the name and address of every person where one changed since the line before,
    and a keyed digest of both and of that line. Raises AuditRefused where the file is not as it was written.
    """
    lines = _sealed(to)
    newest = AuditEvent.objects.order_by("-pk").first()
    before: dict[str, str] = {}
    for one in lines:
        before |= one["names"]
    changed = {pk: name for pk, name in _digests_of_names().items() if before.get(pk) != name}
    line: dict[str, Any] = {"at": at.astimezone(UTC).isoformat(), "event": newest.pk if newest else 0}
    line |= {"head": newest.sha256 if newest else FIRST, "names": changed}
    line["seal"] = _seal_of(line, lines[-1]["seal"] if lines else "")
    with to.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, sort_keys=True) + "\n")
    return str(line["head"])


def seal_hourly(at: datetime) -> None:
    """The sweep: a seal in the file that the site names, if there is none of the last hour. One worker at a time."""
    to: Path | None = settings.AUDIT_SEALS
    if to is None or (to.exists() and at.timestamp() - to.stat().st_mtime < timedelta(hours=1).total_seconds()):
        return
    with transaction.atomic():
        lock_log()
        seal(to, at=at)


def verify_seals(path: Path) -> AuditFault | None:
    """Whether every sealed head is still there, and whether names and addresses are those that were sealed, but for
    people of whom the log tells something later. The first fault; raises AuditRefused where there is no such file.
    """
    if not path.is_file():
        raise AuditRefused("no_seals", _("%(path)s is no file of seals.") % {"path": path}, status=422)
    try:
        lines = _sealed(path)
    except AuditRefused as refusal:
        return AuditFault(FaultKind.SEAL, 0, str(refusal))
    names: dict[str, tuple[str, int]] = {}
    for line in lines:
        names |= {pk: (digest, line["event"]) for pk, digest in line["names"].items()}
        kept = AuditEvent.objects.filter(pk=line["event"], sha256=line["head"]).exists() or line["head"] == FIRST
        if not kept:
            sentence = _("Event %(id)s, sealed at %(at)s, is not there or not as it was sealed.")
            return AuditFault(FaultKind.CUT, line["event"], sentence % {"id": line["event"], "at": line["at"]})
    now = _digests_of_names()
    for pk, (digest, event) in names.items():
        later = AuditEvent.objects.filter(pk__gt=event, subject_type="user", subject_id=pk, act__in=RENAMING)
        if now.get(pk) != digest and not later.exists():
            sentence = _("Person %(pk)s has another name or address than was sealed, and no event tells of it.")
            return AuditFault(FaultKind.NAME, 0, sentence % {"pk": pk})
    return None


RENAMING = ("profile.changed", "person.removed")


def _sealed(path: Path) -> list[dict[str, Any]]:
    """The lines of a file of seals; none where there is no file. Raises AuditRefused for one that was changed."""
    previous, lines = "", list[dict[str, Any]]()
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines() if path.is_file() else (), start=1):
        try:
            line = json.loads(text)
            fits = hmac.compare_digest(line["seal"], _seal_of(line, previous))
        except (ValueError, TypeError, KeyError):
            fits = False
        if not fits:
            sentence = _("Line %(n)s of %(path)s is not as it was written, or was sealed by another key.")
            raise AuditRefused("seal_changed", sentence % {"n": number, "path": path})
        previous = line["seal"]
        lines.append(line)
    return lines


def _seal_of(line: Mapping[str, Any], previous: str) -> str:
    sealed = [previous, *(line[name] for name in ("at", "event", "head", "names"))]
    return keyed_digest(settings.PSEUDONYM_KEY.encode(), "audit seal", json.dumps(sealed, sort_keys=True)).hex()


def _digests_of_names() -> dict[str, str]:
    key, people = settings.PSEUDONYM_KEY.encode(), User.objects.order_by("pk").values_list("pk", "name", "email")
    return {str(pk): keyed_pseudonym(key, "person", f"{pk}\n{name}\n{email}") for pk, name, email in people}


HASH = re.compile(r"[0-9a-f]{64}")
BATCH = 2000  # rows in memory at a time
Report = Callable[[int, int], None]  # how many events are checked, of how many


class AuditRefused(Refused):
    """What is asked of the audit log cannot be answered, or not to this person."""


class FaultKind(Word):
    CHANGED = "changed", marked("changed")
    TIME_MOVED = "time_moved", marked("changed, its time among it")
    MISSING = "missing", marked("missing before it")
    INSERTED = "inserted", marked("inserted")
    REORDERED = "reordered", marked("moved to another place")
    CUT = "cut", marked("missing at the end")
    SEAL = "seal", marked("another seal")
    NAME = "name", marked("another name")


class AuditFault(Struct, frozen=True):
    """The first thing that is wrong. ``event``: the number of the row at which it shows; 0: the log as a whole."""

    kind: FaultKind
    event: int
    sentence: str


class Verified(Struct):
    """What was found. ``n_events`` are those before the fault, ``head_sha256`` the hash of the last one."""

    n_events: int = 0
    head_sha256: str = FIRST
    fault: AuditFault | None = None
    n_after_head: int | None = None  # events newer than the hash that was kept; None where none was given


def checked_head(written: str) -> str:
    """A hash as somebody typed it. Raises AuditRefused for what is none."""
    head = written.strip().lower()
    if head and not HASH.fullmatch(head):
        sentence = _("“%(head)s” is no hash of an event: it has 64 characters, digits and letters from a to f.")
        raise AuditRefused("no_hash", sentence % {"head": written[:80]}, status=422, field="head")
    return head


def verify(head: str = "", *, report: Report | None = None) -> Verified:
    """Check every event from the first on; few are in memory at a time.

    ``head``: the hash of the newest event at an earlier time; it must still be there. Events after it are counted.
    """
    found = Verified()
    n_all = AuditEvent.objects.count() if report else 0
    for event in events_in_order():
        found.fault = _fault_of(event, found.head_sha256)
        if found.fault is not None:
            return found
        found.n_events, found.head_sha256 = found.n_events + 1, event.sha256
        if head:
            _count_after(found, head)
        if report and found.n_events % BATCH == 0:
            report(found.n_events, n_all)
    if head and found.n_after_head is None and head != FIRST:
        sentence = _("No event carries the hash that was kept, %(head)s: the end of the log was cut off or rewritten.")
        found.fault = AuditFault(FaultKind.CUT, 0, sentence % {"head": head})
    return found


def _count_after(found: Verified, head: str) -> None:
    if found.head_sha256 == head:
        found.n_after_head = 0
    elif found.n_after_head is not None:
        found.n_after_head += 1


def events_in_order(after: int = 0) -> Iterator[AuditEvent]:
    """Every event, the oldest first, with no more than a batch of them in memory.

    A value that cannot be read (an owner of the database can write anything into SQLite) makes an event without facts,
    whose hash fits nothing.
    """
    while True:
        rows = _batch(after)
        yield from rows
        if len(rows) < BATCH:
            return
        after = rows[-1].pk


def _batch(after: int) -> list[AuditEvent]:
    rows = AuditEvent.objects.filter(pk__gt=after).order_by("pk")
    try:
        return list(rows[:BATCH])
    except (ValueError, TypeError, AttributeError):
        keys = rows.values_list("pk", flat=True)[:BATCH]
        return [_readable(pk) for pk in keys]


def _readable(pk: int) -> AuditEvent:
    try:
        return AuditEvent.objects.get(pk=pk)
    except (ValueError, TypeError, AttributeError):
        previous, own = AuditEvent.objects.values_list("previous_sha256", "sha256").get(pk=pk)
        return AuditEvent(pk=pk, previous_sha256=previous, sha256=own)


def _fault_of(event: AuditEvent, previous: str) -> AuditFault | None:
    if not _fits_itself(event):
        return _changed(event)
    if event.previous_sha256 != previous:
        return _misplaced(event, previous)
    return None


def _fits_itself(event: AuditEvent) -> bool:
    try:
        return event.sha256 == event_sha256(event)
    except (ValueError, TypeError, AttributeError):
        return False


def _changed(event: AuditEvent) -> AuditFault:
    """A hash does not tell which field was changed; a time that is not between its neighbours' gives itself away."""
    before = AuditEvent.objects.filter(pk__lt=event.pk).order_by("-pk").values_list("at", flat=True).first()
    after = AuditEvent.objects.filter(pk__gt=event.pk).order_by("pk").values_list("at", flat=True)
    try:
        following = after.first()
        is_moved = (before is not None and event.at < before) or (following is not None and event.at > following)
    except (ValueError, TypeError, AttributeError):
        is_moved = False
    if is_moved:
        sentence = _("Event %(id)s is not as it was written: its time is not between those of its neighbours.")
        return AuditFault(FaultKind.TIME_MOVED, event.pk, sentence % {"id": event.pk})
    sentence = _("Event %(id)s is not as it was written: its content does not give its hash.")
    return AuditFault(FaultKind.CHANGED, event.pk, sentence % {"id": event.pk})


def _misplaced(event: AuditEvent, previous: str) -> AuditFault:
    """An event that is as it was written, behind one that it was not written after."""
    later = AuditEvent.objects.filter(pk__gt=event.pk)
    about = {"id": event.pk}
    if later.filter(sha256=event.previous_sha256).exists():
        sentence = _("Event %(id)s comes before the one that it was written after: the order was changed.")
        return AuditFault(FaultKind.REORDERED, event.pk, sentence % about)
    rival = AuditEvent.objects.filter(pk__lt=event.pk, sha256=event.previous_sha256).order_by("-pk").first()
    if rival is not None or event.previous_sha256 == FIRST:
        first = AuditEvent.objects.filter(pk__gt=rival.pk if rival else 0).order_by("pk").values_list("pk", flat=True)
        sentence = _("Event %(id)s was not written at this place: it was inserted.")
        return AuditFault(FaultKind.INSERTED, first[0], sentence % {"id": first[0]})
    if later.filter(previous_sha256=previous).exists():
        sentence = _("Event %(id)s was not written at this place: it was inserted.")
        return AuditFault(FaultKind.INSERTED, event.pk, sentence % about)
    sentence = _("The event that event %(id)s was written after is not there: one or more are missing.")
    return AuditFault(FaultKind.MISSING, event.pk, sentence % about)
