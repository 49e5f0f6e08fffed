"""Flags by version of a prompt, counted by hand; what may be told to whom; and the draft of the next version."""

from __future__ import annotations

import csv
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries

from annotation.enums import Flag, QuestionState, Role, RoundState
from annotation.models import (
    Assignment,
    CallBatch,
    GenerationRun,
    PromptVersion,
    Question,
    Review,
    ReviewRound,
    Revision,
    SeenKey,
    User,
)
from annotation.outcomes.prompt_flags import LONGEST_QUOTE, draft_reason, drafted_reason, flagged_comments, prompt_flags
from annotation.outcomes.prompt_line import MEASURED, prompt_line
from annotation.review.kernels.form_design import CRITERIA, PAPER, stored_design
from annotation.review.round_design import store_criteria_form, store_form
from annotation.statistics.kernels.intervals import share
from annotation.statistics.kernels.issues import first_review_of_paper, later_errors_of_paper
from tests.annotation.model_calls.simulated_calls import NOON, make_price
from tests.annotation.prompts.flagged import generated, questions_prompt, reviewed, two_versions
from tests.annotation.review.cases import make_bank, make_round
from tests.conftest import make_person
from tests.pages import markup

pytestmark = pytest.mark.django_db


class Two:
    """Version 1 made 12 questions, version 2 made 4; in one closed round."""

    def __init__(self, rita: User, remo: User) -> None:
        self.bank = make_bank()
        self.first = questions_prompt(1)
        self.second = questions_prompt(2, parent=self.first)
        _run, self.of_first = generated(self.bank, self.first, range(1, 13))
        _run, self.of_second = generated(self.bank, self.second, range(21, 25))
        self.round = make_round(state=RoundState.CLOSED, n_questions=0)
        several, unsound = [Flag.SEVERAL_VALID], [Flag.UNSOUND]
        flags = {one: several if place < 3 else [] for place, one in enumerate(self.of_first)}
        reviewed(self.round, rita, flags, comment="Two options are right.")
        reviewed(self.round, remo, {self.of_first[0]: several, self.of_first[5]: unsound})
        reviewed(self.round, rita, {one: [] for one in self.of_second})


@pytest.fixture
def two(rita: User, remo: User) -> Two:
    return Two(rita, remo)


def test_each_flag_is_counted_by_question_and_version(two: Two, cora: User) -> None:
    told = prompt_flags([two.second, two.first], cora)
    second, first = told.versions
    assert (first.n_made, first.n_reviewed, first.n_reviews) == (12, 12, 14)
    assert first.flags[Flag.SEVERAL_VALID].share == share(3, 12)
    assert first.flags[Flag.UNSOUND].share == share(1, 12)
    assert first.any_issue.share == share(4, 12)
    assert [flag for flag, _rate in first.raised] == [Flag.SEVERAL_VALID, Flag.UNSOUND]
    assert (second.n_made, second.n_reviewed, second.any_issue.share.count) == (4, 4, 0)
    assert second.raised == []
    assert told.n_hidden == 0


def test_what_a_person_rewrote_is_no_longer_of_the_prompt(two: Two, cora: User, rita: User) -> None:
    brought = two.of_first[0].bank_import
    rewritten = Revision.objects.get(pk=two.of_first[3].pk)
    rewritten.pk, rewritten.number = None, 2
    other = type(brought).objects.create(bank=two.bank, started_at=brought.started_at, heartbeat_at=brought.started_at)
    rewritten.bank_import = other
    rewritten.save()
    reviewed(two.round, rita, {rewritten: [Flag.OTHER]})
    [first] = prompt_flags([two.first], cora).versions
    assert (first.n_made, first.n_reviewed) == (12, 12)
    assert first.flags[Flag.OTHER].share.count == 0


def test_the_newest_version_of_a_review_counts(two: Two, cora: User) -> None:
    old = Review.objects.get(assignment__revision=two.of_first[1])
    Review.objects.create(
        assignment=old.assignment, version=2, flags=[], verdict="accept", submitted_at=old.submitted_at
    )
    [first] = prompt_flags([two.first], cora).versions
    assert first.flags[Flag.SEVERAL_VALID].share == share(2, 12)


def test_a_round_in_which_one_judges_is_left_out_until_it_is_closed(two: Two, cora: User) -> None:
    Assignment.objects.create(round=two.round, reviewer=cora, revision=two.of_second[0], position=1)
    for state, n_reviewed, n_hidden in ((RoundState.OPEN, 0, 1), (RoundState.CLOSED, 12, 0)):
        ReviewRound.objects.filter(pk=two.round.pk).update(state=state)
        told = prompt_flags([two.first], cora)
        assert (told.versions[0].n_reviewed, told.n_hidden) == (n_reviewed, n_hidden)
        assert bool(flagged_comments(two.first, cora)) is (state == RoundState.CLOSED)


