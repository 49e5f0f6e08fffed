"""Reviews by file are held to what the page is held to: the form of the round, its flags, its assignments."""

from __future__ import annotations

import io
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import pytest
from msgspec.structs import replace

from annotation.enums import AssignmentState, Flag, ReturnReason
from annotation.exports.review_import import ReviewsImported, import_reviews
from annotation.exports.reviews import columns_of_reviews, export_reviews, review_rows
from annotation.models import Assignment, BlindAnswer, Review, ReviewRound, SeenKey, User
from annotation.review.answering import answer_blind
from annotation.review.assignments import own_assignment
from annotation.review.ending import count_open
from annotation.review.kernels.form import Judgement
from annotation.review.kernels.form_design import PAPER, make_design
from annotation.review.outcomes import round_outcomes
from annotation.review.round_design import RoundDesign, store_form
from annotation.review.rounds import create_round, open_round
from annotation.review.submitting import submit_review
from annotation.statistics.kernels.issues import PaperOutcome
from annotation.tables.writing import Format
from tests.annotation.exports.review_files import GRADES, as_csv, review_cells
from tests.annotation.review.cases import good_judgement
from tests.annotation.rounds.made import make_open, make_sample, theirs
from tests.conftest import make_person

SHORT = make_design(grades=["clinical_quality"], choices=[], flags=[Flag.OTHER], anchors={})
SHORT_CELLS: dict[str, Any] = {f"grade_{name}": None for name in GRADES[1:]} | {"needs_image": None, "relevant": None}


@pytest.fixture
def opened(cora: User, rita: User) -> ReviewRound:
    """Four questions, all of them Rita's, with the form of the paper."""
    return make_open(4, rita, actor=cora)


@pytest.fixture
def short(cora: User, rita: User, noon: datetime) -> ReviewRound:
    """The same with a form that asks one grade and one flag."""
    return make_open(4, rita, actor=cora, design=RoundDesign(form=store_form("Chest", SHORT, actor=cora, at=noon)))


def take(review_round: ReviewRound, rows: Iterable[dict[str, Any]], at: datetime, **more: Any) -> ReviewsImported:
    return import_reviews(
        review_round, name="reviews.csv", content=as_csv(list(rows)).encode(), actor=None, at=at, **more
    )


def taken(review_round: ReviewRound, rows: Iterable[dict[str, Any]], at: datetime) -> ReviewsImported:
    told = take(review_round, rows, at)
    assert told.faults == []
    assert told.stored
    return told


def refused(review_round: ReviewRound, row: dict[str, Any], at: datetime) -> dict[str, str]:
    """What is said of each column of a second row; nothing is stored."""
    told = take(review_round, [review_cells(1, **row.pop("first", {})), row], at)
    assert not told.stored, "this row must not come in"
    assert not Review.objects.exists()
    assert {fault.row for fault in told.faults} == {3}
    return {fault.column: fault.message for fault in told.faults}


# --- the form of the round ------------------------------------------------------------------------
def test_a_review_by_file_is_stored_with_the_form_of_its_round(short: ReviewRound, noon: datetime) -> None:
    nothing: dict[str, Any] = {"flag_gives_away": False, "cannot_judge_image_alignment": False}
    empty = dict.fromkeys(SHORT_CELLS, "") | nothing  # columns of every export
    taken(short, [review_cells(1, **SHORT_CELLS), review_cells(2, **empty)], noon)
    review = Review.objects.get(assignment__revision__question__number=1)
    assert review.form == "Chest-1", "the form of the round asked it, not that of the paper"
    assert review.grades == {"clinical_quality": 5}


