from __future__ import annotations

from collections import Counter

from annotation.model_calls.request_bodies import SwappableExam, swapped

TWO, ONE = ("LL", "PA"), ("AP",)


def exams() -> list[SwappableExam]:
    """20 patients with two exams of two views each, and one of another kind."""
    found = [SwappableExam(10 * patient + n, f"p{patient}", TWO) for patient in range(1, 21) for n in (1, 2)]
    return [*found, SwappableExam(999, "p99", ONE)]


def test_every_exam_gets_one_of_another_patient_with_the_same_views() -> None:
    known = exams()
    found = swapped(known, [one.exam for one in known], seed=1)
    patients = {one.exam: one.patient for one in known}
    assert set(found) == {one.exam for one in known} - {999}
    assert all(patients[exam] != patients[other] for exam, other in found.items())
    assert max(Counter(found.values()).values()) <= 2


def test_it_follows_the_seed_and_not_the_order_in_which_exams_come() -> None:
    known = exams()
    wanted = [one.exam for one in known]
    assert swapped(known, wanted, seed=1) == swapped(reversed(known), wanted, seed=1)
    assert swapped(known, wanted, seed=1) != swapped(known, wanted, seed=2)


def test_an_exam_of_a_patient_whom_nobody_knows_is_swapped_with_none() -> None:
    known = [SwappableExam(1, "", TWO), SwappableExam(2, "a", TWO), SwappableExam(3, "b", TWO)]
    assert swapped(known, [1, 2, 3], seed=1) == {2: 3, 3: 2}
    assert swapped(known[:2], [1, 2], seed=1) == {}
