"""The reading page in Firefox: by keyboard, without a connection for a case, with a change of device."""

from __future__ import annotations

import pytest

from tests.browser.readerstudy import test_faults_of_connections as connections
from tests.browser.readerstudy import test_foreign_answers as foreign
from tests.browser.readerstudy import test_reading as journeys
from tests.browser.readerstudy.conftest import MakeStudy, NewDevice, device, new_device, reads
from tests.browser.readerstudy.reading import Device

__all__ = ["device", "new_device", "reads"]
pytestmark = pytest.mark.firefox


def test_six_cases(device: Device, new_device: NewDevice, reads: MakeStudy) -> None:
    journeys.test_six_cases_by_keyboard_two_of_them_offline_and_a_change_of_device(device, new_device, reads)


def test_how_sure(device: Device, reads: MakeStudy) -> None:
    journeys.test_how_sure_is_asked_after_the_answer_and_before_the_next_case(device, reads)


def test_a_pause(device: Device, reads: MakeStudy) -> None:
    journeys.test_a_pause_comes_after_the_case_or_hides_it_at_once(device, reads)


def test_a_server_that_is_down(device: Device, reads: MakeStudy) -> None:
    connections.test_server_down(device, reads)


def test_every_foreign_answer_at_every_step(device: Device, reads: MakeStudy) -> None:
    foreign.test_every_answer_at_every_step_of_a_reading(device, reads)
