"""The next step of a reader study in each of its states, at home and on its own page."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from annotation.models import User
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from readerstudy.reading.response_import import import_responses
from readerstudy.study.overview import StudyLine, next_of_study
from tests.conftest import NOON
from tests.pages import markup
from tests.readerstudy.studies import make_study

TEXTS = {"consent": "I agree.", "instructions": "Read.", "contact": "Cora"}
READ = {"n_cases": 3, "n_readers": 1, "n_total": 3}
UNSEEN = "No results have been viewed yet: 3 of 3 answers are in."
STEPS: list[tuple[StudyState, dict[str, Any], dict[str, Any], str, str]] = [
    (StudyState.DRAFT, {}, {}, "Choose the cases first: everything else depends on them.", "study-cases"),
    (StudyState.DRAFT, {}, {"n_cases": 3}, "Readers need a consent text, instructions and a contact.", "study-rules"),
    (StudyState.DRAFT, TEXTS, {"n_cases": 3}, "Walk through as a reader, then freeze the design.", "study-freeze"),
    (StudyState.FROZEN, {}, READ, "The design is frozen. Readers can read as soon as the study is open.", "study-open"),
    (
        StudyState.FROZEN,
        {},
        {**READ, "n_done": 3, "is_read_elsewhere": True},
        "No results have been viewed yet: 3 of 3 answers are in.",
        "study",
    ),
    (StudyState.FROZEN, {"unblinded_at": NOON}, {**READ, "n_done": 3, "is_read_elsewhere": True}, "", ""),
    (StudyState.OPEN, {}, {"n_cases": 3}, "The study is open, and nobody reads in it yet.", "study-invite"),
    (StudyState.OPEN, {}, {**READ, "n_done": 1}, "1 of 3 answers are in.", "study-watch"),
    (StudyState.OPEN, {}, {**READ, "n_done": 3}, "All 3 answers are in: close the study.", "study-close"),
    (StudyState.CLOSED, {}, {**READ, "n_done": 2}, "No results have been viewed yet: 2 of 3 answers are in.", "study"),
    (StudyState.CLOSED, {"unblinded_at": NOON}, {**READ, "n_done": 2}, "", ""),
    (StudyState.CLOSED, {}, READ, "", ""),
    (
        StudyState.ANALYSED,
        {},
        {**READ, "n_done": 3},
        "No results have been viewed yet: 3 of 3 answers are in.",
        "study",
    ),
    (StudyState.ANALYSED, {"unblinded_at": NOON}, {**READ, "n_done": 3}, "", ""),
]


@pytest.mark.parametrize(("state", "fields", "numbers", "sentence", "url_name"), STEPS)
def test_each_state_of_a_study(
    state: StudyState, fields: dict[str, Any], numbers: dict[str, Any], sentence: str, url_name: str
) -> None:
    from django.urls import reverse

    study = ReaderStudy(name="Trial", slug="trial", state=state, **fields)
    given = {"n_cases": 0, "n_practice": 0, "n_readers": 0, "n_done": 0, "n_total": 0} | numbers
    step = next_of_study(StudyLine(study, **given))
    assert (step.sentence if step else "") == sentence
    assert (step.url if step else "") == (reverse(url_name, args=["trial"]) if url_name else "")
    study.archived_at = NOON
    assert next_of_study(StudyLine(study, **given)) is None


def test_no_state_of_a_study_is_left_out() -> None:
    assert {state for state, *_rest in STEPS} == set(StudyState)


def test_a_study_that_was_read_elsewhere_does_not_wait_to_be_opened(coordinator: Client, cora: User) -> None:
    study = make_study("Trial", n_cases=3, state=StudyState.FROZEN)
    content = b"reader,case,option,state\nR1,1,A,answered\nR1,2,B,answered\nR1,3,B,answered\n"
    assert import_responses(study, name="elsewhere.csv", content=content, actor=cora, at=NOON).stored
    sentence = "No results have been viewed yet: 3 of 3 answers are in."
    home, page = markup(coordinator.get("/")), markup(coordinator.get("/studies/trial/"))
    assert sentence in home.split('<section class="panel next"')[1]
    assert "as soon as the study is open" not in page


def test_home_and_the_page_of_a_study_say_the_same(coordinator: Client) -> None:
    make_study("Trial")
    for address in ("/", "/studies/trial/"):
        [panel] = markup(coordinator.get(address)).split('<section class="panel next"')[1:]
        assert "The study is open, and nobody reads in it yet." in panel
