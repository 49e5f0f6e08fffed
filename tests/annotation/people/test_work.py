"""Sections of the home page that other apps register."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from django.test import Client

from annotation.models import User
from annotation.people.open_work import (
    NextStep,
    OpenWork,
    WorkItem,
    WorkSection,
    open_work_of,
)
from annotation.views.site.home import next_step
from tests.contributing import contribute, contribute_only

OWN = WorkSection(
    "Your readings",
    [WorkItem("Trial", "/read/trial/", 3, 12)],
    NextStep("Go on", "9 cases wait.", "/own/"),
    is_own=True,
)
OTHER = WorkSection(
    "Studies",
    [WorkItem("<b>Long</b>", "/studies/long/", 0, 0, words="no reader yet", state="open", tone="good")],
    NextStep("Continue", "Look after it.", "/other/"),
    url="/studies/",
)
WAITS = WorkSection("Rounds", [], NextStep("Progress", "1 of 3 are in.", "/waits/", is_due=False))


@pytest.fixture(autouse=True)
def no_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what a test registers."""
    contribute_only(monkeypatch, work=())


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Callable[[WorkSection | None], None]:
    def register(section: WorkSection | None) -> None:
        contribute(monkeypatch, work=(lambda person, at: section,))

    return register


def test_a_section_is_shown_with_its_one_button(
    client: Client, stan: User, registered: Callable[[WorkSection | None], None]
) -> None:
    registered(OWN)
    client.force_login(stan)
    page = client.get("/").content.decode()
    assert "Your readings" in page
    assert "3 of 12" in page
    assert 'class="button primary" href="/own/"' in page
    assert page.split("</dialog>")[-1].count("button primary") == 1
    assert "no role yet" not in page


def test_words_stand_in_place_of_numbers_and_names_are_escaped(
    coordinator: Client, registered: Callable[[WorkSection | None], None]
) -> None:
    registered(OTHER)
    page = coordinator.get("/").content.decode()
    assert "&lt;b&gt;Long" in page
    assert "no reader yet" in page
    assert "0 of 0" not in page
    assert '<span class="tag good">open</span>' in page


def test_what_has_nothing_to_say_is_not_shown(
    stan: User, noon: datetime, registered: Callable[[WorkSection | None], None]
) -> None:
    registered(None)
    registered(WorkSection("Silent", []))
    registered(WorkSection("Speaks", [], empty="No study yet."))
    assert [section.title for section in open_work_of(stan, noon).work] == ["Speaks"]


def test_own_cases_then_what_is_up_to_the_person_then_what_waits() -> None:
    def url(*sections: WorkSection) -> str:
        step = next_step(OpenWork(work=[*sections]))
        return step.url if step else ""

    assert url(OTHER, OWN) == "/own/"
    assert url(WAITS, OTHER) == "/other/"
    assert url(WAITS) == "/waits/"
