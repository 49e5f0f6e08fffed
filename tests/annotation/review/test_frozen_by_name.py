"""A grade or a flag that is added later changes no form, round or export that exists."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from annotation.enums import Flag, GradeName
from annotation.exports.reviews import columns_of_reviews
from annotation.models import ReviewForm, ReviewRound
from annotation.review.assignments import form_design_of
from annotation.review.kernels.form import Blind, Ground, check_judgement
from annotation.review.kernels.form_design import PAPER, make_design, stored_design
from tests.annotation.review.cases import good_judgement
from tests.processes import ROOT

SHORT = {"grades": ["clinical_quality"], "choices": [], "flags": ["identifies", "other"], "anchors": []}
OWN = {"grades": ["clinical_quality", "style"], "choices": [], "flags": ["identifies", "boring"], "anchors": []}
ADDED = """
import json, os
import annotation.enums as enums

def longer(words, name, label):
    members = {one.name: (one.value, one.label) for one in words}
    return enums.Word(words.__name__, {**members, name.upper(): (name, label)}, module=words.__module__)

enums.GradeName = longer(enums.GradeName, "style", "Style")
enums.Flag = longer(enums.Flag, "boring", "boring")
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
import django
django.setup()
from tests.annotation.review.test_frozen_by_name import facts
print(json.dumps(facts()))
"""


def round_with(design: dict[str, Any] | None) -> ReviewRound:
    return ReviewRound(form=ReviewForm(name="Own", design=design) if design is not None else None)


def exported(design: dict[str, Any] | None) -> list[list[str]]:
    """The columns of a round with this form, with all that the codebook says of them."""
    columns = columns_of_reviews(round_with(design), source_ids=True)
    return [[one.name, one.kind, one.meaning, one.values] for one in columns]


def facts() -> dict[str, Any]:
    """What must not depend on words that are added; and those that there are."""
    ground = Ground(blind=Blind(best="B", defensible=("B",), difficulty="easy"), key="B", report_opened=True)
    return {
        "words": [[*GradeName], [*Flag]],
        "paper": PAPER.as_json(),
        "rounds": [form_design_of(round_with(design)).as_json() for design in (None, SHORT, PAPER.as_json())],
        "columns": [exported(design) for design in (None, SHORT, PAPER.as_json())],
        "problems": [one.code for one in check_judgement(good_judgement(), ground)],
        "own": [name for name, *_rest in exported(OWN)],
        "made": make_design(grades=["style"], choices=[], flags=["boring"], anchors={}).as_json(),
    }


@pytest.fixture(scope="module")
def later() -> dict[str, Any]:
    """The same, said by a program that has a fifth grade and a further flag."""
    done = subprocess.run([sys.executable, "-c", ADDED], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert "style" in told["words"][0], "the test adds a grade"
    assert "boring" in told["words"][1], "the test adds a flag"
    return told


@pytest.mark.parametrize("what", ["paper", "rounds", "columns", "problems"])
def test_a_word_that_is_added_changes_nothing_that_exists(later: dict[str, Any], what: str) -> None:
    now = json.loads(json.dumps(facts()))
    assert later[what] == now[what], "name what a form asks or an export holds, instead of all words of the enum"


def test_a_form_that_asks_for_it_has_it(later: dict[str, Any]) -> None:
    assert {"grade_style", "cannot_judge_style", "flag_boring"} <= set(later["own"])
    assert later["made"]["grades"] == ["style"]
    assert later["made"]["flags"] == ["identifies", "boring"]


def test_a_stored_form_leaves_out_words_that_are_gone() -> None:
    assert stored_design(OWN).grades == (GradeName.CLINICAL_QUALITY,)
