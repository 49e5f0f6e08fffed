"""Which call comes next is known for some calls ahead."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.call_enums import CallOutcome
from annotation.model_calls.next_calls import BatchWork
from annotation.models import CallBatch
from tests.annotation.model_calls.simulated_calls import make_batch

pytestmark = pytest.mark.django_db


def take(work: BatchWork, batch: CallBatch, most: int) -> list[int]:
    calls = work.next_calls(batch, most, 0.0)
    if calls:
        work.took(calls)
    return [call.number for call in calls]


def test_the_calls_of_the_next_steps_are_read_with_those_of_this_one() -> None:
    batch = make_batch(5)
    work = BatchWork.of(batch)
    with CaptureQueriesContext(connection) as queries:
        assert [take(work, batch, 2), take(work, batch, 2), take(work, batch, 1)] == [[1, 2], [3, 4], [5]]
    assert len(queries) == 1


def test_a_batch_that_stood_still_reads_its_calls_anew() -> None:
    """A file of responses may have come meanwhile."""
    batch = make_batch(3)
    work = BatchWork.of(batch)
    assert take(work, batch, 1) == [1]
    batch.calls.filter(number=2).update(outcome=CallOutcome.ANSWERED)
    work.drop_read_ahead()
    assert take(work, batch, 2) == [3]
