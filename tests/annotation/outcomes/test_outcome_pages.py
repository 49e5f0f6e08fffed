"""Outcomes by group, difficulty, flow of states, and all of it over the rounds of a bank."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.enums import Difficulty, Flag, QuestionState, Role
from annotation.models import Assignment, Membership, Question, QuestionBank, ReviewRound, User
from annotation.outcomes.agreement import JudgedDifficulty, difficulty_table, judged_difficulties
from annotation.outcomes.outcome_groups import COUNTED_ISSUES, GroupBy, GroupOutcome, group_outcomes
from annotation.outcomes.round_figures import FlowCount, state_flow
from annotation.review.ending import close_round, count_open
from annotation.review.kernels.settling import panel_difficulty
from annotation.review.onlookers import rounds_in_sight
from annotation.review.outcomes import outcomes_over
from annotation.statistics.kernels.issues import CountingRule
from tests.annotation.review.cases import make_revision
from tests.annotation.rounds.made import make_open, say, theirs
from tests.conftest import make_person

pytestmark = pytest.mark.postgres

ANY = COUNTED_ISSUES["any"]


@pytest.fixture
def pair(db: None, cora: User, rita: User, remo: User) -> ReviewRound:
    """Six questions: Rita flags the odd ones, which are hard; Remo the first alone; both find all of them easy."""
    made = make_open(6, rita, remo, name="Pair", actor=cora, reviewers_per_question=2)
    for person, flagged in ((rita, {1, 3, 5}), (remo, {1})):
        for one in theirs(person):
            say(one, flags=[Flag.UNSOUND] if one.revision.question.number in flagged else [])
    return made


def shares(groups: list[GroupOutcome]) -> dict[str, tuple[int | None, int, int]]:
    return {one.label: (one.share.count, one.share.n, one.n_reviews) for one in groups}


def test_groups_are_counted_by_question_and_reviewers_by_what_they_flagged_themselves(pair: ReviewRound) -> None:
    def found(by: GroupBy, rule: CountingRule = CountingRule.ANY) -> dict[str, tuple[int | None, int, int]]:
        return shares(group_outcomes([pair], by, ANY, rule))

    assert found(GroupBy.DIFFICULTY) == {"easy": (0, 3, 6), "hard": (3, 3, 6)}
    assert found(GroupBy.DIFFICULTY, CountingRule.ALL) == {"easy": (0, 3, 6), "hard": (1, 3, 6)}
    assert found(GroupBy.REVIEWER, CountingRule.ALL) == {"Remo": (1, 6, 6), "Rita": (3, 6, 6)}
    assert [one[:2] for one in found(GroupBy.IMPORT).values()] == [(3, 6)]
    assert sum(one[1] for one in found(GroupBy.TASK).values()) == 6
    other = COUNTED_ISSUES["paper_hallucinated"]
    assert {one.share.count for one in group_outcomes([pair], GroupBy.CATEGORY, other, CountingRule.ANY)} == {0}


def test_shares_of_verdicts_and_groups_say_which_interval_stands_there(
    client: Client, cora: User, pair: ReviewRound
) -> None:
    client.force_login(cora)
    pages = (client.get(f"/rounds/{pair.slug}/{part}").content.decode() for part in ("", "groups/"))
    page, groups = (" ".join(one.split()) for one in pages)
    assert "independent, also where an exam holds several questions or the whole bank was reviewed." in page
    assert "they take questions as independent, also where the whole bank was reviewed." in groups


def test_over_rounds_a_wording_counts_once(pair: ReviewRound, cora: User) -> None:
    mia = make_person("Mia", Role.REVIEWER)
    again = make_open(pair.plan, mia, name="Again", actor=cora)
    for one in theirs(mia):
        say(one, flags=[Flag.UNSOUND])
    found = outcomes_over([pair, again])
    assert (found.n_questions, found.n_reviewed, found.n_reviews) == (6, 6, 18)
    assert found.any_issue.share.count == 6
    assert outcomes_over([pair, again], CountingRule.MAJORITY).any_issue.share.count == 3


def test_the_flow_counts_each_question_once_with_what_changed(pair: ReviewRound) -> None:
    first, second = Question.objects.order_by("number")[:2]
    Question.objects.filter(pk__in=[first.pk, second.pk]).update(state=QuestionState.ACCEPTED)
    newer = first.revisions.get()
    newer.pk, newer.number = None, 2
    newer.save()
    found = state_flow([pair, pair])
    assert (found.drawn, found.reviewed) == (FlowCount(6, 1), FlowCount(6, 1))
    assert dict(found.now)[QuestionState.ACCEPTED] == FlowCount(2, 1)
    assert sum(one.n for _state, one in found.now) == 6


def test_stated_and_judged_difficulty(pair: ReviewRound) -> None:
    found = difficulty_table(judged_difficulties([pair]), seed=1, draws=200)
    assert found is not None
    assert [row for _level, row in found.counts] == [[6, 0, 0], [0, 0, 0], [6, 0, 0]]
    assert (found.same.count, found.easier.count, found.harder.count, found.n_questions) == (6, 6, 0, 6)
    assert found.kappa.value == 0
    assert [(one.count, one.n) for _level, one in found.ceiling] == [(12, 12), (None, 0), (None, 0)]


def test_weighted_kappa_of_difficulty_by_hand() -> None:
    """po 1 - (0.25 * 2 + 1) / 10 = 0.85; margins 4, 3, 3 and 4, 4, 2: pe 0.645 by quadratic weights."""
    cells = [("easy", "easy")] * 3 + [("easy", "hard")] + [("medium", "medium")] * 3
    cells += [("hard", "medium"), ("hard", "hard"), ("hard", "easy")]
    answers = [JudgedDifficulty(row, f"exam {row}", *cell, is_key=True) for row, cell in enumerate(cells)]
    found = difficulty_table([*answers, JudgedDifficulty(99, "exam 99", "", "easy", is_key=False)], seed=1, draws=200)
    assert found is not None
    observed = 1 - (1 + 0.25 + 1) / 10
    expected = 1 - (4 * (0.25 * 4 + 2) + 3 * (0.25 * 4 + 0.25 * 2) + 3 * (4 + 0.25 * 4)) / 100
    assert found.kappa.value == pytest.approx((observed - expected) / (1 - expected))
    assert (found.kappa.n, found.n_unknown, found.ceiling[0][1].n) == (10, 1, 5)
    assert found.kappa.ci95 is not None


def test_reviewers_together_say_the_median_and_the_harder_of_two() -> None:
    assert panel_difficulty(["easy", "hard"]) == Difficulty.HARD
    assert panel_difficulty(["easy", "hard", "medium"]) == Difficulty.MEDIUM
    assert panel_difficulty(["easy", "easy", "hard"]) == Difficulty.EASY


PARTS = ("groups/", "difficulty/")


def test_pages_and_parts(client: Client, cora: User, pair: ReviewRound) -> None:
    client.force_login(cora)
    bank = pair.plan.bank.slug
    for start in ("/rounds/pair/", f"/banks/{bank}/outcomes/"):
        page = client.get(start).content
        for name in PARTS:
            assert f'hx-get="{start}{name}"'.encode() in page
            whole, part = client.get(start + name), client.get(start + name, headers={"HX-Request": "true"})
            assert part.content.decode().strip().startswith("<section")
            assert b"<h1>" in whole.content
        for figure in ("outcomes", "flow", "grades"):
            assert f"{start}{figure}/two.svg".encode() in page
        assert client.get(f"{start}flow/one.pdf").content.startswith(b"%PDF")
        assert client.get(f"{start}nothing/one.pdf").status_code == 404
        answer = client.get(f"{start}groups/?by=reviewer&issue=flag_unsound&rule=majority")
        assert shares(answer.context["groups"]) == {"Remo": (1, 6, 6), "Rita": (3, 6, 6)}
        assert client.get(f"{start}groups/?by=nonsense&issue=1&rule=x").context["choice"].by == "task"
    assert f"/banks/{bank}/outcomes/".encode() in client.get(f"/banks/{bank}/").content
    assert f"/banks/{bank}/outcomes/".encode() in client.get("/rounds/pair/").content


def test_page_and_figure_lead_with_one_interval(client: Client, cora: User, pair: ReviewRound) -> None:
    """All six questions of the bank are reviewed: nothing has a width of zero, and the rule stands on the page."""
    client.force_login(cora)
    for page in ("/rounds/pair/", f"/banks/{pair.plan.bank.slug}/outcomes/"):
        words = " ".join(client.get(page).content.decode().split())
        assert "none where the whole bank was reviewed; by patient or exam where one holds more than one" in words
        row = words.split("<td>Multiple valid answers</td>")[1].split("</tr>")[0]
        assert "the whole bank was reviewed" in row
        assert "0.00 to 0.00" not in words
    assert b"(all reviewed)" in client.get("/rounds/pair/outcomes/two.svg").content
    make_revision(pair.plan.bank, 7)
    bank = " ".join(client.get(f"/banks/{pair.plan.bank.slug}/outcomes/").content.decode().split())
    assert "Here by patient or exam" in bank
    assert "Fewer than 10 patients or exams: no interval." in bank
    mix = client.get("/rounds/pair/bank-mix/two.svg")
    assert b"Questions of the bank with the issue" in mix.content
    assert b"/rounds/pair/bank-mix/two.svg" in client.get("/rounds/pair/").content
    assert client.get(f"/banks/{pair.plan.bank.slug}/outcomes/bank-mix/two.svg").status_code == 404


def test_they_are_hidden_as_outcomes_are(
    client: Client, cora: User, remo: User, pair: ReviewRound, noon: datetime
) -> None:
    Membership.objects.create(user=remo, role=Role.COORDINATOR, round=pair, granted_at=noon)
    bank = f"/banks/{pair.plan.bank.slug}/outcomes/"
    parts = [f"/rounds/pair/{name}" for name in (*PARTS, "flow/one.svg")]
    parts += [f"{bank}{name}" for name in (*PARTS, "flow/one.svg")]
    client.force_login(remo)
    assert {client.get(part).status_code for part in parts} == {403}
    words = client.get(bank).content.decode()
    assert "1 round is left out" in " ".join(words.split())
    assert "Percent" not in words
    close_round(pair, actor=cora, at=noon, confirmed_open=count_open(pair))
    assert client.get(bank).context["outcomes"].n_reviews == 12


def test_only_rounds_that_a_person_may_see_count(client: Client, cora: User, pair: ReviewRound) -> None:
    """A round of the site in which its coordinator reviews is left out of the sums over the bank."""
    mia = make_person("Mia", Role.REVIEWER)
    other = make_open(pair.plan, mia, name="Other", actor=cora)
    say(theirs(mia)[0], flags=[Flag.HALLUCINATED])
    bank = pair.plan.bank
    assert [one.name for one in rounds_in_sight(cora, bank)[0]] == ["Other", "Pair"]
    Assignment.objects.filter(round=other, pk=theirs(mia)[1].pk).update(reviewer=cora)
    rounds, n_hidden = rounds_in_sight(cora, bank)
    assert ([one.name for one in rounds], n_hidden) == (["Pair"], 1)
    client.force_login(cora)
    assert client.get(f"/banks/{bank.slug}/outcomes/").context["outcomes"].n_reviews == 12


def test_the_page_of_a_bank_costs_the_same_however_many_rounds(
    client: Client, cora: User, pair: ReviewRound, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(cora)
    for number in range(3):
        mia = make_person(f"Mia {number}", Role.REVIEWER)
        make_open(pair.plan, mia, name=f"R{number}", actor=cora)
        say(theirs(mia)[0])
    with django_assert_max_num_queries(18):
        client.get(f"/banks/{pair.plan.bank.slug}/outcomes/")
    with django_assert_max_num_queries(14):
        client.get(f"/banks/{pair.plan.bank.slug}/outcomes/groups/?by=import")


def test_a_bank_without_rounds_says_so(client: Client, cora: User, noon: datetime) -> None:
    bank = make_revision(QuestionBank.objects.create(name="Empty", slug="empty", created_at=noon), 1).bank
    client.force_login(cora)
    assert b"No review is submitted yet" in client.get(f"/banks/{bank.slug}/outcomes/").content
    assert client.get(f"/banks/{bank.slug}/outcomes/groups/").status_code == 404
