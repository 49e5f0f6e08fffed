"""The report of a study that one machine made and another gives out, with one bucket and a home each."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from annotation.models import AuditEvent, User
from annotation.site import home_files
from readerstudy.exports.report_job import path_of
from readerstudy.models import ReaderStudy
from tests.annotation.review.cases import NOON
from tests.object_storage import TwoHomes, object_storage
from tests.readerstudy.report.made import reported_analysis
from tests.readerstudy.report.test_report_views import address, made

pytestmark = [pytest.mark.services, pytest.mark.usefixtures("few_figures", "own_home")]


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
