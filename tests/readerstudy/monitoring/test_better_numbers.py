"""Ways to a better number from the same data: each is tried, and its label found wherever the number stands."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from annotation.jobs.running import run as run_job
from annotation.models import Job, User
from readerstudy.analysis.kernels.labels import headings
from readerstudy.analysis.kernels.scoring import Settings
from readerstudy.analysis.seen_before import AnswerRow
from readerstudy.analysis.storing import is_stale, see_analysis
from readerstudy.enums import StudyState
from readerstudy.exports.agreement_sheets import agreement_sheets
from readerstudy.exports.fact_finding import facts_of
from readerstudy.exports.methods import methods_text
from readerstudy.exports.report_writing import printed_tables
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.predictions.runs import name_run
from readerstudy.reading.response_import import DeclaredFile, import_responses
from readerstudy.results.kernels.legends import LEGENDS, figure_legend
from readerstudy.results.looking import own_analysis, stored_result
from readerstudy.results.wording import plan_kind
from tests.annotation.review.cases import NOON
from tests.made_once import made_once
from tests.readerstudy.analysis.made import analyse_by
from tests.readerstudy.monitoring.test_choosing_late import predicted, unlabelled
from tests.readerstudy.report.made import QUICK
from tests.readerstudy.studies import make_study

pytestmark = pytest.mark.django_db
N = 24
READERS = {"R1": "BBBBBABABBAA" * 2, "R2": "BBABBABBBBAA" * 2, "R3": "BBBABBAABABA" * 2}
MODELS = {"Alpha": "BBBBBBBBBBAA" * 2, "Beta": "BxBABABBABAB" * 2}
SEEN, LATER = NOON + timedelta(hours=1), NOON + timedelta(hours=2)


@made_once
def read_elsewhere(
    name: str, *, at: datetime, names: dict[str, str] | None = None, leave_out: int = 0, voided: tuple[int, ...] = ()
) -> ReaderStudy:
    """A study with these readings, each answer with its time; in a bank of its own."""
    study = make_study(name, n_cases=N, state=StudyState.FROZEN, opened_at=None, n_orders=0, frozen_at=at)
    called = names or {}
    rows = [
        f"{called.get(reader, reader)},{case},{said[case - 1]},answered,{1000 * place + 37 * case}"
        for place, (reader, said) in enumerate(READERS.items(), 1)
        for case in range(1, N + 1 - leave_out)
    ]
    content = "\n".join(["reader,case,option,state,active_ms", *rows]).encode()
    lines = ["case,reason", *(f"{case},ambiguous" for case in voided)]
    declared = DeclaredFile("voidings.csv", "\n".join(lines).encode()) if voided else None
    assert import_responses(study, name="r.csv", content=content, actor=None, at=at, declared=declared).stored
    return study


@made_once
def seen_trial() -> ReaderStudy:
    """Read elsewhere, answered by two models, and its results seen."""
    made = read_elsewhere("Trial", at=NOON)
    for name, letters in MODELS.items():
        predicted(made, name, letters, NOON)
    see_analysis(analyse_by(QUICK, made, at=NOON), actor=None, at=SEEN)
    made.refresh_from_db()
    return made


@pytest.fixture
def study() -> ReaderStudy:
    return seen_trial()


def said_everywhere(analysis: Analysis, words: str, flag: str) -> None:
    """On every value, table, figure and text of a report."""
    analysis.study.refresh_from_db()
    result = stored_result(analysis)
    assert any(words in one for one in headings(result))
    for part in ("mrmc", "comparisons"):
        assert unlabelled(result[part], flag) == []
    assert not any(one["planned"] for one in result["comparisons"])
    assert "lanned comparison" not in plan_kind(result)
    for table in printed_tables(result):
        assert words in table.caption, f"the table {table.name} does not say it"
    for name in LEGENDS:
        assert words in figure_legend(name, result), f"the legend of {name} does not say it"
    assert words.upper() in methods_text(result, facts_of(analysis, result))
    [comparison] = [one for one in agreement_sheets(result) if one.name == "comparison"]
    line, first = (place for place, one in enumerate(comparison.columns) if one.name in ("line", "first"))
    rows = [row for row in comparison.rows if row[min(line, first)] in MODELS]
    assert rows
    assert "planned" not in {row[max(line, first)] for row in rows}


OTHERS: dict[str, dict[str, Any]] = {
    "failed extractions left out of accuracy": {"failed_in_accuracy": "exclude"},
    "failed extractions an option of their own in agreement": {"failed_in_agreement": "own_category"},
    "200 bootstrap draws": {"draws": 200},
    "seed 8": {"seed": 8},
}


@pytest.mark.parametrize("words", OTHERS)
def test_other_settings_make_a_sensitivity_analysis_beside_the_studys_own(
    study: ReaderStudy, cora: User, client: Client, words: str
) -> None:
    own = own_analysis(study)
    settings: Any = {**QUICK.as_json(), **OTHERS[words]}
    other = analyse_by(QUICK, study, at=LATER, chosen=Settings(**settings))
    assert own_analysis(study) == own != other
    said_everywhere(other, f"Sensitivity analysis, not planned: {words}", "settings_differ")
    result = stored_result(other)
    assert {one["p_holm"]["value"] for one in result["comparisons"] if "p_holm" in one} == {None}
    assert headings(stored_result(own_analysis(study) or other)) == []
    client.force_login(cora)
    page = client.get("/studies/trial/results/", follow=True)
    assert page.redirect_chain[-1][0].endswith(f"/{own.public_id if own else ''}/")
    assert words in page.content.decode()
    assert f"not planned: {words}" in client.get(f"/studies/trial/results/{other.public_id}/").content.decode()


def test_the_overview_of_a_study_read_elsewhere_begins_with_its_results(
    study: ReaderStudy, cora: User, client: Client
) -> None:
    client.force_login(cora)
    page = client.get("/studies/trial/").content.decode()
    assert "Readers can read as soon as the study is open" not in page
    assert 'id="results-title"' in page
    assert "All results" in page
    ReaderStudy.objects.filter(pk=study.pk).update(unblinded_at=None)
    page = client.get("/studies/trial/").content.decode()
    assert "Show the results" in page
    assert "All results" not in page


@pytest.mark.parametrize("act", ["copy", "analyse"])
def test_the_address_of_a_button_leads_back_to_the_study(
    study: ReaderStudy, cora: User, client: Client, act: str
) -> None:
    client.force_login(cora)
    answer = client.get(f"/studies/trial/{act}/")
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert 'href="/studies/trial/"' in answer.content.decode()
    assert client.get(f"/studies/trial/{act}/", headers={"HX-Request": "true"}).content == b""


def test_a_coordinator_asks_for_a_sensitivity_analysis_on_the_page(
    study: ReaderStudy, cora: User, client: Client
) -> None:
    own = own_analysis(study)
    client.force_login(cora)
    assert "as planned" in client.get("/studies/trial/data/").content.decode()
    client.post("/studies/trial/analyse/", {"failed_in_accuracy": "exclude", "failed_in_agreement": ""})
    job = Job.objects.get(kind="analyse_study")
    assert job.title == "Sensitivity analysis of Trial"
    assert run_job(job.public_id, clock=lambda: LATER)
    other = Analysis.objects.latest("pk")
    assert (other.settings["differs"], own_analysis(study)) == (["failed_in_accuracy"], own)
    refused = client.post("/studies/trial/analyse/", {"failed_in_accuracy": "right"}, follow=True)
    assert "Choose one of the rules that are offered." in refused.content.decode()
    assert Job.objects.count() == 1


def test_analysing_again_by_the_plan_finds_the_studys_own(study: ReaderStudy) -> None:
    own = own_analysis(study)
    analyse_by(QUICK, study, at=LATER, chosen=Settings(seed=QUICK.seed, draws=200))
    assert analyse_by(QUICK, study, at=LATER) == own == own_analysis(study)


COPIES: dict[str, dict[str, Any]] = {
    "as it was": {},
    "other names of readers": {"names": {"R1": "Ann", "R2": "Bob", "R3": "Cleo"}},
    "only a part": {"leave_out": 3},
    "with voidings of the original study": {"voided": (11, 12, 23, 24)},
}


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_says_that_its_readings_were_seen(study: ReaderStudy, way: str) -> None:
    copy = read_elsewhere("Copy", at=LATER, **COPIES[way])
    predicted(copy, "Alpha", MODELS["Alpha"], LATER)
    analysis = analyse_by(QUICK, copy, at=LATER)
    words = f"Made or changed after its readings were seen in Trial on {SEEN.date().isoformat()}"
    said_everywhere(analysis, words, "seen_before")
    result = stored_result(analysis)
    assert result["questions"]["n_scored"] == N, "a voiding after the readings were seen is late"
    assert not result["plan"]["is_planned"]
    assert [one["names"] for one in result["plan"]["runs_seen_before"]] == [["Alpha"]]


def test_a_run_that_was_seen_alone_gives_a_line_in_the_methods_and_no_more(study: ReaderStudy) -> None:
    fresh = make_study("Fresh", n_cases=N, state=StudyState.FROZEN, opened_at=None, n_orders=0, frozen_at=LATER)
    rows = [f"N{place},{case},{'ABCD'[case % (place + 1)]},answered" for place in (1, 2) for case in range(1, N + 1)]
    content = "\n".join(["reader,case,option,state", *rows]).encode()
    assert import_responses(fresh, name="r.csv", content=content, actor=None, at=LATER).stored
    predicted(fresh, "Renamed", MODELS["Alpha"], LATER)
    analysis = analyse_by(QUICK, fresh, at=LATER)
    fresh.refresh_from_db()
    analysis.study = fresh
    result = stored_result(analysis)
    assert headings(result) == []
    assert result["plan"]["is_planned"]
    text = " ".join(methods_text(result, facts_of(analysis, result)).split())
    assert f"Answers of models that had been in a result before: Renamed in Trial ({SEEN.date().isoformat()})." in text


def test_a_study_that_was_there_before_its_copy_was_seen_stays_what_it_was() -> None:
    first = read_elsewhere("First", at=NOON)
    predicted(first, "Alpha", MODELS["Alpha"], NOON)
    copy = read_elsewhere("Copy", at=NOON)
    before = analyse_by(QUICK, first, at=NOON)
    predicted(copy, "Alpha", MODELS["Alpha"], NOON)
    see_analysis(analyse_by(QUICK, copy, at=NOON), actor=None, at=SEEN)
    assert not is_stale(before), "a copy that somebody looks into changes nothing of the study that was there before"
    result = stored_result(analyse_by(QUICK, first, at=LATER))
    assert headings(result) == []
    assert result["plan"]["is_planned"]


def test_a_better_run_made_afterwards_enters_neither_mean_nor_spread_of_runs(study: ReaderStudy) -> None:
    before = stored_result(analyse_by(QUICK, study, at=NOON))
    name_run(predicted(study, "Alpha", "B" * N, LATER), actor=None, at=LATER)
    result = stored_result(analyse_by(QUICK, study, at=LATER))
    was, runs = (
        next(one["runs"] for one in found["panels"]["All tasks"]["raters"] if one["name"] == "Alpha")
        for found in (before, result)
    )
    assert (runs["n_runs"], runs["accuracy_run_mean"]) == (was["n_runs"], was["accuracy_run_mean"])
    [table] = [one for one in printed_tables(result) if one.name == "difference_by_reader"]
    assert [row[0] for _heads, rows in table.parts for row in rows if "run 2" in row[0]] == ["Alpha (run 2) (post hoc)"]


def row(answers: str, times: list[int] | None = None) -> AnswerRow:
    """Of questions q0, q1 and so on."""
    of = Counter((f"q{place}", option) for place, option in enumerate(answers))
    return AnswerRow(NOON, of, Counter((f"q{place}", ms) for place, ms in enumerate(times or [])))


def test_rows_are_the_same_from_20_shared_wordings_on_98_percent_of_the_answers_and_90_of_the_times() -> None:
    said = "ABCD" * 25
    assert row(said).is_same_as(row(said[:20]))
    assert not row(said).is_same_as(row(said[:19]))
    assert row(said).is_same_as(row("CC" + said[2:])), "98 of 100, and one of them by chance"
    assert not row(said).is_same_as(row("BCDA" + said[4:]))
    times = list(range(1000, 1100))
    assert row(said, times).is_same_as(row(said)), "times say nothing where one of the two has none"
    assert row(said, times).is_same_as(row(said, [*range(10), *times[10:]]))
    assert not row(said, times).is_same_as(row(said, [*range(11), *times[11:]]))
