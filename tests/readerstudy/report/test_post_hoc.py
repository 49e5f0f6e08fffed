"""Wherever a number of a late model is shown, it says so; and over a plan that came after the readings, that it did."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from matplotlib.text import Text

from annotation.models import User
from annotation.tables.kernels.forms import Width
from annotation.tables.kernels.table import flat_cells, flat_columns
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from readerstudy.enums import StudyState
from readerstudy.exports.agreement_sheets import agreement_sheets
from readerstudy.exports.fact_finding import facts_of, flow_of
from readerstudy.exports.methods import methods_text
from readerstudy.exports.report_writing import readme_text
from readerstudy.models import PredictionRun
from readerstudy.results.kernels.accuracy_figures import accuracy_figure, difference_figure
from readerstudy.results.kernels.agreement_figures import agreement_figure
from readerstudy.results.kernels.legends import figure_legend
from readerstudy.results.kernels.rendering import figures_of
from readerstudy.results.looking import stored_result
from tests.annotation.review.cases import NOON
from tests.readerstudy.analysis.made import analyse_by, changed
from tests.readerstudy.report.made import QUICK, printed_tex, reported_analysis, reported_study
from tests.readerstudy.results.made import late_result, small_result, stored
from tests.readerstudy.studies import make_study

MADE_AFTER = "Plan made after the readings"

PAIRS = (("Late", "R1"), ("Good", "R1"))


@pytest.fixture(scope="module")
def late() -> Any:
    return late_result(plan=AnalysisPlan(margin=0.1, pairs=PAIRS).as_json())


def page_of(client: Client, cora: User, result: Any, name: str = "study-analysed") -> str:
    study = make_study("Shown", n_cases=4, state=StudyState.CLOSED, unblinded_at=NOON)
    client.force_login(cora)
    return client.get(reverse(name, args=[study.slug, stored(study, result).public_id])).content.decode()


def flat(text: str) -> str:
    return " ".join(text.split())


def words_of(figure: Any) -> list[str]:
    return [one.get_text() for one in figure.findobj(Text) if one.get_text()]


# --- pages ----------------------------------------------------------------------------------------
@pytest.mark.django_db
def test_the_page_shows_it_in_a_block_of_its_own_with_its_date(client: Client, cora: User, late: Any) -> None:
    page = page_of(client, cora, late)
    planned, block = page.split('id="post-hoc-title"')
    planned = planned[planned.index('id="planned-title"') :]
    block = block[: block.index("</section>")]
    assert "Late" not in planned
    assert flat("run imported on 2026-11-22, made the main run on 2026-11-23") in flat(block)
    assert "Holm" not in block
    assert "<bdi>Late</bdi> · <bdi>R1</bdi>" in block
    assert "Planned comparison: each model" in planned
    table = page[page.index('aria-labelledby="accuracy-title"') :]
    assert re.search(r"<bdi>Late \(post hoc\)</bdi> <br><span class=\"small muted\">model", flat(table))
    assert "<em>post hoc</em>" not in table  # once for the row, not in every cell


@pytest.mark.django_db
def test_without_a_late_model_nothing_is_said(client: Client, cora: User) -> None:
    page = page_of(client, cora, small_result())
    assert "post hoc" not in page.lower().replace("takes questions", "")
    assert MADE_AFTER not in page


@pytest.mark.django_db
def test_agreement_and_categories_name_it_too(client: Client, cora: User, late: Any) -> None:
    study = make_study("Shown", n_cases=4, state=StudyState.CLOSED, unblinded_at=NOON)
    client.force_login(cora)
    analysis = stored(study, late)
    for name in ("study-agreement", "study-categories"):
        page = client.get(reverse(name, args=[study.slug, analysis.public_id])).content.decode()
        assert "post hoc" in page
        if name == "study-agreement":
            assert "<bdi>Late</bdi>: post hoc, in no group" in page  # beside the heatmap


# --- figures --------------------------------------------------------------------------------------
def test_figures_mark_it_and_say_what_the_mark_means(late: Any) -> None:
    assert "difference" in figures_of(late)
    drawn = {"difference": difference_figure, "accuracy": accuracy_figure, "agreement": agreement_figure}
    for name, draw in drawn.items():
        words = words_of(draw(late, Width.ONE))
        assert "Late ‡" in words
        assert "Good" in words
        assert "‡ Post hoc: chosen or brought in after results had been seen." in figure_legend(name, late)
    assert not [one for one in words_of(difference_figure(small_result(), Width.ONE)) if "‡" in one]


def test_the_difference_figure_has_late_models_last(late: Any) -> None:
    axes = difference_figure(late, Width.ONE).axes[0]
    assert [one.get_text() for one in axes.get_yticklabels()] == ["Good", "Poor", "Late ‡"]


# --- the report -----------------------------------------------------------------------------------
def test_the_sheet_has_its_raw_p_and_no_other(late: Any) -> None:
    sheet = next(one for one in agreement_sheets(late) if one.name == "comparison")
    names = [column.name for column in flat_columns(sheet.columns)]
    rows = [dict(zip(names, flat_cells(row), strict=True)) for row in sheet.rows]
    found = [row for row in rows if row["first"] == "Late"]
    assert {row["family"] for row in found} == {"post hoc"}
    assert {row["planned"] for row in found} == {False}
    assert {row["p_holm"] for row in found} == {row["superior"] for row in found} == {None}
    assert all("post_hoc" in str(row["flags"]) for row in found)
    assert any(row["p"] is not None for row in found)
    assert not [row for row in rows if row["first"] == "Good" and "post_hoc" in str(row["flags"]) and row["planned"]]


def test_printed_tables_name_it_post_hoc(late: Any) -> None:
    tables = printed_tex(late)
    caption, _toprule, rows = tables["comparison"].partition(r"\toprule")
    assert rows.index("Good &") < rows.index("Poor &") < rows.index("& p & n &") < rows.index("Late &")
    assert r"Late: run imported on 2026{-}11{-}22, made the main run on 2026{-}11{-}23" in caption
    for name in ("accuracy", "pairs", "categories"):
        assert "Late (post hoc)" in tables[name], name


def test_methods_never_call_it_named_before(rita: User, remo: User) -> None:
    study = reported_study(rita, remo)
    PredictionRun.objects.filter(entry__name="Alpha", is_named=True).update(
        named_before_unblinding=False, named_at=NOON + timedelta(days=1)
    )
    analysis = analyse_by(QUICK, study, at=NOON)
    result = stored_result(analysis)
    facts = facts_of(analysis, result)
    text = flat(methods_text(result, facts))
    assert "were renamed after somebody had seen a result: Alpha (run imported on" in text
    alpha = text[text.index("Alpha: date of the version") :].split("options taken by rule")[0]
    assert "and made the main run on 2026-11-22, after results had been seen: this model is post hoc" in alpha
    assert "before anybody had seen" not in alpha
    first, *_others = dict(flow_of(result, facts).columns)["Models"]
    assert "Main run chosen after results were seen: 1" in str(first)


def test_the_readme_lists_it(late: Any) -> None:
    text = flat(readme_text(late, "0" * 64, {"a.csv": "a table"}))
    assert "Comparison: Planned comparison" in text
    assert "Post hoc: Late, run imported on 2026-11-22, made the main run on 2026-11-23" in text


# --- a plan that was made when the readings were there ------------------------------------------
@pytest.mark.django_db
def test_a_plan_made_after_the_readings_is_headed_so_everywhere(client: Client, cora: User) -> None:
    result = late_result(elsewhere=True, plan=AnalysisPlan(pairs=PAIRS).as_json())
    page = page_of(client, cora, result)
    assert f"{MADE_AFTER}: each model minus the mean of the readers" in page
    assert f"{MADE_AFTER}: pairs" in page
    assert "Planned comparison" not in page
    words = words_of(difference_figure(result, Width.TWO))
    assert MADE_AFTER in words
    assert not [one for one in words if "(planned)" in one]
    tables = printed_tex(result)
    assert all(f"{MADE_AFTER}." in tables[name] for name in ("comparison", "planned_pairs"))
    assert f"Comparison: {MADE_AFTER}" in flat(readme_text(result, "0" * 64, {"a.csv": "a table"}))


def test_methods_begin_with_a_plan_made_after_the_readings(rita: User, remo: User) -> None:
    analysis = reported_analysis(rita, remo)
    result = stored_result(analysis)
    facts = facts_of(analysis, result)
    assert MADE_AFTER not in methods_text(result, facts)
    elsewhere = changed(result, plan=changed(result["plan"], made_after_readings=True))
    assert f"Statistical analysis. {MADE_AFTER}: all readings came from files" in flat(methods_text(elsewhere, facts))
