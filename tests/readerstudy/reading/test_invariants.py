"""What must hold in any order of events: a reader with two devices, a server that is killed, a clock that runs out.

A state machine in short form here (1,000 steps); ``make proof`` runs ten times as many. Every invariant is a check of
its own, and looks at what is stored, not at what the machine believes.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, ClassVar

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from annotation.audit.recording import verify
from annotation.case.kernels.traces import CaseRefused
from annotation.models import User
from readerstudy.design.kernels.documents import GRACE_MS, Rules
from readerstudy.enums import Block, Refusal
from readerstudy.models import (
    Enrolment,
    PresentedCase,
    ReaderStudy,
    Reading,
    ReadingSession,
    RefusedAnswer,
    Remark,
    Response,
    Voiding,
)
from readerstudy.reading.case_opening import feedback_of, sweep_readings
from readerstudy.reading.kernels.visibility import is_over
from readerstudy.reading.prefetched import ReadingRefused
from readerstudy.study.kernels.states import CASE_TRANSITIONS, CaseAct, CaseState
from readerstudy.views.reading import state_json
from tests.annotation.review.cases import SECRETS
from tests.readerstudy.reading.desk import Desk, new_key
from tests.readerstudy.studies import enrol, later, make_study, places_of

pytestmark = [pytest.mark.django_db, pytest.mark.check]

N_STEPS = 50
N_RUNS = int(os.environ.get("PROOF_RUNS", "10"))
LIMIT_S = 30
REFUSALS = {
    *Refusal.values(),
    *("not_prefetched", "not_yet", "not_opened", "paused", "guess_missing", "confidence_missing", "not_seen"),
    *("malformed", "too_late"),
}
DEVICES = st.sampled_from([False, False, False, True])  # whether it is the one without the write lease
WHICH = st.sampled_from([*["current"] * 6, "next", "after", "before", "far"])
OPTIONS = st.sampled_from("ABCD")


Move = tuple[PresentedCase, CaseAct]


class Killed(Exception):
    """The process ended before its transaction did."""


@contextmanager
def may_be_refused() -> Iterator[None]:
    try:
        yield
    except (CaseRefused, ReadingRefused) as refusal:
        if refusal.code not in REFUSALS:
            raise


class Reader(RuleBasedStateMachine):
    """One reader, two devices, one practice case, four cases of the main block, 30 seconds each."""

    study: ReaderStudy
    person: User
    n_steps = 0
    n_answers = 0
    moved: ClassVar[set[tuple[CaseState, CaseAct]]] = set()

    # --- what happens -------------------------------------------------------------------------
    @initialize()
    def enrols(self) -> None:
        self.example = transaction.atomic()
        self.example.__enter__()
        enrolment = enrol(self.study, self.person)
        Enrolment.objects.filter(pk=enrolment.pk).update(practised_at=None)
        self.enrolment = enrolment
        self.places = [*places_of(enrolment, Block.PRACTICE), *places_of(enrolment)]
        self.devices = [Desk(enrolment), Desk(enrolment)]
        self.now = 0.0
        self.outbox: list[tuple[Desk, PresentedCase, str, str]] = []
        self.acknowledged: dict[int, Response] = {}
        self.refused: list[tuple[int, str, str]] = []
        self.seen_readings: dict[int, tuple[datetime | None, ...]] = {}
        self.seen_responses: dict[int, tuple[Any, ...]] = {}
        self.order = [(place.block, place.position, place.case_id) for place in self.places]
        self.voided: set[int] = set()
        self.devices[0].begin(self.now)

    def teardown(self) -> None:
        if hasattr(self, "example"):
            type(self).n_answers += len(self.acknowledged)
            transaction.set_rollback(True)
            self.example.__exit__(None, None, None)

    @rule(seconds=st.sampled_from([1, 5, 20, 31, 50, 70]))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds

    @rule(other=DEVICES)
    def takes_over(self, other: bool) -> None:
        self.tried(lambda: self.device(other).begin(self.now, take_over=True))

    @rule(other=DEVICES)
    def asks_for_the_pen(self, other: bool) -> None:
        self.tried(lambda: self.device(other).begin(self.now))

    @rule(other=DEVICES, which=WHICH, killed=st.booleans())
    def opens(self, other: bool, which: str, killed: bool) -> None:
        place = self.place(which)
        self.tried(lambda: self.device(other).open(place, self.now), killed=killed, moves=(place, CaseAct.OPEN))

    @rule(other=DEVICES, which=WHICH)
    def paints(self, other: bool, which: str) -> None:
        place = self.place(which)
        self.tried(lambda: self.device(other).paint(place, self.now), moves=(place, CaseAct.PAINT))

    @rule(other=DEVICES, which=WHICH, option=OPTIONS, sequence=st.integers(0, 9))
    def chooses(self, other: bool, which: str, option: str, sequence: int) -> None:
        place = self.place(which)
        desk = self.device(other)
        self.tried(lambda: desk.choose(place, option, sequence, self.now), moves=(place, CaseAct.CHOOSE))

    @rule(other=DEVICES, option=OPTIONS, seconds=st.sampled_from([5, 40]), closed=st.booleans())
    def chooses_without_a_connection(self, other: bool, option: str, seconds: int, closed: bool) -> None:
        """Some seconds after the case came on screen; the choice arrives when its time is over."""
        place, desk = self.place("current"), self.device(other)
        desk.page = new_key()
        self.tried(lambda: desk.open(place, self.now), moves=(place, CaseAct.OPEN))
        self.tried(lambda: desk.paint(place, self.now), moves=(place, CaseAct.PAINT))
        self.opening_first_painted_and_deadline_stand_once_they_are_set()
        ms, before = (self.now + seconds) * 1000, self.reading(place)
        self.now += 70
        if closed:
            self.the_worker_sweeps(killed=False)
        if before is None or before.painted_at is None:
            return
        is_in_time = before.painted_at + timedelta(milliseconds=GRACE_MS, seconds=LIMIT_S) >= later(ms / 1000)
        with may_be_refused():
            taken = desk.choose(place, option, before.choice_sequence + 1, self.now, ms=ms)
            final = self.state(place) == CaseState.ANSWERED
            assert taken == (is_in_time and not final)
            if taken:
                self.the_worker_sweeps(killed=False)
                ends = Response.objects.filter(reading=before, is_confirmed=False).order_by("pk")
                assert [one.option for one in ends][-1] == option

    @rule(other=DEVICES, which=WHICH, option=OPTIONS, killed=st.sampled_from([False, False, True]))
    def commits(self, other: bool, which: str, option: str, killed: bool) -> None:
        place, key = self.place(which), new_key()
        self.outbox.append((self.device(other), place, option, key))
        self.send(self.device(other), place, option, key, killed=killed)

    @rule(other=DEVICES, option=OPTIONS, is_lost=st.sampled_from([False, False, True]))
    def reads_the_current_case(self, other: bool, option: str, is_lost: bool) -> None:
        """Everything that a page does with a case, so that runs come to an end now and then.

        ``is_lost``: the opening is lost on the way, and what was painted comes with the answer.
        """
        self.takes_a_break(other, resume=True)
        for kind in ("guess", "confidence"):
            self.says_more_about_an_answer(other, "before", kind, option, twice=False)
        place, desk = self.place("current"), self.device(other)
        if is_lost:
            key = new_key()
            self.outbox.append((desk, place, option, key))
            self.send(desk, place, option, key, events=(desk.painted(place, self.now * 1000 - 3_000),))
            return
        self.tried(lambda: desk.open(place, self.now), moves=(place, CaseAct.OPEN))
        self.tried(lambda: desk.paint(place, self.now), moves=(place, CaseAct.PAINT))
        self.opening_first_painted_and_deadline_stand_once_they_are_set()
        self.now += 3
        self.tried(lambda: desk.paint(place, self.now))  # on screen again, after a reload
        self.commits(other, "current", option, killed=False)

    @rule(other=DEVICES, which=WHICH)
    def cannot_tell(self, other: bool, which: str) -> None:
        """Committed as any option is; the outbox knows it by an option that is empty."""
        place, key = self.place(which), new_key()
        self.outbox.append((self.device(other), place, "", key))
        self.send(self.device(other), place, "", key)

    @rule(
        other=DEVICES,
        which=st.sampled_from([*["before"] * 6, "current"]),
        kind=st.sampled_from(["guess", "confidence"]),
        option=OPTIONS,
        twice=st.booleans(),
    )
    def says_more_about_an_answer(self, other: bool, which: str, kind: str, option: str, twice: bool) -> None:
        place, key = self.place(which), new_key()
        value = option if kind == "guess" else "60"
        for _time in range(1 + twice):
            self.tried(lambda: self.device(other).say(place, kind, value, key=key, seconds=self.now))

    @rule()
    def restores_the_outbox(self) -> None:
        """A browser that comes back sends all that it holds again, with the same keys."""
        for desk, place, option, key in self.outbox[-6:]:
            self.send(desk, place, option, key)

    @rule(other=DEVICES)
    def refreshes(self, other: bool) -> None:
        """A new load of the page: another clock, the same token."""
        self.device(other).page = new_key()
        self.tried(lambda: self.device(other).begin(self.now))

    @rule(other=DEVICES, which=WHICH, option=OPTIONS)
    def says_that_a_case_is_faulty_or_a_key_slipped(self, other: bool, which: str, option: str) -> None:
        place, desk = self.place(which), self.device(other)
        self.tried(lambda: desk.say(place, "fault", text=f"saw {option}", seconds=self.now))
        self.tried(lambda: desk.say(place, "slip", option, seconds=self.now))

    @rule(other=DEVICES, resume=st.booleans())
    def takes_a_break(self, other: bool, resume: bool) -> None:
        desk = self.device(other)
        self.tried(lambda: (desk.resume if resume else desk.pause)(self.now))

    @rule(killed=st.booleans())
    def the_worker_sweeps(self, killed: bool) -> None:
        self.tried(lambda: sweep_readings(later(self.now)), killed=killed)

    @rule(which=WHICH)
    def a_case_is_voided(self, which: str) -> None:
        case = self.place(which).case
        if case.pk not in self.voided:
            Voiding.objects.create(case=case, reason="found faulty", before_unblinding=True, at=later(self.now))
            self.voided.add(case.pk)

    # --- what must hold -----------------------------------------------------------------------
    @invariant()
    def steps_are_counted(self) -> None:
        type(self).n_steps += 1

    @invariant()
    def one_case_is_open(self) -> None:
        assert self.readings().filter(closed_at__isnull=True).count() <= 1

    @invariant()
    def one_page_holds_the_pen(self) -> None:
        assert ReadingSession.objects.filter(enrolment=self.enrolment, ended_at__isnull=True).count() <= 1

    @invariant()
    def a_stored_answer_never_changes(self) -> None:
        now = {one.pk: (one.option, one.state, one.key, one.is_confirmed, one.active_ms) for one in self.responses()}
        assert now.items() >= self.seen_responses.items()
        self.seen_responses = now

    @invariant()
    def acknowledged_means_stored(self) -> None:
        final = {one.reading.presented_id: one for one in self.responses() if one.is_confirmed}
        for place, told in self.acknowledged.items():
            assert (final[place].pk, final[place].option, final[place].key) == (told.pk, told.option, told.key)

    @invariant()
    def one_final_answer_for_each_case(self) -> None:
        counts = Counter(one.reading_id for one in self.responses() if one.is_confirmed)
        assert not [key for key, n in counts.items() if n > 1]

    @invariant()
    def without_an_answer_the_newest_choice_counts(self) -> None:
        """Several choices may have come after the close: all stay, the last row is the one that the case ends with."""
        stored = {one.reading_id: one for one in self.responses() if not one.is_confirmed}
        for one in stored.values():
            assert one.option == one.reading.choice
            assert one.choice_sequence <= one.reading.choice_sequence

    @invariant()
    def no_answer_is_stored_that_nobody_sent(self) -> None:
        sent = {(place.pk, key, option) for _desk, place, option, key in self.outbox}
        final = {(one.reading.presented_id, one.key, one.option) for one in self.responses() if one.is_confirmed}
        assert final <= sent

    @invariant()
    def only_who_could_not_tell_has_guessed(self) -> None:
        final = {one.reading_id: one for one in self.responses() if one.is_confirmed}
        said = Remark.objects.filter(reading__enrolment=self.enrolment)
        assert all(final[one.reading_id].option == "" for one in said.filter(kind="guess"))
        guessed = set(said.filter(kind="guess").values_list("reading", flat=True))
        for one in said.filter(kind="confidence"):
            assert final[one.reading_id].option or one.reading_id in guessed

    @invariant()
    def the_next_case_opens_when_all_is_said_about_the_last_answer(self) -> None:
        """Not where the time ended first: an answer that arrives afterwards is asked of no more."""
        said = set(Remark.objects.filter(reading__enrolment=self.enrolment).values_list("reading", "kind"))
        closed_by_time = {one.reading_id for one in self.responses() if not one.is_confirmed}
        opened = {one.presented_id for one in self.readings()}
        following = {before.pk for before, after in pairwise(self.places) if after.pk in opened}
        for one in self.responses():
            if one.reading.presented_id in following and one.reading_id not in closed_by_time and one.state != "late":
                assert (one.reading_id, "confidence") in said
                assert one.option or (one.reading_id, "guess") in said

    @invariant()
    def what_was_refused_is_kept(self) -> None:
        kept = set(RefusedAnswer.objects.values_list("presented_id", "key", "reason"))
        assert set(self.refused) <= kept

    @invariant()
    def opening_first_painted_and_deadline_stand_once_they_are_set(self) -> None:
        for one in self.readings():
            now = (one.opened_at, one.painted_at, one.deadline_at, one.closed_at)
            before = self.seen_readings.get(one.pk, (None,) * 4)
            assert all(was in (None, is_now) for was, is_now in zip(before, now, strict=True))
            self.seen_readings[one.pk] = now
        assert self.seen_readings.keys() == {one.pk for one in self.readings()}

    @invariant()
    def the_order_is_the_one_that_was_drawn(self) -> None:
        rows = PresentedCase.objects.filter(order__enrolment=self.enrolment).order_by("-block", "position")
        assert [(row.block, row.position, row.case_id) for row in rows] == self.order

    @invariant()
    def cases_are_read_in_that_order(self) -> None:
        opened = [place.pk for place in self.places if self.reading(place) is not None]
        assert opened == [place.pk for place in self.places[: len(opened)]]
        closed = [reading.closed_at is not None for place in self.places if (reading := self.reading(place))]
        assert all(closed[:-1])

    @invariant()
    def active_time_lies_within_elapsed_time(self) -> None:
        for one in self.responses():
            if one.active_ms is not None:
                assert one.elapsed_ms is not None
                assert 0 <= one.active_ms <= one.elapsed_ms

    @invariant()
    def nothing_is_readable_before_its_turn(self) -> None:
        for desk in self.devices:
            state = desk.state(self.now)
            text = json.dumps(state_json(state))
            assert not [name for name, secret in SECRETS.items() if name != "key" and secret in text]
            allowed = {place.public_id for place in state.position.prefetched}
            assert len(allowed) <= 1 + state.rules.n_ready
            assert {case.id for case in state.cases} <= (allowed if state.writer else set())
            done = {one.reading.presented_id for one in self.responses()}
            assert not {place.pk for place in self.places if place.public_id in allowed} & done

    @invariant()
    def a_key_is_told_only_after_the_final_answer_of_a_practice_case(self) -> None:
        for one in self.responses():
            place = one.reading.presented
            assert place is not None
            told = feedback_of(one) is not None
            assert told == (one.is_confirmed and place.block == Block.PRACTICE)

    @invariant()
    def the_audit_log_is_whole(self) -> None:
        assert verify().fault is None

    @invariant()
    def a_voided_case_stays_stored(self) -> None:
        assert set(Voiding.objects.values_list("case_id", flat=True)) == self.voided

    @invariant()
    def the_end_is_noted_with_the_last_answer(self) -> None:
        done = self.readings().filter(closed_at__isnull=False, case__block=Block.MAIN).count()
        now = Enrolment.objects.get(pk=self.enrolment.pk)
        assert (now.finished_at is not None) == (done == 4)

    # --- how ----------------------------------------------------------------------------------
    def device(self, other: bool) -> Desk:
        """The device with the write lease, or the other one."""
        live = ReadingSession.objects.filter(enrolment=self.enrolment, ended_at__isnull=True).first()
        first, second = self.devices
        return second if (live is not None and live.public_id == second.token) != other else first

    def place(self, which: str) -> PresentedCase:
        """The current place, or one beside it."""
        done = self.readings().filter(closed_at__isnull=False).count()
        step = {"current": 0, "next": 1, "after": 2, "before": -1, "far": 4}[which]
        place: PresentedCase = self.places[max(0, min(int(done) + step, len(self.places) - 1))]
        return place

    def send(
        self, desk: Desk, place: PresentedCase, option: str, key: str, *, killed: bool = False, **more: Any
    ) -> None:
        answer: list[Response] = []
        try:
            said: dict[str, Any] = {"key": key, "seconds": self.now, "declined": not option, **more}
            commit = (place, CaseAct.COMMIT)
            self.done(lambda: answer.append(desk.commit(place, option, **said)), killed, moves=commit)
        except (CaseRefused, ReadingRefused) as refusal:
            if refusal.code not in REFUSALS:
                raise
            if not killed and refusal.code in Refusal.values():  # a process that died has refused nothing
                self.refused.append((place.pk, key, refusal.code))
        else:
            if not killed:
                self.acknowledged.setdefault(place.pk, answer[0])
                assert answer[0].option == option or answer[0].key == key

    def tried(self, act: Callable[[], object], *, killed: bool = False, moves: Move | None = None) -> None:
        """What is refused changes nothing; the checks find out when it did."""
        with may_be_refused():
            self.done(act, killed, moves=moves)

    def done(self, act: Callable[[], object], killed: bool, *, moves: Move | None = None) -> None:
        """An act, which moves its place as the table says; killed: before its transaction ends, after all it did."""
        if not killed:
            before = self.state(moves[0]) if moves else None
            act()
            if moves and before:
                assert self.state(moves[0]) == CASE_TRANSITIONS[before, moves[1]]
                type(self).moved.add((before, moves[1]))
            return
        with suppress(Killed), transaction.atomic():
            act()
            raise Killed

    def state(self, place: PresentedCase) -> CaseState:
        """By what is stored; a case whose time is over has run out, although it is closed a moment later."""
        reading = self.reading(place)
        if reading is None:
            prefetched = self.devices[0].state(self.now).position.prefetched
            return CaseState.READY if place in prefetched else CaseState.WAITING
        if Response.objects.filter(reading=reading, is_confirmed=True).exists():
            return CaseState.ANSWERED
        if reading.closed_at is not None or is_over(reading.deadline_at, later(self.now)):
            return CaseState.RAN_OUT
        return CaseState.PAINTED if reading.painted_at is not None else CaseState.OPENED

    def reading(self, place: PresentedCase) -> Reading | None:
        return Reading.objects.filter(presented=place).first()

    def readings(self) -> Any:
        return Reading.objects.filter(enrolment=self.enrolment)

    def responses(self) -> list[Response]:
        rows = Response.objects.filter(reading__enrolment=self.enrolment)
        return list(rows.select_related("reading__presented"))


def test_the_invariants_hold_in_any_order(rita: User) -> None:
    study = make_study(n_cases=4, n_practice=1, rules=Rules(time_limit_s=LIMIT_S, cannot_tell=True, confidence=True))

    class OfThisStudy(Reader):
        pass

    OfThisStudy.study, OfThisStudy.person = study, rita
    run_state_machine_as_test(
        OfThisStudy,
        settings=settings(
            max_examples=N_RUNS,
            stateful_step_count=N_STEPS,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],  # a run that fails is told as it is: making it shorter takes minutes
            suppress_health_check=list(HealthCheck),
        ),
        _min_steps=N_STEPS,
    )
    assert OfThisStudy.n_steps >= N_STEPS * N_RUNS
    assert OfThisStudy.n_answers > N_RUNS  # the runs come somewhere
    by_reader = {CaseAct.OPEN, CaseAct.PAINT, CaseAct.COMMIT}
    steps = {(state, act) for (state, act), after in CASE_TRANSITIONS.items() if act in by_reader and state != after}
    seldom = {(CaseState.OPENED, CaseAct.COMMIT), (CaseState.RAN_OUT, CaseAct.COMMIT)}
    assert steps - seldom <= Reader.moved  # they were not true for want of a trial
