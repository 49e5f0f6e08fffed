"""Every rule that a reader meets is said in words; what a study does not have is not mentioned."""

from __future__ import annotations

import pytest

from readerstudy.design.kernels.documents import Rules
from readerstudy.enrolment.rules_in_words import rules_in_words


def said(rules: Rules, n_practice: int = 0, information: str = "none") -> str:
    return " ".join(rules_in_words(rules, n_practice=n_practice, n=200, information=information))


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (Rules(), "You read 200 cases"),
        (Rules(), "There is no time limit"),
        (Rules(time_limit_s=90), "You have 90 seconds for each case"),
        (Rules(slips=True), "If you pressed the wrong key, report it"),
        (Rules(cannot_tell=True), "“cannot tell”. It counts as incorrect; you are then asked for your best guess"),
        (Rules(confidence=True), "25, 40, 60, 80, 95\N{NO-BREAK SPACE}%."),
        (Rules(break_every=50), "A break is offered after every 50 cases"),
        (Rules(), "You may pause and come back"),
        (Rules(may_pause=False), "There is no pause."),
        (Rules(reader_names=True), "Your name is shown in the results"),
    ],
)
def test_a_rule_in_words(rules: Rules, words: str) -> None:
    assert words in said(rules)


@pytest.mark.parametrize(
    ("information", "words"),
    [
        ("none", "from the images alone."),
        ("age_sex", "from the images and the age and sex of the patient."),
        ("indication", "from the images, the age and sex of the patient and the indication."),
    ],
)
def test_readers_are_told_from_what_they_choose(information: str, words: str) -> None:
    assert words in said(Rules(), information=information)


def test_practice_is_said_with_what_it_takes_to_pass() -> None:
    assert "practice" not in said(Rules())
    assert "5 practice cases" in said(Rules(), n_practice=5)
    assert "correct answer among" not in said(Rules(), n_practice=5)
    assert "You need 4 correct answers among them" in said(Rules(practice_pass=4), n_practice=5)


def test_what_a_study_does_not_ask_is_not_said() -> None:
    plain = said(Rules(slips=False))
    assert not [words for words in ("cannot tell", "likely", "wrong key", "break is", "name") if words in plain]
