"""Rita reads a small study at a desk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from annotation.models import User
from readerstudy.design.kernels.documents import Rules
from tests.readerstudy.reading.desk import Desk
from tests.readerstudy.reading.page import ReadingPage
from tests.readerstudy.studies import enrol, make_study

MakeDesk = Callable[..., Desk]


@pytest.fixture
def desk_with(rita: User) -> MakeDesk:
    """A study by these rules, with Rita in it, holding the write lease since noon."""

    def make(n_cases: int = 4, *, n_practice: int = 0, ready: bool = True, pixels: bool = False, **rules: Any) -> Desk:
        study = make_study(n_cases=n_cases, n_practice=n_practice, pixels=pixels, rules=Rules(**rules))
        desk = Desk(enrol(study, rita, ready=ready))
        if ready:
            desk.begin(0)
        return desk

    return make


@pytest.fixture
def timed(desk_with: MakeDesk) -> Desk:
    """The first case is on screen since noon, and ends after half a minute."""
    desk = desk_with(time_limit_s=30)
    desk.open(desk.places[0], 0)
    desk.paint(desk.places[0], 0)
    return desk


@pytest.fixture
def page(rita: User) -> ReadingPage:
    study = make_study()
    enrol(study, rita)
    return ReadingPage(rita, study.slug)


@pytest.fixture
def desk(desk_with: MakeDesk) -> Desk:
    return desk_with()
