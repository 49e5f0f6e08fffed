"""Near-duplicates as findings of both questions, each with the other; one of each group is kept.

What shows over a whole bank, against numbers of scipy.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from scipy.stats import chisquare

from annotation.jobs import queueing
from annotation.models import AuditEvent, Finding, Question, QuestionBank, Revision, User
from annotation.questionbank.checking import COMPARISON, DuplicatesParams, QualityRefused, check_revisions, dismiss
from annotation.questionbank.duplicates import check_duplicates
from annotation.questionbank.kernels.rules import bank_wide, key_evenness
from tests.annotation.quality.conftest import records
from tests.annotation.questionbank.files import run_import, write_file
from tests.jobs import result_of

pytestmark = pytest.mark.django_db


def found() -> dict[int, int | None]:
    rows = Finding.objects.filter(rule="near_duplicate")
    return {one.revision.question.number: one.other.question.number if one.other else None for one in rows}


def test_each_of_a_pair_names_the_other(bank: QuestionBank, noon: datetime) -> None:
    result = check_duplicates(bank, actor=None, at=noon)
    assert found() == {3: 4, 4: 3}
    assert (result.n_questions, result.n_duplicates, result.n_pairs) == (5, 2, 1)
    one = Finding.objects.get(revision__question__number=3)
    assert one.detail == ("Stem and options are 1.00 similar to question 4. Keep one of them in a sample, or reword.")
    assert one.place == "question"


def test_of_a_group_the_first_is_kept_and_of_withdrawn_ones_none(
    bank: QuestionBank, cora: User, noon: datetime, tmp_path: Path
) -> None:
    run_import(write_file(tmp_path, {"q6": records()["q4"]}))
    check_duplicates(bank, actor=None, at=noon)
    assert found() == {3: 4, 4: 3, 6: 3}
    assert against() == {4, 6}
    Question.objects.filter(bank=bank, number=3).update(state="withdrawn")
    check_duplicates(bank, actor=None, at=noon)
    assert against() == {3, 6}


def against() -> set[int]:
    open_ones = Finding.objects.open().filter(rule="near_duplicate")
    return set(open_ones.values_list("revision__question__number", flat=True))


def test_a_second_run_changes_nothing(bank: QuestionBank, noon: datetime) -> None:
    check_duplicates(bank, actor=None, at=noon)
    before, events = list(Finding.objects.values()), AuditEvent.objects.count()
    check_duplicates(bank, actor=None, at=noon + timedelta(days=1))
    check_revisions(bank, Revision.objects.none(), actor=None, at=noon)
    assert (list(Finding.objects.values()), AuditEvent.objects.count()) == (before, events)


def test_the_other_checks_leave_near_duplicates_alone(bank: QuestionBank, noon: datetime) -> None:
    check_duplicates(bank, actor=None, at=noon)
    check_revisions(bank, Revision.objects.in_bank(bank).current(), actor=None, at=noon)
    assert found() == {3: 4, 4: 3}


def test_a_dismissed_one_stays_so_until_the_nearest_is_another(
    bank: QuestionBank, cora: User, noon: datetime, tmp_path: Path
) -> None:
    check_duplicates(bank, actor=None, at=noon)
    dismiss(Finding.objects.get(revision__question__number=4), reason="two exams", actor=cora, at=noon)
    check_duplicates(bank, actor=None, at=noon)
    assert Finding.objects.get(revision__question__number=4).dismiss_reason == "two exams"
    run_import(write_file(tmp_path, {"q3": records()["q5"], "q6": records()["q4"]}))
    check_duplicates(bank, actor=None, at=noon)
    reopened = Finding.objects.get(revision__question__number=4, rule="near_duplicate")
    assert reopened.other is not None
    assert reopened.other.question.number == 6
    assert (reopened.dismissed_at, reopened.dismiss_reason) == (None, "")


@pytest.mark.parametrize("threshold", [0.4, 1.01, float("nan")])
def test_a_threshold_out_of_range_is_refused(bank: QuestionBank, noon: datetime, threshold: float) -> None:
    with pytest.raises(QualityRefused, match=r"from 0\.5 to 1"):
        check_duplicates(bank, actor=None, at=noon, threshold=threshold)


def test_the_job_tells_pairs_on_both_sides_of_the_threshold(
    bank: QuestionBank, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.jobs.running.send", lambda _job: None)
    job = queueing.enqueue(COMPARISON, "Near-duplicates", DuplicatesParams(bank=bank.pk), actor=None, at=noon)
    result = result_of(job, at=noon)
    assert (result["threshold"], result["n_duplicates"]) == (0.9, 2)
    assert all(set(pair) == {"similarity", "first", "second", "first_text", "second_text"} for pair in result["around"])


LONG, SHORT = [30, 10, 11, 12], [10, 30, 11, 12]


def test_the_share_of_keys_that_are_the_longest_option() -> None:
    whole = bank_wide([(LONG, "A")] * 60 + [(SHORT, "A")] * 40)
    assert whole.longest_is_key.value == 0.6
    assert whole.longest_is_key.n == 100
    assert whole.longest_is_key.ci95 == pytest.approx((0.5020, 0.6906), abs=1e-4)
    assert whole.is_longest_too_often


def test_a_quarter_is_what_chance_gives() -> None:
    assert not bank_wide([(LONG, "A")] * 25 + [(SHORT, "A")] * 75).is_longest_too_often


def test_two_longest_options_say_nothing_and_no_key_neither() -> None:
    whole = bank_wide([([30, 30, 1, 1], "A"), (LONG, ""), (LONG, "B")])
    assert (whole.longest_is_key.n, whole.longest_is_key.count) == (1, 0)
    assert whole.letters == {"A": 1, "B": 1, "C": 0, "D": 0}


@pytest.mark.parametrize("counts", [[25, 25, 25, 25], [40, 30, 20, 10], [1000, 900, 1100, 1000]])
def test_letters_by_chi_square(counts: list[int]) -> None:
    found, expected = key_evenness(counts), chisquare(counts)
    assert found is not None
    assert found.chi2 == pytest.approx(expected.statistic)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.df, found.n) == (3, sum(counts))


def test_a_bank_without_a_key_has_no_test() -> None:
    whole = bank_wide([(LONG, "")])
    assert whole.evenness is None
    assert whole.longest_is_key.reason == "zero_trials"