def test_a_question_that_one_judges_elsewhere_is_left_out(two: Two, cora: User) -> None:
    own = make_round(state=RoundState.OPEN, n_questions=0, name="Own")
    Assignment.objects.create(round=own, reviewer=cora, revision=two.of_first[0], position=1)
    assert prompt_flags([two.first], cora).versions[0].flags[Flag.SEVERAL_VALID].share == share(2, 11)
    assert two.of_first[0].question.number not in {one.number for one in flagged_comments(two.first, cora)}


def test_on_the_command_line_only_closed_rounds_are_told(two: Two) -> None:
    ReviewRound.objects.filter(pk=two.round.pk).update(state=RoundState.OPEN)
    told = prompt_flags([two.first], None)
    assert (told.versions[0].n_reviewed, told.n_hidden) == (0, 1)


def test_versions_share_their_queries(
    two: Two, cora: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(5):
        prompt_flags([two.second, two.first], cora)


# --- pages ---
def test_the_page_of_a_version_tells_its_flags_beside_those_of_its_parent(
    coordinator: Client, two: Two, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(12):
        page = markup(coordinator.get(reverse("prompt", args=[two.second.public_id])))
    assert "3 of 12, 25.00\N{NO-BREAK SPACE}%" in page
    assert "0 of 4" in page
    assert "Two options are right" not in page
    assert "0 of 4" not in markup(coordinator.get(reverse("prompt", args=[two.first.public_id])))


def test_an_administrator_reads_the_prompt_without_flags(administrator: Client, two: Two) -> None:
    page = administrator.get(reverse("prompt", args=[two.first.public_id])).content.decode()
    assert "What reviewers flagged" not in page


def test_comments_are_read_ticked_and_quoted(coordinator: Client, cora: User, two: Two) -> None:
    address = reverse("prompt-comments", args=[two.first.public_id])
    page = markup(coordinator.get(address))
    assert page.count("Two options are right.") == 12
    assert "Rita" not in page
    assert SeenKey.objects.filter(person=cora).count() == 12
    first, second = flagged_comments(two.first, cora)[:2]
    ticked = {"quote": [first.review, second.review]}
    form = coordinator.get(reverse("prompt-next", args=[two.first.public_id]), ticked).context["form"]
    reason = form.initial["reason"]
    assert "questions of a test v1, in the rounds Round, questions flagged by reviewers:" in reason
    assert "- more than one valid: 3 of 12 (25.0 %, 95 % CI 8.9 to 53.2)" in reason
    assert reason.count("“Two options are right.”") == 2
    assert form.initial["text"] == two.first.text


def test_a_comment_of_another_version_or_of_a_hidden_round_is_not_quoted(
    coordinator: Client, cora: User, two: Two
) -> None:
    for nothing in ("", "x", "0", "9" * 30):
        page = coordinator.get(reverse("prompt-next", args=[two.first.public_id]), {"quote": nothing})
        assert page.context["form"].initial["reason"] == ""
    ticked = {"quote": flagged_comments(two.first, cora)[0].review}
    other = coordinator.get(reverse("prompt-next", args=[two.second.public_id]), ticked)
    assert other.context["form"].initial["reason"] == ""
    Assignment.objects.create(round=two.round, reviewer=cora, revision=two.of_second[0], position=1)
    ReviewRound.objects.filter(pk=two.round.pk).update(state=RoundState.OPEN)
    hidden = coordinator.get(reverse("prompt-next", args=[two.first.public_id]), ticked)
    assert hidden.context["form"].initial["reason"] == ""


def test_a_prompt_that_makes_no_questions_has_no_comments_and_no_history(coordinator: Client) -> None:
    answering = questions_prompt(1, name="other", purpose="answer")
    for name in ("prompt-comments", "prompt-history"):
        assert coordinator.get(reverse(name, args=[answering.public_id])).status_code == 404
    assert PromptVersion.objects.count() == 1


# --- the history ---
def test_the_history_tells_reason_author_and_issues_of_each_version(
    coordinator: Client, two: Two, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(20):
        page = markup(coordinator.get(reverse("prompt-history", args=[two.first.public_id])))
    assert "4, 33.33\N{NO-BREAK SPACE}%" in page
    first, _second = two_versions()
    page = markup(coordinator.get(reverse("prompt-history", args=[first.public_id])))
    assert "13 of 120 had more than one valid option" in page
    assert "came with the program" in page
    assert page.count("none reviewed") == 2 + 2 * 7, "both versions, in both tables, of three criteria and four issues"
    assert reverse("prompt-difference", args=[first.public_id, _second.public_id]) in page


def test_the_line_of_a_prompt_counts_criteria_issues_and_what_rules_rejected(
    coordinator: Client, cora: User, rita: User, remo: User, two: Two
) -> None:
    low, high = (
        {"question_quality": 3, "clinical_accuracy": 5},
        {"question_quality": 4, "clinical_accuracy": "cannot_judge"},
    )
    reviewed(two.round, remo, {one: [] for one in two.of_second[:2]}, grades=low)
    reviewed(two.round, remo, {two.of_second[2]: [Flag.KEY_WRONG]}, grades=high)
    GenerationRun.objects.filter(questions_prompt=two.second).update(
        not_made=[
            {"step": "questions", "report": 1, "number": 2, "rule": "r"},
            {"step": "bullets", "report": 1, "number": 1, "rule": "r"},
        ]
    )
    flags = prompt_flags([two.second], cora)
    reason = drafted_reason(flags, ["Too easy."])
    assert reason.startswith("questions of a test v2, in the rounds Round, questions flagged by reviewers:")
    assert "- Question quality below 4: 2 of 3 (" in reason
    assert "ducational value" not in reason, "nobody graded it"
    [second] = prompt_line(flags)
    shares = {name.value: one for name, one in zip(MEASURED, second.measured, strict=True)}
    assert shares["question_quality"] == share(2, 3), "of those that were graded; 3 is below 4"
    assert shares["clinical_accuracy"] == share(0, 2), "who cannot judge counts neither above nor below the line"
    assert shares["educational_value"].n == 0, "nobody graded it: never a zero of something"
    assert shares["validity"] == share(1, 4)
    assert (second.rejected, second.cost) == (share(1, 5), None), "4 were made; without a price there is no cost"
    file = coordinator.get(reverse("prompt-history", args=[two.second.public_id]), {"form": "csv"})
    head, newest, _older = csv.reader(b"".join(file).decode("utf-8-sig").splitlines())
    row = dict(zip(head, newest, strict=True))
    assert (row["version"], row["rejected_n"], row["rejected_count"], row["cost"]) == ("2", "5", "1", "")
    assert (row["question_quality_count"], row["question_quality_n"]) == ("2", "3")
    assert (row["educational_value_n"], row["educational_value_low"]) == ("0", "")


def test_a_run_of_which_rules_refused_every_question_counts_as_well(two: Two, cora: User) -> None:
    run = GenerationRun.objects.get(questions_prompt=two.second)
    run.bank_import, run.n_made = None, 0
    run.not_made = [{"step": "questions", "report": 1, "number": number, "rule": "r"} for number in (1, 2)]
    run.save()
    assert prompt_line(prompt_flags([two.second], cora))[0].rejected == share(2, 2)


def test_a_cost_is_in_one_currency_and_of_both_steps(two: Two, cora: User) -> None:
    run = GenerationRun.objects.get(questions_prompt=two.second)
    price = make_price()
    CallBatch.objects.filter(pk=run.bullets_batch_id).update(price=price)
    [line] = prompt_line(prompt_flags([two.second], cora))
    assert (line.cost, line.currency, line.cost_each) == (Decimal(0), price.currency, Decimal(0))
    assert (line.n_accepted, line.cost_accepted) == (0, None), "nothing is accepted yet"
    Question.objects.filter(revisions=two.of_second[0]).update(state=QuestionState.ACCEPTED)
    [line] = prompt_line(prompt_flags([two.second], cora))
    assert (line.n_accepted, line.cost_accepted) == (1, Decimal(0))
    second = CallBatch.objects.get(pk=run.bullets_batch_id)
    second.pk, second.public_id, second.price = None, "another-batch", None
    second.save(force_insert=True)
    GenerationRun.objects.filter(pk=run.pk).update(questions_batch=second)
    [line] = prompt_line(prompt_flags([two.second], cora))
    assert (line.cost, line.cost_each) == (None, None), "the price of the second step was not stated"


def test_the_form_of_the_three_criteria_is_there_once_and_asks_for_them(cora: User) -> None:
    form = store_criteria_form(at=NOON)
    assert stored_design(form.design).grades == CRITERIA
    own = store_form(form.name, PAPER, actor=cora, at=NOON)
    assert store_criteria_form(at=NOON) == own, "what a person made of it stays"


def test_the_paper_stands_as_what_it_is(coordinator: Client) -> None:
    """13 of 120: Wilson 6.4 to 17.7 %; no difference is computed."""
    (_outcome, first), *_rest = first_review_of_paper()
    assert [first.value, first.low, first.high] == pytest.approx([0.1083, 0.0644, 0.1766], abs=1e-4)
    assert (later_errors_of_paper().count, later_errors_of_paper().n) == (2, 300)
    page = markup(coordinator.get(reverse("prompt-history", args=[questions_prompt().public_id])))
    assert "13 of 120, 10.83\N{NO-BREAK SPACE}%" in page
    assert "not an effect of the prompt" in page


# --- the draft ---
def test_a_draft_leaves_out_what_does_not_fit_and_says_so() -> None:
    long = "word " * 300
    text = draft_reason("p v1", [("other", share(1, 20))], [long] * 20, most=2000)
    assert len(text) <= 2000
    n_quoted = text.count("“")
    assert text.endswith(f"({20 - n_quoted} more not quoted)")
    assert max(len(line) for line in text.splitlines()) <= LONGEST_QUOTE + 4


def test_a_draft_of_comments_alone() -> None:
    assert draft_reason("p v1", [], ["Two\nlines"], most=500) == "p v1:\nComments of reviewers:\n- “Two lines”"


def test_a_coordinator_who_reviews_elsewhere_sees_this(two: Two) -> None:
    olga = make_person("Olga", Role.COORDINATOR, Role.REVIEWER)
    assert prompt_flags([two.first], olga).versions[0].n_reviewed == 12
