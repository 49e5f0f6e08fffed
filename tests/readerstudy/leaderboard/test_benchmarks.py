from __future__ import annotations

import json
from datetime import date, timedelta
from typing import Any

import pytest

from annotation.enums import ImageState, QuestionState
from annotation.models import AuditEvent, BankImport, Image, Job, Question, QuestionBank, User
from annotation.questionbank.bank_life import change_terms, check_unused
from annotation.questionbank.kernels.entries import BankRefused
from readerstudy.design.creating import create_study
from readerstudy.design.freezing import freeze_study
from readerstudy.enums import BenchmarkState
from readerstudy.leaderboard.access import LeaderboardRefused
from readerstudy.leaderboard.benchmarks import (
    PACK,
    cells_of,
    change_benchmark,
    close_benchmark,
    commitment_holds,
    current_version,
    fewer_editions,
    freeze_benchmark,
    make_version,
    planned_cells,
    problems_of,
    sealed_of,
)
from readerstudy.leaderboard.public_twins import LEFT_OUT, decide, needs_comparison, pool_of
from readerstudy.models import Benchmark, BenchmarkVersion, PredictionRun, SubmissionCall
from readerstudy.predictions.kernels.records import PredictionsRefused
from readerstudy.predictions.listing import Target, open_submissions
from readerstudy.results.comparison_job import ask_for_comparison
from tests.readerstudy.design.made import plan_for
from tests.readerstudy.leaderboard.made import DATES, NOW, make_benchmark, make_draft, make_public, make_whole, wanted
from tests.readerstudy.predictions.made import answers, entry_named, import_file, keyed_bank
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def freeze(draft: Benchmark) -> Benchmark:
    return freeze_benchmark(draft, actor=None, at=NOW)


# --- drafts ---------------------------------------------------------------------------------------
def test_a_draft_keeps_what_was_wanted() -> None:
    draft = make_draft(name="  Private\u200b  test ", about="Films of one hospital.\n")
    assert (draft.name, draft.slug, draft.state) == ("Private test", "private-test", BenchmarkState.DRAFT)
    assert draft.about == "Films of one hospital."
    assert list(draft.editions.values_list("number", "due_on")) == [(1, DATES[0]), (2, DATES[1])]
    assert AuditEvent.objects.get(act="benchmark.created").facts["editions"] == ["2027-03-01", "2027-09-01"]


@pytest.mark.parametrize(
    ("fields", "field", "says"),
    [
        ({"name": " \u200b"}, "name", "Give the leaderboard a name"),
        ({"name": "n" * 101}, "name", "at most 100"),
        ({"contact": ""}, "contact", "whom teams write to"),
        ({"about": "a" * 5_001}, "about", "5000"),
        ({"editions": ()}, "editions", "1 to 12"),
        ({"editions": tuple(date(2027, 1, n) for n in range(1, 14))}, "editions", "1 to 12"),
        ({"editions": DATES[::-1]}, "editions", "2027-03-01 is not after"),
        ({"editions": (DATES[0], DATES[0])}, "editions", "2027-03-01 is not after"),
        ({"editions": (date(2026, 11, 30),)}, "editions", "2026-11-30 is in the past"),
    ],
)
def test_a_draft_that_cannot_be_is_refused(fields: dict[str, Any], field: str, says: str) -> None:
    with pytest.raises(LeaderboardRefused, match=says) as refused:
        make_draft(**fields)
    assert (refused.value.field, refused.value.status) == (field, 422)
    assert not Benchmark.objects.exists()


@pytest.mark.parametrize(("column", "value", "says"), [("is_public", True, "public"), ("archived_at", NOW, "archived")])
def test_of_a_public_or_archived_bank_no_leaderboard_is_made(column: str, value: object, says: str) -> None:
    bank = make_whole(3)
    setattr(bank, column, value)
    with pytest.raises(LeaderboardRefused, match=says):
        make_draft(bank)


