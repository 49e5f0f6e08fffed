"""A small study that a reader really reads: the live server, true images, a page that fails on any script error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from annotation.models import User
from readerstudy.design.kernels.documents import Rules
from readerstudy.models import Enrolment
from tests.browser.entering import Browse
from tests.browser.readerstudy.reading import Device
from tests.readerstudy.studies import enrol, make_study

MakeStudy = Callable[..., Enrolment]
NewDevice = Callable[[], Device]


@pytest.fixture
def reads(transactional_db: None, rita: User) -> MakeStudy:
    """Make a study with these rules, with Rita ready to read its first case; four cases, in their order."""

    def make(*, n_cases: int = 4, n_practice: int = 0, practised: bool = True, **rules: Any) -> Enrolment:
        study = make_study(n_cases=n_cases, n_practice=n_practice, pixels=True, rules=Rules(**rules))
        enrolment = enrol(study, rita)
        if not practised:
            enrolment.practised_at = None
            enrolment.save()
        return enrolment

    return make


@pytest.fixture
def new_device(browse: Browse, rita: User) -> NewDevice:
    """Each call is another device of Rita's, logged in; a script error on any of them fails the test."""
    return lambda: Device(browse(rita))


@pytest.fixture
def device(new_device: NewDevice) -> Device:
    return new_device()
