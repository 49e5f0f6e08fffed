"""The results pages: who sees them and when, what stands on them, and what they cost."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.models import AuditEvent, User
from annotation.tables.kernels.table import flat_cells
from readerstudy.analysis.kernels.arrays import Experts, Repeats, State, Voided
from readerstudy.analysis.kernels.result import INFERENCES, RANDOM
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from readerstudy.enums import StudyState
from readerstudy.exports.agreement_sheets import agreement_sheets
from readerstudy.exports.report_writing import printed_tables
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.results.kernels.legends import figure_legend
from readerstudy.templatetags.results import as_kappa
from tests.annotation.review.cases import NOON
from tests.pages import markup
from tests.readerstudy.analysis.made import computed, make_arrays
from tests.readerstudy.analysis.test_planned_runs import QUICK as MEAN_QUICK
from tests.readerstudy.analysis.test_planned_runs import of_runs
from tests.readerstudy.results.made import QUICK, analysed_study, guessed_result, small_result, stored
from tests.readerstudy.studies import enrol, make_study

START = "/studies/trial/results/"
PLANNED = AnalysisPlan(pairs=(("Good", "each reader"), ("Poor", "R7"))).as_json()


@pytest.fixture
def analysis(db: None) -> Analysis:
    return analysed_study()


@pytest.fixture
def seen(analysis: Analysis) -> Analysis:
    ReaderStudy.objects.update(unblinded_at=NOON)
    return analysis


def address(name: str, analysis: Analysis, *more: object) -> str:
    return reverse(name, args=["trial", analysis.public_id, *more])


def every_page(analysis: Analysis) -> list[str]:
    names = ("study-analysed", "study-agreement", "study-categories", "study-items", "study-times", "study-share")
    figure = address("study-figure", analysis, "accuracy", "one", "svg")
    stands = address("study-analysed-stands", analysis)
    return [*(address(name, analysis) for name in names), stands, address("study-pair", analysis, 0, 2), figure]


def test_the_first_look_is_a_button_that_unblinds(coordinator: Client, analysis: Analysis) -> None:
    assert "No results have been viewed yet" in coordinator.get(START).content.decode()
    assert {coordinator.get(page).status_code for page in every_page(analysis)} == {403}
    assert ReaderStudy.objects.get().unblinded_at is None
    assert coordinator.post(START)["Location"] == address("study-analysed", analysis)
    assert ReaderStudy.objects.get().unblinded_at is not None
    assert coordinator.get(START)["Location"] == address("study-analysed", analysis)
    assert {coordinator.get(page).status_code for page in every_page(analysis)} == {200}


def test_while_readers_read_there_is_nothing_even_after_a_broken_glass(coordinator: Client, db: None) -> None:
    analysis = analysed_study(state=StudyState.OPEN, unblinded_at=NOON)
    assert "Results are available after closing" in coordinator.get(START).content.decode()
    assert coordinator.post(START).status_code == 403
    assert {coordinator.get(page).status_code for page in every_page(analysis)} == {403}


def test_without_an_analysis_the_page_says_what_next(coordinator: Client, rita: User) -> None:
    enrol(make_study(state=StudyState.CLOSED), rita)
    page = coordinator.get(START).content.decode()
    assert "No analysis so far" in page
    assert reverse("study-analyse", args=["trial"]) in page


def test_no_analysis_is_shown_among_those_of_another_study(coordinator: Client, seen: Analysis) -> None:
    make_study("Other", state=StudyState.CLOSED, unblinded_at=NOON)
    assert coordinator.get(reverse("study-analysed", args=["other", seen.public_id])).status_code == 404


def test_the_planned_comparison_comes_first(coordinator: Client, seen: Analysis) -> None:
    page = coordinator.get(address("study-analysed", seen)).content.decode()
    result = json.loads(seen.result)
    whole = {one["first"]: one for one in result["comparisons"] if one["family"] == "primary"}
    assert f"+{100 * whole['Good']['difference']['value']:.2f}" in page
    assert page.index("Planned comparison") < page.index("Accuracy</h2>")
    assert (
        page.index("Planned comparison")
        < page.index("Do readers agree more with each other")
        < page.index("Accuracy</h2>")
    )
    part = page[page.index('id="kappas-title"') : page.index('id="accuracy-title"')]
    whole = result["panels"]["All tasks"]["groups"]["all"]
    rows = part[part.index("<tbody>") :]
    assert rows.index("Excess agreement") < rows.index("Error consistency") < rows.index("Cohen’s kappa")
    assert f"{100 * whole['mean_excess_difference']['value']:+.2f}".replace("-", "−") in part
    for name in ("mean_error_consistency_difference", "mean_kappa_reader_model"):
        assert as_kappa(whole[name]) in part
    for words in ("1 pair of readers", "4 of a reader and a model", "7 to 13 points of excess", "0.27 to 0.45"):
        assert words in part
    assert "left out" not in part
    for words in (
        "says nothing about other readers",
        "random readers, random questions",
        "these two readers, random questions",
        "Holm over the models",
    ):
        assert words in page
    assert "62.50" in page  # the mean of the readers, 75 and 50
    assert "no case and no rater is left out" in page.lower()


def test_cases_that_share_a_patient_have_a_second_interval(coordinator: Client, seen: Analysis) -> None:
    assert "by patient or exam" not in coordinator.get(address("study-analysed", seen)).content.decode()
    result = json.loads(seen.result)
    for rater in result["panels"]["All tasks"]["raters"]:
        rater["accuracy_cluster"] = rater["accuracy"] | {"ci95": [0.1234, 0.9876], "method": "cluster_t"}
    result["panels"]["All tasks"]["raters"][0]["accuracy_cluster"] |= {"ci95": None, "flags": ["few_clusters"]}
    page = coordinator.get(address("study-analysed", stored(seen.study, result))).content.decode()
    assert page.count("12.34 to 98.76") == 3
    assert "fewer than 10 patients or exams" in page


def test_best_guesses_stand_beside_accuracy_with_their_rule(coordinator: Client, seen: Analysis) -> None:
    plain = coordinator.get(address("study-analysed", seen)).content.decode()
    assert "best guess" not in plain.lower()
    page = coordinator.get(address("study-analysed", stored(seen.study, guessed_result()))).content.decode()
    table = page[page.index('id="accuracy-title"') : page.index('id="excluded-title"')]
    assert table.index("Over questions</th>") < table.index("With best guesses</th>")
    assert table.index("75.00") < table.index("100.00") < table.index("guessed 1 of 1")
    assert table.count("guessed ") == 1
    assert "“cannot tell” without a guess stays wrong" in table
    assert "Accuracy with best guesses</dt>" in page


def test_before_and_after_stand_side_by_side(coordinator: Client, seen: Analysis) -> None:
    """Accuracy, comparisons of the plan and means, with and without a case that was voided after the first look."""
    result = small_result(plan=PLANNED, voided={2: Voided.AFTER_UNBLINDING})
    page = markup(coordinator.get(address("study-analysed", stored(seen.study, result))))
    part = page[page.index('id="variants-title"') : page.index('id="excluded-title"')]
    other = result["variants"]["without_all_voided"]
    for one in (result, other):
        for rater in one["panels"]["All tasks"]["raters"]:
            assert f"{100 * rater['accuracy']['value']:.2f}" in part
        for planned in one["comparisons"][:2]:
            assert f"{100 * abs(planned['difference']['value']):.2f}" in part
        groups = one["panels"]["All tasks"]["groups"]["all"]
        assert f"{abs(groups['mean_kappa_difference']['value']):.3f}" in part
        assert f"{100 * abs(groups['mean_excess_difference']['value']):.2f}" in part
    assert part.index("Excess agreement") < part.index("Cohen’s kappa")
    pairs = part[part.index("Pairs of the plan in percentage points") :].partition("</table>")[0]
    for one in (result, other):
        for pair in one["comparisons"][-3:-1]:
            assert f"+{100 * pair['difference']['value']:.2f}<br>" in pairs
            p = pair["p_holm"]["value"]  # none of a variant that was chosen after results had been seen
            assert (p is None) == (one is not result)
            assert p is None or f"p = {p:.3f}<" in pairs
    assert pairs.count("n/a<br>") == 2


def test_planned_pairs_stand_under_the_primary_comparison(coordinator: Client, seen: Analysis) -> None:
    assert "Planned pairs" not in markup(coordinator.get(address("study-analysed", seen)))
    result = small_result(plan=PLANNED)
    named = stored(seen.study, result)
    page = markup(coordinator.get(address("study-analysed", named)))
    part = page[page.index('id="planned-pairs-title"') : page.index('id="kappas-title"')]
    assert page.index('id="planned-title"') < page.index('id="planned-pairs-title"')
    assert "p adjusted by Holm over 2 planned pairs" in part
    assert f'href="{address("study-pair", named, 2, 0)}"><bdi>Good</bdi> · <bdi>R1</bdi>' in part
    assert '<td class="number">0.500</td><td class="number">1.000</td><td class="number">4</td>' in part
    assert "<bdi>Poor</bdi> · <bdi>R7</bdi></th>" in part  # nobody to open
    assert "no rater of this analysis has this name" in part
    assert "by patient or exam" not in part
    clustered = stored(seen.study, small_result(plan=PLANNED, clusters=[0, 0, 1, 2]))
    page = markup(coordinator.get(address("study-analysed", clustered)))
    assert "Both take questions of one patient or exam as independent" in page


def test_a_planned_pair_shows_its_p_over_all_tasks(coordinator: Client, seen: Analysis) -> None:
    named = stored(seen.study, small_result(plan=PLANNED, clusters=[0, 0, 1, 2]))
    pair, other = address("study-pair", named, 2, 1), address("study-pair", named, 3, 1)
    page = markup(coordinator.get(pair))
    assert "one of the family “planned pairs” of 2 tests, adjusted by Holm" in page
    row = '<th scope="row">Exact McNemar test</th><td class="number">0.500</td><td class="number">1.000</td>'
    assert f'{row}<td class="number">4</td>' in page
    assert '<th scope="row">McNemar test by patient or exam, Obuchowski 1998</th><td class="number">0.248</td>' in page
    assert "takes questions of one patient or exam as independent" in page
    by_task = markup(coordinator.get(f"{pair}?task=presence"))
    assert "Planned test" not in by_task
    assert "The plan names this pair over all tasks: its p value is given there." in by_task
    page = markup(coordinator.get(other))
    assert "The plan does not name this pair, so no p value is shown." in page
    page = markup(coordinator.get(address("study-pair", seen, 2, 1)))
    assert "No pair is part of the planned family" in page


def test_what_the_margin_of_the_plan_allows_to_say(coordinator: Client, seen: Analysis) -> None:
    assert "margin" not in markup(coordinator.get(address("study-analysed", seen)))
    result = json.loads(seen.result)
    claims = {"Good": (0.0123, True, True), "Poor": (None, None, None)}
    result["plan"] |= {"margin": 0.05, "margin_reason": "two radiologists differ by as much"}
    for one in result["comparisons"]:
        p, one["non_inferior"], one["equivalent"] = claims[one["first"]]
        one["margin"], one["noninferiority_p"] = 0.05, one["p"] | {"value": p}
        one["noninferiority_p_holm"] = one["p"] | {"value": p and 2 * p}
        one["equivalence_p"], one["equivalence_p_holm"] = (one["p"] | {"value": p and n * p} for n in (3, 4))
    page = markup(coordinator.get(address("study-analysed", stored(seen.study, result))))
    assert "Margin of the plan: 5.00 points" in page
    assert "Reason for the margin: two radiologists differ by as much." in page
    assert "adjusted by Holm over 1 planned model, a family of its own" in page
    heads = [page.index(f">{head}</th>") for head in ("p, not inferior", "Not inferior", "p, equivalent", "Equivalent")]
    assert heads == sorted(heads)
    cells = "".join(
        f'<td class="number">{p}</td><td class="number">{holm}</td><td>yes</td>'
        for p, holm in (("0.012", "0.025"), ("0.037", "0.049"))
    )
    assert f'<th scope="row"><bdi>Good</bdi></th>{cells}' in page
    none = '<td class="number">n/a</td><td class="number">n/a</td><td>n/a</td>' * 2
    assert f'<th scope="row"><bdi>Poor</bdi></th>{none}' in page


def test_a_cell_carries_its_numbers_and_leads_to_the_pair(coordinator: Client, seen: Analysis) -> None:
    page = markup(coordinator.get(address("study-agreement", seen)))
    assert f'href="{address("study-pair", seen, 0, 2)}" data-row="0" data-column="2"' in page
    card = coordinator.get(address("study-agreement", seen)).context["card"]["All tasks pair-0-2"]
    assert (card["same"], card["cases"]) == ("75.00\xa0%", "1 case on which they disagree")
    assert (card["kappa"], card["caution"]) == ("n/a", "not shown: too few questions")
    assert page.count('<table class="heatmap">') == 3  # each task beside all of them
    located = markup(coordinator.get(address("study-agreement", seen) + "?task=location&of=right"))
    assert '<td class="undefined' in located
    assert f"{address('study-pair', seen, 0, 2)}?task=location&amp;of=right" in located


def test_names_without_what_they_share_stand_beside_the_maps_and_whole_once(
    coordinator: Client, seen: Analysis
) -> None:
    named = stored(seen.study, json.loads(re.sub(r'"R([12])"', r'"Simulated reader \1"', seen.result)))
    page = markup(coordinator.get(address("study-agreement", named)))
    assert page.count("Names in full: <bdi>Simulated reader 1, 2</bdi>") == 1
    assert page.count('<th scope="row" class="reader" title="Simulated reader 1"><bdi>1</bdi></th>') == 3


def test_agreement_within_readers_models_and_all_stands_on_the_page(coordinator: Client, seen: Analysis) -> None:
    """Three of them with interval and n, of the panel that is shown; the others stand in the data of the report."""
    groups = json.loads(seen.result)["panels"]["presence"]["groups"]
    page = coordinator.get(address("study-agreement", seen) + "?task=presence").content.decode()
    part = page[page.index('id="groups-title"') : page.index('class="as-table"')]
    assert "Readers (2)" in part
    assert "All raters (4)" in part
    for name in ("fleiss_kappa", "brennan_prediger"):
        for group in ("readers", "models", "all"):
            one = groups[group][name]
            assert one["value"] is None or f">{as_kappa(one)}<br>" not in part, (name, group)  # of three questions
            assert f"n = {one['n']}" in part
    assert f"{100 * groups['all']['percent_agreement']['value']:.2f}" in part
    assert "Light" not in part
    assert "not shown: too few questions" in part


def test_a_pair_shows_phi(coordinator: Client, seen: Analysis) -> None:
    result = json.loads(seen.result)
    for pair in result["panels"]["All tasks"]["pairs"]:
        pair["phi"] |= {"value": 0.25, "ci95": [0.125, 0.375], "n": 40, "reason": None}
    page = markup(coordinator.get(address("study-pair", stored(seen.study, result), 0, 2)))
    assert '<dt>Phi of right and wrong</dt><dd>0.250<br><span class="small muted">0.125 to 0.375' in page
    assert "<dt>Error consistency</dt>" in page


def test_a_pair_shows_its_table_and_the_cases_on_which_it_disagrees(coordinator: Client, seen: Analysis) -> None:
    page = coordinator.get(address("study-pair", seen, 0, 2)).content.decode()
    assert "<bdi>Good</bdi> and <bdi>R1</bdi>" in page  # the model first, as in the difference
    assert "Accuracy of <bdi>Good</bdi> minus that of <bdi>R1</bdi>" in page
    assert "1 case with another option" in page
    assert 'id="case-4"' in page
    assert "I see it in case 4." in page
    assert "I see it in case 3." not in page
    assert page.count("<img src=") == 2
    wrong = json.loads(seen.result)["panels"]["All tasks"]["pairs"]
    one = next(pair for pair in wrong if {pair["first"], pair["second"]} == {"R1", "Poor"})
    page = coordinator.get(address("study-pair", seen, 0, 3)).content.decode()
    assert f"{round(one['same_wrong_option']['value'] * one['same_wrong_option']['n'])} of" in page
    assert "expected by chance: 33.33 %" in page
    assert f"{100 * one['expected_agreement']['value']:.2f}\xa0%" in page
    both = coordinator.get(address("study-pair", seen, 0, 3) + "?of=right").content.decode()
    assert "failed extraction" in both


def test_a_difference_without_an_interval_says_why(coordinator: Client, seen: Analysis) -> None:
    result = json.loads(seen.result)
    for pair in result["panels"]["All tasks"]["pairs"]:
        pair["difference_cluster"] = pair["difference"] | {"ci95": None, "flags": ["no_variation"]}
    page = markup(coordinator.get(address("study-pair", stored(seen.study, result), 0, 2)))
    assert 'no interval<br><span class="small muted">nothing varies, so there is no interval' in page


def test_a_pair_of_drawn_cases_shows_its_kappa_in_the_mix_of_the_bank(coordinator: Client, seen: Analysis) -> None:
    assert "mix of the bank" not in coordinator.get(address("study-pair", seen, 0, 2)).content.decode()
    strata = [{"task": task, "difficulty": "easy", "n_pool": 10} for task in ("presence", "location")]
    drawn = stored(seen.study, json.loads(seen.result) | {"strata": strata})
    page = coordinator.get(address("study-pair", drawn, 0, 2)).content.decode()
    assert "Cohen’s kappa, mix of the bank" in page
    assert "too few questions of a task or stratum" in page
    assert "Mix of the bank, exploratory" in page  # it is in no report, and no second program checks it
    assert (
        "mix of the bank" not in coordinator.get(address("study-pair", drawn, 0, 2) + "?task=presence").content.decode()
    )


@pytest.mark.parametrize("wrong", ["0/0/", "0/9/", "0/1/?task=colour", "?task=colour"])
def test_what_the_analysis_does_not_hold_is_not_found(coordinator: Client, seen: Analysis, wrong: str) -> None:
    assert coordinator.get(address("study-agreement", seen) + wrong).status_code == 404


def test_how_each_case_behaves(coordinator: Client, seen: Analysis) -> None:
    page = coordinator.get(address("study-items", seen) + "?show=behaviour&which=beaten").content.decode()
    assert "modal answer A" in page
    assert "25.00" in page
    assert "1 of 3" in page
    assert "show=behaviour" in page  # what is shown stays when the task changes
    assert "Case 1" not in page
    empty = coordinator.get(address("study-items", seen) + "?show=behaviour&which=missed").content.decode()
    assert "No such case" in empty
    assert coordinator.get(address("study-items", seen) + "?show=nonsense").context["show"] == ""


def test_a_figure_is_a_file_that_keeps_to_itself(coordinator: Client, seen: Analysis) -> None:
    response = coordinator.get(address("study-figure", seen, "accuracy", "one", "svg"))
    assert response["Content-Type"] == "image/svg+xml"
    assert response.content.startswith(b"<?xml")
    assert response["Content-Security-Policy"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert "private" in response["Cache-Control"]
    assert (
        response["Content-Disposition"] == 'attachment; filename="trial-accuracy-one-column.svg"'
    )  # saved, not opened
    wide = coordinator.get(address("study-figure", seen, "difference", "two", "pdf"))
    assert wide["Content-Disposition"] == 'attachment; filename="trial-difference-two-columns.pdf"'
    for wrong in (
        ("none", "one", "svg"),
        ("accuracy", "three", "svg"),
        ("accuracy", "one", "eps"),
        ("time", "one", "svg"),
    ):
        assert coordinator.get(address("study-figure", seen, *wrong)).status_code == 404


def test_an_analysis_whose_inputs_changed_is_called_stale(coordinator: Client, seen: Analysis) -> None:
    assert "Out of date" in coordinator.get(address("study-analysed-stands", seen)).content.decode()


def test_the_experts_ceiling_stands_beside_the_accuracies(coordinator: Client, seen: Analysis) -> None:
    assert "Blind reviewers" not in coordinator.get(address("study-analysed", seen)).content.decode()
    experts = Experts(np.array([2, 2, 0, 0], dtype=np.int32), np.array([2, 1, 0, 0], dtype=np.int32))
    page = coordinator.get(
        address("study-analysed", stored(seen.study, small_result(experts=experts)))
    ).content.decode()
    line = page[page.index("Blind reviewers equal the key in") :].partition("</p>")[0]
    places = [line.index(word) for word in ("75.00", "n = 4 answers", "Presence", "n = 4 answers", "95% CI by Wilson")]
    assert places[0] < places[1] < places[2] < places[4]
    assert "Location" not in line


def test_repeated_runs_of_a_model_stand_beside_the_accuracies(coordinator: Client, seen: Analysis) -> None:
    assert "Repeated runs" not in coordinator.get(address("study-analysed", seen)).content.decode()
    option = np.array([[1, 1, 0, 0], [1, 1, 1, 0]], dtype=np.int8)
    repeats = Repeats(((2, 2), (2, 3)), np.full((2, 4), State.ANSWERED, dtype=np.int8), option)
    result = small_result(repeats=repeats)
    page = coordinator.get(address("study-analysed", stored(seen.study, result))).content.decode()
    table = page[page.index('id="runs-title"') :]
    places = [table.index(word) for word in ("Good", ">1", "100.00", "75.00", "25.00")]
    assert places == sorted(places)
    assert "Poor" not in table[: table.index("</table>")]


def test_stated_chances_of_readers_and_models_stand_with_n_interval_and_rule(
    coordinator: Client, seen: Analysis
) -> None:
    """And nothing stands there where nobody stated one."""
    plain = coordinator.get(address("study-times", seen)).content.decode()
    assert "Nobody stated a confidence." in plain
    assert "Brier" not in plain
    model_confidence = np.full((4, 4), np.nan)
    model_confidence[2] = [100, 90, 80, 70]
    result = small_result(model_confidence=model_confidence)
    assert [one["name"] for one in result["tables"]["calibration"]] == ["Good"]
    page = coordinator.get(address("study-times", stored(seen.study, result))).content.decode()
    table = page[page.index("Brier score: mean squared distance") :]
    assert table.index("Good") < table.index("0.035") < table.index("small n") < table.index("85.00")
    assert "−15.00" in table
    assert "calibration" in page[: page.index("Brier score: mean squared distance")]  # the figure
    assert "Nobody stated" not in page


def test_each_person_who_reads_an_analysis_is_noted_once(coordinator: Client, seen: Analysis, cora: User) -> None:
    for name in ("study-analysed", "study-times", "study-analysed"):
        assert coordinator.get(address(name, seen)).status_code == 200
    cache.clear()  # as after a restart
    coordinator.get(address("study-analysed", seen))
    [opened] = AuditEvent.objects.filter(act="analysis.opened")
    assert (opened.actor, opened.subject_id) == (cora, seen.public_id)


@pytest.mark.parametrize(
    ("name", "n"), [("analysed", 8), ("agreement", 6), ("pair", 12), ("categories", 7), ("items", 7), ("times", 6)]
)
def test_a_page_of_a_stored_analysis_costs_few_queries(
    coordinator: Client, seen: Analysis, name: str, n: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    page = address(f"study-{name}", seen, *((0, 2) if name == "pair" else ()))
    coordinator.get(page)  # decodes the result, notes who sees keys
    with django_assert_num_queries(n):
        coordinator.get(page)


def test_a_mean_of_runs_that_stands_for_a_model_is_named_wherever_it_is_compared(
    coordinator: Client, seen: Analysis
) -> None:
    result = computed(of_runs([1, 2, 3]), MEAN_QUICK)
    page = coordinator.get(address("study-analysed", stored(seen.study, result))).content.decode()
    planned = page[page.index("Accuracy of the model minus the mean of the readers") :].partition("</table>")[0]
    own = page[page.index("Accuracy of the model minus that of one reader") :].partition("</table>")[0]
    runs = page[page.index('id="runs-title"') :].partition("</table>")[0]
    assert "mean of 3 runs" in planned
    assert "mean of 3 runs; t over questions" in own
    assert "against the readers the mean of 3 runs" in runs
    tables = {one.name: one.caption for one in printed_tables(result)}
    assert all("M: mean of 3 runs" in tables[name] for name in ("comparison", "difference_by_reader", "runs"))
    [sheet] = [one for one in agreement_sheets(result) if one.name == "comparison"]
    methods = [str(cell) for row in sheet.rows for cell in flat_cells(row) if "mean of 3 runs" in str(cell)]
    by_mover = {RANDOM: ", MOVER"}
    assert set(methods) >= {f"by_question {one}{by_mover.get(one, '')}, mean of 3 runs" for one in INFERENCES}
    assert all("M: mean of 3 runs" in figure_legend(name, result) for name in ("difference", "inferences"))
    alone = coordinator.get(address("study-analysed", stored(seen.study, computed(of_runs(None), MEAN_QUICK))))
    assert "mean of 3 runs" not in alone.content.decode()


def test_cases_are_sorted_over_all_of_their_pages(
    coordinator: Client, seen: Analysis, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    """By how many had them right, from either end; as expensive as the table by itself, and kept from page to page."""
    key = "ABCD" * 60
    readers = {"R1": "A" * 240, "R2": "ABCD" * 30 + "A" * 120}
    result = computed(make_arrays(readers, {"Good": key[:200] + "." * 40}, key), QUICK)
    analysis = stored(seen.study, result)
    there = address("study-items", analysis)
    shares = [right / n for right, n in zip(result["items"]["n_right"], result["items"]["n_counted"], strict=True)]
    found = []
    for page in ("1", "2"):
        answer = coordinator.get(f"{there}?sort=-right&page={page}")
        found += [one.n_right / one.n_counted for one in answer.context["page"]]
    assert found == sorted(shares, reverse=True)
    assert 'aria-sort="descending"><a class="sort" href="?sort=right">' in answer.content.decode()
    assert "sort=-right" in answer.content.decode()
    by_itself = [one.case for one in coordinator.get(there).context["page"]]
    assert by_itself == list(range(1, 201))
    behaviour = coordinator.get(there, {"sort": "discrimination", "show": "behaviour", "page": "2"}).context["page"]
    assert behaviour[-1].behaviour.discrimination.value is None  # undefined comes last
    with django_assert_max_num_queries(40) as plain:
        coordinator.get(there)
    with django_assert_max_num_queries(len(plain)):
        coordinator.get(there, {"sort": "right"})
