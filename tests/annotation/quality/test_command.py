from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.models import Finding, QuestionBank
from annotation.questionbank.kernels.rules import BANKWIDE, RULES
from tests.annotation.quality.conftest import records
from tests.annotation.questionbank.files import write_file
from tests.commands import ends_with_2

pytestmark = pytest.mark.django_db


def told(*arguments: str, name: str = "check_questions") -> str:
    out = StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def test_a_table_of_every_rule_with_interval_and_n(bank: QuestionBank) -> None:
    lines = told("--bank", bank.slug).splitlines()
    assert lines[0] == "Bank Bank: 5 questions checked."
    table = {rule.label: next(line for line in lines if line.startswith(rule.label)) for rule in RULES.values()}
    row = table["negative stem without emphasis"]
    assert row.split()[-7:] == ["2", "40.0%", "(11.8", "to", "76.9)", "5", "0"]
    assert "The longest option is the key" in lines[-2]
    assert "chi-square" in lines[-1]


def test_the_result_as_json(bank: QuestionBank) -> None:
    result: dict[str, Any] = json.loads(told("--bank", "Bank", "--duplicates", "--json"))
    assert result["n_questions"] == 5
    assert [one["rule"] for one in result["rules"]] == list(RULES)
    negative = next(one for one in result["rules"] if one["rule"] == "negative_stem")
    assert (negative["questions"], negative["findings"], negative["dismissed"]) == (2, 2, 0)
    assert negative["share"]["ci95"] == pytest.approx([0.1176, 0.7693], abs=1e-4)
    assert result["key_letters"]["counts"] == {"A": 1, "B": 4, "C": 0, "D": 0}
    assert result["key_letters"]["test"]["df"] == 3
    assert result["near_duplicates"]["n_duplicates"] == 2
    assert result["changes"]["added"] > 0
    assert json.loads(told("--bank", "Bank", "--json"))["changes"] == {"added": 0, "renewed": 0, "removed": 0}


def test_a_comparison_that_was_not_run_found_nothing_and_not_0(bank: QuestionBank) -> None:
    line = next(one for one in told("--bank", "Bank").splitlines() if one.startswith("near-duplicate "))
    assert line.split() == ["near-duplicate", "not", "run", "–", "–", "–"], "it is not 0 of 5"

    def rules(*options: str) -> dict[str, Any]:
        return {one["rule"]: one for one in json.loads(told("--bank", "Bank", "--json", *options))["rules"]}

    for rule in BANKWIDE:
        one = rules()[rule]
        assert (one["questions"], one["findings"], one["dismissed"]) == (None, None, None)
        assert (one["share"]["reason"], one["share"]["flags"]) == ("zero_trials", ["not_asked"])
    run = rules("--duplicates")
    assert (run["near_duplicate"]["questions"], run["near_duplicate"]["share"]["n"]) == (2, 5)
    assert run["public_twin"]["questions"] is None


def test_pairs_around_the_threshold_are_shown(bank: QuestionBank) -> None:
    text = told("--bank", "Bank", "--duplicates", "--threshold", "0.8")
    assert "Near-duplicates at 0.8: 2 questions, 1 pairs." in text


@pytest.mark.parametrize(
    ("arguments", "what_to_do"),
    [
        (("--bank", "nowhere"), "Banks: bank."),
        (("--bank", "bank", "--threshold", "0.8"), "give one, too"),
        (("--bank", "bank", "--duplicates", "--threshold", "7"), "from 0.5 to 1"),
    ],
)
def test_bad_input_exits_with_2_and_says_what_to_do(
    bank: QuestionBank, arguments: tuple[str, ...], what_to_do: str
) -> None:
    with ends_with_2(what_to_do):
        told(*arguments)
    assert not Finding.objects.exists()


def test_an_import_is_checked_once_it_is_published(tmp_path: Path) -> None:
    path = write_file(tmp_path, records())
    assert "Checks of the wording: " in told(str(path), "--bank", "Bank", name="import_questions")
    n = Finding.objects.count()
    assert n > 0
    assert "Checks of the wording: 0 findings." in told(str(path), "--bank", "Bank", name="import_questions")
    assert Finding.objects.count() == n
