"""The report of a round on its page: a button, a job, a list of files, a download; who may, and what it costs."""

from __future__ import annotations

import io
import zipfile
from datetime import datetime
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotation.enums import JobState
from annotation.exports import review_report
from annotation.exports.review_report_job import KIND, kept_report
from annotation.jobs.running import run
from annotation.models import Assignment, AuditEvent, Job, ReviewRound, SeenKey, User
from annotation.review.rounds import create_round, open_round
from annotation.tables.kernels.forms import FigureForm
from tests.annotation.exports.test_review_report import adjudicate, make_lively
from tests.annotation.rounds.made import make_sample, say
from tests.conftest import make_person

PAGE, MAKE, FILE = ("/rounds/lively/report/", "/rounds/lively/report/make/", "/rounds/lively/report.zip")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures have tests of their own."""
    monkeypatch.setattr(review_report, "_figures", lambda numbers: ())


@pytest.fixture
def lively(rita: User, remo: User, cora: User, noon: datetime) -> ReviewRound:
    return make_lively([rita, remo], cora, noon, n=6)


def make(client: Client) -> Job:
    client.post(MAKE)
    job = Job.objects.filter(kind=KIND).latest("pk")
    assert run(job.public_id, clock=timezone.now)
    return job


def words(client: Client, address: str = PAGE) -> str:
    return " ".join(client.get(address).content.decode().split())


@pytest.mark.usefixtures("undrawn", "lively")
def test_the_button_makes_it_and_the_page_says_what_it_holds(client: Client, cora: User) -> None:
    client.force_login(cora)
    assert f'href="{PAGE}"' in words(client, "/rounds/lively/")
    assert "No report so far" in words(client)
    for _again in range(2):
        assert client.post(MAKE)["Location"] == PAGE
    job = Job.objects.get(kind=KIND)  # one that waits is enough
    page = words(client)
    assert "The report is being made" in page
    assert 'hx-trigger="every 2s"' in page
    assert run(job.public_id, clock=timezone.now)
    page = words(client)
    assert "every 2s" not in page
    for word in ("Download the ZIP", "12 reviews, ", "interim", "recompute.py", "outcomes_by.csv", "has changed"):
        assert (word in page) == (word != "has changed")
    part = client.get(PAGE, headers={"HX-Request": "true"})
    assert "<h1>" not in part.content.decode()
    assert "HX-Request" in part["Vary"]
    assert not AuditEvent.objects.filter(act="round.report_taken").exists()
    assert not SeenKey.objects.filter(person=cora).exists()


def test_the_download_is_the_folder_of_the_command_and_is_noted(
    client: Client, cora: User, lively: ReviewRound, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review_report, "FigureForm", [FigureForm.SVG])
    client.force_login(cora)
    make(client)
    answer = client.post(FILE)
    assert answer["Content-Type"] == "application/zip"
    assert answer["Content-Disposition"] == 'attachment; filename="lively-report.zip"'
    assert "no-store" in answer["Cache-Control"]
    call_command("review_report", "--round", lively.slug, "--out", str(tmp_path / "report"), verbosity=0)
    files = {path.relative_to(tmp_path): path for path in tmp_path.rglob("*") if path.is_file()}
    with zipfile.ZipFile(io.BytesIO(b"".join(answer))) as archive:
        packed = {name.removeprefix("lively-"): archive.read(name) for name in archive.namelist()}
    assert packed == {str(name): path.read_bytes() for name, path in files.items()}
    assert any(name.endswith(".svg") for name in packed)
    taken, by_command = AuditEvent.objects.filter(act="round.report_taken").order_by("pk")
    assert (taken.actor, by_command.actor, taken.facts) == (cora, None, by_command.facts)
    assert taken.facts["reviews"] == 12
    assert SeenKey.objects.filter(person=cora).count() == 6


@pytest.mark.usefixtures("undrawn")
def test_it_is_made_anew_when_the_round_has_changed(
    client: Client, cora: User, lively: ReviewRound, noon: datetime
) -> None:
    client.force_login(cora)
    make(client)
    first = kept_report(lively)
    assert first is not None
    make(client)
    again = kept_report(lively)
    assert again is not None
    assert (again.path, again.is_there) == (first.path, True)
    say(Assignment.objects.filter(round=lively, repeats=None)[0], version=2)
    page = words(client)
    assert "The round has changed since this report was made." in page
    assert "Download the ZIP" in page  # the old one can still be taken
    make(client)
    newest = kept_report(lively)
    assert newest is not None
    assert newest.path != first.path
    assert not first.is_there
    assert "has changed" not in words(client)
    adjudicate(lively, cora, noon)
    assert "The round has changed since this report was made." in words(client)


@pytest.mark.usefixtures("undrawn")
def test_a_file_that_is_gone_can_be_made_again(client: Client, cora: User, lively: ReviewRound) -> None:
    client.force_login(cora)
    make(client)
    kept = kept_report(lively)
    assert kept is not None
    kept.path.unlink()
    page = words(client)
    assert "reports are not part of a backup" in page
    assert "Download the ZIP" not in page
    assert "make it again" in client.post(FILE, follow=True).content.decode()
    assert not AuditEvent.objects.filter(act="round.report_taken").exists()
    make(client)
    assert kept.is_there


@pytest.mark.usefixtures("lively")
def test_a_try_that_fails_says_why(client: Client, cora: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_given: object, **_named: object) -> None:
        raise OSError("No space left on device")

    client.force_login(cora)
    monkeypatch.setattr("annotation.exports.review_report.pack_review_report", full)
    make(client)
    assert "The last try ended without a report: No space left on device" in words(client)
    assert "Make the report" in words(client)


@pytest.mark.usefixtures("undrawn", "lively")
def test_who_may(client: Client, cora: User, rita: User, remo: User, ada: User) -> None:
    client.force_login(cora)
    job = make(client)
    stranger = make_person("Stranger")
    for person, status in ((rita, 403), (stranger, 404), (ada, 403)):
        client.force_login(person)
        answers = [client.get(PAGE), client.post(MAKE), client.post(FILE)]
        assert [answer.status_code for answer in answers] == [status] * 3
    client.force_login(cora)
    assert [client.post(PAGE).status_code, client.get(MAKE).status_code, client.get(FILE).status_code] == [405] * 3
    Assignment.objects.filter(reviewer=remo).update(reviewer=cora)  # from now on the coordinator reviews as well
    answers = [client.get(PAGE), client.post(MAKE), client.post(FILE)]
    assert [answer.status_code for answer in answers] == [403] * 3
    assert PAGE not in words(client, "/rounds/lively/")
    shown = words(client, reverse("job", args=[job.public_id]))
    result = Job.objects.get(pk=job.pk).result
    assert result is not None
    assert result["report"]["sha256"] not in shown  # what was made tells of the reviews
    assert "<dt>report</dt>" not in shown
    assert Job.objects.filter(kind=KIND, state=JobState.SUCCEEDED).count() == 1


def test_a_round_without_reviews_has_no_report(client: Client, cora: User, rita: User, noon: datetime) -> None:
    made = create_round(make_sample(3), name="Lively", reviewers=[rita], actor=cora, at=noon)
    open_round(made, actor=cora, at=noon)
    client.force_login(cora)
    assert "No review is submitted yet: there is nothing to report." in words(client)
    answer = client.post(MAKE)
    assert answer.status_code == 422
    assert "No review of Lively is submitted yet" in answer.content.decode()
    assert not Job.objects.exists()


@pytest.mark.usefixtures("undrawn", "lively")
def test_what_the_page_costs(client: Client, cora: User, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    client.force_login(cora)
    make(client)
    with django_assert_num_queries(12):
        client.get(PAGE)
