"""How many readers had a question right: what counts, and of which studies it may be told."""

from __future__ import annotations

import pytest

from annotation.models import Question, User
from annotation.statistics.kernels.sampling import RatedBy
from annotation.validators.validator_exams import compare_sources
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from readerstudy.predictions.looks import readers_right_on
from tests.annotation.review.cases import NOON
from tests.readerstudy.exports.read_study import read_study, void

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(rita: User, remo: User) -> ReaderStudy:
    return read_study(rita, remo, state=StudyState.CLOSED, unblinded_at=NOON)


def numbers(study: ReaderStudy) -> list[tuple[int, int]]:
    return sorted(readers_right_on(study.bank).values())


def test_confirmed_answers_of_the_main_block_count(study: ReaderStudy) -> None:
    """B is the key: one right, two wrong; nothing of what ended without a confirmed answer in time."""
    assert numbers(study) == [(0, 1), (0, 1), (1, 1)]
    assert compare_sources(study.bank, Question.objects.none()).counts[RatedBy.READERS] == {
        "easy": 1,
        "medium": 0,
        "hard": 2,
    }


def test_a_voided_case_does_not(study: ReaderStudy) -> None:
    right = next(pk for pk, counts in readers_right_on(study.bank).items() if counts == (1, 1))
    void(study.cases.get(revision=right))
    assert numbers(study) == [(0, 1), (0, 1)]


@pytest.mark.parametrize("change", [{"state": StudyState.OPEN}, {"unblinded_at": None}])
def test_nothing_is_told_before_results_are_seen(study: ReaderStudy, change: dict[str, object]) -> None:
    ReaderStudy.objects.filter(pk=study.pk).update(**change)
    assert numbers(study) == []
