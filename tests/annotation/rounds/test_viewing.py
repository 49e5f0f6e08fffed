"""Image tools that a round hides, and its smallest window: stored, shown, handed to the case page, exported.

A round that asks its reviewers to check their display: before the first question, kept with the round, exported.
"""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.db import IntegrityError
from django.test import Client

from annotation.enums import RoundState, ViewerTool
from annotation.exports.review_report import write_review_report
from annotation.exports.reviews import export_reviews
from annotation.models import AuditEvent, ReviewRound, User
from annotation.review.ending import close_round
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.rounds import create_round, open_round
from annotation.review.viewing import (
    ORDINARY,
    Viewing,
    check_display,
    newest_check,
    pattern_now,
    set_viewing,
    viewing_of,
)
from annotation.tables.writing import Format
from tests.annotation.exports.test_review_report import undrawn as undrawn
from tests.annotation.rounds.made import make_sample, say, theirs
from tests.pages import markup
from tests.refusals import refuses

PLAIN = Viewing((ViewerTool.RATIO, ViewerTool.LINE), (1280, 720))


@pytest.fixture
def draft(db: None, cora: User, rita: User, noon: datetime) -> ReviewRound:
    return create_round(make_sample(3), name="Round", reviewers=[rita], actor=cora, at=noon)


def stored(review_round: ReviewRound) -> Viewing:
    return viewing_of(ReviewRound.objects.get(pk=review_round.pk))


def test_what_was_set_is_stored_in_one_order_and_noted(draft: ReviewRound, cora: User, noon: datetime) -> None:
    assert stored(draft) == ORDINARY, "all tools and any window, unless it says otherwise"
    set_viewing(draft, PLAIN, actor=cora, at=noon)
    assert stored(draft) == Viewing((ViewerTool.LINE, ViewerTool.RATIO), (1280, 720))
    set_viewing(draft, PLAIN, actor=cora, at=noon)
    [event] = AuditEvent.objects.filter(act="round.viewing_changed")
    nothing: dict[str, object] = {"hidden_tools": [], "least_width": None, "least_height": None}
    nothing |= {"double_click": False, "display_check": False}
    plain = {"hidden_tools": ["line", "ratio"], "least_width": 1280, "least_height": 720}
    assert event.facts == {"before": nothing, "after": {**nothing, **plain}}


def test_a_window_that_says_nothing_or_that_nobody_has_is_refused(
    draft: ReviewRound, cora: User, noon: datetime
) -> None:
    for window in ((639, 400), (640, 399), (3841, 2160), (1280, 2161)):
        with refuses(ReviewRefused, "window_out_of_range", match="640 × 400 to 3840 × 2160"):
            set_viewing(draft, Viewing((), window), actor=cora, at=noon)
        with refuses(ReviewRefused, "window_out_of_range", match="smallest window"):
            create_round(draft.plan, name="B", reviewers=[], actor=cora, at=noon, viewing=Viewing((), window))
    assert stored(draft) == ORDINARY


def test_an_open_round_can_change_and_a_closed_one_cannot(draft: ReviewRound, cora: User, noon: datetime) -> None:
    open_round(draft, actor=cora, at=noon)
    set_viewing(draft, PLAIN, actor=cora, at=noon)
    close_round(draft, actor=cora, at=noon, confirmed_open=3)
    with refuses(ReviewRefused, "round_closed", match="final"):
        set_viewing(draft, ORDINARY, actor=cora, at=noon)
    assert stored(draft).least_window == (1280, 720)


def test_a_tool_that_is_no_more_hides_nothing_and_the_database_holds_no_half_window(draft: ReviewRound) -> None:
    draft.hidden_tools = ["magnifier", "line"]
    assert viewing_of(draft).hidden_tools == (ViewerTool.LINE,)
    with pytest.raises(IntegrityError):
        ReviewRound.objects.filter(pk=draft.pk).update(least_width=1280)


