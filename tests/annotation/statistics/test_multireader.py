"""Multi-reader analyses: against sums over all pairs of cells, mean squares and t tests, and at their edges."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from annotation.statistics.kernels.multireader import (
    ByUnit,
    Design,
    Inference,
    MultiReader,
    mean_of_readers,
    mean_squares,
    model_minus_readers,
)

Correct = NDArray[np.int64]


@st.composite
def panels(draw: st.DrawFn, *, gaps: bool = True) -> tuple[Correct, Correct]:
    """A model's row and the readers'; -1 does not count."""
    readers, questions = draw(st.integers(1, 6)), draw(st.integers(1, 25))
    lowest, size = -1 if gaps else 0, (readers + 1) * questions
    drawn = draw(st.lists(st.integers(lowest, 5), min_size=size, max_size=size))
    scores = np.minimum(drawn, 1).reshape(readers + 1, questions)
    return scores[0], scores[1:]


def all_pairs(y: NDArray[np.float64], counted: NDArray[np.bool_], unit: Correct) -> tuple[float, float, float]:
    """Mean, reader part and case part by looking at every pair of cells."""
    cells = list(zip(*np.nonzero(counted), strict=True))
    n_questions = len({k for _j, k in cells})
    weight = {(j, k): 1 / n_questions / counted[:, k].sum() for j, k in cells}
    mean = sum(weight[cell] * y[cell] for cell in cells)
    sums = {"neither": np.zeros(2), "unit": np.zeros(2)}
    of_unit = {g: sum(weight[j, k] for j, k in cells if unit[k] == g) for g in set(unit.tolist())}
    for j, k in cells:
        for i, h in cells:
            both = weight[j, k] * weight[i, h]
            if i != j:
                product = both * (y[j, k] - mean) * (y[i, h] - mean)
                sums["unit" if unit[k] == unit[h] else "neither"] += (product, both)
    total = -sums["neither"][0] / sums["neither"][1]
    case = 0.0
    if sums["unit"][1]:
        case = sum(one**2 for one in of_unit.values()) * (sums["unit"][0] / sums["unit"][1] + total)
    return mean, total - case, case


@given(panels(), st.integers(2, 9))
def test_the_parts_are_those_of_all_pairs_of_cells(panel: tuple[Correct, Correct], n_clusters: int) -> None:
    model, readers = panel
    counted = (model >= 0) & (readers >= 0)
    cluster = np.arange(len(model)) % n_clusters
    found = model_minus_readers(model, readers, Design(cluster))
    assert found.by_cluster is not None
    for one, unit in ((found.by_question, np.arange(len(model))), (found.by_cluster, cluster)):
        if one.reader_part is not None:
            mean, reader, case = all_pairs((model - readers).astype(float), counted, unit)
            assert found.mean == pytest.approx(mean)
            assert [one.reader_part, one.case_part] == pytest.approx([reader, case], abs=1e-12)


@given(panels(gaps=False))
def test_complete_designs_are_those_of_mean_squares(panel: tuple[Correct, Correct]) -> None:
    """Obuchowski and Rockette; one-sample t tests where one of the two is fixed."""
    model, readers = panel
    found, apart = model_minus_readers(model, readers).by_question, (model - readers).astype(float)
    squares = mean_squares(apart)
    if squares is not None:
        parts = squares.rows / apart.size, (squares.columns - squares.rest) / apart.size
        assert [found.reader_part, found.case_part] == pytest.approx(list(parts), abs=1e-12)
    for inference, axis in ((found.fixed_readers_random_questions, 0), (found.random_readers_fixed_questions, 1)):
        if inference.se is not None:
            theirs = ttest_1samp(apart.mean(axis=axis), 0)
            assert inference.df == theirs.df
            assert inference.p == pytest.approx(theirs.pvalue, abs=1e-9)
            expected = theirs.confidence_interval(0.95)
            assert inference.ci95 == pytest.approx((max(-1, expected.low), min(1, expected.high)))


def paired_difference(first: Correct, second: Correct) -> MultiReader:
    """The same readers in two conditions: one who is always right minus readers who lose what they lose."""
    apart = np.where((first >= 0) & (second >= 0), 1 - (first - second), -1)
    return model_minus_readers(np.ones(first.shape[1]), apart)


@given(panels())
def test_the_order_of_conditions_turns_the_sign_and_the_order_of_readers_nothing(
    panel: tuple[Correct, Correct],
) -> None:
    model, readers = panel
    assume(len(readers) > 1)
    repeated = np.broadcast_to(model, readers.shape)
    here, there = paired_difference(repeated, readers), paired_difference(readers[::-1], repeated)
    one, other = (found.by_question.random_readers_random_questions for found in (here, there))
    assert one.se == pytest.approx(other.se)
    assert one.p == pytest.approx(other.p)
    assert (here.mean is None) == (there.mean is None)
    assert here.mean is None or here.mean == pytest.approx(-(there.mean or 0.0))


@given(panels())
def test_intervals_lie_in_each_other(panel: tuple[Correct, Correct]) -> None:
    found = model_minus_readers(*panel).by_question
    for inference in inferences(found):
        if inference.ci95 is not None:
            assert inference.ci90 is not None
            assert -1 <= inference.ci95[0] <= inference.ci90[0] <= inference.ci90[1] <= inference.ci95[1] <= 1


def inferences(found: ByUnit) -> tuple[Inference, Inference, Inference]:
    return (
        found.random_readers_random_questions,
        found.fixed_readers_random_questions,
        found.random_readers_fixed_questions,
    )


# --- incomplete designs ---------------------------------------------------------------------------
def test_readers_of_sets_that_share_nothing_have_a_result() -> None:
    """Every question counts once, so that the model's accuracy is that over all questions."""
    rng = np.random.default_rng(5)
    readers, model = rng.integers(0, 2, (4, 40)), rng.integers(0, 2, 40)
    readers[:2, 20:], readers[2:, :20] = -1, -1
    found = model_minus_readers(model, readers, Design(assigned=readers >= 0))
    assert found.mean == pytest.approx(model.mean() - (readers[:2, :20].mean() + readers[2:, 20:].mean()) / 2)
    assert found.by_question.random_readers_random_questions.ci95 is not None
    assert (found.n_questions, found.n_cells, found.model_accuracy, found.flags) == (40, 80, model.mean(), ())


