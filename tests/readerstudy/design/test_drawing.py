"""Rule cells-1: stratified, seeded, one question per patient, practice and main block apart, sets that overlap."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.enums import Difficulty, Task
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
