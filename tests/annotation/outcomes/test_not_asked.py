"""What a form did not ask is absent, wherever a round says what it found: it is another thing than 0 of n."""

from __future__ import annotations

import csv
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from annotation.enums import Degree, Flag, RoundSteps
from annotation.exports import review_report
from annotation.exports.kernels import recompute
from annotation.exports.review_report import write_review_report
from annotation.models import Review, ReviewRound, User
from annotation.outcomes.agreement import round_agreement
from annotation.outcomes.outcome_groups import COUNTED_ISSUES, GroupBy, group_outcomes
from annotation.review import outcomes
from annotation.review.kernels.form import check_judgement
from annotation.review.kernels.form_design import CHOSEN, FOLLOWING, make_design
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.outcomes import Outcomes, outcomes_over, round_outcomes
from annotation.review.round_design import RoundDesign, store_form
from annotation.review.submitting import ground_of, submit_review
from annotation.statistics.kernels.issues import CountingRule, IssueRate, Judged, JudgedQuestions, PaperOutcome
from tests.annotation.review.cases import good_judgement
from tests.annotation.rounds.made import make_open, make_sample, say, theirs

NOT_ASKED = ["not_asked"]
SHORT = make_design(grades=["image_alignment"], choices=[], flags=["not_visible", "other_exam"], anchors={})
ONE_GRADE: dict[str, Any] = {"grades": {"image_alignment": 4}, "needs_image": "", "relevant": ""}


def make_round(
    *people: User, cora: User, at: datetime, steps: RoundSteps = RoundSteps.OPEN, name: str = "Alignment", n: int = 12
) -> ReviewRound:
    """A round whose form asks one grade and two flags."""
    design = RoundDesign(form=store_form("Short", SHORT, actor=cora, at=at))
    return make_open(
        make_sample(n, name=name),
        *people,
        name=name,
        actor=cora,
        reviewers_per_question=len(people),
        steps=steps,
        design=design,
    )


@pytest.fixture
def short(db: None, cora: User, rita: User, noon: datetime) -> ReviewRound:
    made = make_round(rita, cora=cora, at=noon)
    for place, one in enumerate(theirs(rita)):
        say(one, best=None, form="Short-1", flags=[Flag.OTHER_EXAM] if place == 0 else [], **ONE_GRADE)
    return made


@pytest.fixture
def mixed(db: None, cora: User, rita: User, remo: User, noon: datetime) -> ReviewRound:
    """Both judge the same questions: Rita in the short form, Remo in that of the paper."""
    made = make_round(rita, remo, cora=cora, at=noon)
    for one in theirs(rita):
        say(one, best=None, form="Short-1", **ONE_GRADE)
    for place, one in enumerate(theirs(remo)[:10]):
        say(one, best=None, flags=[Flag.SEVERAL_VALID, Flag.NOT_VISIBLE] if place < 3 else [])
    return made


def rates(found: Outcomes) -> dict[str, IssueRate]:
    return {row.issue.value: row.rate for row in (*found.flags, *found.paper)}


