"""Analyses, figures and reports over the API: hidden, then looked at, then read; the same bytes as on the pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.enums import Role
from annotation.jobs import queueing, running
from annotation.models import AuditEvent, Job, User
from annotation.models.people import TokenScope
from readerstudy.conducting import lifecycle
from readerstudy.enums import StudyState
from readerstudy.exports import report_writing
from readerstudy.models import Analysis, ReaderStudy
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.conftest import NOON
from tests.readerstudy.api.programs import coordinating, everybody, read_as, statuses
from tests.readerstudy.report.made import reported_analysis
from tests.readerstudy.studies import make_study

FIGURE = "figures/accuracy/one.svg"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own, a queue that nobody listens to, and reports with the flow diagram alone."""
    settings.HOME = tmp_path / "home"
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)
    monkeypatch.setattr(report_writing, "figures_of", lambda _result: [])


@pytest.fixture
def analysis(rita: User, remo: User) -> Analysis:
    """Of a closed study, of which nobody has seen a result."""
    return reported_analysis(rita, remo)


@pytest.fixture
def script(cora: User, analysis: Analysis) -> Program:
    return coordinating(cora, analysis.study)


def at(analysis: Analysis, place: str = "") -> str:
    return f"studies/trial/analyses/{analysis.public_id}/{place}"


def change(**values: Any) -> None:
    ReaderStudy.objects.filter(slug="trial").update(**values)


def body(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def work() -> None:
    running.run(Job.objects.latest("pk").public_id, clock=timezone.now)


def test_who_reads_what(analysis: Analysis) -> None:
    programs = everybody(analysis.study)
    hidden = {name: 403 if status == 200 else status for name, status in read_as(programs, overseer=403).items()}
    shown = read_as(programs, overseer=403)
    once_seen = ("result/", "figures/", FIGURE, "reports/")
    for place in once_seen:
        assert statuses(programs, at(analysis, place)) == hidden, place
    assert statuses(programs, at(analysis)) == shown
    assert statuses(programs, "studies/trial/analyses/") == shown
    assert ReaderStudy.objects.get(slug="trial").unblinded_at is None
    change(unblinded_at=NOON)
    for place in once_seen:
        assert statuses(programs, at(analysis, place)) == shown, place


def test_while_readers_read_there_is_nothing(script: Program, analysis: Analysis) -> None:
    """Also where the glass was broken once."""
    change(state=StudyState.OPEN, unblinded_at=NOON)
    assert script.get("studies/trial/analyses/").json()["results"] == []
    problem_of(script.get(at(analysis)), 404, "not_found")
    for place in ("result/", "figures/", FIGURE, "reports/"):
        problem_of(script.get(at(analysis, place)), 403, "forbidden")
    problem_of(script.post(at(analysis, "result/")), 403, "results_hidden")
    problem_of(script.post(at(analysis, "reports/make/")), 403, "forbidden")
    problem_of(script.post("studies/trial/analyse/"), 403, "results_hidden")
    assert not Job.objects.exists()


def test_the_first_look_is_a_post_and_then_it_is_read(script: Program, analysis: Analysis) -> None:
    problem_of(script.get(at(analysis, "result/")), 403, "forbidden")
    looked = script.post(at(analysis, "result/"))
    assert looked.content.decode() == analysis.result
    assert ReaderStudy.objects.get().unblinded_at is not None
    read = script.get(at(analysis, "result/"))
    assert read.content == looked.content
    known = script.get(at(analysis, "result/"), if_none_match=read["ETag"])
    assert (known.status_code, known.content) == (304, b"")
    assert AuditEvent.objects.filter(act="study.analysis_seen").count() == 2
    problem_of(script.get("studies/trial/analyses/none/result/"), 404, "not_found")


def test_what_is_told_without_a_look(script: Program, analysis: Analysis) -> None:
    [row] = script.get("studies/trial/analyses/").json()["results"]
    told = script.get(at(analysis)).json()
    assert told == row
    assert row["result_sha256"] == analysis.result_sha256
    assert "result" not in row


def test_an_analysis_is_asked_for_once(script: Program) -> None:
    asked = script.post("studies/trial/analyse/", idempotency_key="a")
    again = script.post("studies/trial/analyse/")
    assert (asked.status_code, asked["Location"]) == (202, f"/api/v1/studies/trial/jobs/{Job.objects.get().public_id}/")
    assert again["Location"] == asked["Location"]
    assert asked.json()["state"] == "queued"
    assert script.get(asked["Location"]).json()["state"] == "queued"
    other = lifecycle.ask_for_analysis(make_study("Other"), actor=None, at=NOON)
    problem_of(script.get(f"studies/trial/jobs/{other.public_id}/"), 404, "not_found")


def test_figures_are_those_of_the_page(script: Program, client: Client, cora: User, analysis: Analysis) -> None:
    change(unblinded_at=NOON)
    told = script.get(at(analysis, "figures/")).json()
    assert "accuracy" in told["names"]
    assert (told["widths"], told["forms"]) == (["one", "two"], ["svg", "pdf", "png"])
    figure = script.get(at(analysis, FIGURE))
    client.force_login(cora)
    page = client.get(f"/studies/trial/results/{analysis.public_id}/{FIGURE}")
    assert (figure.content, figure["Content-Type"], figure["ETag"]) == (page.content, "image/svg+xml", page["ETag"])
    assert script.get(at(analysis, FIGURE), if_none_match=figure["ETag"]).status_code == 304
    for wrong in ("figures/none/one.svg", "figures/accuracy/three.svg", "figures/accuracy/one.gif"):
        problem_of(script.get(at(analysis, wrong)), 404, "not_found")


def test_a_report_is_asked_for_and_taken(script: Program, client: Client, cora: User, analysis: Analysis) -> None:
    problem_of(script.post(at(analysis, "reports/make/")), 403, "forbidden")
    change(unblinded_at=NOON)
    asked = script.post(at(analysis, "reports/make/"))
    assert (asked.status_code, asked.json()["kind"]) == (202, "make_report")
    work()
    done = script.get(asked["Location"]).json()
    [report] = script.get(at(analysis, "reports/")).json()["results"]
    assert (done["state"], done["result"]["report"], report["is_there"]) == ("succeeded", report["id"], True)
    assert {"name", "n_bytes", "sha256", "about"} == set(report["contents"][0])
    taken = script.get(at(analysis, f"reports/{report['id']}.zip"))
    client.force_login(cora)
    page = client.post(f"/studies/trial/results/{analysis.public_id}/report/{report['id']}.zip")
    assert body(taken) == body(page)
    assert AuditEvent.objects.filter(act="study.report_taken").count() == 2
    problem_of(script.get(at(analysis, "reports/none.zip")), 404, "not_found")


def test_few_queries(cora: User, analysis: Analysis) -> None:
    """Twelve, without the savepoint in which a look is noted."""
    change(unblinded_at=NOON)
    script = program_of(cora, Role.COORDINATOR, TokenScope.STUDY, "trial")
    job = lifecycle.ask_for_analysis(analysis.study, actor=cora, at=NOON)
    addresses = [at(analysis, place) for place in ("", "result/", "figures/", FIGURE, "reports/")]
    for address in ("studies/trial/analyses/", f"studies/trial/jobs/{job.public_id}/", *addresses):
        with CaptureQueriesContext(connection) as asked:
            assert script.get(address).status_code == 200
        assert len([one for one in asked.captured_queries if "SAVEPOINT" not in one["sql"]]) <= 12, address
