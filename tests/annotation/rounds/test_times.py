"""The times of a round: what enters the median, what stands beside it, and the rule on every page that shows one."""

from __future__ import annotations

import json
from datetime import datetime
from io import BytesIO
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.case.kernels.durations import RULE, TimeFlag
from annotation.exports.reviews import export_reviews
from annotation.exports.tables import Format
from annotation.models import BlindAnswer, ReviewRound, User
from annotation.review.reviewer_progress import round_times
from annotation.review.rounds import create_round, open_round
from tests.annotation.rounds.made import make_sample, say, theirs
from tests.pages import markup

TIMED: dict[str, Any] = {"time_rule": RULE, "n_sittings": 1}


@pytest.fixture
def timed(db: None, cora: User, rita: User, noon: datetime) -> ReviewRound:
    made = create_round(make_sample(12), name="Round", reviewers=[rita], actor=cora, at=noon)
    open_round(made, actor=cora, at=noon)
    mine = theirs(rita)
    parts = {"hidden": 25_000, "gap": 5_000, "doubt": 400}
    for n, one in enumerate(mine[:6]):
        say(one, active_ms=60_000 + 1000 * n, elapsed_ms=90_000, time_flags=["quiet"], time_parts=parts, **TIMED)
    say(mine[6], active_ms=66_000, elapsed_ms=90_000, time_flags=["quiet"], **{**TIMED, "time_rule": "active-1"})
    say(mine[7], active_ms=1, elapsed_ms=1, time_flags=["resumed", "absent"], **TIMED)
    say(mine[8], time_flags=["not_painted"], unreadable=["an-image", "another"], **TIMED)
    say(mine[9])  # before there was a clock
    BlindAnswer.objects.filter(assignment=mine[0]).update(active_ms=20_000, elapsed_ms=21_000, **TIMED)
    return made


def test_what_enters_the_median_and_what_does_not(
    timed: ReviewRound, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        found = round_times(timed)
    assert (found.active.value, found.active.n, found.active.ci95) == (63_000, 7, (60_000, 66_000))
    assert found.n_undefined == 2
    assert found.excluded == [(TimeFlag.RESUMED, 1)]
    assert found.n_unreadable == 1


def test_pages_show_the_rule_beside_each_time(timed: ReviewRound, client: Client, cora: User, rita: User) -> None:
    client.force_login(cora)
    page = markup(client.get("/rounds/round/")).replace("\N{NO-BREAK SPACE}", " ")
    assert "1 min 3 s (95% CI 1 min 0 s to 1 min 6 s), n = 7 of 10 reviews" in page
    assert f"Rule active-1, {RULE}" in page
    assert "2 without a time; 1 taken up again in another sitting" in page
    assert "in 1 review" in page
    page = markup(client.get(f"/rounds/round/reviewers/{rita.pk}/")).replace("\N{NO-BREAK SPACE}", " ")
    assert "1 min 0 s, of it 20.0 s to the blind answer" in page
    assert (page.count(f"rule {RULE}"), page.count("rule active-1")) == (8, 1)
    assert page.count("taken off: the page was hidden or covered 25.0 s; between two loads") == 6
    assert "2 images" in page


def test_the_export_holds_the_times(timed: ReviewRound, noon: datetime) -> None:
    file = BytesIO()
    export_reviews(timed, Format.JSONL, file, actor=None, at=noon)
    rows = [json.loads(line) for line in file.getvalue().decode().splitlines()]
    first = next(row for row in rows if row["blind_active_ms"] == 20_000)
    assert (first["active_ms"], first["elapsed_ms"], first["sittings"]) == (60_000, 90_000, 1)
    assert (first["time_rule"], first["time_flags"], first["blind_elapsed_ms"]) == (RULE, "quiet", 21_000)
    assert (first["hidden_ms"], first["gap_ms"], first["asleep_ms"], first["doubt_ms"]) == (25_000, 5_000, 0, 400)
    assert {row["hidden_ms"] for row in rows if row["time_rule"] == "active-1"} == {None}
    unread = next(row for row in rows if row["unreadable"])
    assert (unread["unreadable"], unread["active_ms"]) == ("an-image|another", None)
    assert sum(row["time_rule"] == "" for row in rows) == 1