def cells(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


# --- one form ---------------------------------------------------------------------------------------
def test_issues_that_the_form_did_not_ask_have_no_rate(short: ReviewRound) -> None:
    found = round_outcomes(short)
    several = rates(found)["several_valid"]
    for one in (several.share, several.bank_mix):
        told = one.as_json()
        assert (told["value"], told["ci95"], told["n"], told["reason"]) == (None, None, 0, "zero_trials"), told
        assert told["flags"] == NOT_ASKED, "say that it was not asked: nobody looked for it"
    asked = {name: (one.share.count, one.share.n) for name, one in rates(found).items() if one.share.n}
    assert asked == {"not_visible": (0, 12), "other_exam": (1, 12), "identifies": (0, 12), "misaligned": (1, 12)}
    assert (found.any_issue.share.count, found.any_issue.share.n) == (1, 12)
    assert [grade.name.value for grade in found.grades if grade.is_asked] == ["image_alignment"]
    assert [tally.is_asked for tally in found.degrees] == [False, False]
    assert list(found.ceiling.flags) == NOT_ASKED
    assert {"Blind answer", "Clinical quality", "Image needed", "key wrong", "other"} < set(found.not_asked)
    assert outcomes_over([], CountingRule.ANY).not_asked == []


def test_what_came_later_is_not_told_of_rounds_that_could_not_ask_it(
    short: ReviewRound, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(outcomes.ASKED_LABELS, "grade_style", "Style")
    assert "Style" not in outcomes_over([short], CountingRule.ANY).not_asked


def test_the_page_of_the_round_says_not_asked(client: Client, short: ReviewRound, cora: User, rita: User) -> None:
    client.force_login(cora)
    page = client.get(f"/rounds/{short.slug}/").content.decode()
    words = " ".join(page.split())
    row = words.split("<td>Multiple valid answers</td>")[1].split("</tr>")[0]
    assert "not asked in this round" in row
    assert "0.00" not in row, f"a rate that nobody was asked for: {row}"
    aligned = words.split("<td>Content and radiograph do not match</td>")[1].split("</tr>")[0]
    assert "8.33" in aligned
    assert "Image needed: not asked in this round" in words
    assert "not asked in this round" in words.split("<td>Clinical quality</td>")[1].split("</tr>")[0]
    assert "Any flag that was asked for" in words
    difficulty = " ".join(client.get(f"/rounds/{short.slug}/difficulty/").content.decode().split())
    assert "Difficulty and blind answer: not asked in this round" in difficulty
    by = client.get(f"/rounds/{short.slug}/groups/?by=task&issue=flag_several_valid").content.decode()
    assert "not asked in this round" in by
    reviewer = client.get(f"/rounds/{short.slug}/reviewers/{rita.pk}/").content.decode()
    assert "Image alignment 4" in reviewer
    assert "Clinical quality" not in reviewer
    bank = client.get(f"/banks/{short.plan.bank.slug}/outcomes/").content.decode()
    assert "not asked in these rounds" in bank


def test_figures_say_not_asked(client: Client, short: ReviewRound, cora: User) -> None:
    client.force_login(cora)
    outcomes = client.get(f"/rounds/{short.slug}/outcomes/two.svg").content.decode()
    assert outcomes.count(">not asked<") == 4, "four outcomes of the paper were not asked"
    assert "0 of 12" not in outcomes
    assert client.get(f"/rounds/{short.slug}/grades/two.svg").content.decode().count(">not asked<") == 3


def test_cells_that_were_not_asked_are_empty(client: Client, short: ReviewRound, cora: User) -> None:
    client.force_login(cora)
    text = client.get(f"/rounds/{short.slug}/export/csv/").getvalue().decode("utf-8-sig")
    [row, *_rest] = csv.DictReader(text.splitlines())
    assert (row["flag_several_valid"], row["flag_needs_prior"], row["flag_not_visible"]) == ("", "", "false")
    assert (row["cannot_judge_clinical_quality"], row["cannot_judge_image_alignment"]) == ("", "false")
    book = client.get(f"/rounds/{short.slug}/codebook/").getvalue().decode()
    assert "Flag: more than one valid. Empty: the form of this review did not ask." in book
    read = client.get(f"/api/v1/rounds/{short.slug}/reviews/").json()["results"][0]
    assert (read["flag_several_valid"], read["cannot_judge_clinical_quality"]) == (None, None)
    assert read["flag_not_visible"] is False


# --- two forms ----------------------------------------------------------------------------------------
def test_who_was_not_asked_is_not_among_n(mixed: ReviewRound, rita: User, remo: User) -> None:
    for rule, expected in (
        (CountingRule.ANY, (3, 10)),
        (CountingRule.MAJORITY, (3, 10)),
        (CountingRule.ALL, (None, 0)),
    ):
        found = rates(round_outcomes(mixed, rule))
        several, seen = found["several_valid"].share, found["not_visible"].share
        assert (several.count, several.n) == expected, f"{rule}: only Remo was asked"
        assert (seen.count, seen.n) == {"any": (3, 12), "majority": (0, 12), "all": (0, 10)}[rule.value]
    assert list(several.flags) == [], "it was asked, of one reviewer for each question"
    assert round_outcomes(mixed).not_asked == ["Blind answer"]
    by = group_outcomes([mixed], GroupBy.REVIEWER, COUNTED_ISSUES["paper_several_valid"], CountingRule.ANY)
    told = {int(one.value): (one.share.count, one.share.n, list(one.share.flags)) for one in by}
    assert told == {rita.pk: (None, 0, NOT_ASKED), remo.pk: (3, 10, [])}


def test_agreement_is_of_those_who_were_both_asked(mixed: ReviewRound) -> None:
    rows = {row.name: row.found for table in round_agreement(mixed, draws=50).tables for row in table.rows}
    assert rows["flag_not_visible"].n_questions == 10
    one = rows["flag_several_valid"]
    assert (one.n_questions, one.results["percent_agreement"].value) == (0, None), "only one of the two was asked"
    assert {found.reason for found in one.results.values()} == {"no_common_questions"}
    assert rows["needs_image"].n_questions == 0


def test_rounds_with_other_forms_are_pooled_over_what_was_asked(short: ReviewRound, cora: User, remo: User) -> None:
    full = make_open(make_sample(6, name="Full"), remo, name="Full", actor=cora)
    for one in theirs(remo):
        say(one, flags=[Flag.SEVERAL_VALID])
    found = outcomes_over([short, full])
    shares = rates(found)
    assert (shares["several_valid"].share.count, shares["several_valid"].share.n) == (6, 6)
    assert (shares["not_visible"].share.count, shares["not_visible"].share.n) == (0, 18)
    assert (found.n_reviewed, found.not_asked) == (18, [])


@pytest.mark.parametrize("which", ["short", "mixed"])
def test_the_report_and_its_script_leave_out_what_was_not_asked(
    tmp_path: Path, which: str, request: pytest.FixtureRequest, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review_report, "_figures", lambda numbers: ())
    made: ReviewRound = request.getfixturevalue(which)
    folder = tmp_path / "report"
    write_review_report(made, folder, actor=None, at=noon)
    assert recompute.main(folder) == 0, "recompute.py beside the data finds another number: run it there"
    assert "Not asked, so not counted: Blind answer" in " ".join((folder / "methods.txt").read_text().split())
    several = [row for row in cells(folder, "tables/outcomes.csv") if row["issue"] == "paper_several_valid"]
    grades = {row["grade"]: row for row in cells(folder, "tables/grades.csv")}
    choices = {(row["field"], row["value"]): row for row in cells(folder, "tables/choices.csv")}
    if which == "short":
        told = [(row["count"], row["n"], row["share"], row["reason"], row["cautions"]) for row in several]
        assert told == [("", "0", "", "zero_trials", "not_asked")] * 3
        assert (grades["clinical_quality"]["n_1"], grades["clinical_quality"]["n_cannot_judge"]) == ("", "")
        assert choices["needs_image", Degree.NO.value]["count"] == ""
    else:
        assert [(row["count"], row["n"]) for row in several] == [("3", "10"), ("3", "10"), ("", "0")]
        assert (grades["clinical_quality"]["n_1"], grades["clinical_quality"]["n"]) == ("0", "10")


# --- what an open round asks ------------------------------------------------------------------------------
def test_an_open_round_offers_and_takes_what_its_form_asks(
    client: Client, cora: User, rita: User, noon: datetime
) -> None:
    made = make_round(rita, cora=cora, at=noon)
    first = theirs(rita)[0]
    client.force_login(rita)
    page = client.get(f"/review/{first.public_id}/").content.decode()
    assert 'value="not_visible"' in page
    assert 'value="several_valid"' not in page, "the form does not ask it, so that nobody can answer"
    found = check_judgement(
        good_judgement(flags=("several_valid",), verdict="revise", reasoning="why", **ONE_GRADE), ground_of(first)
    )
    assert [(problem.field, problem.code) for problem in found] == [("flags", "not_asked")]
    with pytest.raises(ReviewRefused):
        submit_review(first, good_judgement(flags=("key_wrong",), **ONE_GRADE), actor=rita, at=noon, simulated=True)
    assert submit_review(first, good_judgement(**ONE_GRADE), actor=rita, at=noon, simulated=True).form == "Short-1"
    assert rates(round_outcomes(made))["several_valid"].share.n == 0


def test_a_form_can_ask_by_hand_what_follows_elsewhere(cora: User, rita: User) -> None:
    wide = make_design(grades=["image_alignment"], choices=[], flags=["several_valid"], anchors={})
    assert wide.flags == (Flag.IDENTIFIES, Flag.SEVERAL_VALID)
    assert set(FOLLOWING).isdisjoint(SHORT.flags)
    assert set(SHORT.flags) < set(CHOSEN)
    blind, by_hand = (SHORT.asks(blind=one) for one in (True, False))
    assert {f"flag_{flag.value}" for flag in FOLLOWING} | {"blind_best", "blind_difficulty"} == blind - by_hand


def test_what_follows_from_the_blind_answer_is_asked_in_every_form(cora: User, rita: User, noon: datetime) -> None:
    made = make_round(rita, cora=cora, at=noon, steps=RoundSteps.FULL)
    for place, one in enumerate(theirs(rita)):
        say(one, form="Short-1", flags=[Flag.SEVERAL_VALID] if place < 2 else [], **ONE_GRADE)
    found = round_outcomes(made)
    shares = rates(found)
    assert (shares["several_valid"].share.count, shares["several_valid"].share.n) == (2, 12)
    assert list(shares["needs_prior"].share.flags) == NOT_ASKED
    [validity] = [row for row in found.paper if row.issue is PaperOutcome.VALIDITY]
    assert validity.flags == (Flag.KEY_WRONG, Flag.NO_VALID_OPTION), "name the flags that were asked"


# --- the kernel ---------------------------------------------------------------------------------------------
def test_a_question_counts_by_those_who_were_asked() -> None:
    def judged(question: int, issues: str = "", asked: str | None = None) -> Judged:
        return Judged(
            question, "", question, frozenset(issues.split()), None if asked is None else frozenset(asked.split())
        )

    reviews = [judged(1, "a"), judged(1, "", "b"), judged(2, "", "b"), judged(3, "b", "a b"), judged(3)]
    told = {
        rule.value: (one.count, one.n)
        for rule in (CountingRule.ANY, CountingRule.MAJORITY, CountingRule.ALL)
        for one in [JudgedQuestions.of(reviews).rate(["a"], rule, {}).share]
    }
    assert told == {"any": (1, 2), "majority": (1, 2), "all": (0, 1)}
    nobody = JudgedQuestions.of([judged(1, "", "b")]).rate(["a"], CountingRule.ANY, {"": 5})
    assert [list(one.flags) for one in (nobody.share, nobody.bank_mix)] == [NOT_ASKED, NOT_ASKED]
    assert JudgedQuestions.of([]).rate(["a"], CountingRule.ANY, {}).share.flags == (), (
        "nothing is reviewed: that is another reason"
    )


def test_a_stored_flag_was_asked_for_whatever_its_form_is(short: ReviewRound, rita: User) -> None:
    first = Review.objects.order_by("pk")[0]
    first.flags = ["gives_away"]
    first.save()
    share = rates(round_outcomes(short))["gives_away"].share
    assert (share.count, share.n) == (1, 1)
    assert NOT_ASKED[0] not in share.flags