def test_a_reader_who_stops_cuts_nobody_else() -> None:
    rng = np.random.default_rng(6)
    readers, model = rng.integers(0, 2, (6, 200)), rng.integers(0, 2, 200)
    readers[5, 60:] = -1
    found = model_minus_readers(model, readers, Design(assigned=np.ones(readers.shape, dtype=bool)))
    assert (found.n_questions, found.n_cells, found.n_missing) == (200, 1060, 140)
    assert found.flags == ("answers_missing",)
    rows = found.complete_rows
    assert rows is not None
    assert (rows.n_questions, rows.n_questions_dropped, rows.flags) == (60, 140, ("questions_dropped",))
    alone = model_minus_readers(model[:60], readers[:, :60])
    assert (rows.mean, rows.by_question) == (alone.mean, alone.by_question)


def test_what_is_not_assigned_is_not_missing() -> None:
    readers = np.array([[1, 0, 1, -1, -1, -1], [-1, -1, 0, 1, 1, 0], [-1] * 6])
    model = np.array([1, 1, 1, 0, -1, 1])
    told = model_minus_readers(model, readers, Design(assigned=readers >= 0))
    assert (told.n_missing, told.n_readers, told.n_readers_dropped, told.n_questions_dropped) == (0, 2, 0, 1)
    asked = model_minus_readers(model, readers, Design(assigned=np.ones((3, 6), dtype=bool), n_absent=1))
    assert (asked.n_missing, asked.n_readers_dropped) == (4, 2)  # the question without the model is not missing
    assert set(asked.flags) == {"small_n", "readers_dropped", "questions_dropped", "answers_missing"}
    assert asked.mean == told.mean


def test_each_reader_has_a_difference_over_their_own_questions() -> None:
    found = model_minus_readers(np.array([1, 1, 0, 1]), np.array([[1, 0, -1, -1], [-1, 1, 1, 1], [-1] * 4]))
    first, second, third = found.difference_by_reader
    assert (first, second, third) == (0.5, -1 / 3, None)


def test_a_model_may_be_right_in_a_share_of_its_runs() -> None:
    rng = np.random.default_rng(8)
    runs, readers = rng.integers(0, 2, (5, 30)), rng.integers(0, 2, (3, 30))
    share = runs.mean(axis=0)
    share[4] = np.nan
    found = model_minus_readers(share, readers)
    assert (found.n_questions, found.n_questions_dropped) == (29, 1)
    kept = np.arange(30) != 4
    assert found.mean == pytest.approx(runs[:, kept].mean() - readers[:, kept].mean())
    assert found.model_accuracy == pytest.approx(runs[:, kept].mean())


# --- clusters -------------------------------------------------------------------------------------
def test_complete_clusters_of_one_size_are_those_of_mean_squares() -> None:
    """The form with SE by cluster and a residual by cluster of the definitions."""
    rng = np.random.default_rng(9)
    n_readers, n_clusters, size = 4, 12, 3
    n = n_clusters * size
    correct, cluster = rng.integers(0, 2, (n_readers, n)), np.repeat(np.arange(n_clusters), size)
    y = correct.astype(float)
    grand, of_reader, of_question = y.mean(), y.mean(axis=1, keepdims=True), y.mean(axis=0)
    scale = n_clusters / (n_clusters - 1)
    squares = mean_squares(y)
    assert squares is not None
    units = (of_question - grand).reshape(n_clusters, size).sum(axis=1)
    rest = (y - of_reader - of_question + grand).reshape(n_readers, n_clusters, size).sum(axis=2)
    columns = n_readers * n * scale * (units @ units) / n**2
    error = scale * (rest**2).sum() / ((n_readers - 1) * n)
    found = mean_of_readers(correct, Design(cluster)).by_cluster
    assert found is not None
    assert found.reader_part is not None
    assert found.case_part is not None
    total = (squares.rows + columns - error) / (n_readers * n)
    assert found.reader_part + found.case_part == pytest.approx(total)


