"""Outcomes from stored reviews."""

from __future__ import annotations

import io
import zipfile
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotation.enums import Flag, JobState, RoundSteps, Verdict
from annotation.exports import review_report
from annotation.exports.review_report_job import KIND, kept_report
from annotation.jobs.running import run
from annotation.models import Assignment, AuditEvent, BlindAnswer, Job, ReviewRound, SamplingPlan, SeenKey, User
from annotation.review.ending import close_round
from annotation.review.kernels.form_design import PAPER
from annotation.review.onlookers import may_see_outcomes
from annotation.review.outcomes import outcomes_over, round_outcomes
from annotation.review.reassigning import remove_reviewer
from annotation.review.reviewer_progress import reviewer_progress
from annotation.review.samples import draw_sample
from annotation.statistics.kernels.issues import CountingRule, Leading, PaperOutcome
from annotation.tables.kernels.forms import FigureForm
from tests.annotation.exports.test_review_report import adjudicate, make_lively
from tests.annotation.exports.test_review_report import undrawn as undrawn
from tests.annotation.review.cases import images_are_there, make_bank, make_revisions
from tests.annotation.rounds.made import make_open, make_sample, say, theirs


@pytest.fixture
def pair(db: None, cora: User, rita: User, remo: User) -> ReviewRound:
    """Twelve questions on four exams, both reviewers on each, opened."""
    plan = make_sample(12)
    return make_open(plan, rita, remo, name="Pair", actor=cora, reviewers_per_question=2)


def by_number(reviewer: User) -> dict[int, Assignment]:
    return {one.revision.question.number: one for one in theirs(reviewer)}


def test_a_question_counts_once_whoever_flags_it(pair: ReviewRound, rita: User, remo: User) -> None:
    ritas, remos = by_number(rita), by_number(remo)
    say(ritas[1], flags=[Flag.SEVERAL_VALID])
    say(remos[1], flags=[Flag.SEVERAL_VALID, Flag.OTHER])
    say(ritas[2], flags=[Flag.NEEDS_PRIOR])
    say(remos[2])
    say(ritas[3], flags=[Flag.HALLUCINATED])
    found = round_outcomes(pair)
    assert (found.n_questions, found.n_reviewed, found.n_reviews) == (12, 3, 5)
    assert found.reviews_per_question == [(1, 1), (2, 2)]
    shares = {row.issue: (row.rate.share.count, row.rate.share.n) for row in found.paper}
    assert shares == {
        PaperOutcome.SEVERAL_VALID: (1, 3),
        PaperOutcome.COMPARISON: (1, 3),
        PaperOutcome.VALIDITY: (0, 3),
        PaperOutcome.HALLUCINATED: (1, 3),
        PaperOutcome.MISALIGNED: (0, 3),
    }
    assert (found.any_issue.share.count, found.any_issue.share.n) == (3, 3)
    strict = {
        row.issue: (row.rate.share.count, row.rate.share.n) for row in round_outcomes(pair, CountingRule.ALL).paper
    }
    assert strict == {**dict.fromkeys(shares, (0, 2)), PaperOutcome.SEVERAL_VALID: (1, 2)}
    assert found.has_clusters


def test_the_newest_version_counts(pair: ReviewRound, rita: User, noon: datetime) -> None:
    one = by_number(rita)[1]
    say(one, flags=[Flag.OTHER], verdict="reject")
    say(one, version=2, at=noon + timedelta(minutes=1))
    found = round_outcomes(pair)
    assert found.n_reviews == 1
    assert found.any_issue.share.count == 0
    assert dict(found.verdicts.counts)[Verdict.ACCEPT] == 1


def test_the_ceiling_counts_blind_answers_and_input_errors_as_they_were_meant_stand_beside_it(
    pair: ReviewRound, rita: User
) -> None:
    """That no option can be defended is not the key."""
    ritas = by_number(rita)
    for number, best in ((1, "A"), (2, "B"), (3, "B"), (4, "")):
        say(ritas[number], best=best)
    assert round_outcomes(pair).ceiling_meant is None
    for number, meant in ((1, "B"), (2, "none"), (4, "B")):
        BlindAnswer.objects.filter(assignment=ritas[number]).update(meant=meant)
    found = round_outcomes(pair)
    assert (found.ceiling.count, found.ceiling.n, found.settled.count) == (2, 4, 2)
    assert found.ceiling_meant
    assert (found.ceiling_meant.count, found.ceiling_meant.n) == (3, 4)
    assert found.settled_meant
    assert (found.settled_meant.count, found.settled_meant.n) == (3, 4)