def test_a_draft_changes_and_a_frozen_one_does_not(small: None) -> None:
    draft, second = make_draft(), make_whole(3, name="Second")
    make_public(draft.bank, 2)
    decide(draft, [2], reason="another film", actor=None, at=NOW)
    change_benchmark(draft, wanted(draft.bank, name="Other", editions=DATES[:1]), actor=None, at=NOW)
    assert (draft.name, draft.slug, draft.editions.count()) == ("Other", "private-test", 1)
    assert draft.decisions == {"2": "another film"}
    change_benchmark(draft, wanted(second), actor=None, at=NOW)
    assert (draft.bank, draft.decisions) == (second, {})
    draft.bank.twins_sought_at = NOW
    draft.bank.save()
    freeze(draft)
    with pytest.raises(LeaderboardRefused, match="frozen"):
        change_benchmark(draft, wanted(second), actor=None, at=NOW)


# --- what is in the way ---------------------------------------------------------------------------
def test_below_300_questions_freezing_is_refused() -> None:
    draft = make_draft()
    with pytest.raises(LeaderboardRefused, match=r"at least 300 questions .* this one has 8") as refused:
        freeze(draft)
    assert refused.value.code == "has_problems"
    draft.refresh_from_db()
    assert draft.state == BenchmarkState.DRAFT
    assert not BenchmarkVersion.objects.exists()


def test_only_current_whole_questions_are_asked(small: None) -> None:
    bank = make_whole(8)
    draft = make_draft(bank)
    Image.objects.filter(exam__questions__number=1, position=1).update(state=ImageState.QUARANTINED)
    Image.objects.filter(exam__questions__number=2, position=1).update(state=ImageState.PENDING)
    Question.objects.filter(number=3).update(state=QuestionState.WITHDRAWN)
    assert (pool_of(draft).n, pool_of(draft).n_in_bank) == (5, 8)
    frozen = freeze(draft)
    numbers = current_version(frozen).questions.values_list("revision__question__number", flat=True)
    assert sorted(numbers) == [4, 5, 6, 7, 8]


def test_a_date_that_has_passed_is_in_the_way(small: None) -> None:
    draft = make_draft()
    assert problems_of(draft, NOW) == []
    assert "in the past" in problems_of(draft, NOW + timedelta(days=200))[0]


def test_two_leaderboards_of_one_bank_would_tell_too_much(small: None) -> None:
    bank = make_whole(4)
    first, second = make_draft(bank), make_draft(bank, name="Second")
    close_benchmark(freeze(first), actor=None, at=NOW)
    with pytest.raises(LeaderboardRefused, match="“Private test” asks questions of this bank"):
        freeze(second)


def test_the_comparison_with_public_banks_has_to_be_newer_than_the_questions(small: None) -> None:
    bank = make_whole(4)
    draft = make_draft(bank)
    assert not needs_comparison(bank), "no public bank is there"
    public = make_public(bank, at=NOW - timedelta(days=1))
    assert not needs_comparison(bank)
    for one in (bank, public):
        rows = BankImport.objects.filter(bank=one)
        rows.update(heartbeat_at=NOW)  # somebody edited a question
        assert needs_comparison(bank)
        assert "was not compared" in problems_of(draft, NOW)[0]
        rows.update(heartbeat_at=NOW - timedelta(days=2))
    QuestionBank.objects.filter(pk=bank.pk).update(twins_sought_at=None)
    bank.refresh_from_db()
    assert needs_comparison(bank)


