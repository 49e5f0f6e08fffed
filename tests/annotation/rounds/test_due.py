"""Due dates of rounds: who sets them, who sees them where, who is behind, and letters that remind.

The times of a round: what enters the median, what stands beside it, and the rule on every page that shows one.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from html import unescape
from io import BytesIO
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.audit.recording import verify
from annotation.case.kernels.durations import RULE, TimeFlag
from annotation.enums import AssignmentState
from annotation.exports.reviews import export_reviews
from annotation.models import Assignment, AuditEvent, BlindAnswer, ReviewRound, User
from annotation.review.ending import close_round
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.reviewer_progress import (
    Lag,
    n_expected,
    not_done,
    remind_reviewers,
    reviewer_progress,
    round_times,
    set_due,
    with_lags,
)
from annotation.review.rounds import create_round, open_round
from annotation.tables.writing import Format
from tests.annotation.rounds.made import make_open, make_sample, say, theirs
from tests.emails import delivered
from tests.pages import markup
from tests.refusals import refuses

DAY = timedelta(days=1)
DUE = {"due_at": "2999-12-01T18:00"}


@pytest.fixture
def draft(db: None, cora: User, rita: User, remo: User, noon: datetime) -> ReviewRound:
    return create_round(
        make_sample(6), name="Round", reviewers=[rita, remo], reviewers_per_question=2, actor=cora, at=noon
    )


@pytest.fixture
def opened(draft: ReviewRound, cora: User, noon: datetime) -> ReviewRound:
    open_round(draft, actor=cora, at=noon)
    return draft


@pytest.fixture
def mail_server(settings: Settings) -> None:
    settings.EMAIL_HOST = "smtp.example.org"


def finish(person: User) -> None:
    for one in theirs(person):
        say(one)
    Assignment.objects.filter(reviewer=person).update(state=AssignmentState.SUBMITTED)


def page_of(client: Client, person: User, address: str) -> str:
    client.force_login(person)
    return unescape(client.get(address).content.decode())


# --- setting it ---
def test_a_draft_and_an_open_round_get_a_due_date(draft: ReviewRound, cora: User, noon: datetime) -> None:
    assert set_due(draft, noon + 9 * DAY, actor=cora, at=noon)
    assert not set_due(draft, noon + 9 * DAY, actor=cora, at=noon)
    open_round(draft, actor=cora, at=noon)
    assert set_due(draft, noon + 5 * DAY, actor=cora, at=noon)
    assert set_due(draft, None, actor=cora, at=noon)
    events = AuditEvent.objects.filter(act="round.due_changed").order_by("pk")
    after = [event.facts["after"] for event in events]
    assert after == ["2026-11-30T12:00:00+00:00", "2026-11-26T12:00:00+00:00", None]
    assert verify().fault is None


def test_a_past_moment_and_a_closed_round_are_refused(opened: ReviewRound, cora: User, noon: datetime) -> None:
    with refuses(ReviewRefused, "due_past", match="past"):
        set_due(opened, noon, actor=cora, at=noon)
    close_round(opened, actor=cora, at=noon, confirmed_open=12)
    with refuses(ReviewRefused, "round_closed", match="final"):
        set_due(opened, noon + DAY, actor=cora, at=noon)
    assert not AuditEvent.objects.filter(act="round.due_changed").exists()


def test_a_round_is_not_opened_after_its_due_date(draft: ReviewRound, cora: User, noon: datetime) -> None:
    set_due(draft, noon + DAY, actor=cora, at=noon)
    with refuses(ReviewRefused, "due_past", match="due date is past"):
        open_round(draft, actor=cora, at=noon + DAY)


def test_the_form_is_read_in_the_zone_of_the_coordinator(client: Client, opened: ReviewRound, cora: User) -> None:
    User.objects.filter(pk=cora.pk).update(time_zone="Asia/Tokyo")
    client.force_login(cora)
    assert "In your time zone, Asia/Tokyo." in client.get("/rounds/round/").content.decode()
    assert client.post("/rounds/round/due/", DUE)["Location"] == "/rounds/round/"
    opened.refresh_from_db()
    assert opened.due_at == datetime(2999, 12, 1, 9, tzinfo=UTC)
    page = client.get("/rounds/round/").content.decode()
    assert "1 Dec 2999, 18:00 (Asia/Tokyo)" in page
    assert 'value="2999-12-01T18:00"' in page
    client.post("/rounds/round/due/", {"due_at": ""})
    for wrong in ("soon", "0001-01-01T00:00", "2001-01-01T00:00"):  # no moment, or none to come
        page = client.post("/rounds/round/due/", {"due_at": wrong}, follow=True).content.decode()
        assert 'class="notice error"' in page, wrong
    opened.refresh_from_db()
    assert opened.due_at is None


# --- who sees it ---
def test_reviewers_see_it_in_their_own_zone(client: Client, opened: ReviewRound, rita: User) -> None:
    User.objects.filter(pk=rita.pk).update(time_zone="Europe/Berlin")
    ReviewRound.objects.update(due_at=datetime(2999, 12, 1, 17, tzinfo=UTC))
    places = ("/", "/review/rounds/round/")
    pages = [page_of(client, rita, address) for address in places]
    assert ["1 Dec 2999, 18:00 (Europe/Berlin)" in page and "overdue" not in page for page in pages] == [True, True]
    ReviewRound.objects.update(due_at=timezone.now() - DAY)
    assert ["overdue" in page_of(client, rita, address) for address in places] == [True, True]
    finish(rita)
    assert ["overdue" in page_of(client, rita, address) for address in places] == [False, False]


def test_what_is_due_first_comes_first(
    client: Client, opened: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    other = create_round(make_sample(2, name="More"), name="Later", reviewers=[rita], actor=cora, at=noon)
    open_round(other, actor=cora, at=noon + DAY)
    assert page_of(client, rita, "/").index("Round") < page_of(client, rita, "/").index("Later")
    ReviewRound.objects.filter(pk=other.pk).update(due_at=datetime(2999, 1, 1, tzinfo=UTC))
    page = page_of(client, rita, "/")
    assert "left in “Later”" in page


# --- who is behind ---
@pytest.mark.parametrize(("hours", "expected"), [(-1, 0), (0, 0), (1, 0), (12, 5), (23, 9), (24, 10), (99, 10)])
def test_an_even_pace(noon: datetime, hours: int, expected: int) -> None:
    assert n_expected(10, noon, noon + DAY, noon + timedelta(hours=hours)) == expected


def test_the_page_of_the_round_says_who_is_behind(
    client: Client, opened: ReviewRound, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    assert [one.lag for one in with_lags(reviewer_progress(opened), opened, noon + 99 * DAY)] == [None, None]
    set_due(opened, noon + 2 * DAY, actor=cora, at=noon)
    finish(rita)
    lags = {one.person: one.lag for one in with_lags(reviewer_progress(opened), opened, noon + DAY)}
    assert lags[rita] is None
    assert lags[remo] == Lag(3, is_overdue=False)
    assert [one.person for one in not_done(reviewer_progress(opened))] == [remo]
    ReviewRound.objects.update(opened_at=timezone.now() - 3 * DAY, due_at=timezone.now() + DAY)
    page = page_of(client, cora, "/rounds/round/")
    assert page.count(">behind<") == 1
    assert 'title="4 would be in by now at an even pace"' in page
    ReviewRound.objects.update(due_at=timezone.now())
    assert page_of(client, cora, "/rounds/round/").count(">overdue<") == 1


# --- reminding ---
def test_letters_go_to_who_is_not_done_once_a_day(
    opened: ReviewRound, cora: User, rita: User, remo: User, noon: datetime, mail_server: None
) -> None:
    set_due(opened, noon + 9 * DAY, actor=cora, at=noon)
    User.objects.filter(pk=remo.pk).update(time_zone="Europe/Berlin")
    finish(rita)
    assert [person.name for person in remind_reviewers(opened, actor=cora, at=noon).sent] == ["Remo"]
    [letter] = delivered()
    assert letter.to == [remo.email]
    assert letter.subject == "Reminder: “Round”"
    assert "You have 6 questions left in the review round “Round”." in str(letter.body)
    assert "due by 30 Nov 2026, 13:00 (Europe/Berlin)" in str(letter.body)
    assert "/review/rounds/round/" in str(letter.body)
    for later in (timedelta(), DAY - timedelta(seconds=1)):
        again = remind_reviewers(opened, actor=cora, at=noon + later)
        assert (again.sent, again.too_soon) == ([], [remo])
    assert remind_reviewers(opened, actor=cora, at=noon + DAY).sent == [remo]
    assert len(delivered()) == 2
    events = AuditEvent.objects.filter(act="reviewer.reminded")
    assert [(one.actor, one.subject_id, one.facts) for one in events] == [(cora, str(remo.pk), {"round": "round"})] * 2


def test_a_reminder_of_another_round_does_not_count(
    opened: ReviewRound, cora: User, rita: User, remo: User, noon: datetime, mail_server: None
) -> None:
    other = make_open(make_sample(2, name="More"), rita, name="Other", actor=cora)
    assert remind_reviewers(other, actor=cora, at=noon).sent == [rita]
    assert remind_reviewers(opened, actor=cora, at=noon).too_soon == []


def test_who_cannot_log_in_or_handed_everything_back_is_not_reminded(
    opened: ReviewRound, cora: User, rita: User, remo: User, noon: datetime, mail_server: None
) -> None:
    User.objects.filter(pk=rita.pk).update(is_active=False)
    Assignment.objects.filter(reviewer=remo).update(state=AssignmentState.RETURNED)
    assert remind_reviewers(opened, actor=cora, at=noon).sent == []
    assert not delivered()


def test_the_button_sends_and_says_so(
    client: Client, opened: ReviewRound, cora: User, rita: User, mail_server: None
) -> None:
    client.force_login(cora)
    assert "Remind reviewers who are not done" in client.get("/rounds/round/").content.decode()
    assert "2 e-mails are being sent." in client.post("/rounds/round/remind/", follow=True).content.decode()
    page = client.post("/rounds/round/remind/", follow=True).content.decode()
    assert "0 e-mails are being sent. Reminded within a day already, and not again: Remo, Rita." in page
    assert len(delivered()) == 2


def test_without_a_mail_server_the_addresses_are_listed(
    client: Client, opened: ReviewRound, cora: User, rita: User, remo: User
) -> None:
    client.force_login(cora)
    page = client.get("/rounds/round/").content.decode()
    assert "Remind reviewers who are not done" not in page
    assert "no mail server is configured" in page
    assert "remo@example.org, rita@example.org" in page
    told = client.post("/rounds/round/remind/", follow=True).content.decode()
    assert "No e-mail was sent: no mail server is configured. Write to: remo@example.org, rita@example.org." in told
    assert not AuditEvent.objects.filter(act="reviewer.reminded").exists()


def test_reviewers_of_a_draft_or_closed_round_get_no_letter(
    draft: ReviewRound, cora: User, noon: datetime, mail_server: None
) -> None:
    with refuses(ReviewRefused, "round_not_open", match="open round"):
        remind_reviewers(draft, actor=cora, at=noon)
    open_round(draft, actor=cora, at=noon)
    close_round(draft, actor=cora, at=noon, confirmed_open=12)
    with refuses(ReviewRefused, "round_not_open", match="open round"):
        remind_reviewers(draft, actor=cora, at=noon)


TIMED: dict[str, Any] = {"time_rule": RULE, "n_sittings": 1}


@pytest.fixture
def timed(db: None, cora: User, rita: User) -> ReviewRound:
    made = make_open(12, rita, actor=cora)
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
