"""The demonstration is built through the ordinary acts, once, and only in its own home."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.demonstration import building
from annotation.demonstration.registry import all_accounts
from annotation.demonstration.rehearsing import FINISHED_ROUND, OPEN_ROUND
from annotation.demonstration.simulated_exams import EXAMS
from annotation.enums import AssignmentState, ImageState, RoundState
from annotation.models import Assignment, Image, QuestionBank, Review, ReviewRound, Revision, User

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def _build(folder: Path, heard: list[str] | None = None) -> bool:
    def tell(words: str, done: int, total: int, /) -> None:
        assert 0 <= done <= total
        if heard is not None and words not in heard:
            heard.append(words)

    return building.build_demonstration(at=NOW, folder=folder, tell=tell, exams=EXAMS[1:3], processes=2)


@pytest.mark.django_db
def test_a_small_demonstration_is_complete_and_labelled_and_a_second_build_changes_nothing(tmp_path: Path) -> None:
    heard: list[str] = []
    assert _build(tmp_path / "files", heard)
    assert len(heard) == 5

    bank = QuestionBank.objects.get(name="Demonstration (simulated)")
    assert bank.simulated
    assert Revision.objects.in_bank(bank).current().count() == 10
    assert all(one.simulated for one in QuestionBank.objects.all())
    images = Image.objects.filter(exam__bank=bank)
    assert {image.state for image in images} == {ImageState.AVAILABLE}
    assert len(images) == 4
    assert all(image.simulated and image.attribution == building.ATTRIBUTION for image in images)
    assert {image.photometric_interpretation for image in images} == {"MONOCHROME1", "MONOCHROME2"}
    assert not (tmp_path / "files").exists()

    finished = ReviewRound.objects.get(name=FINISHED_ROUND)
    assert finished.state == RoundState.CLOSED
    assert finished.simulated
    assert Review.objects.filter(assignment__round=finished, simulated=True).count() == 20
    assert ReviewRound.objects.get(name=OPEN_ROUND).state == RoundState.OPEN

    before = (User.objects.count(), Review.objects.count(), Image.objects.count())
    assert not _build(tmp_path / "files")
    assert (User.objects.count(), Review.objects.count(), Image.objects.count()) == before


@pytest.mark.django_db
def test_the_people_can_log_in_with_the_printed_passwords() -> None:
    building.add_people(at=NOW)
    building.add_people(at=NOW)
    assert User.objects.count() == len(all_accounts())
    for account in all_accounts():
        assert User.objects.get(email=account.email).check_password(account.password)


@pytest.mark.django_db
def test_nothing_is_built_where_no_demonstration_lives(settings: pytest.FixtureRequest) -> None:
    settings.DEMO = False  # type: ignore[attr-defined]
    with pytest.raises(CommandError, match="not the home of a demonstration") as refused:
        call_command("build_demonstration")
    assert refused.value.returncode == 2
    assert not User.objects.exists()
    assert not Assignment.objects.filter(state=AssignmentState.WAITING).exists()