def test_each_near_duplicate_needs_a_decision(small: None, cora: User) -> None:
    bank = make_whole(8)
    draft = make_draft(bank)
    make_public(bank, 2, 5, 7, 8)
    with pytest.raises(LeaderboardRefused, match="Questions 2, 5, 7, 8 stand nearly so"):
        freeze(draft)
    decide(draft, [2], reason="another film", actor=cora, at=NOW)
    decide(draft, [5], leave_out=True, actor=cora, at=NOW)
    assert "Questions 7, 8 stand nearly so" in problems_of(draft, NOW)[0]
    decide(draft, reason="common wording", actor=cora, at=NOW)
    assert draft.decisions == {"2": "another film", "5": LEFT_OUT, "all": "common wording"}
    version = current_version(freeze(draft))
    assert sorted(version.questions.values_list("revision__question__number", flat=True)) == [1, 2, 3, 4, 6, 7, 8]
    told = json.loads(version.protocol)["near_duplicates_in_public_banks"]
    assert told == [["another film", 1], ["common wording", 2], [LEFT_OUT, 1]]


def test_all_near_duplicates_can_be_left_out_at_once(small: None) -> None:
    bank = make_whole(8)
    draft = make_draft(bank)
    make_public(bank, 2, 5)
    decide(draft, [2], reason="another film", actor=None, at=NOW)
    decide(draft, leave_out=True, actor=None, at=NOW)
    assert (pool_of(draft).n, pool_of(draft).n_left_out) == (7, 1)


@pytest.mark.parametrize(
    ("numbers", "reason", "says"),
    [([3], "why", "Question 3 has no near-duplicate"), ([2], "", "Say why"), ([2], LEFT_OUT, "Say why")],
)
def test_a_decision_that_says_nothing_is_refused(numbers: list[int], reason: str, says: str) -> None:
    bank = make_whole(4)
    draft = make_draft(bank)
    make_public(bank, 2)
    with pytest.raises(LeaderboardRefused, match=says):
        decide(draft, numbers, reason=reason, actor=None, at=NOW)
    assert draft.decisions == {}


# --- frozen ---------------------------------------------------------------------------------------
def test_what_is_frozen_has_an_order_and_names_of_its_own_and_a_commitment(small: None) -> None:
    bank = make_whole(40)
    frozen = freeze(make_draft(bank))
    version = current_version(frozen)
    rows = list(version.questions.select_related("revision__question"))
    assert [row.place for row in rows] == list(range(40))
    assert [row.revision.question.number for row in rows] != list(range(1, 41))
    assert not {row.name for row in rows} & {row.revision.question.public_id for row in rows}
    protocol = json.loads(version.protocol)
    assert [one["name"] for one in protocol["questions"]] == [row.name for row in rows]
    assert protocol["editions"] == [{"number": 1, "date": "2027-03-01"}, {"number": 2, "date": "2027-09-01"}]
    assert protocol["rules"] == {"extraction": "extract-2", "scoring": "score-1", "release": "release-1"}
    assert protocol["cells"][0] == {"name": "all", "n": 40, "editions": [2]}
    assert sealed_of(version)[0]["key"] == "B"
    assert version.keys_salt not in version.protocol
    assert commitment_holds(version)
    version.keys_salt = "0" * 64
    assert not commitment_holds(version)
    assert Job.objects.get(kind=PACK).params == {"benchmark": frozen.pk, "version": version.pk}


def test_the_order_is_another_each_time(small: None) -> None:
    orders = []
    for name in ("One", "Two"):
        version = current_version(freeze(make_draft(make_whole(40, name=name), name=name)))
        orders.append(list(version.questions.values_list("revision__question__number", flat=True)))
    assert orders[0] != orders[1]


def test_a_second_version_follows_the_first(small: None, cora: User) -> None:
    frozen = freeze(make_draft())
    first = current_version(frozen)
    kept = list(first.questions.values_list("name", "revision"))[1:]
    changes = [{"question": "x", "what": "voided", "why": "wrong film"}]
    second = make_version(frozen, kept, changes=changes, actor=cora, at=NOW)
    assert current_version(frozen) == second
    assert (second.number, second.changes, second.questions.count()) == (2, changes, 7)
    assert commitment_holds(first)
    assert commitment_holds(second)
    assert second.keys_salt != first.keys_salt


