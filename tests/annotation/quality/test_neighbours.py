"""Near-duplicates: the same pairs as brute force finds, and what is told of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.feature_extraction.text import TfidfVectorizer

from annotation.questionbank.kernels import neighbours
from annotation.questionbank.kernels.neighbours import find_neighbours
from tests.bench.made_up_questions import made_up


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
def test_a_threshold_out_of_range_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        find_neighbours(["a"], threshold)
