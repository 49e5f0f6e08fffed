"""Blinding in small: what two worlds and two arms differ in, and what is the same for everybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from readerstudy.enums import Information
from tests.readerstudy.blinding.searching import Search, static_files
from tests.readerstudy.blinding.session import difference, record
from tests.readerstudy.blinding.truth import ONE, OTHER
from tests.readerstudy.blinding.worlds import FIRST_PRACTICE, INDICATION
from tests.sweeps import share

pytestmark = pytest.mark.django_db


CASES = (*range(1, 41), *range(FIRST_PRACTICE, FIRST_PRACTICE + 3))


def test_the_two_worlds_differ_in_every_case_and_every_part() -> None:
    for number in CASES:
        assert ONE.key(number) != OTHER.key(number)
        assert ONE.task(number) != OTHER.task(number)
        assert ONE.difficulty(number) != OTHER.difficulty(number)
    assert not ONE.tokens() & OTHER.tokens()
    assert {ONE.key(number) for number in CASES} == set("ABCD")


@pytest.mark.sweep
@pytest.mark.parametrize("information", share([Information.AGE_SEX, Information.INDICATION]))
def test_what_an_arm_shows_beside_the_images_is_all_that_it_shows(information: Information, tmp_path: Path) -> None:
    """The indication is shown by design, so it is the same in both worlds; the rest of the report is not."""
    small: dict[str, Any] = {"n_cases": 4, "n_practice": 1, "information": information}
    one, other = record(ONE, tmp_path, **small), record(OTHER, tmp_path, **small)
    assert difference(one, other) == ""
    shown = INDICATION.encode()
    assert any(shown in exchange.body for exchange in one.exchanges) is (information == Information.INDICATION)
    assert Search(ONE.tokens()).leaks(one.exchanges) == []


def test_no_script_or_style_of_the_site_holds_a_planted_word() -> None:
    """Files that are the same for everybody: none is made from a bank."""
    search = Search(ONE.tokens() | OTHER.tokens())
    files = static_files()
    assert len(files) > 20
    for file in files:
        assert search.within(file.read_bytes()) == [], file
