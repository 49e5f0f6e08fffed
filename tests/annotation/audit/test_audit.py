"""The audit log: one chain, written with the act, and closed to changes by the database itself."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.db import transaction

from annotation.audit.recording import FaultKind, record, verify
from annotation.models import AuditEvent, User
from tests.processes import manage

TAMPER = """
from django.db import DatabaseError, transaction
from django.utils import timezone
from annotation.audit.recording import record
from annotation.audit.recording import verify
from annotation.models import AuditEvent
with transaction.atomic():
    record("test.act", actor=None, at=timezone.now(), facts={"n": 1})
for name, change in (
    ("update", lambda: AuditEvent.objects.update(act="forged")),
    ("delete", lambda: AuditEvent.objects.all().delete()),
):
    try:
        with transaction.atomic():
            change()
        print(name, "went through")
    except DatabaseError as error:
        print(name, "refused", "insert-only" in str(error))
print("rows", AuditEvent.objects.filter(act="test.act").count(), "fault", verify().fault)
"""

TAMPER_WITH_A_CLOCK = """
from django.db import DatabaseError, transaction
from django.utils import timezone
from annotation.models import ReviewEvent, User
from tests.annotation.review.cases import make_round
rita = User.objects.create_user("rita@example.org", "correct horse battery", name="Rita")
made = make_round(rita, n_questions=1)
for n in range(2):
    ReviewEvent.objects.bulk_create([ReviewEvent(assignment=made.assignments.get(), page="p", sequence=1, kind="quiet",
        client_ms=1.0, received_at=timezone.now())], ignore_conflicts=True)
for name, change in (
    ("update", lambda: ReviewEvent.objects.update(client_ms=2.0)),
    ("delete", lambda: ReviewEvent.objects.all().delete()),
):
    try:
        with transaction.atomic():
            change()
        print(name, "went through")
    except DatabaseError as error:
        print(name, "refused", "insert-only" in str(error))
print("rows", ReviewEvent.objects.count())
"""


def test_events_form_one_whole_chain(cora: User, noon: datetime) -> None:
    for n in range(3):
        with transaction.atomic():
            record("test.act", actor=cora, at=noon, subject=cora, facts={"n": n})
    hashes = list(AuditEvent.objects.order_by("id").values_list("previous_sha256", "sha256"))
    assert [before for before, _ in hashes[1:]] == [after for _, after in hashes[:-1]]
    assert verify().fault is None


def test_a_forged_event_is_found(cora: User, noon: datetime) -> None:
    events = []
    for n in range(3):
        with transaction.atomic():
            events.append(record("test.act", actor=cora, at=noon, facts={"n": n}))
    AuditEvent.objects.filter(pk=events[1].pk).update(facts={"n": 99})
    found = verify()
    assert found.fault is not None
    assert (found.fault.kind, found.fault.event, found.n_events) == (FaultKind.CHANGED, events[1].pk, 1)


@pytest.mark.django_db(transaction=True)
def test_an_event_outside_a_transaction_is_refused(noon: datetime) -> None:
    with pytest.raises(transaction.TransactionManagementError):
        record("test.act", actor=None, at=noon)


def test_the_database_refuses_to_change_or_delete_an_event(migrated: dict[str, str]) -> None:
    done = manage("shell", "-v0", "-c", TAMPER, env=migrated)
    assert done.stdout.splitlines()[-3:] == ["update refused True", "delete refused True", "rows 1 fault None"]


def test_the_database_refuses_to_change_or_delete_what_a_clock_told(migrated: dict[str, str]) -> None:
    done = manage("shell", "-v0", "-c", TAMPER_WITH_A_CLOCK, env=migrated)
    assert done.stdout.splitlines()[-3:] == ["update refused True", "delete refused True", "rows 1"], done.stderr
