"""The report on the page: a button, a job, files, a download; and from another machine."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from annotation.enums import JobState
from annotation.jobs.running import run
from annotation.models import AuditEvent, Job, User
from annotation.site import home_files
from readerstudy.exports.report_job import KIND, path_of
from readerstudy.models import Analysis, AnalysisReport, ReaderStudy
from tests.conftest import NOON
from tests.object_storage import TwoHomes, object_storage
from tests.readerstudy.exports.read_study import void
from tests.readerstudy.report.made import reported_analysis

pytestmark = pytest.mark.usefixtures("few_figures")


@pytest.fixture
def analysis(rita: User, remo: User) -> Analysis:
    analysis = reported_analysis(rita, remo)
    ReaderStudy.objects.update(unblinded_at=NOON)
    return analysis


def address(name: str, analysis: Analysis, *more: object) -> str:
    return reverse(name, args=["trial", analysis.public_id, *more])


def made(client: Client, analysis: Analysis) -> AnalysisReport:
    client.post(address("study-report-make", analysis))
    run(Job.objects.filter(kind=KIND).latest("pk").public_id, clock=timezone.now)
    return AnalysisReport.objects.latest("pk")


def test_the_button_on_the_results_page_makes_it(coordinator: Client, analysis: Analysis) -> None:
    results = coordinator.get(address("study-analysed", analysis)).content.decode()
    assert f'action="{address("study-report-make", analysis)}"' in results
    assert "No report so far" in coordinator.get(address("study-report", analysis)).content.decode()
    for _again in range(2):
        response = coordinator.post(address("study-report-make", analysis))
        assert response["Location"] == address("study-report", analysis)
    job = Job.objects.get(kind=KIND)  # one that waits is enough
    page = coordinator.get(address("study-report", analysis)).content.decode()
    assert "The report is being made" in page
    assert 'hx-trigger="every 2s"' in page
    assert run(job.public_id, clock=timezone.now)
    page = coordinator.get(address("study-report", analysis)).content.decode()
    assert "every 2s" not in page
    stands = address("study-analysed-stands", analysis)
    for words in ("Download the ZIP", "ratings.csv", "methods.txt", "tables", stands):
        assert words in page
    part = coordinator.get(address("study-report", analysis), headers={"HX-Request": "true"})
    assert "<h1>" not in part.content.decode()
    assert "HX-Request" in part["Vary"]


def test_the_job_run_twice_stores_once(coordinator: Client, analysis: Analysis) -> None:
    first = made(coordinator, analysis)
    path_of(first).unlink()
    again = made(coordinator, analysis)
    assert again == first
    assert path_of(first).is_file()
    assert AuditEvent.objects.filter(act="study.report_made").count() == 1
    assert Job.objects.filter(kind=KIND, state=JobState.SUCCEEDED).count() == 2


def test_the_download_is_noted_as_a_look(coordinator: Client, analysis: Analysis) -> None:
    report = made(coordinator, analysis)
    file = address("study-report-file", analysis, report.public_id)
    assert coordinator.get(file).status_code == 405
    response = coordinator.post(file)
    content = b"".join(response.streaming_content)  # type: ignore[attr-defined]  # a FileResponse
    assert response["Content-Type"] == "application/zip"
    assert f'filename="trial-report-{report.public_id}.zip"' in response["Content-Disposition"]
    assert "no-store" in response["Cache-Control"]
    archive = zipfile.ZipFile(io.BytesIO(content))
    assert archive.testzip() is None
    assert archive.read("trial-report/analysis.json").decode() == analysis.result
    assert sorted(archive.namelist()) == sorted(f"trial-report/{name}" for name, _n, _sha, _about in report.contents)
    acts = set(AuditEvent.objects.values_list("act", flat=True))
    assert {"study.report_made", "study.report_taken", "study.analysis_seen"} <= acts


def test_a_file_that_is_gone_can_be_made_again(coordinator: Client, analysis: Analysis) -> None:
    report = made(coordinator, analysis)
    path_of(report).unlink()
    page = coordinator.get(address("study-report", analysis)).content.decode()
    assert "reports are not part of a backup" in page
    assert "Download the ZIP" not in page
    response = coordinator.post(address("study-report-file", analysis, report.public_id), follow=True)
    assert "make it again" in response.content.decode()
    assert not AuditEvent.objects.filter(act="study.report_taken").exists()


def test_a_stale_analysis_gives_a_sentence_instead_of_a_report(coordinator: Client, analysis: Analysis) -> None:
    report = made(coordinator, analysis)
    void(analysis.study.cases.get(block="main", number=4))
    made(coordinator, analysis)
    page = coordinator.get(address("study-report", analysis)).content.decode()
    assert "The last try ended without a report: The analysis is stale" in " ".join(page.split())
    assert address("study-report-file", analysis, report.public_id) in page  # the old one can still be taken
    assert "Out of date" in coordinator.get(address("study-analysed-stands", analysis)).content.decode()


def test_before_the_first_look_there_is_no_page(coordinator: Client, analysis: Analysis) -> None:
    ReaderStudy.objects.update(unblinded_at=None)
    assert coordinator.get(address("study-report", analysis)).status_code == 403
    assert coordinator.post(address("study-report-make", analysis)).status_code == 403
    assert not Job.objects.filter(kind=KIND).exists()


def test_who_is_refused(client: Client, analysis: Analysis, cora: User, ada: User, rita: User, stan: User) -> None:
    client.force_login(cora)
    report = made(client, analysis)
    file = address("study-report-file", analysis, report.public_id)
    for person, status in ((stan, 404), (rita, 404), (ada, 403)):
        client.force_login(person)
        assert client.get(address("study-report", analysis)).status_code == status
        assert client.post(address("study-report-make", analysis)).status_code == status
        assert client.post(file).status_code == status
    client.logout()
    assert client.post(file).status_code == 302
    client.force_login(cora)
    assert client.post(address("study-report-file", analysis, "other")).status_code == 404
    assert client.get(address("study-report-make", analysis)).status_code == 405
    assert json.loads(json.dumps(report.contents)) == report.contents


def test_what_the_page_costs(
    coordinator: Client, analysis: Analysis, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    made(coordinator, analysis)
    coordinator.get(address("study-report", analysis))  # the first look of a person is noted
    with django_assert_num_queries(8):
        coordinator.get(address("study-report", analysis))


# --- two machines ----------------------------------------------------------------------------------
@pytest.mark.services
@pytest.mark.usefixtures("few_figures", "own_home")
def test_a_report_is_taken_from_the_machine_that_did_not_make_it(
    coordinator: Client, rita: User, remo: User, settings: Settings, tmp_path: Path
) -> None:
    with object_storage() as s3:
        homes = TwoHomes(tmp_path / "machines", settings, s3)
        analysis = reported_analysis(rita, remo)
        ReaderStudy.objects.update(unblinded_at=NOON)
        homes.at("b")
        report = made(coordinator, analysis)
        assert (homes.left(), homes.in_bucket()) == ([], [f"home/reports/{report.public_id}.zip"])
        homes.at("a")
        assert "Download the ZIP" in coordinator.get(address("study-report", analysis)).content.decode()
        file = address("study-report-file", analysis, report.public_id)
        answer = coordinator.post(file)
        assert b"".join(answer.streaming_content)[:2] == b"PK"  # type: ignore[attr-defined]
        home_files.drop(path_of(report))
        assert coordinator.post(file).status_code == 302, "made again from the page"
        assert AuditEvent.objects.filter(act="study.report_taken").count() == 1
        assert homes.left() == []
