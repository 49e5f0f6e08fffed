"""The demonstration is built through the ordinary acts, once, and only in its own home."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from pytest_django import Settings

from annotation.demonstration import building
from annotation.demonstration.questions import (
    all_questions,
)
from annotation.demonstration.registry import all_accounts
from annotation.demonstration.rehearsing import FINISHED_ROUND, OPEN_ROUND, SHARED_ANSWERS
from annotation.demonstration.simulated_exams import EXAMS
from annotation.enums import AssignmentState, ImageState, RoundState
from annotation.models import (
    Assignment,
    Image,
    Question,
    QuestionBank,
    QuestionComment,
    QuestionTag,
    Review,
    ReviewRound,
    Revision,
    User,
)
from annotation.outcomes.agreement import own_agreement
from annotation.review.calibrating import calibration_of, distances_of, uncalibrated
from annotation.review.onlookers import judged_questions
from tests.annotation.site.test_extras import small  # noqa: F401 - a fixture

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def _build(folder: Path, heard: list[str] | None = None) -> bool:
    def tell(words: str, done: int, total: int, /) -> None:
        assert 0 <= done <= total
        if heard is not None and words not in heard:
            heard.append(words)

    return building.build_demonstration(at=NOW, folder=folder, tell=tell, exams=EXAMS[1:4], processes=2)


@pytest.mark.check
@pytest.mark.usefixtures("small")  # "make demo" installs no optional part
@pytest.mark.django_db(transaction=True)
@pytest.mark.logs("demonstration.built", "person.added")
def test_a_small_demonstration_is_complete_and_labelled_and_a_second_build_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.DEMO, settings.HOME = True, tmp_path
    heard: list[str] = []
    assert _build(tmp_path / "files", heard)
    assert len(heard) == 9

    bank = QuestionBank.objects.get(name="Demonstration (simulated)")
    assert bank.simulated
    assert Revision.objects.in_bank(bank).current().count() == 15
    assert all(one.simulated for one in QuestionBank.objects.all())
    images = Image.objects.filter(exam__bank=bank)
    assert {image.state for image in images} == {ImageState.AVAILABLE}
    assert len(images) == 6
    assert all(image.simulated and image.attribution == building.ATTRIBUTION for image in images)
    assert {image.photometric_interpretation for image in images} == {"MONOCHROME1", "MONOCHROME2"}
    assert not (tmp_path / "files").exists()

    finished = ReviewRound.objects.get(name=FINISHED_ROUND)
    assert finished.state == RoundState.CLOSED
    assert finished.simulated
    of_finished = Review.objects.filter(assignment__round=finished, simulated=True)
    assert of_finished.filter(assignment__repeats=None).count() == 30
    assert own_agreement(finished).n_people == 3  # each has reviewed a question twice without knowing
    _check_calibration(ReviewRound.objects.get(name=OPEN_ROUND))
    _check_what_was_said(bank)

    before = [(one, one._base_manager.count()) for one in (User, Review, Image, QuestionTag, QuestionComment)]
    assert not _build(tmp_path / "files")
    assert [(one, one._base_manager.count()) for one, _n in before] == before
    monkeypatch.setattr(building, "is_complete", lambda: False)
    assert _build(tmp_path / "files")  # takes up what is there
    assert [(one, one._base_manager.count()) for one, _n in before] == before


def _check_calibration(review_round: ReviewRound) -> None:
    """All have judged what the adjudicator judged before; the last did not pass and was let in."""
    assert review_round.state == RoundState.OPEN
    assert review_round.shared_answers is not None
    assert review_round.shared_answers.name == SHARED_ANSWERS
    assert review_round.shared_answers.state == RoundState.CLOSED
    assert uncalibrated(review_round) == []
    people = [User.objects.get(name=name) for name in ("Rita Okafor", "Remo Castelli", "Ruth Nakamura")]
    found = [one.result for one in calibration_of(review_round, people)]
    assert [one is not None and one.passed for one in found] == [True, True, False]
    assert found[2] is not None
    assert found[2].let_in_reason
    assert len(distances_of(review_round)) == 6
    cases = Review.objects.filter(assignment__round__calibrates=review_round)
    assert all(cases.values_list("simulated", flat=True))


def _check_what_was_said(bank: QuestionBank) -> None:
    """Tags; and two comments with a mention, one a to-do that waits, on questions that nobody judges at present."""
    assert set(QuestionTag.objects.values_list("word", flat=True)) >= {"calibration", "two right answers"}
    questions = all_questions(EXAMS[1:4])
    free = Question.objects.filter(bank=bank).exclude(pk__in=judged_questions()).values_list("number", flat=True)
    for fault, number in zip(building.COMMENTS, sorted(free), strict=False):  # so few questions may have none there
        questions[number - 1] = replace(questions[number - 1], fault=fault)
    for _again in range(2):
        building._comment(bank, questions, coordinator=User.objects.get(name="Cora Lindqvist"), at=NOW)
    comments = list(QuestionComment.objects.filter(question__bank=bank).order_by("pk"))
    assert [one.is_open for one in comments] == [True, False]
    assert all("imulated" in one.text and one.mentions.count() == 1 for one in comments)
    assert not [one for one in comments if one.question in judged_questions()]


@pytest.mark.check
@pytest.mark.django_db
def test_the_people_can_log_in_with_the_printed_passwords() -> None:
    building.add_people(at=NOW)
    building.add_people(at=NOW)
    assert User.objects.count() == len(all_accounts())
    for account in all_accounts():
        assert User.objects.get(email=account.email).check_password(account.password)


@pytest.mark.check
@pytest.mark.django_db
def test_nothing_is_built_where_no_demonstration_lives(settings: Settings) -> None:
    settings.DEMO = False
    with pytest.raises(CommandError, match="not the home of a demonstration") as refused:
        call_command("build_demonstration")
    assert refused.value.returncode == 2
    assert not User.objects.exists()
    assert not Assignment.objects.filter(state=AssignmentState.WAITING).exists()
