"""What the pages take out of a stored analysis, and how its values are written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.template.loader import render_to_string
from django.test import Client

from annotation.models import User
from annotation.statistics.kernels.comparing import paired_table
from annotation.tables.kernels.forms import Width
from annotation.tables.kernels.table import Counted
from readerstudy.analysis.kernels.arrays import Voided
from readerstudy.analysis.kernels.result import ALL_TASKS
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from readerstudy.design.kernels.assumptions import Assumptions, contradiction_in
from readerstudy.enums import StudyState
from readerstudy.models import Analysis
from readerstudy.results.accuracy_tables import accuracy_table, breakdown_tables, mean_agreement_table
from readerstudy.results.difference_tables import margin_table, pairs_of_plan_table, planned_table, variants_tables
from readerstudy.results.kernels.accuracy_figures import difference_figure
from readerstudy.results.kernels.agreement_tables import Agree, disagreements, heatmap, pairs_once, reader_agreement
from readerstudy.results.kernels.inferences import WHY_NARROWER, lines_of, other_lines, planned_rows
from readerstudy.results.kernels.items import Which, items_table
from readerstudy.results.kernels.legends import figure_legend
from readerstudy.results.kernels.stored import breakdown, pair_between, planned_comparisons, planning_figures
from readerstudy.results.looking import by_link
from readerstudy.results.wording import caution, sentence
from readerstudy.templatetags import results as written
from tests.annotation.review.cases import NOON
from tests.annotation.statistics.forecast_check import Planned, Right, simulated
from tests.readerstudy.analysis.made import computed, make_arrays
from tests.readerstudy.results.made import MODELS, QUICK, READERS, TASKS, guessed_result, small_result, stored
from tests.readerstudy.results.test_results_views import address, every_page
from tests.readerstudy.studies import make_study


@pytest.fixture(scope="module")
def result() -> Any:
    return small_result()


def twelve_questions() -> Any:
    models = {"Good": "BBBA" * 3, "Poor": "CCBA" * 2 + "CxBA"}
    arrays = make_arrays({"R1": "BBBA" * 3, "R2": "BBCA" * 2 + "BBBB"}, models, "BBBB" * 3, tasks=TASKS * 3)
    return computed(arrays, QUICK)


def value(number: float | None, *limits: float, **fields: Any) -> Any:
    return {"value": number, "ci95": list(limits) or None, "n": 9, "method": "m", "flags": [], "reason": None, **fields}


def test_values_are_rounded_only_when_they_are_written() -> None:
    share = value(0.838383, 0.780755, 0.883065)
    assert (written.as_percent(share), written.percent_limits(share)) == ("83.84\xa0%", "78.08 to 88.31\xa0%")
    assert (written.as_kappa(value(0.56749)), written.in_cell(value(0.5651))) == ("0.567", "0.57")
    assert (written.as_points(value(0.12963)), written.as_points(value(-0.0004))) == ("+12.96", "−0.04")
    assert (written.in_cell(value(-0.004)), written.as_points(value(-0.00001))) == ("0.00", "0.00")
    assert (written.as_p(value(0.0004)), written.as_p(value(0.0271))) == ("< 0.001", "0.027")


def test_what_is_undefined_says_why() -> None:
    none = value(None, reason="expected_agreement_is_one", flags=["small_n"])
    assert (written.as_kappa(none), written.kappa_limits(none)) == ("n/a", "")
    assert caution(none) == "undefined: both always gave the same answer, small n"
    assert written.kappa_limits(value(0.5)) == "no interval"


def test_cautions_of_all_rows_stand_once_above_the_table_of_accuracies() -> None:
    cells = [("presence", "easy", 60), ("presence", "hard", 30), ("location", "easy", 10)]
    tasks = [*TASKS[:2], "location", "location"]
    result = small_result(tasks=tasks, clusters=[0, 0, 1, 1], cells=cells)
    whole = result["panels"][ALL_TASKS]["raters"]
    assert {tuple(one["accuracy_bank_mix"]["merged_tasks"]) for one in whole} == {("presence",)}
    assert whole[0]["accuracy_bank_mix"]["flags"] == ["strata_merged", "small_n", "clusters_ignored"]
    table: Any = accuracy_table(result)
    assert "fewer than two questions of one of them count: Presence." in table.caption
    assert "The second interval allows for patients or exams" in table.caption
    assert [one["flags"] for one in column(table, "Weighted to the bank")] == [["small_n"]] * 4
    assert column(table, "Mean of tasks")[0]["flags"] == ["stratum_too_small", "small_n"]


def column(table: Any, name: str) -> list[Any]:
    """The estimates of one column."""
    place = [one.name for one in table.columns].index(name)
    return [row[place].one for row in table.rows]


def test_the_heatmap_holds_every_pair_twice_readers_first_and_marks_what_is_not_sure(result: Any) -> None:
    result = twelve_questions()
    found = heatmap(result, ALL_TASKS, Agree.OPTION)
    rows = found.rows
    assert [(row.name, row.is_reader) for row in rows][:3] == [("R1", True), ("R2", True), ("Good", False)]
    assert [row.cells[place] for place, row in enumerate(rows)] == [None] * 4
    assert len(pairs_once(rows)) == 6
    upper, lower = rows[0].cells[1], rows[1].cells[0]
    assert upper
    assert lower
    assert upper.shown == lower.shown == pair_between(result["panels"][ALL_TASKS], "R1", "R2").entry["cohen_kappa"]
    assert upper.css.split() == [upper.css.split()[0], "dotted"]  # twelve questions are few
    right = heatmap(result, ALL_TASKS, Agree.RIGHT).rows[0].cells[1]
    assert right
    assert right.shown == upper.entry["error_consistency"]


def test_readers_and_models_stand_apart_with_the_mean_of_each_group() -> None:
    result = twelve_questions()
    found = heatmap(result, ALL_TASKS, Agree.OPTION)
    assert (found.gap, [row.begins_models for row in found.rows]) == (2, [False, False, True, False])
    groups = result["panels"][ALL_TASKS]["groups"]
    assert found.means == [
        ("readers", 1, groups["readers"]["mean_kappa_readers"]),
        ("mixed", 4, groups["all"]["mean_kappa_reader_model"]),
        ("models", 1, groups["models"]["light_kappa"]),
    ]
    context = {"map": found, "query": "x", "routes": by_link("t", NOON)}
    part = " ".join(render_to_string("readerstudy/results/_heatmap.html", context).split())
    one = found.means[1][2]
    assert f"<strong>{written.in_cell(one)}</strong> ({written.kappa_limits(one)}, small n" in part
    assert "; 4 pairs of 11 questions or more)" in part


@pytest.mark.parametrize("agree", list(Agree))
def test_a_cell_counts_the_cases_on_which_the_two_disagree(agree: Agree) -> None:
    result = twelve_questions()
    for cell in pairs_once(heatmap(result, ALL_TASKS, agree).rows):
        assert cell.n_disagreed == len(disagreements(result, ALL_TASKS, cell.first, cell.second, agree))


def test_no_kappa_is_shown_of_fewer_than_ten_questions(result: Any) -> None:
    """It is computed and kept; raw agreement, which needs no margins, is shown."""
    [cell, *_more] = pairs_once(heatmap(result, ALL_TASKS, Agree.OPTION).rows)
    assert pair_between(result["panels"][ALL_TASKS], "R1", "R2").entry["cohen_kappa"]["value"] is not None
    assert (cell.css, cell.has_enough, written.as_kappa(cell.shown)) == ("undefined", False, "n/a")
    assert caution(cell.shown) == "not shown: too few questions"
    assert cell.entry["brennan_prediger"]["value"] is None
    assert cell.entry["percent_agreement"]["value"] == 0.75


def test_disagreements_by_option_and_by_right_and_wrong(result: Any) -> None:
    def cases(first: str, second: str, agree: Agree, panel: str = ALL_TASKS) -> list[int]:
        return [one.case for one in disagreements(result, panel, first, second, agree)]

    assert cases("R1", "R2", Agree.OPTION) == [3]
    assert cases("R1", "Poor", Agree.OPTION) == [1]  # the failed extraction of case 2 is no rating
    assert cases("R1", "Poor", Agree.RIGHT) == [1, 2]  # and wrong
    assert cases("R1", "Good", Agree.OPTION, "location") == [4]
    for first, second in (("R1", "R2"), ("R1", "Poor"), ("Good", "Poor")):
        table = pair_between(result["panels"][ALL_TASKS], first, second).entry["table"]
        assert len(cases(first, second, Agree.RIGHT)) == table["first_only"] + table["second_only"]


def test_voided_cases_are_in_no_list_and_make_a_line_of_their_own() -> None:
    result = small_result(voided={2: Voided.BEFORE_UNBLINDING})
    assert disagreements(result, ALL_TASKS, "R1", "R2", Agree.OPTION) == []
    found: Any = variants_tables(result)
    accuracy, differences, agreement = found
    assert [(one.name, one.n) for one in accuracy.columns[1:]] == [
        ("This analysis", 3),
        ("sensitivity: no case voided", 4),
    ]
    good = [column(differences, name)[0] for name in ("This analysis", "sensitivity: no case voided")]
    primary = planned_rows(result)[0].row["difference"]
    assert good == [primary, planned_comparisons(result["variants"]["with_voided"])[0]["difference"]]
    assert agreement.rows[0][0].text == "Excess agreement, points"
    assert column(agreement, "This analysis")[0] == reader_agreement(result).rows[0].difference
    assert variants_tables(small_result()) == []


def test_what_a_sensitivity_analysis_does_not_adjust_is_not_called_adjusted() -> None:
    plan = AnalysisPlan(pairs=(("Good", "Poor"),), margin=0.1, margin_reason="two radiologists").as_json()
    arrays = make_arrays(READERS, MODELS, "BBBB", tasks=TASKS, plan=plan)
    arrays = replace(arrays, raters=tuple(replace(one, facts={"imported": True}) for one in arrays.raters))
    own, other = (computed(arrays, replace(QUICK, differs=names)) for names in ((), ("draws",)))
    for result, is_own in ((own, True), (other, False)):
        tables = [planned_table(result), margin_table(result), pairs_of_plan_table(result, {})]
        for table in tables:
            assert table
            assert ("p, Holm" in [one.name for one in table.columns]) is is_own
            assert {len(row) for row in table.rows} == {len(table.columns)}
            assert ("Holm" in table.caption) is is_own
        assert ("Equivalent" in [one.name for one in tables[1].columns]) is is_own if tables[1] else False
        figure = difference_figure(result, Width.TWO).axes[0]
        assert ("P (Holm)" in [one.get_text() for one in figure.texts]) is is_own
        legend = figure_legend("difference", result)
        assert [word in legend for word in ("Holm", "Plan made after the readings")] == [is_own, is_own]
        assert bool(figure.get_title(loc="left")) is is_own


def test_a_legend_says_which_models_are_over_fewer_questions() -> None:
    letters = {**MODELS, "Short": "B..B"}
    short = computed(make_arrays(READERS, letters, "BBBB"), QUICK)
    assert "Over fewer questions: Short 2." in figure_legend("difference", short)
    assert "fewer questions" not in figure_legend("difference", small_result())


def test_without_a_model_agreement_with_models_says_that_there_is_none() -> None:
    result = computed(make_arrays(READERS, {}, "BBBB", tasks=TASKS), QUICK)
    table: Any = mean_agreement_table(result)
    difference, among, mixed = table.rows[0][1:]
    assert (difference.caution, mixed.caution) == ("no model", "no model")
    assert "no model" not in among.caution
    assert "no model" not in str(mean_agreement_table(small_result()).rows)


def test_a_rule_says_why_no_p_of_a_pair_is_shown(result: Any) -> None:
    assert "pairs, of which the plan names none, so that no p of a pair is shown;" in sentence(result["settings"]["p"])


def test_wilson_beside_several_questions_of_a_patient_says_what_it_takes_as_independent() -> None:
    result = small_result(clusters=[0, 0, 1, 1])
    assert (
        "those of tasks, of their mean and of the weighted share take questions as independent"
        in accuracy_table(result).caption
    )
    for table in filter(None, breakdown_tables(result)):
        assert "that the rater did not miss. 95% CI by Wilson, which takes questions as independent." in table.caption
    assert "Wilson, which takes questions as independent" in figure_legend("accuracy-by-category", result)
    assert "Wilson, which takes answers as independent" in figure_legend("calibration", result)


def test_a_mean_over_categories_of_which_one_has_no_question_says_so() -> None:
    result = small_result()
    [first, *_more] = result["tables"]["categories"]
    nothing = {**first["accuracy"]["Good"], "value": None, "n": 0, "ci95": None, "reason": "zero_trials"}
    result["tables"]["categories"] = [
        first,
        {"category": "Bones", "n": 1, "accuracy": dict.fromkeys(first["accuracy"], nothing)},
    ]
    table: Any = breakdown_tables(result)[1]
    mean = next(row for row in table.rows if row[0].text == "Mean of the categories")
    assert {cell.caution for cell in mean[1:]} == {"not every task or category has a question that counts"}


def test_the_note_on_inferences_names_no_quantile_of_another_number_of_readers() -> None:
    assert "five" not in WHY_NARROWER
    assert "t =" not in WHY_NARROWER


def test_the_planned_inference_comes_first_with_the_numbers_of_the_analysis(result: Any) -> None:
    rows = planned_rows(result)
    assert [one.row["first"] for one in rows] == ["Good", "Poor"]  # the largest difference first
    planned = rows[0].planned
    assert (planned.is_planned, planned.words) == (True, "random readers, random questions")
    assert planned.value["ci95"] == rows[0].row["difference"]["ci95"]
    assert [(one.words, one.aside) for one in rows[0].others] == [
        ("these two readers, random questions", "says nothing about other readers"),
        ("random readers, these questions", ""),
    ]
    by_question = result["mrmc"]["models"]["Good"]["by_question"]
    assert planned.value["ci95"] == by_question["mover_ci95"] != by_question["fixed_readers_random_questions"]["ci95"]
    assert planned.value["method"] == "by_question random_readers_random_questions, MOVER"
    assert planned.cautions.endswith("fewer than 5 readers; limits by MOVER")


def test_an_analysis_by_the_rule_before_keeps_its_t_limits_with_those_by_mover_beside() -> None:
    result = small_result()
    found = result["mrmc"]["models"]["Good"]
    by_question = found["by_question"]
    by_question["random_readers_random_questions"]["ci95"] = found["ci95"] = [0.1, 0.2]
    found["method"] = "by_question random_readers_random_questions"
    del by_question["mover_ci90"], by_question["mover_p"]
    lines = lines_of(found)
    assert (lines[0].value["ci95"], lines[0].is_by_mover) == ([0.1, 0.2], False)
    assert lines[3].words == "random readers, random questions, wider limits (MOVER)"
    assert lines[3].value["ci95"] == by_question["mover_ci95"]


def test_what_all_lines_of_a_kind_say_stands_in_the_head_and_what_one_says_stays_with_it() -> None:
    result = small_result()
    found = result["mrmc"]["models"]["Poor"]["by_question"]
    found["random_readers_fixed_questions"]["flags"].append("no_variation")
    table = other_lines(planned_rows(result))
    assert table.columns == [
        ("these two readers, random questions", "says nothing about other readers"),
        ("random readers, these questions", ""),
    ]
    assert [[other and other.beside for other in lines] for _one, lines in table.rows] == [
        ["", "fewer than 5 readers"],
        ["", "fewer than 5 readers; nothing varies, so there is no interval"],
    ]


def test_the_accuracy_table_counts_failed_extractions_and_best_guesses_where_they_were_asked(result: Any) -> None:
    table: Any = accuracy_table(result)
    assert [one.name for one in table.columns[1:4]] == ["Over questions", "Presence", "Location and distribution"]
    name, overall, *tasks, _mean, failed, _no_option, _missing = table.rows[-1]
    assert (name.text, failed) == ("Poor", Counted(1, 4))
    assert (overall.one["value"], [one.one["n"] for one in tasks]) == (0.25, [3, 1])
    guessed: Any = accuracy_table(guessed_result())
    first, second = guessed.rows[:2]
    assert (first[1].one["value"], first[2].one["value"], first[2].note) == (0.75, 1, "guessed 1 of 1")
    assert second[1].one == second[2].one


def test_accuracy_by_category_keeps_the_order_of_the_raters(result: Any) -> None:
    table = breakdown(result, "categories")
    assert table.values == [("Lungs", 4)]
    assert [one["value"] for _, [one] in table.rows] == [0.75, 0.5, 1.0, 0.25]
    assert "small_n" in table.rows[0][1][0]["flags"]
    [(value, n, shares)] = table.by_value
    assert (value, n, [one["value"] for one in shares]) == ("Lungs", 4, [0.75, 0.5, 1.0, 0.25])


def test_difficulty_goes_from_easy_to_hard(result: Any) -> None:
    [row] = result["tables"]["categories"]
    result["tables"]["difficulties"] = [{"difficulty": each, **row} for each in ("hard", "", "easy", "medium")]
    values = breakdown(result, "difficulties").values
    assert [value for value, _ in values] == ["easy", "medium", "hard", ""]


def test_cases_missed_by_all_readers_are_found(result: Any) -> None:
    assert [one.case for one in items_table(result, ALL_TASKS, Which.READERS_MISSED)] == [4]
    assert not items_table(result, ALL_TASKS, Which.MISSED)
    [second] = [one for one in items_table(result, "presence", Which.ALL) if one.case == 2]
    assert [(one.sign, one.is_wrong) for one in second.answers][-1] == ("x", True)


def test_what_a_case_says_of_itself_is_what_the_kernel_says(result: Any) -> None:
    first, second, third, fourth = items_table(result, ALL_TASKS, Which.ALL)
    assert fourth.options == [("A", 3), ("B", 1), ("C", 0), ("D", 0)]  # two readers and a model chose A, the key is B
    assert (fourth.beaten_by, fourth.behaviour.functioning_distractors) == ("A", 1)
    assert second.behaviour.chosen == (0, 3, 0, 0)  # a failed extraction chose nothing
    stats = (first.behaviour, second.behaviour, third.behaviour, fourth.behaviour)
    assert [one.difficulty.value for one in stats] == [0.75, 0.75, 0.75, 0.25]
    assert [one.discrimination.value for one in stats] == pytest.approx(result["items"]["discrimination"])
    assert {(one.discrimination.n, one.discrimination.flags) for one in stats} == {(4, ("small_n",))}
    assert all(one.discrimination.ci95 for one in stats if abs(one.discrimination.value or 0) < 1)
    assert [one.case for one in items_table(result, ALL_TASKS, Which.BEATEN)] == [4]


def test_a_case_that_tells_nobody_apart_has_a_reason(result: Any) -> None:
    result["items"]["discrimination"][0] = None
    assert items_table(result, ALL_TASKS, Which.ALL)[0].behaviour.discrimination.reason == "no_variation"


def result_of(model: Right, readers: Right) -> Any:
    rows = {"Model": model, **{f"R{place}": row for place, row in enumerate(readers, 1)}}
    names = list(rows)
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    panel = {
        "n": len(model),
        "raters": [{"name": name, "accuracy": {"value": float(row.mean())}} for name, row in rows.items()],
        "pairs": [
            {"first": one, "second": other, "table": vars(paired_table(rows[one], rows[other]))} for one, other in pairs
        ],
    }
    kinds = [{"name": name, "kind": "model" if name == "Model" else "reader"} for name in names]
    return {"panels": {"All tasks": panel}, "raters": kinds, "order": [*names[1:], "Model"]}


def test_the_figures_are_those_that_the_study_was_made_with() -> None:
    """The spread is that of readers, without what 200 cases add to it by chance: 5.5 points, not 6.3."""
    planned, rng, assumed = Planned(name="", n_readers=5, n_cases=200), np.random.default_rng(3), Assumptions()
    found = [planning_figures(result_of(*simulated(planned, rng)))[0] for _study in range(200)]
    assert np.mean([one.discordant_model_reader for one in found]) == pytest.approx(0.30, abs=0.01)
    assert np.mean([one.discordant_readers for one in found]) == pytest.approx(0.20, abs=0.01)
    assert np.mean([one.delta for one in found]) == pytest.approx(0.10, abs=0.01)
    assert np.mean([one.sd_reader**2 for one in found]) == pytest.approx(assumed.sd_reader**2, rel=0.15)
    usable = [one for one in found if contradiction_in(Assumptions(**one.figures)) is None]
    assert len(usable) > 190


def test_one_reader_or_readers_without_a_common_case_give_no_figures() -> None:
    model, readers = simulated(Planned(name="", n_readers=2, n_cases=20), np.random.default_rng(1))
    assert planning_figures(result_of(model, readers[:1])) == []
    apart = readers.copy()
    apart[0, :10], apart[1, 10:] = -1, -1
    assert planning_figures(result_of(model, apart)) == []


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
