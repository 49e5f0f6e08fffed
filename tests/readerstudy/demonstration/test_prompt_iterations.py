"""The twelve versions of the demonstration: each from what was said of the one before, by ordinary acts."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from annotation.demonstration.building import add_people
from annotation.demonstration.simulated_exams import EXAMS
from annotation.jobs import queueing
from annotation.models import Image, PromptVersion, QuestionBank, Review, ReviewRound, User
from annotation.outcomes.prompt_flags import prompt_flags
from annotation.outcomes.prompt_line import prompt_line
from readerstudy.demonstration.prompt_iterations import BANK, CHANGES, PROMPT, add_prompt_iterations
from tests.annotation.review.cases import NOON, make_bank, make_revisions
from tests.annotation.review.pixels import give_pixels

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.check]


def test_each_version_names_what_was_found_in_the_one_before(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DEMO, settings.HOME = True, tmp_path
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)
    add_people(at=NOON)
    bank = make_bank("Demonstration")
    make_revisions(bank, {1: {}, 2: {}})
    for seed, image in enumerate(Image.objects.all()):
        give_pixels(image, seed=seed)
    cora = User.objects.get(email="cora@demo.example")

    def build() -> list[int]:
        add_prompt_iterations(
            bank, exams=EXAMS[1:3], folder=tmp_path / "files", coordinator=cora, at=NOON, tell=lambda *_of: None
        )
        return [one.objects.count() for one in (PromptVersion, ReviewRound, Review)]

    stored = build()
    versions = list(PromptVersion.objects.filter(name=PROMPT).order_by("number"))
    assert [one.number for one in versions] == list(range(1, len(CHANGES) + 2))
    for before, version, change in zip(versions, versions[1:], CHANGES, strict=False):
        assert version.parent == before
        assert change in version.text
        assert f"{before}, in the rounds Version {before.number} of a prompt (simulated reviews)" in version.reason
        assert version.reason.startswith("Simulated.")
    lines = prompt_line(prompt_flags(versions, cora))
    assert all(one.n_reviews and one.measured[0].n and one.cost is not None for one in lines)
    assert not Review.objects.filter(simulated=False).exists()
    assert QuestionBank.objects.get(name=BANK).simulated
    assert not ReviewRound.objects.filter(archived_at=None).exists(), "twelve rounds would fill every list"
    assert build() == stored, "what is there is left alone"
