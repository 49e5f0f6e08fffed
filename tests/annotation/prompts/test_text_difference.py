"""Two texts side by side: the runs of a side give its text, and those that both have are the same on both sides."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from annotation.model_calls.versions import MOST_COMPARED, Run, side_by_side

TEXTS = st.text(alphabet="ab \n", max_size=60)


def test_words_of_a_line_that_differs() -> None:
    sides = side_by_side("Same.\nGive the letter.", "Same.\nGive one letter.")
    assert [run for run in sides.before if run.is_own] == [Run("the", True)]
    assert [run for run in sides.after if run.is_own] == [Run("one", True)]


def test_equal_texts_have_nothing_of_their_own() -> None:
    sides = side_by_side("one\ntwo", "one\ntwo")
    assert not any(run.is_own for run in (*sides.before, *sides.after))
    assert side_by_side("", "") == ([], [])


def test_the_words_of_long_passages_are_not_compared() -> None:
    old, new = "x " * MOST_COMPARED, "x " * MOST_COMPARED + "y"
    assert side_by_side(old, new) == ([Run(old, True)], [Run(new, True)])


@given(TEXTS, TEXTS)
def test_nothing_is_lost(before: str, after: str) -> None:
    sides = side_by_side(before, after)
    assert "".join(run.text for run in sides.before) == before
    assert "".join(run.text for run in sides.after) == after
    shared = ["".join(run.text for run in side if not run.is_own) for side in sides]
    assert shared[0] == shared[1]
