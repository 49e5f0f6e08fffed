"""Methods, checklists and flow diagram: what the data say, and "not known" for what they do not."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from annotation.case.kernels.display import RULE
from annotation.models import User
from annotation.tables.kernels.forms import FigureForm, Width
from annotation.tables.kernels.style import rendered
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from readerstudy.design.kernels.assumptions import Assumptions
from readerstudy.design.kernels.documents import Rules
from readerstudy.exports.checklists import ITEMS, NOT_KNOWN, checklist_rows, facts_for_items
from readerstudy.exports.fact_finding import facts_of, flow_of
from readerstudy.exports.methods import StudyFacts, methods_text
from readerstudy.models import Enrolment, ModelEntry
from readerstudy.results.kernels.flow_figures import flow_figure
from readerstudy.results.looking import stored_result
from tests.readerstudy.analysis.made import changed
from tests.readerstudy.report.made import HOSTILE, reported_analysis
from tests.readerstudy.results.made import small_result

Said = tuple[Any, StudyFacts]


@pytest.fixture
def said(rita: User, remo: User) -> Said:
    analysis = reported_analysis(rita, remo)
    ModelEntry.objects.filter(name="Alpha").update(decoding="temperature 0", prompt="Which option?")
    result = stored_result(analysis)
    return result, facts_of(analysis, result)


def flat(text: str) -> str:
    return " ".join(text.split())


def test_methods_say_what_the_data_say(said: Said) -> None:
    text = flat(methods_text(*said))
    for words in (
        "1 reader and 2 models answered",
        "the answers of 7 questions are scored",
        "Reasons: case 1: two options are right; case 2: +1 image is cut.",
        "3 planned; 2 readers enrolled; 1 analysed. Not analysed: 1 withdrew.",
        "radiologist, training completed 1",
        "There was no time limit.",
        "were frozen on 2026-11-21 before reading",
        "Voided before unblinding and left out: 1 case; voided afterwards and kept in the primary result: 1 case.",
        "Alpha: date of the version: not known; decoding: temperature 0",
        "prompt: in data/models.csv",
        "100 draws of questions, seed 1",
        "It is the comparison computed here.",
        "as many degrees of freedom as questions, less one.",
        "Not known to the program, to be added by the authors: the approval of an ethics committee",
    ):
        assert words in text, words
    assert "imulated" not in text
    assert "best guess" not in text


def test_methods_say_what_cannot_tell_counted_as(rita: User, remo: User) -> None:
    analysis = reported_analysis(rita, remo, rules=Rules(cannot_tell=True))
    result = stored_result(analysis)
    text = flat(methods_text(result, facts_of(analysis, result)))
    assert "“Cannot tell” could be answered; a best guess was asked after it, outside the time." in text
    assert "with the best guess in place of “cannot tell”; “cannot tell” without a guess is wrong in both" in text


@pytest.mark.parametrize(
    ("indications_read", "said_of_them"),
    [(True, "none gave an answer away"), (False, "give away is not known"), (None, "")],
)
def test_methods_say_whether_indications_were_read(
    said: Said, indications_read: bool | None, said_of_them: str
) -> None:
    result, facts = said
    facts = replace(facts, indications_read=indications_read)
    assert said_of_them in flat(methods_text(result, facts))
    assert ("indications" in methods_text(result, facts)) is (indications_read is not None)
    reading = {row[1]: row[4] for row in checklist_rows(result, facts) if row[0] == "GRRAS 2011"}["8"]
    assert said_of_them in str(reading)


def test_methods_say_what_takes_questions_as_independent(said: Said) -> None:
    result, facts = said
    words = "take questions as independent; since clusters hold several questions"
    assert words not in flat(methods_text(result, facts))
    whole = changed(result["panels"]["All tasks"], unit="cluster")
    shared = changed(result, panels={**result["panels"], "All tasks": whole})
    assert words in flat(methods_text(shared, facts))
    assert not any(line.endswith("-") for line in methods_text(shared, facts).splitlines())


def test_methods_say_that_data_are_simulated(said: Said) -> None:
    result, facts = said
    text = methods_text(changed(result, simulated=True), replace(facts, simulated=True))
    assert text.startswith("SIMULATED DATA")
    assert "simulated multi-reader" in flat(text)


def test_methods_of_readings_made_elsewhere_invent_nothing(said: Said) -> None:
    result, facts = said
    flow = replace(facts.flow, n_enrolled=0, n_imported=2)
    readers = replace(facts.readers, n_reported=0, training={}, exposure={})
    text = flat(methods_text(result, replace(facts, flow=flow, readers=readers)))
    assert "The readings were made elsewhere; how is not known to the program." in text
    assert "Training and experience of the analysed readers are not known to the program." in text
    for words in ("independently", "before reading", "readers did not see"):
        assert words not in text
    assert "were made elsewhere, whether before or after that is not known" in text


def test_a_plan_of_its_own_makes_everything_post_hoc(said: Said) -> None:
    result, facts = said
    text = flat(methods_text(changed(result, plan=changed(result["plan"], is_planned=False, margin=0.05)), facts))
    assert "every test is post hoc" in text
    assert "margin 5 percentage points" in text


def test_methods_name_the_planned_pairs_and_how_they_were_tested(said: Said) -> None:
    _result, facts = said
    assert "tests of pairs are post hoc." in flat(methods_text(*said))
    plan = AnalysisPlan(pairs=(("each model", "R1"), ("R7", "Good"))).as_json()
    text = flat(methods_text(small_result(plan=plan) | {"excluded": []}, facts))
    for words in (
        "these pairs over all tasks as a family of their own: each model with R1; R7 with Good.",
        "exact McNemar test, two-sided, adjusted by Holm (tests: 2)",
        "Tests of other pairs are post hoc.",
        "Not compared: R7 with Good (no rater of this name).",
    ):
        assert words in text, words
    assert "Obuchowski 1998" not in text
    text = flat(methods_text(small_result(plan=plan, clusters=[0, 0, 1, 2]), facts))
    assert "the McNemar test by cluster (Obuchowski 1998) and a t interval by cluster are given beside it" in text


def test_the_items_of_the_guidelines_stand_once() -> None:
    numbers = [(one.guideline, one.number) for one in ITEMS]
    assert len(numbers) == len(set(numbers))
    counts = {name: sum(one.guideline == name for one in ITEMS) for name in {one.guideline for one in ITEMS}}
    assert counts == {
        "GRRAS 2011": 15,
        "CLAIM 2024": 44,
        "STARD-AI 2025": 48,
        "STARD 2015": 34,
        "MI-CLEAR-LLM 2024": 6,
        "DECIDE-AI 2022": 29,
    }


def test_checklists_say_what_is_known_and_what_is_not(said: Said) -> None:
    rows = {(str(row[0]), str(row[1])): row for row in checklist_rows(*said)}
    assert rows["CLAIM 2024", "44"][3:] == [False, NOT_KNOWN]
    assert rows["STARD-AI 2025", "6"][3:] == [False, NOT_KNOWN]
    assert "7 questions of 8 scored" in str(rows["GRRAS 2011", "11"][4])
    assert rows["STARD-AI 2025", "37"][3] is True
    names = {one.fact for one in ITEMS} - {"-"}
    assert names >= set(facts_for_items(*said))
    assert names - set(facts_for_items(*said)) == {"dates"}  # of a study whose closing has no time


FORECAST = {
    "assumptions": Assumptions(models=8, made_by="Cora", made_at="2026-11-22T12:00:00+00:00").as_json(),
    "are_defaults": False,
    "margin": 0.08,
    "nothing_because": "",
    "kappa_readers": {"value": 0.6, "half_width": 0.08},
    "kappa_model_reader": None,
    "inferences": [
        {
            "inference": "fixed readers, random questions",
            "half_width": 0.0657,
            "power": 0.847,
            "power_first_step": 0.56,
            "power_margin": 0.62,
            "power_margin_first_step": 0.31,
            "readers_needed": 2,
            "cases_needed": 177,
            "power_at_most": 1.0,
        }
    ],
}


def test_methods_and_checklists_say_the_frozen_forecast_and_who_made_its_assumptions(said: Said) -> None:
    result, facts = said
    before = flat(methods_text(result, facts))
    assert "How these numbers were chosen is not known to the program." in before
    assert "a calculation of the sample size, unless" in before
    known = replace(facts, forecast=FORECAST)
    text = flat(methods_text(result, known))
    for words in (
        "The assumptions of the forecast in the frozen protocol were made by Cora on 2026-11-22.",
        "are not both right or both wrong on 30 % of the cases, two readers on 20 %; a true difference of 10 p",
        "By fixed readers, random questions the 95 % interval of a difference was expected to be ± 6.57 percent",
        "and the power 85 %, at the first step of Holm over 8 models 56 %",
        "to show non-inferiority at 8 percentage points where the true difference is 0 percentage points: 62 %",
        "Expected Cohen’s kappa with its 95 % interval: of two readers 0.60 ± 0.08.",
        "a power of 80 % for that difference needs 2 readers for these cases, or 177 cases for these readers.",
    ):
        assert words in text, words
    assert "a calculation of the sample size" not in text
    rows = {(str(row[0]), str(row[1])): str(row[4]) for row in checklist_rows(result, known)}
    for item in (("GRRAS 2011", "6"), ("CLAIM 2024", "21"), ("STARD 2015", "18"), ("STARD-AI 2025", "22")):
        assert "were made by Cora" in rows[item]
        assert "not known" not in rows[item]
    assert "may have been there when this was forecast" not in text
    elsewhere = replace(known, flow=replace(facts.flow, n_imported=2))
    assert "may have been there when this was forecast" in flat(methods_text(result, elsewhere))
    nothing = FORECAST | {"inferences": [], "nothing_because": "needs at least one reader for each set"}
    assert "No power was forecast: needs at least one" in flat(methods_text(result, replace(facts, forecast=nothing)))
    defaults = replace(facts, forecast=FORECAST | {"are_defaults": True})
    assert "keeps the program's default assumptions (by Cora, 2026-11-22)" in flat(methods_text(result, defaults))


def test_methods_say_the_reason_of_the_margin(said: Said) -> None:
    result, facts = said
    plan = {**result["plan"], "margin": 0.05, "margin_reason": "what two readers differ by."}
    assert "margin 5 percentage points (what two readers differ by)." in flat(
        methods_text(changed(result, plan=plan), facts)
    )


def test_checklists_for_language_models_and_decision_support(said: Said) -> None:
    rows = {(str(row[0]), str(row[1])): row for row in checklist_rows(*said)}
    assert "2 runs, run 1 analysed, decoding temperature 0" in str(rows["MI-CLEAR-LLM 2024", "2"][4])
    assert rows["MI-CLEAR-LLM 2024", "3"][4] == "of 1 of 2 models: data/models.csv"
    assert rows["MI-CLEAR-LLM 2024", "6"][3:] == [False, NOT_KNOWN]
    assert "without any answer of a model" in str(rows["DECIDE-AI 2022", "12"][4])
    assert rows["DECIDE-AI 2022", "X"][3:] == [False, NOT_KNOWN]


def test_the_flow_holds_the_numbers(said: Said) -> None:
    flow = flow_of(*said)
    boxes = dict(flow.columns)
    assert [box.text for box in boxes["Cases"]] == [
        "Listed for the study: 8",
        "Scored: 7 (of these voided after unblinding, kept: 1)",
    ]
    assert boxes["Cases"][0].left_out == ["Voided before unblinding: 1", "two options are right: 1"]
    assert boxes["Readers"][0].left_out == ["Withdrawn: 1"]
    assert boxes["Readers"][1].text.startswith("Analysed: 1; 2 answered")
    assert boxes["Models"][-1].text == "Analysed: 2; 12 answered, 1 no option extracted, 1 missing"
    assert flow.end == "Analysed: 7 questions, 1 reader, 2 models"


def test_a_draw_is_told_as_one(said: Said) -> None:
    result, facts = said
    cases = replace(facts.cases, n_bank=41_007, n_pool=30_000, n_quotas=2, n_sets=2)
    drawn = replace(facts, cases=cases)
    assert "8 cases were drawn at random (seed 1) out of a pool of 30,000" in flat(methods_text(result, drawn))
    boxes = dict(flow_of(result, drawn).columns)["Cases"]
    assert boxes[0].text == "Question bank: 41,007"
    assert boxes[1].text == "Pool of the draw: 30,000 (accepted in review)"


@pytest.mark.parametrize("width", list(Width))
def test_the_flow_is_drawn_with_the_same_bytes_and_hostile_words(said: Said, width: Width) -> None:
    result, facts = said
    hostile = {"kind": "case", "case": 3, "decided": "before_unblinding", "reason": HOSTILE}
    result = changed(result, excluded=[*result["excluded"], hostile])
    flow = flow_of(result, facts)
    first = rendered(lambda: flow_figure(flow, result, width), FigureForm.SVG)
    assert first == rendered(lambda: flow_figure(flow, result, width), FigureForm.SVG)


def test_methods_and_checklists_give_the_reading_conditions_and_the_display_check(
    rita: User, remo: User, noon: datetime
) -> None:
    analysis = reported_analysis(rita, remo)
    result = stored_result(analysis)
    text = flat(methods_text(result, facts_of(analysis, result)))
    assert "Images were shown with 8 bits of grey." in text
    assert "letters of falling contrast" not in text
    told = {"rule": RULE, "passed": False, "display": "laptop", "luminance": 350, "qa_days": 7, "read_dark": 5}
    Enrolment.objects.update(display=told, display_checked_at=noon)
    facts = facts_of(analysis, result)
    text = flat(methods_text(result, facts))
    assert f"(rule {RULE}): 0 of 1 passed." in text
    given = (
        "Reading conditions, as people gave them and browsers told: display laptop 1; maximum luminance, cd/m² median "
        "350 (range 350 to 350, n = 1); days since the last quality control of the display median 7"
    )
    assert given in text
    rows = {(row[0], row[1]): str(row[4]) for row in checklist_rows(result, facts)}
    assert all(given in rows[item] for item in (("GRRAS 2011", "8"), ("DECIDE-AI 2022", "5")))
