"""What a reader may see of a place: every combination of what is stored, without a database; and what the server can
say about the time of a case whose opening reached it late.
"""

from __future__ import annotations

import itertools

from msgspec.structs import replace

from annotation.case.kernels.durations import ClockEvent
from annotation.enums import EventKind
from readerstudy.enums import Block, Information
from readerstudy.reading.kernels.visibility import (
    QUESTION,
    TRAVEL_MS,
    CaseProgress,
    Heard,
    Part,
    most_elapsed_ms,
    since_opening_ms,
    visible_parts,
)
from tests.readerstudy.studies import later

TRUTH = (True, False)
EVERY = [
    CaseProgress(
        may_read=reads, block=block, information=information, is_prefetched=prefetched, is_last=last, answered=answered
    )
    for reads, block, information, prefetched, last, answered in itertools.product(
        TRUTH, Block, Information, TRUTH, TRUTH, TRUTH
    )
]
KNOWN = {
    Part.STEM,
    Part.OPTIONS,
    Part.IMAGES,
    Part.AGE_SEX,
    Part.INDICATION,
    Part.OWN_CHOICE,
    Part.OWN_ANSWER,
    Part.FEEDBACK,
}


def test_there_is_no_part_for_what_no_reader_ever_sees() -> None:
    """Task, category, class, difficulty, findings, predictions, other readers: there is no name for them."""
    assert set(Part) == KNOWN


def test_nothing_is_shown_to_who_may_not_read_nor_of_a_place_that_is_neither_armed_nor_the_last() -> None:
    hidden = [s for s in EVERY if not s.may_read or not (s.is_prefetched or s.is_last)]
    assert {visible_parts(standing) for standing in hidden} == {frozenset()}


def test_feedback_is_for_the_final_answer_of_a_practice_case_alone() -> None:
    for standing in EVERY:
        expected = standing.may_read and standing.block == Block.PRACTICE and standing.answered and standing.is_last
        assert (Part.FEEDBACK in visible_parts(standing)) == expected, standing


def test_an_answered_case_shows_no_question_any_more() -> None:
    of_question = {Part.STEM, Part.OPTIONS, Part.OWN_CHOICE, Part.AGE_SEX, Part.INDICATION}
    assert not [s for s in EVERY if s.answered and visible_parts(s) & of_question]


def test_the_question_of_the_last_case_comes_back_for_a_guess_and_its_options_for_a_slip() -> None:
    for standing in EVERY:
        before = visible_parts(standing)
        is_last_answer = standing.may_read and standing.is_last and standing.answered
        guessing, slipping = replace(standing, guesses=True), replace(standing, may_slip=True)
        assert visible_parts(guessing) - before == ({Part.STEM, Part.OPTIONS} if is_last_answer else set()), standing
        assert visible_parts(slipping) - before == ({Part.OPTIONS} if is_last_answer else set()), standing


def test_an_armed_case_shows_its_question_and_before_its_opening_its_images_alone() -> None:
    for standing in EVERY:
        if standing.may_read and standing.is_prefetched and not standing.answered:
            assert visible_parts(standing) >= QUESTION, standing
            assert Part.OWN_ANSWER not in visible_parts(standing), standing
            assert visible_parts(replace(standing, awaits_opening=True)) == {Part.IMAGES}, standing


def test_the_arm_decides_what_stands_beside_the_question() -> None:
    for standing in EVERY:
        shown = visible_parts(standing)
        if Part.AGE_SEX in shown:
            assert standing.information in (Information.AGE_SEX, Information.INDICATION), standing
        if Part.INDICATION in shown:
            assert standing.information == Information.INDICATION, standing
        assert Part.AGE_SEX in shown or Part.INDICATION not in shown, standing


def test_the_images_of_the_last_case_stay_with_the_own_answer() -> None:
    answered = CaseProgress(may_read=True, block=Block.MAIN, is_prefetched=False, is_last=True, answered=True)
    assert visible_parts(answered) == {Part.IMAGES, Part.OWN_ANSWER}
    ran_out = CaseProgress(may_read=True, block=Block.MAIN, is_prefetched=False, is_last=True)
    assert visible_parts(ran_out) == {Part.IMAGES}


def test_the_whole_table_of_an_unaided_main_block() -> None:
    table = {
        (s.is_prefetched, s.is_last, s.answered): visible_parts(s)
        for s in EVERY
        if s.may_read and s.block == Block.MAIN and s.information == Information.NONE
    }
    own = frozenset({Part.IMAGES, Part.OWN_ANSWER})
    assert table == {
        (True, True, False): QUESTION,
        (True, False, False): QUESTION,
        (True, True, True): own,
        (True, False, True): frozenset(),
        (False, True, True): own,
        (False, True, False): frozenset({Part.IMAGES}),
        (False, False, True): frozenset(),
        (False, False, False): frozenset(),
    }


PAINTED = ClockEvent("page", 9, EventKind.PAINTED, 100_000.0, None, later(100))


def test_the_opening_bounds_the_time() -> None:
    assert since_opening_ms(later(0), later(8)) == 8_000 + TRAVEL_MS
    assert since_opening_ms(None, later(8)) is None


def test_what_was_heard_before_ties_the_clock_of_the_page_to_the_servers() -> None:
    """At 90 s of its clock the page was heard of at second 90; painted at its 100 s, answered at second 160."""
    earlier = [Heard("page", 90_000.0, later(90)), Heard("page", 50_000.0, later(60)), Heard("other", 0.0, later(95))]
    assert most_elapsed_ms(PAINTED, earlier, begun_at=later(0), at=later(160)) == 60_000 + TRAVEL_MS


def test_the_sitting_bounds_what_was_never_heard_of() -> None:
    assert most_elapsed_ms(PAINTED, [], begun_at=later(0), at=later(160)) == 160_000 + TRAVEL_MS
    assert most_elapsed_ms(None, [], begun_at=later(150), at=later(160)) == 10_000 + TRAVEL_MS
    assert most_elapsed_ms(PAINTED, [], begun_at=None, at=later(160)) is None