def test_the_page_of_a_new_round_asks(coordinator: Client, rita: User) -> None:
    fields = {
        "name": "New one",
        "sample": make_sample(3).slug,
        "reviewers": [rita.pk],
        "per_question": "1",
        "steps": "full",
        "seed": "1",
        "hidden_tools": ["link", "invert"],
        "least_width": "1280",
    }
    answer = coordinator.post("/rounds/new/", fields)
    assert answer.status_code == 422
    assert "a width and a height, or neither" in answer.content.decode()
    assert coordinator.post("/rounds/new/", {**fields, "least_height": "720"}).status_code == 302
    made = ReviewRound.objects.get()
    assert stored(made) == Viewing((ViewerTool.INVERT, ViewerTool.LINK), (1280, 720))


def test_the_page_of_the_round_shows_and_changes_them(coordinator: Client, draft: ReviewRound) -> None:
    asked = {"hidden_tools": ["line", "ratio"], "least_width": "1280", "least_height": "720"}
    assert coordinator.post("/rounds/round/viewing/", asked).status_code == 302
    page = markup(coordinator.get("/rounds/round/"))
    assert "without line; cardiothoracic ratio; window of at least 1280 × 720" in page
    assert re.search(r'value="ratio"[^>]* checked', page)
    assert 'value="1280"' in page
    coordinator.post("/rounds/round/viewing/", {"hidden_tools": ["everything"]})
    coordinator.post("/rounds/round/viewing/", {"least_width": "1"})
    assert stored(draft).least_window == (1280, 720)
    coordinator.post("/rounds/round/viewing/", {})
    assert stored(draft) == ORDINARY


def test_a_double_click_submits_only_where_the_round_says_so(
    client: Client, draft: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    open_round(draft, actor=cora, at=noon)
    client.force_login(rita)
    case = f"/review/{theirs(rita)[0].public_id}/"
    assert 'data-double-click="yes"' not in client.get(case).content.decode()
    client.force_login(cora)
    assert client.post("/rounds/round/viewing/", {"double_click": "on"}).status_code == 302
    assert stored(draft) == Viewing(double_click=True)
    page = client.get("/rounds/round/").content.decode()
    assert "on an option submits the blind answer" in page
    assert re.search(r'name="double_click"[^>]* checked', page)
    client.force_login(rita)
    assert 'data-double-click="yes"' in client.get(case).content.decode()


def test_a_closed_round_has_no_form_for_them(coordinator: Client, draft: ReviewRound) -> None:
    ReviewRound.objects.filter(pk=draft.pk).update(state=RoundState.CLOSED)
    assert "/rounds/round/viewing/" not in coordinator.get("/rounds/round/").content.decode()
    said = coordinator.post("/rounds/round/viewing/", {"hidden_tools": ["line"]}, follow=True)
    assert "stay as they were" in said.content.decode()
    assert stored(draft) == ORDINARY


def test_the_case_page_hands_them_to_the_viewer(
    client: Client, draft: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    open_round(draft, actor=cora, at=noon)
    client.force_login(rita)
    case = f"/review/{theirs(rita)[0].public_id}/"
    page = client.get(case).content.decode()
    assert 'data-hidden-tools=""' in page
    assert 'data-least-window=""' in page
    named = {tool for names in re.findall(r'data-only="([^"]+)"', page) for tool in names.split()}
    assert named >= set(ViewerTool.values()) - {"flip"}, "give the tool a line in KEYS"  # flip has a button only
    set_viewing(draft, PLAIN, actor=cora, at=noon)
    page = client.get(case).content.decode()
    assert 'data-hidden-tools="line ratio"' in page
    assert 'data-least-window="1280x720"' in page
    assert "at least 1280 × 720" in client.get("/review/rounds/round/").content.decode()


def test_the_export_says_under_which_conditions(draft: ReviewRound, cora: User, rita: User, noon: datetime) -> None:
    set_viewing(draft, PLAIN, actor=cora, at=noon)
    open_round(draft, actor=cora, at=noon)
    say(theirs(rita)[0])
    file = io.BytesIO()
    export_reviews(draft, Format.CSV, file, actor=cora, at=noon)
    [row] = csv.DictReader(io.StringIO(file.getvalue().decode("utf-8-sig")))
    assert (row["hidden_tools"], row["least_window"]) == ("line|ratio", "1280x720")


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
    asking: ReviewRound, cora: User, rita: User, noon: datetime, tmp_path: Path, undrawn: None
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
