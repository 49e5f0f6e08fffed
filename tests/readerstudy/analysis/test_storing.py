"""Stored analyses: once for the same inputs, stale when one changes; their section on the page of the data."""

from __future__ import annotations

import json
from datetime import datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.enums import JobState
from annotation.jobs import running
from annotation.models import AuditEvent, Job, User
from readerstudy.analysis.kernels.scoring import Settings
from readerstudy.analysis.storing import analyse_study, is_stale, stale_among
from readerstudy.conducting.lifecycle import close_study
from readerstudy.enums import StudyState
from readerstudy.exports.report_writing import fresh_inputs
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.reading.response_import import import_responses
from readerstudy.study.permissions import StudyRefused
from tests.readerstudy.analysis.made import analyse_by
from tests.readerstudy.exports.read_study import read_study, void
from tests.readerstudy.studies import make_study
from tests.refusals import refuses

QUICK = Settings(seed=1, draws=100)
REASON = "The sponsor asked for a safety look."
FILE = b"reader,case,option,state\nR1,1,B,answered\nR1,2,A,answered\nR2,1,B,answered\nR2,2,B,answered\n"


def run(*words: str) -> str:
    out = StringIO()
    call_command("analyse_study", *words, "--draws", "100", stdout=out, stderr=StringIO())
    return out.getvalue()


def test_an_analysis_keeps_how_it_was_made(study: ReaderStudy, cora: User, noon: datetime) -> None:
    analysis = analyse_by(QUICK, study, actor=cora, at=noon)
    result = json.loads(analysis.result)
    assert (result["study"], result["protocol_sha256"]) == ("Trial", study.protocol_sha256)
    assert (analysis.seed, analysis.settings["draws"]) == (1, 100)
    assert result["inputs_sha256"] == analysis.inputs_sha256
    assert result["software"] == analysis.software
    study.refresh_from_db()
    assert (study.state, study.unblinded_at) == (StudyState.ANALYSED, None)
    assert AuditEvent.objects.get(act="study.analysed").facts["result_sha256"] == analysis.result_sha256


def test_the_same_inputs_give_the_same_row_and_others_a_new_one(study: ReaderStudy, noon: datetime) -> None:
    first = analyse_by(QUICK, study, at=noon)
    assert analyse_by(QUICK, study, at=noon) == first
    assert not is_stale(first)
    void(study.cases.get(block="main", number=1))
    assert is_stale(first)
    second = analyse_by(QUICK, study, at=noon)
    assert second != first
    assert not is_stale(second)
    assert json.loads(second.result)["excluded"][0]["reason"] == "two keys are right"


def test_an_analysis_by_an_earlier_rule_is_stale(study: ReaderStudy, noon: datetime) -> None:
    """Its numbers are not those that this program computes of the same inputs: no report may hold both."""
    analysis = analyse_by(QUICK, study, at=noon)
    analysis.software["rule"] = "analysis-1"
    assert is_stale(analysis)
    assert stale_among(study, [analysis]) == {analysis.pk}
    with refuses(StudyRefused, "stale", match="earlier rule"):
        fresh_inputs(analysis)


def test_nothing_to_analyse(db: None, noon: datetime) -> None:
    for state in (StudyState.DRAFT, StudyState.CLOSED):
        with pytest.raises(StudyRefused, match="nothing to analyse"):
            analyse_study(make_study(f"Trial {state}", state=state), actor=None, at=noon)
    assert not Analysis.objects.exists()


def test_closing_asks_for_an_analysis_in_the_background(rita: User, remo: User, cora: User, noon: datetime) -> None:
    study = read_study(rita, remo)
    close_study(study, actor=cora, at=noon, confirmed_open=1)
    job = Job.objects.get(kind="analyse_study")
    assert running.run(job.public_id, clock=lambda: noon)
    job.refresh_from_db()
    assert job.state == JobState.SUCCEEDED
    analysis = Analysis.objects.get(study=study)
    assert job.result is not None
    assert job.result["analysis"] == analysis.public_id
    assert analysis.created_by == cora
    assert ReaderStudy.objects.get().unblinded_at is None


def test_closing_a_study_that_nobody_read_asks_for_nothing(db: None, noon: datetime) -> None:
    close_study(make_study("Trial"), actor=None, at=noon)
    assert not Job.objects.exists()


# --- manage.py analyse_study ----------------------------------------------------------------------
def test_the_command_shows_a_closed_study_and_that_unblinds_it(study: ReaderStudy, tmp_path: Path) -> None:
    assert "Nobody has seen a result" in run("trial")
    study.refresh_from_db()
    assert study.unblinded_at is None
    file = tmp_path / "analysis.json"
    printed = run("trial", "--json", "--output", str(file))
    assert json.loads(printed) == json.loads(file.read_text())
    assert printed == run("Trial", "--json")
    assert "Nobody" not in run("trial")
    assert Analysis.objects.count() == 1
    study.refresh_from_db()
    assert study.unblinded_at is not None


