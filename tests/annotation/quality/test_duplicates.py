"""Near-duplicates as findings of both questions, each with the other; one of each group is kept.

What shows over a whole bank, against numbers of scipy.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.stats import chisquare
from sklearn.feature_extraction.text import TfidfVectorizer

from annotation.jobs import queueing
from annotation.models import AuditEvent, Finding, Question, QuestionBank, Revision, User
from annotation.questionbank.checking import COMPARISON, DuplicatesParams, QualityRefused, check_revisions, dismiss
from annotation.questionbank.duplicates import check_duplicates
from annotation.questionbank.kernels import neighbours
from annotation.questionbank.kernels.neighbours import find_neighbours
from annotation.questionbank.kernels.rules import bank_wide, key_evenness
from tests.annotation.quality.conftest import records
from tests.annotation.questionbank.files import run_import, write_file
from tests.bench.made_up_questions import made_up
from tests.jobs import result_of


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
    for threshold in (0.4, 1.01, float("nan")):
        with pytest.raises(QualityRefused, match=r"from 0\.5 to 1"):
            check_duplicates(bank, actor=None, at=noon, threshold=threshold)


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
    check_revisions(bank, Revision.objects.in_bank(bank).current(), actor=None, at=noon)
    assert found() == {3: 4, 4: 3}, "the other checks leave them alone"


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
    assert not bank_wide([(LONG, "A")] * 25 + [(SHORT, "A")] * 75).is_longest_too_often, "as chance gives it"


def test_two_longest_options_say_nothing_and_no_key_neither() -> None:
    whole = bank_wide([([30, 30, 1, 1], "A"), (LONG, ""), (LONG, "B")])
    assert (whole.longest_is_key.n, whole.longest_is_key.count) == (1, 0)
    assert whole.letters == {"A": 1, "B": 1, "C": 0, "D": 0}
    nothing = bank_wide([(LONG, "")])
    assert (nothing.evenness, nothing.longest_is_key.reason) == (None, "zero_trials")


@pytest.mark.parametrize("counts", [[25, 25, 25, 25], [40, 30, 20, 10], [1000, 900, 1100, 1000]])
def test_letters_by_chi_square(counts: list[int]) -> None:
    found, expected = key_evenness(counts), chisquare(counts)
    assert found is not None
    assert found.chi2 == pytest.approx(expected.statistic)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.df, found.n) == (3, sum(counts))


# --- near-duplicates: the same pairs as brute force finds, and what is told of them ---
def texts_of(n: int, seed: int) -> list[str]:
    return ["\n".join((one.stem, *one.options)) for one in made_up(n, seed=seed)]


def by_brute_force(texts: list[str]) -> NDArray[np.float64]:
    rows = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b").fit_transform(texts)
    found = np.round((rows @ rows.T).toarray(), 6)
    np.fill_diagonal(found, 0)
    return np.asarray(found)


@pytest.mark.parametrize(("seed", "threshold"), [(1, 0.9), (2, 0.8), (3, 0.6)])
def test_the_pairs_are_those_of_brute_force(seed: int, threshold: float) -> None:
    texts = texts_of(900, seed)
    found, all_pairs = find_neighbours(texts, threshold), by_brute_force(texts)
    similar = all_pairs >= threshold
    assert found.n_pairs == similar.sum() // 2 > 0
    assert found.n_similar.tolist() == similar.sum(axis=1).tolist()
    _n, group = connected_components(similar, directed=False)
    assert found.first_of.tolist() == [group.tolist().index(one) for one in group.tolist()]
    best = np.where(similar.any(axis=1), all_pairs.max(axis=1), 0)
    np.testing.assert_allclose(found.similarity, best, atol=2e-6)
    assert found.nearest.tolist() == np.where(similar.any(axis=1), all_pairs.argmax(axis=1), -1).tolist()


def test_ten_pairs_on_each_side_of_the_threshold_are_the_nearest_to_it() -> None:
    texts = texts_of(900, 4)
    found, all_pairs = find_neighbours(texts), by_brute_force(texts)
    upper = np.unique(all_pairs[np.triu_indices(len(texts), 1)].round(5))
    similarities = [pair.similarity for pair in found.around]
    assert similarities == sorted(similarities)
    below = [one for one in similarities if one < 0.9]
    assert len(below) == 10 <= len(similarities) - len(below)
    assert max(below) == pytest.approx(upper[upper < 0.9].max(), abs=1e-5)
    assert min(similarities[10:]) == pytest.approx(upper[upper >= 0.9].min(), abs=1e-5)
    assert all(pair.first < pair.second for pair in found.around)


def test_equal_questions_are_each_others_nearest() -> None:
    found = find_neighbours(["left effusion", "rib fracture", "Left effusion", "left effusion.", "heart"])
    assert found.nearest.tolist() == [2, -1, 0, 0, -1]
    assert found.similarity.tolist() == [1, 0, 1, 1, 0]
    assert found.n_similar.tolist() == [2, 0, 2, 2, 0]
    assert found.n_pairs == 3


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = texts_of(700, 5)
    whole = find_neighbours(texts, 0.7)
    monkeypatch.setattr(neighbours, "ROWS", 37)
    monkeypatch.setattr(neighbours, "COLUMNS", 53)
    monkeypatch.setattr(neighbours, "VERIFIED", 11)
    blocks = find_neighbours(texts, 0.7)
    assert blocks.nearest.tolist() == whole.nearest.tolist()
    assert blocks.n_similar.tolist() == whole.n_similar.tolist()
    assert blocks.around == whole.around


def test_progress_is_told_to_the_end_and_may_stop_the_search() -> None:
    told: list[tuple[int, int]] = []
    find_neighbours(texts_of(600, 6), watch=lambda done, total: told.append((done, total)))
    assert len(told) == 3
    assert told[-1][0] == told[-1][1]
    assert [done for done, _total in told] == sorted(done for done, _total in told)

    def stop(_done: int, _total: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        find_neighbours(texts_of(600, 6), watch=stop)


@pytest.mark.parametrize("texts", [[], ["one question"], ["", ""], ["...", "?"]])
def test_a_bank_of_nothing_has_no_pair(texts: list[str]) -> None:
    found = find_neighbours(texts)
    assert found.nearest.tolist() == [-1] * len(texts)
    assert (found.n_pairs, found.around) == (0, [])


@pytest.mark.parametrize("threshold", [0, -1, 1.1, float("nan")])
def test_a_threshold_out_of_range_is_an_error(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        find_neighbours(["a"], threshold)