def test_what_settles_without_adjudication(pair: ReviewRound, rita: User) -> None:
    ritas = by_number(rita)
    say(ritas[1])
    say(ritas[2], best="C")
    say(ritas[3], flags=[Flag.OTHER])
    say(ritas[4], verdict="revise")
    low = {**{one.value: 5 for one in PAPER.grades}, "clinical_quality": 2}
    say(ritas[5], grades=low)
    found = round_outcomes(pair)
    assert (found.settled.count, found.settled.n) == (1, 5)
    assert (found.accepted.count, found.accepted.n) == (4, 5)
    quality, _facts, _clarity, alignment = found.grades
    assert (quality.n, dict(quality.counts)[2], quality.median) == (5, 1, 5)
    assert (alignment.n, alignment.n_cannot_judge) == (1, 4)


def test_reviews_of_somebody_who_left_still_count(
    pair: ReviewRound, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    say(by_number(rita)[1], flags=[Flag.OTHER])
    remove_reviewer(pair, rita, to=cora, actor=cora, at=noon)
    assert round_outcomes(pair).any_issue.share.count == 1
    states = {one.person: (one.n_all, one.n_submitted, one.has_left) for one in reviewer_progress(pair)}
    assert states == {cora: (11, 0, False), remo: (12, 0, False), rita: (1, 1, True)}


def test_a_round_of_judgement_only_has_no_ceiling(db: None, cora: User, rita: User) -> None:
    made = make_open(3, rita, name="J", actor=cora, steps=RoundSteps.OPEN)
    say(theirs(rita)[0], best=None)
    found = round_outcomes(made)
    assert (found.ceiling.value, found.ceiling.reason) == (None, "zero_trials")
    assert found.settled.count == 0


def test_the_shape_of_the_paper(db: None, cora: User, rita: User, noon: datetime) -> None:
    """120 questions, 13, 8, 6 and 4 of them with an issue: 10.83, 6.67, 5.00 and 3.33 %."""
    bank = make_bank("Paper")
    make_revisions(bank, {number: {"difficulty": "easy"} for number in range(1, 121)})
    images_are_there(bank)
    plan = draw_sample(bank, per_thousand=1000, actor=None, at=noon)
    made = make_open(plan, rita, name="Paper", actor=cora)
    found_in = {Flag.SEVERAL_VALID: 13, Flag.NEEDS_PRIOR: 8, Flag.UNSOUND: 6, Flag.HALLUCINATED: 4}
    for place, one in enumerate(theirs(rita)):
        say(one, flags=[flag for flag, n in found_in.items() if place < n])
    found = round_outcomes(made)
    assert [(row.rate.share.count, row.rate.share.n) for row in found.paper] == [(n, 120) for n in (13, 8, 6, 4, 0)]
    assert found.paper[0].rate.share.ci95 == pytest.approx((0.0644114115417, 0.176553602153), abs=1e-6)
    assert found.paper[0].rate.clustered is None  # every question has an exam of its own
    assert found.paper[0].rate.bank_mix.value == pytest.approx(13 / 120)
    assert {row.rate.leading for row in found.paper} == {Leading.WHOLE_BANK}, "no interval of what is known"
    assert {row.rate.leading for row in outcomes_over([made]).paper} == {Leading.WHOLE_BANK}
    SamplingPlan.objects.filter(pk=plan.pk).update(frame={**plan.frame, "filters": {"task": "presence"}})
    narrowed = ReviewRound.objects.get(pk=made.pk)
    assert {row.rate.leading for row in round_outcomes(narrowed).paper} == {Leading.WILSON}
    make_revisions(bank, {121: {"difficulty": "easy"}})
    assert {row.rate.leading for row in outcomes_over([made]).paper} == {Leading.WILSON}, "the bank has grown"


def test_coordinators_who_review_stay_blinded_until_the_round_closes(
    pair: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    assert may_see_outcomes(cora, pair)
    assert not may_see_outcomes(rita, pair)
    close_round(pair, actor=cora, at=noon, confirmed_open=24)
    assert may_see_outcomes(rita, pair)


def test_outcomes_take_three_queries(
    pair: ReviewRound, rita: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for one in theirs(rita):
        say(one)
    fresh = ReviewRound.objects.select_related("plan").get(pk=pair.pk)
    with django_assert_num_queries(3):
        round_outcomes(fresh)


# --- the report of a round on its page ---
PAGE, MAKE, FILE = ("/rounds/lively/report/", "/rounds/lively/report/make/", "/rounds/lively/report.zip")


@pytest.fixture
def lively(rita: User, remo: User, cora: User) -> ReviewRound:
    return make_lively([rita, remo], cora, n=6)


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
    figures = review_report._figures  # one of them stands for all
    monkeypatch.setattr(review_report, "FigureForm", [FigureForm.SVG])
    monkeypatch.setattr(review_report, "_figures", lambda of: [one for one in figures(of) if "/grades." in one.name])
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
def test_a_coordinator_who_reviews_takes_none(client: Client, cora: User, remo: User) -> None:
    client.force_login(cora)
    job = make(client)
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


def test_a_round_without_reviews_has_no_report(client: Client, cora: User, rita: User) -> None:
    make_open(3, rita, name="Lively", actor=cora)
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
