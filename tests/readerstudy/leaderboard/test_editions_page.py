"""Editions on their page and over the API: who may what, what is shown when, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from annotation.enums import JobState, QuestionState, Role
from annotation.jobs.handlers import handler_for
from annotation.models import Job, Question, User
from readerstudy.leaderboard.editions import VERIFY
from readerstudy.models import Benchmark, Edition, EditionResult, PublishedNumber
from tests.conftest import make_person
from tests.readerstudy.leaderboard.made import keys_of, make_benchmark, make_submission, make_team, wrong_at
from tests.readerstudy.leaderboard.published import make_published

pytestmark = pytest.mark.django_db
PAGE = "/leaderboards/private-test/editions/"
API = "/api/v1/leaderboards/private-test/"


def client_of(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def coordinators() -> tuple[Client, Client]:
    return client_of(make_person("cora", Role.COORDINATOR)), client_of(make_person("omar", Role.COORDINATOR))


def named() -> Benchmark:
    """Two teams named a submission for the only edition, whose date is long over."""
    benchmark = make_benchmark(n=300, n_editions=1)
    Edition.objects.update(due_on=date(2026, 1, 5))
    edition, keys = benchmark.editions.get(), keys_of(benchmark)
    make_submission(make_team(benchmark, "Team One"), keys, edition=edition)
    make_submission(make_team(benchmark, "Team Two"), wrong_at(keys, range(0, 300, 3)), edition=edition)
    return benchmark


class _Progress:
    def report(self, done: int, total: int, message: str = "") -> None:
        pass


def run_all() -> None:
    """Without the thread that tells that a worker is alive: it would wait for the transaction of the test."""
    for job in Job.objects.filter(state=JobState.QUEUED).order_by("pk"):
        job.result = handler_for(job.kind).run(_Progress(), job.params)
        job.state, job.finished_at = JobState.SUCCEEDED, timezone.now()
        job.save()


def test_from_the_proposal_to_the_public_board(tmp_path: Path) -> None:
    named()
    cora, omar = coordinators()
    page = cora.get(PAGE).content.decode()
    assert "Propose to score it" in page
    assert "Until then nobody learns a number" in page
    assert "Another coordinator confirms it" in cora.post(f"{PAGE}1/propose/", follow=True).content.decode()
    assert "Confirm and score" not in cora.get(PAGE).content.decode()
    refused = cora.post(f"{PAGE}1/confirm/", follow=True).content.decode()
    assert "You proposed this edition" in refused
    asked = omar.post(f"{PAGE}1/confirm/")
    assert asked.status_code == 409
    assert "Team One, Team Two" in asked.content.decode()
    assert not EditionResult.objects.exists()
    omar.post(f"{PAGE}1/confirm/", {"confirmed": "yes"})
    run_all()
    page = omar.get(PAGE).content.decode()
    assert "published" in page
    assert 'href="/board/private-test/"' in page
    assert (tmp_path / "boards" / "private-test" / "index.html").is_file()


def test_verifying_shows_what_differs() -> None:
    benchmark = make_published(n=300)
    cora, _omar = coordinators()
    cora.post(f"{PAGE.removesuffix('editions/')}publish/")
    cora.post(f"{PAGE.removesuffix('editions/')}verify/")
    run_all()
    assert "files are what was published" in " ".join(cora.get(PAGE).content.decode().split())
    PublishedNumber.objects.filter(what="band").delete()
    cora.post(f"{PAGE.removesuffix('editions/')}verify/")
    run_all()
    assert Job.objects.get(kind=VERIFY, result__different=3)
    assert "the ledger has no row for band" in cora.get(PAGE).content.decode()
    assert benchmark.slug == "private-test"


def test_versions_and_notes_on_the_page() -> None:
    benchmark = make_published(n=300)
    cora, _omar = coordinators()
    Question.objects.filter(bank=benchmark.bank, number=4).update(state=QuestionState.WITHDRAWN)
    page = " ".join(cora.get(PAGE).content.decode().split())
    assert "1 question was withdrawn or corrected since the newest version: 4 (voided)" in page
    root = PAGE.removesuffix("editions/")
    assert "This field is required" in cora.post(f"{root}new-version/", {"reason": ""}, follow=True).content.decode()
    cora.post(f"{root}new-version/", {"reason": "Review"})
    assert benchmark.versions.count() == 2
    assert "Score on the newest version" in cora.get(PAGE).content.decode()
    cora.post(f"{root}note/", {"text": "<b>disputed</b>", "entry": ""})
    assert "&lt;b&gt;disputed&lt;/b&gt;" in cora.get(PAGE).content.decode()
    said = cora.post(f"{root}note/", {"text": "x", "entry": "none"}, follow=True).content.decode()
    assert "has the id none" in said


def test_others_than_coordinators() -> None:
    benchmark = make_published(n=300)
    member = client_of(benchmark.teams.first().members.get().user)  # type: ignore[union-attr]
    reviewer = client_of(make_person("rita", Role.REVIEWER))
    admin = client_of(make_person("ada", Role.ADMINISTRATOR))
    assert [one.get(PAGE).status_code for one in (member, reviewer, admin)] == [403, 404, 200]
    for one, status in ((member, 403), (reviewer, 404), (admin, 403)):
        assert one.post(f"{PAGE}1/propose/").status_code == status
        assert one.post(f"{PAGE.removesuffix('editions/')}note/", {"text": "x"}).status_code == status
    assert "Write the public board" not in admin.get(PAGE).content.decode()


def test_a_page_without_editions_says_what_follows() -> None:
    make_benchmark(n=30, n_editions=0)
    cora, _omar = coordinators()
    assert "No edition is planned" in cora.get(PAGE).content.decode()


# --- the API --------------------------------------------------------------------------------------
def test_editions_and_results_over_the_api() -> None:
    benchmark = make_published(n=300, n_editions=2)
    member = client_of(benchmark.teams.first().members.get().user)  # type: ignore[union-attr]
    found = member.get(f"{API}editions/").json()["results"]
    assert {one["number"]: one["versions"] for one in found} == {1: [1], 2: []}
    assert member.get(f"{API}editions/1/").json()["published_at"]
    taken = member.get(f"{API}editions/1/results/1/")
    assert taken.content.decode() == EditionResult.objects.get().result
    assert member.get(f"{API}editions/1/results/1/", HTTP_IF_NONE_MATCH=taken["ETag"]).status_code == 304
    for path in ("editions/2/results/1/", "editions/1/results/2/", "editions/3/"):
        assert member.get(f"{API}{path}").status_code == 404
    stranger = client_of(make_person("rita", Role.REVIEWER))
    unknown = stranger.get("/api/v1/leaderboards/none/editions/")
    assert stranger.get(f"{API}editions/").json() == unknown.json()
    assert unknown.status_code == 404


def test_acts_over_the_api() -> None:
    named()
    cora, omar = coordinators()
    kind = "application/json"
    refused = cora.post(f"{API}editions/1/confirm/", {}, content_type=kind)
    assert (refused.status_code, refused.json()["code"]) == (409, "not_proposed")
    proposed = cora.post(f"{API}editions/1/propose/", {}, content_type=kind)
    assert (proposed.status_code, proposed.json()["published_at"]) == (200, None)
    assert omar.post(f"{API}editions/1/confirm/", {}, content_type=kind).status_code == 200
    run_all()
    [edition] = cora.post(f"{API}publish/", {}, content_type=kind).json()["editions"]
    assert (edition["number"], edition["published_at"] is None) == (1, False)
    noted = cora.post(f"{API}note/", json.dumps({"text": "Disputed."}), content_type=kind)
    assert noted.json()["notes"] == cora.get(API).json()["notes"] == ["Disputed."]
    assert cora.post(f"{API}new-version/", json.dumps({"reason": "x"}), content_type=kind).status_code == 409
    assert datetime.now(UTC).date() > Edition.objects.get().due_on
