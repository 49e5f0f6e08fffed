"""An edition: two persons, after its date, everything at once, and a row that never changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from annotation.enums import Role
from annotation.models import AuditEvent, Job
from readerstudy.enums import BenchmarkState
from readerstudy.leaderboard import edition_scoring, editions
from readerstudy.leaderboard.access import LeaderboardRefused
from readerstudy.leaderboard.edition_scoring import score_edition
from readerstudy.leaderboard.editions import (
    confirm_edition,
    propose_edition,
)
from readerstudy.models import Benchmark, Edition, EditionResult, PublishedNumber
from tests.conftest import make_person
from tests.readerstudy.leaderboard.made import keys_of, make_benchmark, make_submission, make_team, wrong_at

pytestmark = pytest.mark.django_db

BEFORE = datetime(2026, 6, 1, 23, 59, tzinfo=UTC)
AFTER = datetime(2026, 6, 2, 0, 0, tzinfo=UTC)


def made(n: int = 60, *, n_editions: int = 1) -> tuple[Benchmark, Edition]:
    """Two teams, of which one is wrong at a third of the questions."""
    benchmark = make_benchmark(n=n, n_editions=n_editions)
    edition = benchmark.editions.get(number=1)
    keys = keys_of(benchmark)
    make_submission(make_team(benchmark, "Team One"), keys, edition=edition)
    make_submission(make_team(benchmark, "Team Two"), wrong_at(keys, range(0, n, 3)), edition=edition)
    return benchmark, edition


def cora_and_omar() -> tuple[Any, Any]:
    return make_person("cora", Role.COORDINATOR), make_person("omar", Role.COORDINATOR)


def confirmed(edition: Edition) -> Edition:
    cora, omar = cora_and_omar()
    propose_edition(edition, actor=cora, at=AFTER)
    confirm_edition(edition, actor=omar, at=AFTER)
    edition.refresh_from_db()
    return edition


def test_two_persons_confirm_and_a_job_scores() -> None:
    _benchmark, edition = made()
    cora, omar = cora_and_omar()
    with pytest.raises(LeaderboardRefused, match="propose it first"):
        confirm_edition(edition, actor=omar, at=AFTER)
    propose_edition(edition, actor=cora, at=AFTER)
    with pytest.raises(LeaderboardRefused, match="another coordinator"):
        confirm_edition(edition, actor=cora, at=AFTER)
    job = confirm_edition(edition, actor=omar, at=AFTER)
    edition.refresh_from_db()
    assert (edition.proposed_by, edition.confirmed_by, edition.published_at) == (cora, omar, None)
    assert job.kind == editions.SCORE
    assert not EditionResult.objects.exists()
    assert [one.act for one in AuditEvent.objects.order_by("pk")][-2:] == ["edition.proposed", "edition.confirmed"]


def test_nothing_is_proposed_before_the_end_of_the_date_in_utc() -> None:
    _benchmark, edition = made()
    cora, _omar = cora_and_omar()
    with pytest.raises(LeaderboardRefused, match="2026-06-01"):
        propose_edition(edition, actor=cora, at=BEFORE)
    propose_edition(edition, actor=cora, at=AFTER)


def test_an_edition_without_a_sound_submission_and_a_closed_benchmark_are_refused() -> None:
    benchmark = make_benchmark(n=30, n_editions=1)
    edition, (cora, _omar) = benchmark.editions.get(), cora_and_omar()
    with pytest.raises(LeaderboardRefused, match="nothing to score"):
        propose_edition(edition, actor=cora, at=AFTER)
    Benchmark.objects.update(state=BenchmarkState.CLOSED)
    with pytest.raises(LeaderboardRefused, match="is closed"):
        propose_edition(edition, actor=cora, at=AFTER)


def test_scored_twice_is_one_row_with_its_ledger() -> None:
    benchmark, edition = made()
    confirmed(edition)
    version = benchmark.versions.get()
    first = score_edition(edition, version, actor=None, at=AFTER)
    n_rows = PublishedNumber.objects.count()
    assert score_edition(edition, version, actor=None, at=AFTER + timedelta(days=1)) == first
    assert (EditionResult.objects.count(), PublishedNumber.objects.count()) == (1, n_rows)
    edition.refresh_from_db()
    assert edition.published_at == AFTER
    result = msgspec.json.decode(first.result)
    assert [one["numbers"]["all"]["value"] for one in result["entries"]] == [100.0, 66.7]
    rows = PublishedNumber.objects.filter(what="all").order_by("-pk")
    assert [one.value["value"] for one in rows] == [66.7, 100.0]
    assert all(one.answers == [one.submission.answers_sha256] for one in rows if one.submission)
    assert sorted(set(PublishedNumber.objects.values_list("told_to", "rule"))) == [("everybody", "score-1 release-1")]


def test_nothing_is_scored_before_two_persons_confirmed_or_with_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark, edition = made(n=30)
    with pytest.raises(LeaderboardRefused, match="Two persons"):
        score_edition(edition, benchmark.versions.get(), actor=None, at=AFTER)
    confirmed(edition)
    monkeypatch.setattr(edition_scoring, "commitment_holds", lambda version: False)
    with pytest.raises(LeaderboardRefused, match="commitment"):
        score_edition(edition, benchmark.versions.get(), actor=None, at=AFTER)
    assert not EditionResult.objects.exists()


def test_withdrawn_and_failed_submissions_are_not_scored() -> None:
    benchmark, edition = made(n=30)
    keys = keys_of(benchmark)
    gone = make_submission(make_team(benchmark, "Team Three"), keys, edition=edition)
    gone.withdrawn_at = BEFORE
    gone.save()
    failed = make_submission(make_team(benchmark, "Team Four"), keys, edition=edition)
    failed.is_sound, failed.answers = False, ""
    failed.save()
    made_now = score_edition(confirmed(edition), benchmark.versions.get(), actor=None, at=AFTER)
    assert len(msgspec.json.decode(made_now.result)["entries"]) == 2


def test_the_job_runs_once_and_says_what_it_made() -> None:
    _benchmark, edition = made(n=30)
    confirmed(edition)
    job = Job.objects.get(kind=editions.SCORE)
    assert job.params["edition"] == edition.pk
    assert edition.confirmed_by is not None
    assert confirm_edition(edition, actor=edition.confirmed_by, at=AFTER) == job
