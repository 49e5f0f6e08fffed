"""Something else answers in place of the site: nothing of a reading leaves the device, and later all of it arrives."""

from __future__ import annotations

import pytest

from readerstudy.models import Remark, Response
from tests.browser.foreign import ANSWERS, Line, answer_always
from tests.browser.readerstudy.conftest import MakeStudy
from tests.browser.readerstudy.reading import KEPT, Device, answers_of

RULES = {"cannot_tell": True, "confidence": True}


def say_everything(device: Device) -> None:
    """The first case: a fault of it is reported, it cannot be told, the best guess, how sure, and a pause after it."""
    device.press("g")
    device.page.keyboard.type("wrong side")
    device.press("Tab", "Tab", "Enter", "Shift+P", "Enter")
    device.answers("0")
    device.press("2", "3")
    device.is_covered("paused")


@pytest.mark.parametrize("name", ANSWERS)
def test_a_foreign_answer_takes_nothing_out_of_the_outbox(device: Device, reads: MakeStudy, name: str) -> None:
    enrolment = device.opens(reads(**RULES))
    device.is_ready(enrolment)
    answer_always(device.page, name)
    say_everything(device)
    kept = ("remark", "commit", "remark", "remark", "pause")
    device.has_kept(enrolment, *kept)
    device.says(KEPT)
    device.page.reload()  # where it is asked for its lease, and gets an answer that gives none
    device.page.unroute_all(behavior="ignoreErrors")
    device.is_covered("paused")
    device.has_kept(enrolment)
    assert answers_of(enrolment) == ["declined"]
    assert set(Remark.objects.values_list("kind", "value", "text")) == {
        ("fault", "", "wrong side"),
        ("guess", "B", ""),
        ("confidence", "60", ""),
    }
    device.press("Enter")
    device.sees(2)


def test_every_answer_at_every_step_of_a_reading(device: Device, reads: MakeStudy) -> None:
    enrolment = reads(n_cases=2, **RULES)
    line = Line(device.page.context)
    device.opens(enrolment)
    device.says("saved")
    say_everything(device)
    device.has_kept(enrolment)
    device.press("Enter")
    device.sees(2)
    device.answers("1")
    device.press("5")
    device.page.wait_for_url(lambda address: "/room/" not in address)
    device.page.context.unroute_all(behavior="ignoreErrors")
    assert set(line.stored()) >= {"session", "open", "events", "commit", "remark", "pause", "resume"}
    assert Response.objects.filter(is_confirmed=True).count() == 2
    assert answers_of(enrolment) == ["declined", "A"]
    assert sorted(Remark.objects.values_list("kind", flat=True)) == ["confidence", "confidence", "fault", "guess"]