def test_results_of_an_open_study_need_a_reason(rita: User, remo: User) -> None:
    study = read_study(rita, remo)
    with pytest.raises(CommandError, match="hidden until the study is closed") as refusal:
        run("trial", "--json")
    assert refusal.value.returncode == 2
    assert not Analysis.objects.exists()
    run("trial", "--json", "--before-closing", REASON)
    study.refresh_from_db()
    assert study.unblinded_at is not None
    assert AuditEvent.objects.get(act="study.glass_broken").facts["reason"] == REASON


def test_readings_that_were_made_elsewhere_are_analysed_without_opening(db: None, noon: datetime) -> None:
    study = make_study("Old", n_cases=4, state=StudyState.FROZEN, opened_at=None)
    with pytest.raises(CommandError, match="hidden until the study is closed"):
        run("old", "--json")
    assert import_responses(study, name="old.csv", content=FILE, actor=None, at=noon).stored
    result = json.loads(run("old", "--json"))
    rows = [
        (one["name"], one["n_correct"], one["n"], one["n_missing"]) for one in result["panels"]["All tasks"]["raters"]
    ]
    assert rows == [("R1", 1, 2, 2), ("R2", 2, 2, 2)]
    assert ReaderStudy.objects.get().state == StudyState.FROZEN


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "no study named"),
        (["trial", "--draws", "5"], "between 100 and"),
        (["trial", "--seed", "-1"], "0 or more"),
        (["trial", "--output", "/nowhere/file.json"], "existing folder"),
    ],
)
def test_what_the_command_refuses(study: ReaderStudy, words: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said) as refusal:
        call_command("analyse_study", *words, stdout=StringIO())
    assert refusal.value.returncode == 2
    assert not Analysis.objects.exists()


# --- the page --------------------------------------------------------------------------------------
PAGE = "/studies/trial/data/"


def test_the_button_asks_for_one_analysis(coordinator: Client, study: ReaderStudy) -> None:
    assert "No analysis so far" in coordinator.get(PAGE).content.decode()
    for _again in range(2):
        assert coordinator.post(reverse("study-analyse", args=["trial"])).status_code == 302
    job = Job.objects.get()
    page = coordinator.get(PAGE).content.decode()
    assert reverse("job", args=[job.public_id]) in page
    assert reverse("study-analyse", args=["trial"]) not in page


def test_the_list_says_which_one_is_stale(coordinator: Client, study: ReaderStudy, noon: datetime) -> None:
    analyse_by(QUICK, study, at=noon)
    assert "up to date" in coordinator.get(PAGE).content.decode()
    void(study.cases.get(block="main", number=1))
    page = coordinator.get(PAGE).content.decode()
    assert "out of date: an input or the rule has changed" in page
    assert "up to date" not in page


def test_taking_the_file_unblinds(coordinator: Client, study: ReaderStudy, noon: datetime) -> None:
    analysis = analyse_by(QUICK, study, at=noon)
    assert "unblinds the study" in coordinator.get(PAGE).content.decode()
    assert ReaderStudy.objects.get().unblinded_at is None
    address = reverse("study-analysis", args=["trial", analysis.public_id])
    response = coordinator.post(address)
    assert json.loads(response.content)["study"] == "Trial"
    assert f'filename="trial-analysis-{analysis.public_id}.json"' in response["Content-Disposition"]
    assert "no-store" in response["Cache-Control"]
    assert ReaderStudy.objects.get().unblinded_at is not None
    assert coordinator.post(reverse("study-analysis", args=["trial", "other"])).status_code == 404


def test_while_readers_read_there_is_nothing(coordinator: Client, rita: User, remo: User, noon: datetime) -> None:
    study = read_study(rita, remo)
    analysis = analyse_by(QUICK, study, at=noon)
    page = coordinator.get(PAGE).content.decode()
    assert "The analysis runs automatically when the study closes" in page
    assert analysis.public_id not in page
    assert coordinator.post(reverse("study-analysis", args=["trial", analysis.public_id])).status_code == 403
    coordinator.post(reverse("study-analyse", args=["trial"]))
    assert not Job.objects.exists()


@pytest.mark.parametrize("n", [1, 3])
def test_queries_do_not_grow_with_the_analyses(
    coordinator: Client, study: ReaderStudy, noon: datetime, n: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for seed in range(n):
        analyse_by(Settings(seed=seed, draws=100), study, at=noon)
    assert Analysis.objects.count() == n
    # 6 of the page, 1 for the list, 8 that tell whether an input has changed, 1 for the job
    with django_assert_num_queries(16):
        coordinator.get(PAGE)