def test_fewer_than_ten_clusters_have_errors_alone() -> None:
    rng = np.random.default_rng(4)
    readers, cluster = rng.integers(0, 2, (3, 36)), np.repeat(np.arange(9), 4)
    found = model_minus_readers(rng.integers(0, 2, 36), readers, Design(cluster))
    assert found.by_cluster is not None
    for inference in inferences(found.by_cluster):
        assert (inference.se is not None, inference.ci95, inference.ci90, inference.p) == (True, None, None, None)
        assert "few_clusters" in inference.flags
    assert found.by_cluster.mover_ci95 is None
    assert found.by_question.fixed_readers_random_questions.ci95 is not None


# --- edges ----------------------------------------------------------------------------------------
def test_one_reader_has_the_fixed_analysis_alone() -> None:
    found = mean_of_readers(np.array([[1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1]])).by_question
    assert found.fixed_readers_random_questions.ci95 is not None
    assert found.random_readers_random_questions.reason == "one_rater"
    assert found.random_readers_fixed_questions.reason == "one_rater"
    assert (found.reader_part, found.case_part, found.mover_ci95) == (None, None, None)


def test_readers_of_one_accuracy_are_judged_as_fixed() -> None:
    found = mean_of_readers(np.array([[1, 0, 1, 1, 0, 1], [1, 1, 0, 1, 1, 0]])).by_question
    random, fixed = found.random_readers_random_questions, found.fixed_readers_random_questions
    assert random.ci95 == fixed.ci95
    assert random.flags == ("few_readers", "as_fixed_readers")
    assert found.random_readers_fixed_questions.reason == "no_variation"
    assert found.mover_ci95 is None


def test_a_mean_of_nothing_or_without_variation_says_why() -> None:
    assert mean_of_readers(np.array([[-1, -1], [-1, -1]])).reason == "no_common_questions"
    assert mean_of_readers(np.empty((0, 3), dtype=int)).reason == "one_rater"
    alike = mean_of_readers(np.ones((3, 12), dtype=int))
    assert alike.mean == 1.0
    assert [one.reason for one in inferences(alike.by_question)] == ["no_variation"] * 3
    alone = mean_of_readers(np.array([[1], [0]]))
    assert [one.reason for one in inferences(alone.by_question)] == ["too_few"] * 3


def test_few_readers_are_flagged_where_readers_are_random() -> None:
    rng = np.random.default_rng(3)
    found = mean_of_readers(rng.integers(0, 2, (4, 40))).by_question
    assert found.random_readers_random_questions.flags == ("few_readers",)
    assert found.random_readers_fixed_questions.flags == ("few_readers",)
    assert found.fixed_readers_random_questions.flags == ()
    five = mean_of_readers(rng.integers(0, 2, (5, 40))).by_question
    assert five.random_readers_random_questions.flags == ()


def test_the_limits_of_few_readers_are_wider_than_those_of_t() -> None:
    rng = np.random.default_rng(11)
    chances = np.array([[0.4], [0.5], [0.6]]) + rng.choice([-0.3, 0.3], 60)
    found = mean_of_readers((rng.random((3, 60)) < chances).astype(int)).by_question
    reader, case, limits = found.reader_part, found.case_part, found.mover_ci95
    assert reader is not None
    assert case is not None
    assert limits is not None
    half = sqrt(4.302652729911275**2 * reader + 1.959963984540054**2 * max(case, 0))
    assert limits[1] - limits[0] == pytest.approx(2 * half)
    narrow = found.random_readers_random_questions.ci95
    assert narrow is not None
    assert limits[0] < narrow[0] < narrow[1] < limits[1]


def test_the_stored_form_is_plain() -> None:
    stored = model_minus_readers(np.array([1, 0, 1, 1]), np.array([[1, 1, 0, 1], [0, 0, 0, 1]])).by_question.as_json()
    assert stored["n_units"] == 4
    assert stored["random_readers_random_questions"]["ci95"] is None  # of two readers, for whom MOVER stands
    assert isinstance(stored["random_readers_random_questions"]["se"], float)
    assert isinstance(stored["mover_ci95"], list)
    assert isinstance(stored["mover_ci90"], list)
    assert isinstance(stored["mover_p"], float)
    assert isinstance(stored["fixed_readers_random_questions"]["ci95"], list)
