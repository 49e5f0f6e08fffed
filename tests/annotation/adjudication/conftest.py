"""A round whose questions are adjudicated by Judy, and one that is only reviewed."""

from __future__ import annotations

import pytest

from annotation.models import ReviewRound, User
from tests.annotation.adjudication.made import make_adjudicated, make_reviewed
from tests.conftest import make_person


@pytest.fixture
def judy(db: None) -> User:
    """Judy adjudicates."""
    return make_person("Judy")


@pytest.fixture
def reviewed(cora: User, rita: User, remo: User) -> ReviewRound:
    return make_reviewed(cora, rita, remo)


@pytest.fixture
def adjudicated(cora: User, rita: User, remo: User, judy: User, without_pixels: None) -> ReviewRound:
    """1 settled; 2, flagged by one of two, and 3, which wait."""
    return make_adjudicated(cora, rita, remo, judy)
