"""Issues as they stand after adjudication: what adjudicators flag themselves, and none where a question settled."""

from __future__ import annotations

from django.test import Client

from annotation.enums import Flag
from annotation.models import ReviewRound, Settlement, User
from annotation.outcomes.adjudicating import decide, show_reviews, take_next
from annotation.review.outcomes import round_outcomes, rules_of
from annotation.statistics.kernels.issues import CountingRule
from tests.annotation.adjudication.made import make_reviewed
from tests.annotation.review.cases import NOON
from tests.annotation.rounds.made import say

ADJUDICATED = CountingRule.ADJUDICATED


def adjudicate(review_round: ReviewRound, judge: User, *flags: Flag, decides: bool = True) -> None:
    """The next question: judged with these flags, and decided."""
    taken = take_next(review_round, judge, at=NOON)
    assert taken is not None
    say(taken, flags=flags)
    if decides:
        found = show_reviews(Settlement.objects.get(assignment=taken), actor=judge, at=NOON)
        decide(found, "accept", "It is right.", actor=judge, at=NOON)


def issues_of(review_round: ReviewRound) -> dict[str, tuple[int | None, int]]:
    found = round_outcomes(review_round, ADJUDICATED)
    return {row.issue.value: (row.rate.share.count, row.rate.share.n) for row in found.flags}


def test_settled_questions_have_no_issue_and_those_that_wait_do_not_count(adjudicated: ReviewRound) -> None:
    assert set(issues_of(adjudicated).values()) == {(0, 1)}


def test_the_flags_of_the_adjudicator_stand_in_place_of_those_of_the_reviewers(
    adjudicated: ReviewRound, judy: User
) -> None:
    adjudicate(adjudicated, judy, Flag.NOT_VISIBLE)
    found = issues_of(adjudicated)
    assert found[Flag.UNSOUND] == (0, 2)  # Remo's flag
    assert found[Flag.NOT_VISIBLE] == (1, 2)
    adjudicate(adjudicated, judy, Flag.NOT_VISIBLE, decides=False)
    assert issues_of(adjudicated)[Flag.NOT_VISIBLE] == (1, 2)
    whole = round_outcomes(adjudicated, ADJUDICATED)
    assert (whole.n_reviewed, whole.n_reviews) == (3, 5)  # of the reviewers, as ever


def test_the_rule_is_offered_once_adjudication_has_begun(
    client: Client, cora: User, rita: User, remo: User, adjudicated: ReviewRound, judy: User
) -> None:
    before = make_reviewed(cora, rita, remo, name="Autumn")
    assert ADJUDICATED not in rules_of(before)
    assert rules_of(adjudicated) == list(CountingRule)
    client.force_login(cora)
    assert client.get(f"/rounds/{before.slug}/?rule=adjudicated").context["outcomes"].rule == "any"
    adjudicate(adjudicated, judy, Flag.NOT_VISIBLE)
    page = client.get(f"/rounds/{adjudicated.slug}/?rule=adjudicated")
    assert page.context["outcomes"].rule == "adjudicated"
    words = " ".join(page.content.decode().split())
    assert "A question has an issue when its adjudicator flags it" in words
    assert "Issues are counted over the 2 questions that are settled or decided" in words
    assert "its adjudicator flags it" in page.context["figures"]["outcomes"].legend
    figure = client.get(f"/rounds/{adjudicated.slug}/outcomes/two.svg?rule=adjudicated").content.decode()
    assert ">1 of 2 †<" in figure