def test_what_the_form_does_not_ask_is_refused(short: ReviewRound, noon: datetime) -> None:
    cells = review_cells(2, flag_gives_away=True, cannot_judge_image_alignment=True, grade_image_alignment="")
    said = refused(short, {**cells, "first": SHORT_CELLS}, noon)
    assert set(said) == {
        ", ".join(f"grade_{name}" for name in PAPER.grades if name not in SHORT.grades),
        "needs_image",
        "relevant",
        "flag_gives_away",
    }
    for message in said.values():
        assert "not asked in this round" in message
        assert "Leave it empty, or import into a round whose form asks it." in message


REQUIRED: dict[str, tuple[dict[str, Any], str, str]] = {
    "grade": ({"grade_image_alignment": None}, "grade_image_alignment", "Choose a grade from 1 to 5, or cannot judge"),
    "choice": ({"relevant": ""}, "relevant", "Choose yes, partly, no or cannot judge"),
    "disagreement": (
        {"blind_best": "A"},
        "disagreement",
        "say if the key is wrong, you were wrong, or both are acceptable",
    ),
    "nothing to explain": ({"disagreement": "own_error"}, "disagreement", "there is nothing to explain"),
    "a wrong key accepted": (
        {"blind_best": "A", "disagreement": "key_wrong"},
        "verdict",
        "A question with a wrong key cannot be accepted",
    ),
    "a flag that does not follow": ({"flag_several_valid": True}, "flag_several_valid", "follows from your blind"),
    "a flag taken back that does not follow": (
        {"withdrawn_flags": "key_wrong"},
        "withdrawn_flags",
        "Only a flag that follows can be withdrawn",
    ),
}


def test_what_the_form_requires_a_file_must_say(opened: ReviewRound, noon: datetime) -> None:
    for case, (changed, column, sentence) in REQUIRED.items():
        said = refused(opened, review_cells(2, **changed), noon)
        assert set(said) == {column}, case
        assert sentence in said[column], case


def test_acceptable_options_are_letters_with_the_best_among_them(opened: ReviewRound, noon: datetime) -> None:
    for bad in ("A|C", "A,C", "AC", "B|E"):
        cells = {"blind_best": "", "disagreement": "own_error"} if bad == "A|C" else {}
        assert "blind_best" in refused(opened, review_cells(2, blind_defensible=bad, **cells), noon), bad


