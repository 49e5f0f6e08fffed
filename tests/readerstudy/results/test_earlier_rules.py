"""Analyses by earlier rules of the program stay as they were, and their pages open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.test import Client

from annotation.models import User
from readerstudy.enums import StudyState
from readerstudy.models import Analysis
from tests.annotation.review.cases import NOON
from tests.readerstudy.results.made import stored
from tests.readerstudy.results.test_results_views import address, every_page
from tests.readerstudy.studies import make_study

BY_ANALYSIS_2 = Path(__file__).parent / "analysis_2.json"


@pytest.fixture
def earlier(db: None) -> Analysis:
    study = make_study(n_cases=4, state=StudyState.CLOSED, unblinded_at=NOON)
    return stored(study, json.loads(BY_ANALYSIS_2.read_text(encoding="utf-8")))


def test_every_page_of_an_analysis_by_an_earlier_rule_opens(client: Client, cora: User, earlier: Analysis) -> None:
    client.force_login(cora)
    figures = [
        address("study-figure", earlier, name, width, "svg")
        for name in ("difference", "agreement", "error-consistency")
        for width in ("one", "two")
    ]
    pages = [*every_page(earlier), *figures]
    assert {page: status for page in pages if (status := client.get(page).status_code) != 200} == {}


def test_its_numbers_are_those_that_were_stored(client: Client, cora: User, earlier: Analysis) -> None:
    client.force_login(cora)
    page = client.get(address("study-analysed", earlier)).content.decode()
    result = json.loads(earlier.result)
    one = next(one for one in result["comparisons"] if one["first"] == "Good")
    assert f"+{100 * one['difference']['value']:.2f}" in page
    for limit in result["mrmc"]["models"]["Good"]["fixed_readers_random_questions"]["ci95"]:
        assert f"{100 * limit:.2f}".replace("-", "−") in page
    assert "Margin of the plan: 10.00 points" in page
    means = page[page.index('id="kappas-title"') : page.index('id="accuracy-title"')]
    assert "4 of a reader and a model" in means, "which it does not say itself"
    assert "Excess agreement" not in means
    assert "Phi of right and wrong" not in client.get(address("study-pair", earlier, 0, 2)).content.decode()
