"""A round that asks its reviewers to check their display: before the first question, kept with the round, exported."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.test import Client

from annotation.exports.review_report import write_review_report
from annotation.exports.reviews import export_reviews
from annotation.exports.tables import Format
from annotation.models import AuditEvent, ReviewRound, User
from annotation.review.rounds import create_round, open_round
from annotation.review.viewing import Viewing, check_display, newest_check, pattern_now, set_viewing
from tests.annotation.rounds.made import make_sample, say, theirs
from tests.pages import markup

WINDOW = {"width": "1366", "height": "768", "screen_width": "1920", "screen_height": "1080", "pixel_ratio": "1.25"}


@pytest.fixture
def asking(db: None, cora: User, rita: User, noon: datetime) -> ReviewRound:
    made = create_round(make_sample(3), name="Round", reviewers=[rita], actor=cora, at=noon)
    set_viewing(made, Viewing(display_check=True), actor=cora, at=noon)
    open_round(made, actor=cora, at=noon)
    return made


def seen_by(review_round: ReviewRound, person: User, **other: str) -> dict[str, str]:
    before = newest_check(review_round, person)
    pattern, n = pattern_now(review_round, person, before), before.get("n_attempts", 0)
    return {"dark": pattern.dark, "light": pattern.light, "display": "laptop", "attempt": str(n), **WINDOW, **other}


def test_the_check_comes_before_the_first_question(client: Client, asking: ReviewRound, rita: User) -> None:
    client.force_login(rita)
    case = f"/review/{theirs(rita)[0].public_id}/"
    assert client.get(case)["Location"] == f"{case}display/"
    missed = client.post(f"{case}display/", seen_by(asking, rita, light="X"))
    assert (missed.status_code, "ask your medical physicist" in missed.content.decode()) == (422, True)
    assert client.get(case)["Location"] == f"{case}display/"
    assert client.post(f"{case}display/", seen_by(asking, rita, luminance="350"))["Location"] == case
    page = client.get(case).content.decode()
    assert "&quot;screen_width&quot;: 1920" in page, "the script compares it with the screen of the window"
    assert client.get(f"/review/{theirs(rita)[1].public_id}/").status_code == 200, "once for all questions"
    part = client.post(f"{case}display/", seen_by(asking, rita), headers={"HX-Request": "true"})
    assert part.status_code == 204
    acts = AuditEvent.objects.filter(subject_id=str(asking.pk), actor=rita).values_list("act", flat=True)
    assert list(acts) == ["round.display_not_passed", "round.display_checked", "round.display_checked"]


def test_a_round_that_does_not_ask_has_no_check(
    client: Client, asking: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    set_viewing(asking, Viewing(), actor=cora, at=noon)
    client.force_login(rita)
    case = f"/review/{theirs(rita)[0].public_id}/"
    assert "data-display-url" not in client.get(case).content.decode()
    assert client.get(f"{case}display/")["Location"] == case


def test_the_page_of_the_round_sets_it_and_shows_who_did_not_pass(
    client: Client, asking: ReviewRound, cora: User, rita: User
) -> None:
    client.force_login(rita)
    case = f"/review/{theirs(rita)[0].public_id}/display/"
    for _try in range(3):
        client.post(case, seen_by(asking, rita, dark="", room_light="20", goes_on="yes"))
    client.force_login(cora)
    page = markup(client.get("/rounds/round/"))
    assert "display check not passed" in page
    assert "before the first question, and on another screen" in page
    told = markup(client.get(f"/rounds/round/reviewers/{rita.pk}/"))
    for words in ("not passed, 3 failed attempts", "Room light, lux", ">20<", ">laptop<"):
        assert words in told
    client.post("/rounds/round/viewing/", {})
    assert not ReviewRound.objects.get().display_check


def test_each_review_is_exported_with_the_check_before_it(
    asking: ReviewRound, cora: User, rita: User, noon: datetime, tmp_path: Path
) -> None:
    first, second, *_more = theirs(rita)
    told = {"width": 1366, "display": "laptop", "luminance": 350, "checked_on": "2026-11-01"}
    pattern, later = pattern_now(asking, rita, {}), noon + timedelta(hours=1)
    say(first, at=noon)
    seen = {**told, "dark": pattern.dark, "light": pattern.light}
    assert not check_display(asking, seen, attempt=0, goes_on=False, actor=rita, at=later)
    say(second, at=later)
    file = io.BytesIO()
    export_reviews(asking, Format.CSV, file, actor=cora, at=noon)
    rows = csv.DictReader(io.StringIO(file.getvalue().decode("utf-8-sig")))
    checks = {row["assignment_id"]: row["display_check"] for row in rows}
    assert checks[first.public_id] == ""
    kept = json.loads(checks[second.public_id])
    assert (kept["passed"], kept["luminance"], kept["asked"]["dark"]) == (True, 350, pattern.dark)
    write_review_report(asking, tmp_path / "report", actor=cora, at=noon)
    text = " ".join((tmp_path / "report" / "methods.txt").read_text(encoding="utf-8").split())
    assert "(rule letters-1): 1 of 1 passed." in text
    assert "display laptop 1; maximum luminance, cd/m² median 350" in text
