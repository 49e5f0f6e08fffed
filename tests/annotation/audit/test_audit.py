"""The audit log: one chain, written with the act, and closed to changes by the database itself."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.db import transaction

from annotation.audit.recording import FaultKind, record, verify
from annotation.models import AuditEvent, User


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
