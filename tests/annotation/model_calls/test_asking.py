"""Batches of calls against the stand-in server, over real sockets and with real threads."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import F
from pytest_django.fixtures import Settings

from annotation.call_enums import BatchState, CallOutcome, PromptPurpose
from annotation.model_calls.asking import ask_endpoint
from annotation.model_calls.call_batches import (
    BatchRefused,
    act_named,
    acts_now,
    ask_first,
    change_cap,
    pause,
    permission_is_over,
    start,
    stop,
)
from annotation.model_calls.next_calls import tally
from annotation.model_calls.probing import lease_until, take_lease
from annotation.model_calls.request_bodies import request_of
from annotation.models import AuditEvent, CallAttempt, CallBatch, EndpointLease, ModelCall, SendingPermission
from tests.annotation.endpoints.stand_in import StandIn, StandInFault
from tests.annotation.model_calls.simulated_calls import (
    ENDPOINT,
    NOON,
    SHORT,
    asked_server,
    make_batch,
    make_permission,
    make_price,
    make_prompt,
)
from tests.annotation.review.cases import make_bank
from tests.refusals import refuses

Fault = StandInFault
pytestmark = pytest.mark.django_db(transaction=True)


def clock() -> datetime:
    return NOON


def ask(batch: CallBatch, **more: object) -> CallBatch:
    assert ask_endpoint(ENDPOINT, clock=clock, limits=SHORT)
    batch.refresh_from_db()
    return batch


def ask_and_change_after_three(batch: CallBatch, change: Callable[[], object]) -> None:
    """Ask, and change something as soon as three answers are stored."""

    def clock_that_changes() -> datetime:
        if CallAttempt.objects.count() >= 3:
            change()
        return NOON

    ask_endpoint(ENDPOINT, clock=clock_that_changes, limits=SHORT)
    batch.refresh_from_db()


def asked(server: StandIn) -> Counter[str]:
    return Counter(entry.sha256 for entry in server.ledger)


def answers(batch: CallBatch) -> list[tuple[int, str, str]]:
    return list(batch.calls.order_by("number").values_list("number", "outcome", "option"))


def test_every_call_is_asked_once_and_stored_to_the_byte() -> None:
    batch = make_batch(12)
    with asked_server() as server:
        ask(batch)
        calls = list(batch.calls.all())
        assert asked(server) == Counter(call.request_sha256 for call in calls)
    assert batch.state == BatchState.COMPLETE
    assert batch.finished_at == NOON
    assert {call.outcome for call in calls} == {CallOutcome.ANSWERED}
    assert all(call.option and call.n_sent == call.n_attempts == 1 for call in calls)
    assert [request_of(call).sha256 for call in calls] == [call.request_sha256 for call in calls]
    attempt = CallAttempt.objects.get(call=calls[0])
    assert (attempt.status, attempt.model, attempt.fingerprint) == (200, batch.model, "simulated")
    assert '"choices"' in attempt.body
    assert not EndpointLease.objects.exists()


def test_a_request_whose_rows_changed_is_not_passed_off_as_the_one_that_was_sent() -> None:
    batch = make_batch(1)
    with asked_server():
        ask(batch)
    call = batch.calls.get()
    assert call.revision is not None
    call.revision.stem += " today"
    with pytest.raises(BatchRefused, match="not the one that was sent"):
        request_of(call)


def test_rotated_options_are_read_back_to_the_letters_of_the_bank() -> None:
    batch = make_batch(4)
    batch.calls.update(rotation=F("number") - 1)
    with asked_server():
        batch.model = "stand-in-always-a"
        batch.save()
        ask(batch)
    assert [option for _number, _outcome, option in answers(batch)] == ["A", "B", "C", "D"]


OF_ITS_OWN = {Fault.REFUSAL, Fault.LENGTH, Fault.REFUSED_FOR_GOOD, Fault.EMPTY_TEXT}  # outcomes, not asked again
PAUSES = {Fault.KEY_ECHOED, Fault.NO_QUOTA}  # see below


def test_whatever_goes_wrong_on_the_way_changes_no_answer() -> None:
    plain = make_batch(4)
    with asked_server():
        ask(plain)
    for fault in (one for one in Fault if one not in OF_ITS_OWN | PAUSES):
        batch = make_batch(4, bank=make_bank(f"Asked with {fault}"), prompt=plain.prompt)
        with asked_server(fault) as server:
            ask(batch)
            assert len(server.ledger) == 4 + (fault not in {Fault.NO_USAGE, Fault.OTHER_MODEL}), fault
        assert batch.state == BatchState.COMPLETE, fault
        assert answers(batch) == answers(plain), fault
        assert tally(batch).n_asked_twice == 0, fault


def test_refused_and_cut_answers_are_outcomes_of_their_own_and_not_asked_again() -> None:
    batch = make_batch(5)
    with asked_server(Fault.REFUSAL, Fault.LENGTH) as server:
        ask(batch)
        assert len(server.ledger) == 5
    found = tally(batch)
    assert batch.state == BatchState.COMPLETE
    assert (found.n(CallOutcome.REFUSED), found.n(CallOutcome.CUT), found.n(CallOutcome.ANSWERED)) == (1, 1, 3)


def test_questions_that_the_endpoint_refuses_for_good_are_not_asked_again_and_can_be_left_out() -> None:
    batch = make_batch(57)
    with asked_server(*[Fault.REFUSED_FOR_GOOD] * 5, Fault.EMPTY_TEXT) as server:
        ask(batch)
        assert len(server.ledger) == 57, "each was asked once"
    found = tally(batch)
    assert (found.n(CallOutcome.REJECTED), found.n(CallOutcome.BROKEN), found.n(CallOutcome.ANSWERED)) == (5, 1, 51)
    assert (batch.state, found.n_done) == (BatchState.PAUSED, 52)
    assert "The endpoint refused 5 questions." in batch.paused_because
    assert [name for name, _label in acts_now(batch)] == ["resume", "end", "stop"]
    act_named(batch, "end", actor=None, at=NOON)
    assert (batch.state, batch.finished_at) == (BatchState.COMPLETE, NOON)
    assert AuditEvent.objects.get(act="calls.complete").facts["refused"] == 5


def test_refused_questions_are_asked_once_more_when_the_run_is_resumed() -> None:
    batch = make_batch(3)
    with asked_server(Fault.REFUSED_FOR_GOOD, Fault.REFUSED_FOR_GOOD) as server:
        ask(batch)
        start(batch, actor=None, at=NOON)
        ask(batch)
        assert len(server.ledger) == 5
    assert (batch.state, tally(batch).n(CallOutcome.ANSWERED)) == (BatchState.COMPLETE, 3)


def test_a_run_cannot_be_ended_while_a_question_was_not_asked() -> None:
    batch = make_batch(2, state=BatchState.PAUSED)
    with pytest.raises(BatchRefused, match="at rest"):
        act_named(batch, "end", actor=None, at=NOON)
    assert [name for name, _label in acts_now(batch)] == ["resume", "stop"]


def test_what_would_fail_again_pauses_and_says_why() -> None:
    prompt = make_prompt()
    for fault, n_asked, words in (
        (Fault.REFUSED_FOR_GOOD, 20, "20 calls in a row failed alike: error status (400)"),
        (Fault.KEY_ECHOED, 1, "refused the key (status 401)"),
        (Fault.NO_QUOTA, 1, "no money or quota left"),
    ):
        batch = make_batch(30, bank=make_bank(f"Asked with {fault}"), prompt=prompt)
        with asked_server(*[fault] * 30, connections=1) as server:
            ask(batch)
            assert len(server.ledger) == n_asked, fault
        assert batch.state == BatchState.PAUSED, fault
        assert words in batch.paused_because


def test_a_server_that_is_away_for_a_while_stops_no_run() -> None:
    """More failures than any call has tries, and no person comes."""
    prompt = make_prompt()
    for fault in (Fault.BROKEN, Fault.UNAVAILABLE, Fault.TOO_MANY, Fault.CUT_BODY):
        batch = make_batch(57, bank=make_bank(f"Asked with {fault}"), prompt=prompt)
        with asked_server(*[fault] * 40) as server:
            ask(batch)
            assert len(server.ledger) == 97, fault
        assert (batch.state, tally(batch).n(CallOutcome.ANSWERED)) == (BatchState.COMPLETE, 57), fault


def test_a_server_that_never_comes_back_pauses_its_runs_which_can_be_resumed(settings: Settings) -> None:
    settings.CALLS_WAIT_SECONDS = 0.2
    batch = make_batch(4)
    with asked_server(*[Fault.BROKEN] * 100) as server:
        ask(batch)
        assert batch.state == BatchState.PAUSED
        assert "has not answered for" in batch.paused_because
        assert "error status (500)" in batch.paused_because
        server.faults.clear()
        start(batch, actor=None, at=NOON)
        ask(batch)
    assert batch.state == BatchState.COMPLETE


def test_one_model_that_is_busy_closes_its_endpoint_for_no_other() -> None:
    busy = make_batch(3, model="stand-in-always-a")
    bank = make_bank("Other")
    other = make_batch(3, bank=bank, prompt=busy.prompt, permission=make_permission(bank))
    with asked_server() as server:
        server.busy = {busy.model}

        def clock_until_the_other_is_done() -> datetime:
            if not ModelCall.objects.filter(batch=other, outcome=CallOutcome.NOT_ASKED).exists():
                server.busy = set()
            return NOON

        ask_endpoint(ENDPOINT, clock=clock_until_the_other_is_done, limits=SHORT)
    assert {CallBatch.objects.get(pk=one.pk).state for one in (busy, other)} == {BatchState.COMPLETE}
    first_of_busy = CallAttempt.objects.filter(call__batch=busy, outcome=CallOutcome.ANSWERED).order_by("pk")[0].pk
    assert first_of_busy > max(CallAttempt.objects.filter(call__batch=other).values_list("pk", flat=True))


def test_the_endpoint_is_asked_more_slowly_after_too_many_and_as_long_as_it_says() -> None:
    batch = make_batch(8)
    with asked_server(Fault.TOO_MANY, Fault.TOO_MANY) as server:
        ask(batch)
        assert Counter(entry.status for entry in server.ledger) == {429: 2, 200: 8}
    assert batch.state == BatchState.COMPLETE


@pytest.mark.logs("calls.cap_changed")
def test_the_cap_is_never_passed() -> None:
    price = make_price()
    batch = make_batch(10, price=price, cap=Decimal("0.25"))
    with asked_server(connections=8):
        ask(batch)
        spent = tally(batch).cost
        assert batch.state == BatchState.PAUSED
        assert "The cap of 0.2500 EUR is reached" in batch.paused_because
        assert 0 < spent <= Decimal("0.25")
        change_cap(batch, Decimal(5), actor=None, at=NOON)
        start(batch, actor=None, at=NOON)
        ask(batch)
    assert batch.state == BatchState.COMPLETE
    attempts = CallAttempt.objects.filter(call__batch=batch)
    assert sum(attempt.cost or 0 for attempt in attempts) == tally(batch).cost > spent


def test_a_cap_cannot_be_kept_without_token_counts() -> None:
    batch = make_batch(10, price=make_price(), cap=Decimal(5))
    with asked_server(Fault.NO_USAGE):
        ask(batch)
    assert batch.state == BatchState.PAUSED
    assert "how many tokens" in batch.paused_because


def test_the_first_calls_are_asked_for_the_estimate_and_count() -> None:
    batch = make_batch(9, state=BatchState.PLANNED)
    with asked_server() as server:
        ask_first(batch, 4, actor=None, at=NOON)
        ask(batch)
        assert (batch.state, tally(batch).n_done, len(server.ledger)) == (BatchState.PLANNED, 4, 4)
        start(batch, actor=None, at=NOON)
        ask(batch)
        assert len(server.ledger) == 9
    assert batch.state == BatchState.COMPLETE


@pytest.mark.parametrize(
    ("rows", "changes", "words"),
    [
        (SendingPermission, {"withdrawn_at": NOON}, "withdrawn or has expired"),
        (CallBatch, {"cap": Decimal("0.0001")}, "The cap of 0.0001 EUR is reached"),
    ],
)
def test_a_permission_or_cap_that_changes_meanwhile_holds_from_the_next_call_on(
    rows: Any, changes: dict[str, Any], words: str
) -> None:
    batch = make_batch(50, price=make_price(), cap=Decimal(5))
    with asked_server(connections=1) as server:
        ask_and_change_after_three(batch, lambda: rows.objects.update(**changes))
        assert len(server.ledger) in {3, 4}
    assert batch.state == BatchState.PAUSED
    assert words in batch.paused_because


def test_calls_under_two_permissions_stop_when_either_is_withdrawn() -> None:
    """The one that they name is for the reports alone; the other is for the questions."""
    batch = make_batch(50, prompt=make_prompt(purpose=PromptPurpose.CHECK, variables=["question", "options", "report"]))
    questions = batch.permission
    CallBatch.objects.update(permission=make_permission(batch.bank, questions=False, images=False, reports=True))
    batch.refresh_from_db()
    assert not permission_is_over(batch, NOON)
    SendingPermission.objects.filter(pk=questions.pk).update(withdrawn_at=NOON)
    assert permission_is_over(batch, NOON)
    with asked_server() as server:
        ask(batch)
        assert server.ledger == []
        with refuses(BatchRefused, "permission_over"):
            start(CallBatch.objects.get(pk=batch.pk), actor=None, at=NOON)
    assert batch.state == BatchState.PAUSED
    assert "withdrawn or has expired" in batch.paused_because
    make_permission(batch.bank)
    assert not permission_is_over(batch, NOON)


def test_an_expired_permission_sends_nothing() -> None:
    batch = make_batch(3)
    batch.permission.expires_at = NOON
    batch.permission.save()
    with asked_server() as server:
        ask(batch)
        assert server.ledger == []
    assert batch.state == BatchState.PAUSED


def test_calls_that_were_under_way_at_a_kill_are_asked_again_and_counted() -> None:
    batch = make_batch(6)
    batch.calls.filter(number__lte=2).update(n_sent=1)
    with asked_server() as server:
        ask(batch)
        assert len(server.ledger) == 6
    found = tally(batch)
    assert (found.n_asked_twice, found.n_sent, found.n_done) == (2, 8, 6)


def test_one_worker_asks_an_endpoint_at_a_time_and_another_takes_over_from_a_dead_one() -> None:
    batch = make_batch(2)
    assert take_lease(ENDPOINT, "other", at=NOON)
    with asked_server() as server:
        assert not ask_endpoint(ENDPOINT, clock=clock)
        assert server.ledger == []
        assert ask_endpoint(ENDPOINT, clock=lambda: lease_until(NOON))
        assert len(server.ledger) == 2
    batch.refresh_from_db()
    assert batch.state == BatchState.COMPLETE


def test_whoever_lost_the_lease_stores_nothing() -> None:
    batch = make_batch(3)

    def stolen() -> datetime:
        EndpointLease.objects.update(holder="other")
        return NOON

    with asked_server():
        ask_endpoint(ENDPOINT, clock=stolen, limits=SHORT)
    assert not CallAttempt.objects.exists()
    assert {call.outcome for call in batch.calls.all()} == {CallOutcome.NOT_ASKED}


def test_an_endpoint_that_is_no_longer_named_pauses_its_batches() -> None:
    batch = make_batch(3)
    assert ask_endpoint(ENDPOINT, clock=clock)
    batch.refresh_from_db()
    assert batch.state == BatchState.PAUSED
    assert "no model endpoint named" in batch.paused_because


def test_stopping_the_worker_stores_what_is_under_way_and_sends_nothing_more() -> None:
    batch = make_batch(3)
    ended = threading.Event()
    ended.set()
    with asked_server() as server:
        assert ask_endpoint(ENDPOINT, clock=clock, stop=ended)
        assert server.ledger == []
    batch.refresh_from_db()
    assert batch.state == BatchState.RUNNING


def test_people_pause_resume_and_stop_with_an_audit_event_each() -> None:
    batch = make_batch(3)
    with asked_server():
        pause(batch, actor=None, at=NOON)
        start(batch, actor=None, at=NOON)
        stop(batch, actor=None, at=NOON + timedelta(minutes=1))
        for act in (start, pause, stop):
            with pytest.raises(BatchRefused, match="stopped"):
                act(batch, actor=None, at=NOON)
    acts = AuditEvent.objects.filter(act__startswith="calls.").order_by("pk").values_list("act", flat=True)
    assert list(acts) == ["calls.paused", "calls.running", "calls.stopped"]


def test_a_batch_cannot_start_for_an_archived_bank_or_an_endpoint_without_a_name() -> None:
    batch = make_batch(1, state=BatchState.PLANNED)
    with pytest.raises(Exception, match="no model endpoint named"):
        start(batch, actor=None, at=NOON)
    with asked_server():
        batch.bank.archived_at = NOON
        batch.bank.save()
        batch = CallBatch.objects.get(pk=batch.pk)
        with pytest.raises(BatchRefused, match="archived"):
            start(batch, actor=None, at=NOON)


def test_two_batches_share_an_endpoint_and_the_older_one_comes_first() -> None:
    first = make_batch(3)
    bank = make_bank("Other")
    second = make_batch(
        3, bank=bank, prompt=first.prompt, permission=make_permission(bank), started_at=NOON + timedelta(hours=1)
    )
    with asked_server(connections=1) as server:
        ask(first)
        order = [entry.sha256 for entry in server.ledger]
    numbers = {call.request_sha256: call.batch_id for call in ModelCall.objects.all()}
    assert [numbers[sha256] for sha256 in order[:2]] == [first.pk, first.pk]
    second.refresh_from_db()
    assert second.state == BatchState.COMPLETE


@pytest.mark.check
def test_five_percent_of_each_fault_change_no_answer() -> None:
    ways = [fault for fault in Fault if fault not in OF_ITS_OWN | PAUSES]
    draw = random.Random(7)
    faults = [fault for fault in ways for _ in range(2)]
    draw.shuffle(faults)
    plain = make_batch(40)
    with asked_server(connections=16):
        ask(plain)
    again = make_batch(40, bank=make_bank("Other"), prompt=plain.prompt)
    with asked_server(*faults, connections=16) as server:
        while again.state != BatchState.COMPLETE:
            start(again, actor=None, at=NOON) if again.state == BatchState.PAUSED else None
            ask(again)
        assert len(server.ledger) > 40
    assert answers(again) == answers(plain)
    assert tally(again).n_asked_twice == 0
