"""The ledger finds what it is there to find."""

from __future__ import annotations

from tests.torture.ledger import Entry, compare

A, B, C = Entry("p1", "k1", "A"), Entry("p2", "k2", "B"), Entry("p3", "k3", "C")


def test_what_was_acknowledged_and_is_stored_is_clean() -> None:
    found = compare({A, B, C}, {A, B}, [A, B, C])  # C is stored, and its client was killed before it was told
    assert found.is_clean
    assert str(found) == "2 acknowledged, 3 stored: 0 lost, 0 duplicate, 0 phantom"


def test_an_answer_that_is_gone_is_lost() -> None:
    assert compare({A, B}, {A, B}, [A]).lost == [B]


def test_so_is_one_that_is_stored_differently() -> None:
    found = compare({A}, {A}, [A._replace(option="D")])
    assert (found.lost, found.phantom) == ([A], [A._replace(option="D")])


def test_a_second_final_answer_is_a_duplicate() -> None:
    again = A._replace(key="k9")
    assert compare({A, again}, {A}, [A, again]).duplicate == ["p1"]


def test_an_answer_that_nobody_sent_is_a_phantom() -> None:
    assert compare({A}, {A}, [A, B]).phantom == [B]
