"""A benchmark with published editions, for tests of its public board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta

from readerstudy.leaderboard.edition_scoring import score_edition
from readerstudy.models import Benchmark, Edition, EditionResult, Submission, Team
from tests.readerstudy.leaderboard.made import FROZEN_AT, keys_of, make_benchmark, make_submission, make_team, wrong_at

SHARES = {"Team One": 10, "Team Two": 3, "Team Three": 2}  # wrong is every so manieth answer


def after(edition: Edition) -> datetime:
    return datetime.combine(edition.due_on + timedelta(days=1), time(12), UTC)


def scored(edition: Edition) -> EditionResult:
    """Confirmed and scored the day after its date."""
    edition.proposed_at = edition.confirmed_at = after(edition)
    edition.save()
    version = edition.benchmark.versions.order_by("-number")[0]
    return score_edition(edition, version, actor=None, at=after(edition))


def name_again(edition: Edition, submissions: Sequence[Submission]) -> None:
    for one in submissions:
        one.entries.create(edition=edition, team=one.team, named_at=FROZEN_AT)


def make_published(n: int = 320, *, n_editions: int = 1, shares: Mapping[str, int] = SHARES) -> Benchmark:
    """Its first edition is published, with a submission of each team."""
    benchmark = make_benchmark(n=n, n_editions=n_editions)
    edition, keys = benchmark.editions.get(number=1), keys_of(benchmark)
    for name, every in shares.items():
        make_submission(make_team(benchmark, name), wrong_at(keys, range(0, n, every)), edition=edition)
    scored(edition)
    return benchmark


def team_named(benchmark: Benchmark, name: str) -> Team:
    return benchmark.teams.get(name=name)