def test_a_reviewer_who_has_to_pass_a_calibration_does_not_review_by_file(
    opened: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    shared = create_round(make_sample(3, name="Shared"), name="Shared", reviewers=[rita], actor=cora, at=noon)
    ReviewRound.objects.filter(pk=opened.pk).update(shared_answers=shared, pass_mark=70)
    told = take(opened, [review_cells(1)], noon)
    assert [fault.column for fault in told.faults] == ["reviewer"]
    assert "has to pass the calibration of the round" in told.faults[0].message


@pytest.mark.logs("key.seen")
def test_whoever_checks_a_file_learns_the_keys_of_its_questions(
    opened: ReviewRound, cora: User, noon: datetime
) -> None:
    """What is refused beside a blind answer says whether it is the key."""
    content = as_csv([review_cells(2, blind_best="A")]).encode()
    told = import_reviews(opened, name="f", content=content, actor=cora, at=noon, dry_run=True)
    assert [fault.column for fault in told.faults] == ["disagreement"]
    assert list(SeenKey.objects.values_list("person", "question__number")) == [(cora.pk, 2)]


# --- what follows from the blind answer -----------------------------------------------------------
def test_two_acceptable_options_are_more_than_one_valid_answer(opened: ReviewRound, noon: datetime) -> None:
    taken(opened, [review_cells(1, blind_defensible="A|B"), review_cells(2), review_cells(3)], noon)
    assert sorted(BlindAnswer.objects.values_list("defensible", flat=True)) == [["A", "B"], ["B"], ["B"]]
    rate = {row.issue: row.rate.share for row in round_outcomes(opened).paper}[PaperOutcome.SEVERAL_VALID]
    assert (rate.count, rate.n) == (1, 3), "A|B is two options that somebody could choose"


def test_what_a_reviewer_says_of_the_key_sets_its_flag(opened: ReviewRound, noon: datetime) -> None:
    category = opened.assignments.all()[0].revision.category  # which all have: it is no correction
    rows = [
        review_cells(1, blind_best="A", disagreement="key_wrong", verdict="revise", corrected_category=category),
        review_cells(2, blind_best="A", disagreement="both", corrected_category="Pleura"),
        review_cells(3, blind_best="A", disagreement="own_error"),
        review_cells(4, blind_best="", disagreement="key_wrong", verdict="reject", flag_no_valid_option=True),
    ]
    taken(opened, rows, noon)
    found = list(Review.objects.order_by("assignment__revision__question__number"))
    assert [one.flags for one in found] == [["key_wrong"], ["several_valid"], [], ["no_valid_option"]]
    assert [one.category for one in found] == ["", "Pleura", "", ""]


def test_an_export_from_before_the_disagreement_was_asked_comes_in_as_it_was(
    opened: ReviewRound, noon: datetime
) -> None:
    rows = [
        review_cells(1, blind_best="A", blind_defensible="A|C", flag_key_wrong=True, flag_several_valid=True),
        review_cells(2, blind_best="A", withdrawn_flags="key_wrong", comment="Mine."),
        review_cells(3, blind_defensible="A|B", withdrawn_flags="several_valid", comment="Hardly."),
    ]
    taken(opened, rows, noon)
    first, second, third = Review.objects.order_by("assignment__revision__question__number")
    assert (third.flags, third.withdrawn_flags) == ([], ["several_valid"]), "a flag that was taken back stays so"
    assert (first.flags, first.disagreement, first.verdict) == (["several_valid", "key_wrong"], "", "accept")
    assert (second.flags, second.withdrawn_flags) == ([], ["key_wrong"])


# --- assignments ----------------------------------------------------------------------------------
def test_a_review_by_somebody_else_takes_the_place_of_an_assignment(
    opened: ReviewRound, rita: User, remo: User, noon: datetime
) -> None:
    told = taken(opened, [review_cells(n, "remo@example.org") for n in (1, 2, 3)], noon)
    assert (told.n_assignments, told.n_taken_over) == (3, 3)
    assert count_open(opened) == 1, "the round asks for one review of each question: three are in"
    assert [one.revision.question.number for one in theirs(rita)] == [4]
    for one in theirs(remo):
        assert one.reassigned_from is not None
        assert one.reassigned_from.state == AssignmentState.WITHDRAWN


def test_what_a_reviewer_has_begun_stays_with_them(opened: ReviewRound, rita: User, remo: User, noon: datetime) -> None:
    begun, given_up, *_rest = theirs(rita)
    Assignment.objects.filter(pk=begun.pk).update(opened_at=noon)
    Assignment.objects.filter(pk=given_up.pk).update(
        state=AssignmentState.RETURNED, returned_because=ReturnReason.KNOWS_PATIENT, opened_at=noon
    )
    numbers = [one.revision.question.number for one in (begun, given_up)]
    told = taken(opened, [review_cells(n, "remo@example.org") for n in numbers], noon)
    assert (told.n_assignments, told.n_taken_over) == (2, 1)
    begun.refresh_from_db()
    given_up.refresh_from_db()
    assert (begun.state, given_up.state) == (AssignmentState.WAITING, AssignmentState.WITHDRAWN)


def test_two_reviewers_of_a_file_do_not_take_from_each_other(
    cora: User, rita: User, remo: User, noon: datetime
) -> None:
    made = make_open(2, rita, remo, actor=cora, reviewers_per_question=2)
    make_person("Ruth")
    rows = [review_cells(1, f"{name}@example.org") for name in ("ruth", "rita")] + [review_cells(2, "ruth@example.org")]
    told = taken(made, rows, noon)
    assert (told.n_assignments, told.n_taken_over) == (2, 2)
    assert [one.state for one in theirs(rita) if one.revision.question.number == 1] == [AssignmentState.SUBMITTED]
    assert [one.revision.question.number for one in theirs(remo)] != [1, 2]
    assert Assignment.objects.filter(round=made).exclude(state=AssignmentState.WITHDRAWN).count() == 4
    assert count_open(made) == 1


def test_a_hidden_repeat_waits_for_nobody_once_its_question_came_by_file(
    cora: User, rita: User, noon: datetime
) -> None:
    made = make_open(20, rita, actor=cora, design=RoundDesign(percent_repeated=10))
    assert Assignment.objects.filter(round=made).exclude(repeats=None).count() == 2
    taken(made, [review_cells(n) for n in range(1, 21)], noon)
    assert Review.objects.filter(assignment__repeats=None).count() == 20, "the review is of the first, not the repeat"
    assert count_open(made) == 0


# --- and back -------------------------------------------------------------------------------------
OPINIONS: dict[str, tuple[tuple[str, ...], Judgement]] = {
    "plain": (("B",), good_judgement()),
    "two": (("B", "D"), good_judgement()),
    "withdrawn": (("B", "D"), good_judgement(withdrawn_flags=("several_valid",), comment="Hardly.")),
    "key": (("A",), good_judgement(disagreement="key_wrong", verdict="revise", reasoning="It is A.")),
    "own": (("A",), good_judgement(disagreement="own_error", reasoning="Overread.", category="Pleura")),
    "both": (("A",), good_judgement(disagreement="both", reasoning="Either.", flags=("unsound",), comment="=1+1")),
    "none": ((), good_judgement(disagreement="key_wrong", verdict="reject", reasoning="None.")),
    "cannot": (("B",), good_judgement(verdict="cannot_judge", verdict_reason="Paediatric.", reasoning="Not mine.")),
}


@pytest.mark.parametrize("form", [Format.CSV, Format.JSONL])
@pytest.mark.parametrize("is_short", [False, True])
def test_an_export_of_every_kind_of_review_comes_back_as_it_was(
    cora: User, rita: User, noon: datetime, form: Format, is_short: bool
) -> None:
    """Simulated ones, so that the same person may judge again blind."""
    plan = make_sample(len(OPINIONS))
    design = RoundDesign(form=store_form("Chest", SHORT, actor=cora, at=noon)) if is_short else RoundDesign()
    first, second = (
        create_round(plan, name=name, reviewers=[rita], design=design, actor=cora, at=noon) for name in ("One", "Two")
    )
    open_round(first, actor=cora, at=noon)
    mine = [one for one in theirs(rita) if one.round_id == first.pk]
    for one, (letters, judgement) in zip(mine, OPINIONS.values(), strict=True):
        case = own_assignment(rita, one.public_id)
        best = letters[0] if letters else ""
        answer_blind(case, best=best, defensible=letters, difficulty="hard", actor=rita, at=noon, simulated=True)
        if is_short:
            flags = tuple(flag for flag in judgement.flags if flag in SHORT.flags)
            grades = {"clinical_quality": 5}
            judgement = replace(judgement, grades=grades, needs_image="", relevant="", flags=flags)
        submit_review(own_assignment(rita, one.public_id), judgement, actor=rita, at=noon, simulated=True)
    open_round(second, actor=cora, at=noon)
    file = io.BytesIO()
    export_reviews(first, form, file, actor=None, at=noon)
    told = import_reviews(second, name="f", content=file.getvalue(), actor=cora, at=noon)
    assert told.faults == []
    fixed = {"round", "assignment_id", "opened_at"}
    names = [column.name for column in columns_of_reviews(ReviewRound(), source_ids=False)]

    def said(of: ReviewRound) -> list[dict[str, object]]:
        rows = (dict(zip(names, row, strict=True)) for row in review_rows(of))
        return [{name: cell for name, cell in row.items() if name not in fixed} for row in rows]

    assert said(second) == said(first)
    assert count_open(second) == 0
