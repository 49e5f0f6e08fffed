"""Cases, orders and options are drawn: seeded, stratified, even, and what speaks of other options stays."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.enums import Difficulty, Task
from annotation.statistics.kernels.sampling import random_ranks
from readerstudy.design.kernels.documents import DesignRefused
from readerstudy.design.kernels.drawing import (
    Candidate,
    CellCount,
    DrawRequest,
    Quota,
    allocate,
    cell_counts,
    draw,
    effect_by_task,
)
from readerstudy.design.kernels.ordering import (
    branch,
    draw_orders,
    group_size,
    keeps_its_place,
    latin_square,
    names_letters,
    orders_needed,
    parts_of,
    rank_of,
    shown_order,
    shuffled,
    spread_evenly,
)

CELLS = st.tuples(st.sampled_from(Task.values()), st.sampled_from(Difficulty.values()))
POOLS = st.lists(st.tuples(CELLS, st.integers(1, 60)), min_size=30, max_size=120).map(
    lambda rows: [Candidate(n, n, *cell, f"p{patient}") for n, (cell, patient) in enumerate(rows, 1)]
)


def pool(**counts: int) -> list[Candidate]:
    """So many easy questions of each task, each of a patient of its own."""
    tasks = [task for task, n in counts.items() for _ in range(n)]
    return [Candidate(n, n, task, "easy", f"p{n}") for n, task in enumerate(tasks, 1)]


@given(candidates=POOLS, n=st.integers(1, 12), seed=st.integers(0, 2**63 - 1), practice=st.integers(0, 3))
@settings(deadline=None)
def test_no_patient_comes_twice_and_practice_stays_apart(
    candidates: list[Candidate], n: int, seed: int, practice: int
) -> None:
    try:
        drawing = draw(candidates, DrawRequest(n=n, n_practice=practice), seed)
    except DesignRefused:
        return
    patients = [one.patient for one in (*drawing.main, *drawing.practice)]
    assert len(drawing.main) == n
    assert len(drawing.practice) == practice
    assert len(set(patients)) == n + practice
    assert Counter(one.cell for one in drawing.main) == Counter(
        {(cell.task, cell.difficulty): cell.n_drawn for cell in drawing.cells if cell.n_drawn}
    )


@given(candidates=POOLS, seed=st.integers(0, 2**63 - 1), data=st.data())
@settings(deadline=None)
def test_the_same_seed_draws_the_same_whatever_the_order_of_the_rows(
    candidates: list[Candidate], seed: int, data: st.DataObject
) -> None:
    request = DrawRequest(n=10, n_practice=2, several_per_patient=True)
    mixed = data.draw(st.permutations(candidates))
    assert _numbers(candidates, request, seed) == _numbers(mixed, request, seed)


def _numbers(candidates: list[Candidate], request: DrawRequest, seed: int) -> object:
    try:
        drawing = draw(candidates, request, seed)
    except DesignRefused as refusal:
        return str(refusal)
    return [one.number for one in drawing.main], [one.number for one in drawing.practice], drawing.sets


def test_draws_of_this_rule_never_change() -> None:
    """A change of these would draw other cases for old plans: it needs another name for the rule."""
    candidates = [Candidate(n, n, Task.values()[n % 3], ("easy", "hard")[n % 2], f"p{n // 2}") for n in range(1, 91)]
    request = DrawRequest(n=10, quotas=(Quota(4, "presence"),), n_practice=3, n_sets=2, n_shared=4)
    assert _numbers(candidates, request, 7) == PINNED


PINNED = ([72, 59, 64, 38, 88, 48, 31, 19, 33, 51], [78, 66, 2], [[0, 2, 5, 6, 7, 8, 9], [0, 1, 2, 3, 4, 7, 9]])


def test_another_seed_draws_others() -> None:
    candidates = pool(presence=500)
    assert _numbers(candidates, DrawRequest(n=20), 1) != _numbers(candidates, DrawRequest(n=20), 2)


def test_cases_are_shared_in_proportion_to_the_pool() -> None:
    """The bank of the paper: 200 random cases hold about 1 geometric and 12 location questions."""
    counts = cell_counts(pool(presence=600, negation=120, differential=215, location=60, geometric=5))
    shares = {task: n for (task, _difficulty), n in allocate(counts, DrawRequest(n=200)).items()}
    assert shares == {"presence": 120, "negation": 24, "differential": 43, "location": 12, "geometric": 1}


def test_quotas_fix_their_cells_and_the_rest_is_proportional() -> None:
    counts = cell_counts(pool(presence=300, negation=100, geometric=20))
    shares = allocate(counts, DrawRequest(n=60, quotas=(Quota(20, task="geometric"),)))
    assert {task: n for (task, _difficulty), n in shares.items()} == {"presence": 30, "negation": 10, "geometric": 20}


@pytest.mark.parametrize(
    ("quotas", "n", "words"),
    [
        ((Quota(6, task="geometric"),), 10, "asks for 6 questions, and the pool holds 5"),
        ((Quota(2, task="presence"), Quota(2, difficulty="easy")), 10, "Two quotas"),
        ((Quota(8, task="presence"), Quota(4, task="geometric")), 10, "more than the 10 cases"),
        ((), 26, "only 25 questions qualify"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_the_reason(quotas: tuple[Quota, ...], n: int, words: str) -> None:
    with pytest.raises(DesignRefused, match=words):
        draw(pool(presence=20, geometric=5), DrawRequest(n=n, quotas=quotas), 1)


def test_patients_can_be_too_few() -> None:
    candidates = [Candidate(n, n, "presence", "easy", f"p{n % 3}") for n in range(1, 13)]
    with pytest.raises(DesignRefused, match="only 3 of the 4 questions"):
        draw(candidates, DrawRequest(n=4), 1)
    assert len(draw(candidates, DrawRequest(n=4, several_per_patient=True), 1).main) == 4
    with pytest.raises(DesignRefused, match="Only 1 of 2 practice cases"):
        draw(candidates, DrawRequest(n=2, n_practice=2), 1)


def test_the_scarcest_cell_takes_its_patient_first() -> None:
    """Patient p1 has the only geometric question; the many presence questions find other patients."""
    candidates = [Candidate(1, 1, "geometric", "easy", "p1"), Candidate(2, 2, "presence", "easy", "p1")]
    candidates += [Candidate(n, n, "presence", "easy", f"p{n}") for n in range(3, 6)]
    quotas = (Quota(1, task="geometric"), Quota(3, task="presence"))
    for seed in range(20):
        drawn = {one.number for one in draw(candidates, DrawRequest(n=4, quotas=quotas), seed).main}
        assert drawn == {1, 3, 4, 5}


def test_sets_share_what_is_asked_and_cover_everything() -> None:
    candidates = pool(presence=60, negation=30)
    drawing = draw(candidates, DrawRequest(n=90, n_sets=3, n_shared=30), 1)
    sets = [set(one) for one in drawing.sets]
    shared = set.intersection(*sets)
    assert len(shared) == 30
    assert [len(one) for one in sets] == [50, 50, 50]
    assert set.union(*sets) == set(range(90))
    tasks = [Counter(drawing.main[place].task for place in one) for one in sets]
    assert all(abs(count["presence"] - 33) <= 1 for count in tasks)
    with pytest.raises(DesignRefused, match="cannot share"):
        draw(candidates, DrawRequest(n=10, n_sets=2, n_shared=11), 1)


def test_quotas_cost_the_pooled_number_what_the_page_says() -> None:
    plain = effect_by_task([CellCount("presence", "easy", 900, 90), CellCount("geometric", "easy", 100, 10)])
    assert not plain.changes_the_mix
    assert plain.n_effective == pytest.approx(100)
    equal = effect_by_task([CellCount("presence", "easy", 900, 50), CellCount("geometric", "easy", 100, 50)])
    assert equal.changes_the_mix
    assert equal.n_effective == pytest.approx(1 / (0.81 / 50 + 0.01 / 50))
    assert [row.weight for row in equal.rows] == [pytest.approx(0.5 / 0.9), pytest.approx(5)]
    assert effect_by_task([CellCount("presence", "easy", 9, 9), CellCount("geometric", "", 1, 0)]).n_effective is None


# --- orders ----------------------------------------------------------------------------------------
NUMBERS = st.sets(st.integers(1, 10_000), min_size=1, max_size=60).map(sorted)
SEEDS = st.integers(0, 2**63 - 1)
RULES = st.sampled_from(["latin-1", "latin-2"])


@given(numbers=NUMBERS, n_orders=st.integers(1, 12), group=st.integers(2, 8), seed=SEEDS, rule=RULES)
@settings(max_examples=60, deadline=None)
def test_every_order_is_a_permutation_of_the_cases(
    numbers: list[int], n_orders: int, group: int, seed: int, rule: str
) -> None:
    orders = draw_orders(numbers, n_orders=n_orders, group=group, seed=seed, rule=rule)
    assert len(orders) == n_orders
    assert all(sorted(order) == numbers for order in orders)


@given(per_part=st.integers(1, 8), group=st.integers(2, 7), n_groups=st.integers(1, 3), seed=SEEDS, rule=RULES)
@settings(max_examples=60, deadline=None)
def test_every_case_visits_every_segment_once_in_a_group(
    per_part: int, group: int, n_groups: int, seed: int, rule: str
) -> None:
    numbers = list(range(1, per_part * group + 1))
    orders = draw_orders(numbers, n_orders=group * n_groups, group=group, seed=seed, rule=rule)
    for start in range(0, len(orders), group):
        visits = Counter(
            (case, place // per_part) for order in orders[start : start + group] for place, case in enumerate(order)
        )
        assert set(visits.values()) == {1}
        assert len(visits) == len(numbers) * group


def test_a_successor_with_an_order_of_another_group_spoils_the_balance() -> None:
    orders = draw_orders(range(200), n_orders=6, group=3, seed=7)
    assert spread_evenly(orders[:3], 3) > 0.95
    assert spread_evenly(orders[1:4], 3) < 0.4
    assert np.isnan(spread_evenly([], 3))


@given(numbers=NUMBERS, group=st.integers(2, 8), seed=SEEDS, rule=RULES, data=st.data())
@settings(max_examples=60, deadline=None)
def test_only_the_set_of_numbers_and_the_seed_decide(
    numbers: list[int], group: int, seed: int, rule: str, data: st.DataObject
) -> None:
    """Not the order in which the cases are given, nor how many orders are drawn: more begin like fewer."""
    mixed = data.draw(st.permutations(numbers))
    first = draw_orders(numbers, n_orders=5, group=group, seed=seed, rule=rule)
    assert draw_orders(mixed, n_orders=9, group=group, seed=seed, rule=rule)[:5] == first


@pytest.mark.parametrize("rule", ["latin-1", "latin-2"])
def test_another_seed_and_another_set_draw_other_orders(rule: str) -> None:
    numbers = list(range(1, 41))
    drawn = [
        draw_orders(numbers, n_orders=4, group=2, seed=seed, stream=stream, rule=rule)
        for seed in (1, 2)
        for stream in (1, 2)
    ]
    assert len({str(orders) for orders in drawn}) == 4
    assert len({tuple(order) for order in drawn[0]}) == 4


@pytest.mark.parametrize(
    ("rule", "orders"),
    [
        ("latin-1", [[2, 4, 1, 5, 3, 6], [5, 1, 6, 3, 4, 2], [3, 6, 4, 2, 5, 1]]),
        ("latin-2", [[4, 3, 5, 1, 2, 6], [2, 5, 6, 4, 3, 1], [1, 6, 3, 2, 5, 4]]),
    ],
)
def test_orders_of_a_rule_never_change(rule: str, orders: list[list[int]]) -> None:
    """A change of these would draw other orders for old plans: it needs another name for the rule."""
    assert draw_orders([1, 2, 3, 4, 5, 6], n_orders=3, group=3, seed=1, rule=rule) == orders


@pytest.mark.parametrize(("rule", "begins"), [("latin-1", "22c9faa5232bfd28"), ("latin-2", "350099436f2f9b59")])
def test_many_orders_of_a_rule_never_change(rule: str, begins: str) -> None:
    """Blocks and segments that are not full, and a group that is cut short."""
    drawn = draw_orders(range(1, 161), n_orders=9, group=7, seed=20261123, rule=rule)
    assert hashlib.sha256(json.dumps(drawn).encode()).hexdigest().startswith(begins)


def test_there_is_no_other_rule() -> None:
    with pytest.raises(KeyError):
        draw_orders([1, 2], n_orders=1, group=2, seed=1, rule="latin-3")


@pytest.mark.parametrize("rule", ["latin-1", "latin-2"])
def test_a_case_stands_anywhere_about_equally_often(rule: str) -> None:
    """Over 300 seeds, each of 10 places has case 1 30 times on average; chi-square with 9 degrees of freedom."""
    drawn = (draw_orders(range(1, 11), n_orders=1, group=3, seed=seed, rule=rule)[0] for seed in range(300))
    firsts = Counter(order.index(1) for order in drawn)
    assert sum((firsts[place] - 30) ** 2 / 30 for place in range(10)) < 27.9  # the 99.9 % point


@given(size=st.integers(2, 9), seed=SEEDS)
def test_the_square_is_latin(size: int, seed: int) -> None:
    square = latin_square(size, seed)
    symbols = set(range(size))
    assert all(set(line) == symbols for line in (*square, *zip(*square, strict=True)))


@given(numbers=NUMBERS, group=st.integers(2, 9), seed=SEEDS)
def test_parts_are_as_equal_as_they_can_be(numbers: list[int], group: int, seed: int) -> None:
    parts = parts_of(numbers, group=group, seed=seed)
    assert sorted(case for part in parts for case in part) == numbers
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize(
    ("n_readers", "n_sets", "wanted", "group", "n_orders"), [(3, 1, 0, 3, 6), (1, 1, 0, 2, 4), (9, 3, 20, 3, 20)]
)
def test_groups_have_a_reader_each_and_replacements_find_orders(
    n_readers: int, n_sets: int, wanted: int, group: int, n_orders: int
) -> None:
    assert group_size(n_readers, n_sets) == group
    assert orders_needed(n_readers, wanted) == n_orders


def test_branches_differ_and_stay() -> None:
    assert len({branch(1, a, b) for a in range(20) for b in range(20)}) == 400
    assert branch(1, 2, 3) != branch(1, 3, 2)
    assert shuffled([], 1) == []


@given(numbers=st.sets(st.integers(0, 2**40), max_size=120).map(sorted), seed=SEEDS)
def test_few_and_many_numbers_are_ranked_alike(numbers: list[int], seed: int) -> None:
    """By the one rule of SplitMix64 that samples are drawn with."""
    ranks = random_ranks(np.array(numbers, dtype=np.int64), seed).tolist()
    assert [rank_of(number, seed) for number in numbers] == ranks
    assert shuffled(numbers, seed) == [number for _rank, number in sorted(zip(ranks, numbers, strict=True))]


# --- shuffled options ------------------------------------------------------------------------------
PLAIN = ["Pneumothorax", "Pleural effusion", "Cardiomegaly", "Both lungs are clear"]


@pytest.mark.parametrize(
    "text",
    [
        "None of the above",
        "All of the above.",
        "none of these",
        "None of the other options",
        "None of the listed findings",
        "Neither of the above",
        "Both of the above findings",
        "Any of the above",
        "More than one of the above",
        "None of the options is right",
        "Two of the above",
        "All the above",
        "The above statements are false",
        "None",
        "Cannot be determined",
    ],
)
def test_options_that_speak_of_others_keep_their_place(text: str) -> None:
    assert keeps_its_place(text)


@pytest.mark.parametrize(
    "text",
    [
        "Both lungs are clear",
        "Opacity above the left hemidiaphragm",
        "All lobes are involved",
        "None of the ribs is fractured",
        "Both costophrenic angles are blunted",
        "Air below the diaphragm",
        "The other lung is normal",
    ],
)
def test_findings_are_not_taken_for_references(text: str) -> None:
    assert not keeps_its_place(text)
    assert not names_letters(text)


@pytest.mark.parametrize(
    "text",
    [
        "A and C",
        "Both A and B",
        "A, B and C",
        "Only B",
        "All but D",
        "Options A to C",
        "Which of the options (A)–(D) is right?",
        "Neither A nor B",
        "B",
        "(C)",
        "Answer A is right",
        "A/B",
        "B only",
    ],
)
def test_references_to_letters_are_found(text: str) -> None:
    assert names_letters(text)


@pytest.mark.parametrize(
    "text",
    [
        "Kerley B lines",
        "A small pneumothorax on the right",
        "Type A dissection",
        "Is there a nodule? A lateral view is given.",
        "Vitamin D deficiency",
        "Which finding is absent?",
    ],
)
def test_letters_in_words_of_medicine_are_not_references(text: str) -> None:
    assert not names_letters(text)


@given(seed=st.integers(0, 2**63 - 1))
def test_plain_options_are_permuted(seed: int) -> None:
    assert sorted(shown_order("Which one?", PLAIN, seed)) == list("ABCD")


def test_every_order_of_plain_options_comes() -> None:
    assert len({shown_order("Which one?", PLAIN, seed) for seed in range(400)}) == 24


@given(seed=st.integers(0, 2**63 - 1), place=st.integers(0, 3))
def test_nothing_moves_across_what_speaks_of_the_above(seed: int, place: int) -> None:
    options = [*PLAIN[:place], "None of the above", *PLAIN[place:3]]
    shown = shown_order("Which one?", options, seed)
    letters = "ABCD"
    assert shown[place] == letters[place]
    assert set(shown[:place]) == set(letters[:place])


@given(seed=st.integers(0, 2**63 - 1))
def test_letters_in_the_question_keep_all_options_in_place(seed: int) -> None:
    assert shown_order("Which one?", [*PLAIN[:3], "A and C"], seed) == "ABCD"
    assert shown_order("Compare options A and B: which is right?", PLAIN, seed) == "ABCD"
