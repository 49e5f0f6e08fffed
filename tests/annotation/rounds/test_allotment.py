"""Who gets which question: balanced, different people for each, mates apart, by the seed."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.review.kernels.allotment import Item, allot, hand_out, in_order, share_for_newcomer, too_few_for

SEEDS = st.integers(0, 2**63 - 1)


@st.composite
def rounds(draw: st.DrawFn) -> tuple[list[Item], int, int]:
    exams = draw(st.dictionaries(st.integers(1, 999), st.integers(1, 12), min_size=1, max_size=60))
    n_reviewers = draw(st.integers(1, 7))
    return [Item(number, exam) for number, exam in exams.items()], n_reviewers, draw(st.integers(1, n_reviewers))


@given(rounds(), SEEDS)
def test_each_question_gets_k_reviewers_and_the_loads_are_even(made: tuple[list[Item], int, int], seed: int) -> None:
    items, n_reviewers, k = made
    orders = allot(items, n_reviewers, k, seed)
    assert Counter(number for order in orders for number in order) == {one.number: k for one in items}
    assert all(len(order) == len(set(order)) for order in orders)
    assert max(map(len, orders)) - min(map(len, orders)) <= 1


@given(rounds(), SEEDS, st.randoms(use_true_random=False))
def test_the_same_seed_allots_the_same_in_any_order_of_rows(
    made: tuple[list[Item], int, int], seed: int, shuffler: random.Random
) -> None:
    items, n_reviewers, k = made
    first = allot(items, n_reviewers, k, seed)
    shuffled = list(items)
    shuffler.shuffle(shuffled)
    assert allot(shuffled, n_reviewers, k, seed) == first


@given(rounds(), SEEDS, st.data())
def test_what_is_forbidden_is_never_given(made: tuple[list[Item], int, int], seed: int, data: st.DataObject) -> None:
    items, n_reviewers, k = made
    pairs = [(reviewer, one.number) for reviewer in range(n_reviewers) for one in items]
    forbidden = data.draw(st.sets(st.sampled_from(pairs), max_size=len(pairs) // 3))
    short = any(sum((r, one.number) not in forbidden for r in range(n_reviewers)) < k for one in items)
    assert (too_few_for(items, n_reviewers, k, forbidden) is not None) == short
    if short:
        with pytest.raises(ValueError):
            allot(items, n_reviewers, k, seed, forbidden)
    else:
        orders = allot(items, n_reviewers, k, seed, forbidden)
        assert not {(r, number) for r, order in enumerate(orders) for number in order} & forbidden
        assert Counter(number for order in orders for number in order) == {one.number: k for one in items}


def test_mates_of_an_exam_go_to_different_people_and_all_pairs_meet() -> None:
    items = [Item(number, number // 3) for number in range(120)]
    orders = allot(items, 6, 2, seed=5)
    for exam in range(40):
        mates = {number for number in range(120) if number // 3 == exam}
        assert all(len(mates & set(order)) == 1 for order in orders)  # 3 questions x 2 = each of 6 people one
    together = [len(set(a) & set(b)) for a, b in combinations(orders, 2)]
    assert sum(together) == 120
    assert min(together) >= 5


def test_mates_stand_evenly_apart_in_one_order() -> None:
    items = [Item(number, number // 4) for number in range(80)]
    [order] = allot(items, 1, 1, seed=2)
    place = {number: index for index, number in enumerate(order)}
    for exam in range(20):
        places = sorted(place[number] for number in range(80) if number // 4 == exam)
        assert all(12 <= after - before <= 28 for before, after in pairwise(places))  # 20 on average


def test_people_have_their_own_orders() -> None:
    items = [Item(number, number) for number in range(30)]
    first, second = allot(items, 2, 2, seed=1)
    assert first != second
    assert sorted(first) == sorted(second)


def test_an_order_of_nothing_is_empty() -> None:
    assert in_order([], {}) == []


@given(st.lists(st.integers(0, 4), max_size=80), SEEDS)
def test_a_newcomer_gets_an_equal_share_from_those_who_have_most(owners: list[int], seed: int) -> None:
    waiting = list(zip(owners, range(len(owners)), strict=True))
    taken = share_for_newcomer(waiting, [], seed)
    before = Counter(owners)
    after = before - Counter(owners[index] for index in taken)
    share = len(owners) // (len(before) + 1)
    assert len(taken) == len(set(taken)) == share
    assert all(after[r] >= share for r in before if before[r] >= share)
    assert all(after[r] == before[r] for r in before if before[r] < share)


def test_a_newcomer_gets_each_question_once_and_none_that_they_hold() -> None:
    waiting = [(r, number) for r in range(2) for number in range(10)]  # both reviewers have the same ten
    taken = share_for_newcomer(waiting, [0, 1], seed=1)
    numbers = [waiting[index][1] for index in taken]
    assert len(numbers) == len(set(numbers)) == 6
    assert not {0, 1} & set(numbers)


def test_open_questions_go_to_whoever_has_least() -> None:
    given_to = hand_out([1, 2, 3, 4], {number: [0, 1] for number in (1, 2, 3, 4)}, [3, 0], seed=1)
    assert Counter(given_to.values()) == {1: 3, 0: 1}
    with pytest.raises(ValueError):
        hand_out([1], {1: []}, [0], seed=1)
