from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from annotation.enums import RoundState
from annotation.jobs import queueing
from annotation.models import QuestionBank, ReviewRound, User
from tests.annotation.review.cases import images_are_there, make_round
from tests.readerstudy.comparison.variant_runs import review
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.model_runs.made import name_endpoints


@pytest.fixture
def endpoints(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One to name in runs; jobs wait until a test runs them."""
    name_endpoints(settings)
    settings.HOME = tmp_path / "home"
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)


@pytest.fixture
def twelve(endpoints: None) -> QuestionBank:
    """A bank of twelve questions; the key of each is B."""
    made = make_questions(12, pixels=False)
    images_are_there(made)
    return made


@pytest.fixture
def reviewed(twelve: QuestionBank, rita: User, remo: User) -> ReviewRound:
    """Closed. Yes: 1, 2, 3 (3 by one of two). Partly: 4, 5. No: 6. Nobody can judge 7. 8 is not reviewed."""
    made = make_round(rita, remo, n_questions=0, bank=twelve, state=RoundState.CLOSED)
    said = {1: ("yes", "yes"), 2: ("yes",), 3: ("cannot_judge", "yes"), 4: ("partly", "yes"), 5: ("yes", "partly")}
    for number, given in {**said, 6: ("yes", "no"), 7: ("cannot_judge",)}.items():
        review(made, number, dict(zip((rita, remo), given, strict=False)))
    return made
