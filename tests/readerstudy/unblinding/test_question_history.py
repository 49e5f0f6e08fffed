"""What studies and models tell in the history of a question, and when."""

from __future__ import annotations

from datetime import timedelta

import pytest

from annotation.contributions import contributed
from annotation.models import Question, User
from readerstudy.enums import StudyState
from readerstudy.models import Enrolment, ModelEntry, ReaderStudy
from readerstudy.predictions.listing import Target
from readerstudy.predictions.looks import events_of_studies
from tests.annotation.review.cases import NOON
from tests.readerstudy.predictions.made import answers, import_file
from tests.readerstudy.studies import enrol, make_study

pytestmark = pytest.mark.django_db
FROZEN = "Revision 1 was frozen in the reader study “Trial”."
IN_STUDY = "In the reader study “Trial” 1 of 2 models answered revision 1 correctly."


@pytest.fixture
def study() -> ReaderStudy:
    made = make_study("Trial", state=StudyState.OPEN)
    for name, letter in (("Alpha", "B"), ("Beta", "C")):
        entry = ModelEntry.objects.create(name=name, created_at=NOON)
        assert import_file(entry, Target.of_study(made), answers(**{"1": letter, "2": "B", "3": "B"}), at=NOON).run
    return made


def told(study: ReaderStudy, person: User) -> list[str]:
    question = Question.objects.get(bank=study.bank, number=1)
    return [one.sentence for one in events_of_studies(question, person)]


def test_models_are_told_of_once_results_were_seen(study: ReaderStudy, cora: User) -> None:
    assert events_of_studies in contributed().question_events
    assert told(study, cora) == [FROZEN]
    ReaderStudy.objects.filter(pk=study.pk).update(unblinded_at=NOON + timedelta(hours=1))
    assert told(study, cora) == [FROZEN]  # somebody had an interim look; readers still read
    ReaderStudy.objects.filter(pk=study.pk).update(state=StudyState.CLOSED, unblinded_at=None)
    assert told(study, cora) == [FROZEN]
    ReaderStudy.objects.filter(pk=study.pk).update(unblinded_at=NOON + timedelta(hours=1))
    assert told(study, cora) == [FROZEN, IN_STUDY]


def test_nothing_of_a_study_that_the_person_reads(study: ReaderStudy, cora: User) -> None:
    enrol(study, cora)
    assert Enrolment.objects.filter(reader=cora).exists()
    assert told(study, cora) == []
