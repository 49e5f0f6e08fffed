"""A prior exam beside the current one: labelled, after its views, away and back by a key."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.viewer.conftest import Looker
from tests.browser.viewer.pictures import two_views
from tests.browser.viewer.stage import Descriptor, Stage


@pytest.fixture
def views(stage: Stage) -> list[Descriptor]:
    """Lateral and frontal of the prior, then of the exam: the order in which they come says nothing."""
    return [*two_views(stage, "before", prior=True), *two_views(stage, "now")]


def labels(look: Looker) -> list[str | None]:
    return [view.get_attribute("aria-label") for view in look.page.get_by_role("img").all() if view.is_visible()]


def shown(look: Looker) -> Any:
    return look.page.evaluate("() => viewer.state().prior")


NOW = ["Image 4: PA", "Image 3: LL"]
BOTH = [*NOW, "Image 2: Prior · PA", "Image 1: Prior · LL"]


def test_the_prior_hangs_after_the_exam_and_says_so(look: Looker, views: list[Descriptor]) -> None:
    look.mount_painted(*views)
    assert labels(look) == BOTH
    tags = look.page.locator(".viewer-tag-position").all_inner_texts()
    assert tags == ["PA", "LL", "Prior · PA", "Prior · LL"]
    boxes = look.boxes()
    assert boxes[0]["y"] == boxes[1]["y"] < boxes[2]["y"] == boxes[3]["y"]
    look.mount_painted(views[1], views[3])
    assert labels(look) == ["Image 2: PA", "Image 1: Prior · PA"]
    now, before = look.boxes()
    assert now["x"] < before["x"]
    assert now["width"] == pytest.approx(before["width"], abs=2)


def test_a_key_puts_the_prior_away_and_back(look: Looker, views: list[Descriptor]) -> None:
    look.mount_painted(*views)
    look.press("Shift+Digit7")
    assert look.page.evaluate("() => viewer.state().active") == 1
    look.press(";")
    assert labels(look) == NOW
    assert look.page.evaluate("() => viewer.state().active") == 3
    assert shown(look) == "away"
    look.press("ArrowRight", "ArrowRight", "Shift+Digit7")
    assert look.page.evaluate("() => viewer.state().active") == 3  # round and round the exam alone
    button = look.page.get_by_role("button", name="Prior", exact=True)
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    look.settle()
    assert labels(look) == BOTH
    assert shown(look) is None
    look.press(";", "r")
    assert labels(look) == BOTH
    look.press("f", ";")
    assert labels(look) == ["Image 4: PA"]
    look.press("f")
    assert labels(look) == NOW
    look.shows(views)
    assert labels(look) == BOTH  # each case opens with its prior


def test_without_a_prior_there_is_neither_button_nor_key(look: Looker, views: list[Descriptor]) -> None:
    for case in (views[2:], views[:2]):  # a prior alone cannot be put away
        look.mount_painted(*case)
        assert look.page.get_by_role("button", name="Prior", exact=True).count() == 0
        before = labels(look)
        look.press(";")
        assert labels(look) == before


def test_the_case_is_whole_only_with_its_prior(look: Looker, stage: Stage, views: list[Descriptor]) -> None:
    gate = stage.hold(views[0]["full"])
    look.mount(*views)
    for index in (1, 2, 3):
        look.wait_for("painted", index, "full")
    assert look.page.evaluate("() => viewer.missing().loading") == [0]
    gate.set()
    look.wait_for("painted", 0, "full")
    assert look.page.evaluate("() => viewer.missing().loading") == []
