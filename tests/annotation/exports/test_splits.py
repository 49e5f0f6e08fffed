"""Patients in splits: each in one, shares kept in every stratum, and nobody moves in a later release."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from annotation.enums import Split
from annotation.exports.kernels.splits import faults_of_shares, split_patients

SHARES = {Split.TRAIN: 70, Split.VALID: 10, Split.TEST: 10, Split.PRIVATE: 10}


def made_up(n: int, seed: int = 1) -> dict[str, Counter[tuple[str, str]]]:
    draw = random.Random(seed)
    strata = [(task, category) for task in "abcde" for category in ("x", "y")]
    return {f"p{number}": Counter(draw.choices(strata, k=draw.randint(1, 8))) for number in range(n)}


def test_each_stratum_is_in_the_shares_that_were_asked_for() -> None:
    patients = made_up(1_000)
    found = split_patients(patients, SHARES, 3, {})
    assert set(found) == set(patients)
    total: Counter[tuple[str, str]] = sum(patients.values(), Counter())
    for split, share in SHARES.items():
        held = sum((patients[one] for one, where in found.items() if where == split), Counter())
        for stratum, n in total.items():
            assert abs(held[stratum] - n * share / 100) <= 6, (split, stratum)


def test_the_seed_decides_and_a_split_of_no_share_is_empty() -> None:
    patients = made_up(200)
    assert split_patients(patients, SHARES, 3, {}) == split_patients(patients, SHARES, 3, {})
    assert split_patients(patients, SHARES, 3, {}) != split_patients(patients, SHARES, 4, {})
    halves = {Split.TRAIN: 50, Split.TEST: 50, Split.VALID: 0, Split.PRIVATE: 0}
    assert set(split_patients(patients, halves, 3, {}).values()) == {Split.TRAIN, Split.TEST}


def test_who_is_known_stays() -> None:
    before = split_patients(made_up(100), SHARES, 3, {})
    assert before.items() <= split_patients(made_up(300), SHARES, 9, before).items()


@pytest.mark.parametrize("shares", [{Split.TRAIN: 99}, {Split.TRAIN: 110, Split.TEST: -10}, {}])
def test_shares_that_do_not_add_up_are_told(shares: dict[Split, int]) -> None:
    assert "add up to" in faults_of_shares(shares)


def test_rare_categories_do_not_draw_everybody_into_the_largest_split() -> None:
    """Found on a bank of 24 patients with a category each."""
    patients = {f"p{n}": Counter({("a", f"rare {n}"): 2, ("b", "common"): 1}) for n in range(24)}
    found = Counter(split_patients(patients, SHARES, 0, {}).values())
    assert 15 <= found[Split.TRAIN] <= 18
    assert all(2 <= found[split] <= 3 for split in (Split.VALID, Split.TEST, Split.PRIVATE))
