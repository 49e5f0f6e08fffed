"""Studies that many tests ask: one that is still designed, and one that was read. A file may have others."""

from __future__ import annotations

import pytest

from annotation.models import User
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from tests.readerstudy.design.drafts import make_draft
from tests.readerstudy.exports.read_study import read_study


@pytest.fixture
def draft(cora: User) -> ReaderStudy:
    return make_draft(cora)


@pytest.fixture
def study(rita: User, remo: User) -> ReaderStudy:
    """Read by Rita and Remo, and closed."""
    return read_study(rita, remo, state=StudyState.CLOSED)