def test_ordinary_submissions_end_with_freezing_and_begin_with_closing(small: None, cora: User) -> None:
    draft = make_draft()
    open_submissions(draft.bank, actor=cora, at=NOW)
    frozen = freeze(draft)
    assert not SubmissionCall.objects.exists()
    with pytest.raises(PredictionsRefused, match=r"leaderboard “Private test”.*/leaderboards/private-test/"):
        open_submissions(frozen.bank, actor=cora, at=NOW)
    close_benchmark(frozen, actor=cora, at=NOW)
    open_submissions(frozen.bank, actor=cora, at=NOW)
    with pytest.raises(LeaderboardRefused, match="closed"):
        close_benchmark(frozen, actor=cora, at=NOW)


def test_predictions_for_a_frozen_bank_go_to_the_leaderboard(small: None, cora: User) -> None:
    bank = keyed_bank(4)
    study_taking = freeze_study(create_study(plan_for(bank, 3), actor=cora, at=NOW), actor=cora, at=NOW)
    frozen, model = freeze(make_draft(bank)), entry_named()
    file = answers(Q1="B", Q2="B", Q3="B")
    for dry_run in (True, False):
        refused = import_file(model, Target(bank), file, dry_run=dry_run)
        assert [one.message for one in refused.problems] == [
            "“Bank” is asked by the leaderboard “Private test”: teams send their predictions there "
            "(/leaderboards/private-test/), and they are scored in its editions alone."
        ]
    with pytest.raises(PredictionsRefused, match="leaderboard “Private test”"):
        ask_for_comparison(bank, actor=cora, at=NOW)
    assert not PredictionRun.objects.exists()
    assert import_file(model, Target.of_study(study_taking), file).problems == [], (
        "studies of the bank stay as they are"
    )
    close_benchmark(frozen, actor=cora, at=NOW)
    assert import_file(model, Target(bank), file).problems == []
    assert ask_for_comparison(bank, actor=cora, at=NOW).params["bank"] == bank.pk


def test_the_bank_of_a_leaderboard_stays() -> None:
    draft = make_draft()
    Image.objects.update(state=ImageState.PENDING)  # images that came in are another reason
    with pytest.raises(BankRefused, match="The leaderboard “Private test” is made of this bank"):
        check_unused(draft.bank)
    other = make_whole(3, name="Second")
    bank = draft.bank
    change_benchmark(draft, wanted(other), actor=None, at=NOW)
    check_unused(bank)


# --- what editions tell ---------------------------------------------------------------------------
def test_a_page_says_before_freezing_what_editions_will_tell(small: None) -> None:
    bank = make_whole(200, category="Effusion")
    draft = make_draft(bank, editions=tuple(date(2027, month, 1) for month in (1, 4, 7, 10)))
    cells = {one.name: one for one in planned_cells(draft)}
    assert cells["all"].told == "edition 4"
    assert cells["task:location"].n == 40
    assert cells["category:Effusion"].label == "Effusion"
    assert list(cells)[-3:] == ["difficulty:easy", "difficulty:medium", "difficulty:hard"]
    assert cells_of(current_version(freeze(draft))) == list(cells.values())


def test_small_cells_are_never_told_and_fewer_editions_are_advised() -> None:
    draft = make_draft(make_whole(100))
    cells = planned_cells(draft)
    assert {one.told for one in cells if one.n < 30} == {"never: fewer than 30 questions"}
    assert fewer_editions(cells, 2) == 1
    assert fewer_editions(planned_cells(make_draft(draft.bank, editions=DATES[:1])), 1) == 0


def test_a_bank_is_not_marked_as_public_while_its_leaderboard_goes_on() -> None:
    board = make_benchmark(n=4)
    marked: dict[str, Any] = {"terms": "", "holds_quarters": False, "is_public": True, "actor": None, "at": NOW}
    with refuses(BankRefused, "secret", match="close that leaderboard first"):
        change_terms(board.bank, **marked)
    board.state = BenchmarkState.CLOSED
    board.save()
    assert change_terms(board.bank, **marked)
