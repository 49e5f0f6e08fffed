"""The settling rule, clause by clause.

Issues as they stand after adjudication: what adjudicators flag themselves, and none where a question settled.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from annotation.enums import Flag, Verdict
from annotation.models import ReviewRound, Settlement, User
from annotation.outcomes.adjudicating import decide, show_reviews, take_next
from annotation.review.kernels.settling import Against, Opinion, reasons_against
from annotation.review.outcomes import round_outcomes, rules_of
from annotation.statistics.kernels.issues import CountingRule
from tests.annotation.adjudication.made import make_reviewed
from tests.annotation.review.cases import NOON
from tests.annotation.rounds.made import say
from tests.processes import manage, migrated_site, postgres_url

GOOD = Opinion(best="B", verdict="accept", flags=frozenset(), grades={"clinical_quality": 5, "image_alignment": 3})


def said(**fields: Any) -> Opinion:
    return replace(GOOD, **fields)


def codes(*opinions: Opinion, n_wanted: int = 2) -> list[tuple[str, str, int]]:
    return [(one["code"], one["word"], one["n"]) for one in reasons_against(opinions, "B", n_wanted)]


def test_agreement_on_a_good_question_settles_it() -> None:
    assert codes(GOOD, GOOD) == []


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (said(best="C"), ("answers_differ", "", 2)),
        (said(verdict="revise"), ("verdict", "revise", 1)),
        (said(verdict="cannot_judge"), ("verdict", "cannot_judge", 1)),
        (said(flags=frozenset({"needs_prior"})), ("flag", "needs_prior", 1)),
        (said(grades={"clinical_quality": 2}), ("grade", "clinical_quality", 2)),
        (said(best=None), ("not_blind", "", 0)),
    ],
)
def test_each_clause_alone_keeps_a_question_open(other: Opinion, expected: tuple[str, str, int]) -> None:
    assert codes(GOOD, other) == [expected]
    assert codes(other, GOOD) == [expected]


def test_a_missing_review_keeps_it_open() -> None:
    assert codes(GOOD) == [("missing", "", 1)]
    assert codes(GOOD, n_wanted=1) == []


def test_the_same_wrong_answer_is_not_agreement_on_the_key() -> None:
    assert codes(said(best="C"), said(best="C")) == [("not_the_key", "C", 2)]
    assert codes(said(best=""), said(best="")) == [("not_the_key", "", 2)]


def test_a_three_settles_and_cannot_judge_is_no_low_grade() -> None:
    assert codes(GOOD, said(grades={"clinical_quality": 3, "image_alignment": "cannot_judge"})) == []


def test_all_reasons_are_named_in_order() -> None:
    bad = said(best="C", verdict="reject", flags=frozenset({Flag.OTHER, Flag.UNSOUND}), grades={"clinical_quality": 1})
    found = [code for code, _word, _n in codes(GOOD, bad, n_wanted=3)]
    assert found == ["missing", "answers_differ", "verdict", "grade", "flag", "flag"]
    assert [Against(code) for code in found]


@given(st.lists(st.sampled_from([GOOD, said(best="A"), said(verdict="revise"), said(best=None)]), max_size=5))
def test_it_settles_only_where_every_review_would_alone(opinions: list[Opinion]) -> None:
    alone = all(not reasons_against([one], "B", 1) for one in opinions)
    assert (not reasons_against(opinions, "B", len(opinions))) == alone
    assert set(Verdict.values()) >= {one.verdict for one in opinions}


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


# --- two people in the same instant, on PostgreSQL, where two can write at a time ---
MEET = """
from msgspec.structs import replace
from annotation.outcomes.adjudicating import name_adjudicator, take_next
from annotation.enums import Role
from annotation.models import Question, Settlement
from annotation.questionbank.editing import current_revision, revise, wording_of
from annotation.questionbank.kernels.entries import BankRefused
from tests.annotation.adjudication.made import make_adjudicated
from tests.conftest import NOON, make_person
from tests.meeting import meet
people = [make_person(name, role) for name, role in (
    ("Cora", Role.COORDINATOR), ("Rita", Role.REVIEWER), ("Remo", Role.REVIEWER))]
judy, jane = make_person("Judy"), make_person("Jane")
review_round = make_adjudicated(*people, judy)
name_adjudicator(review_round, jane, actor=people[0], at=NOON)
question = Question.objects.get(number=4)
wording = wording_of(current_revision(question))
def take(person):
    return take_next(review_round, person, at=NOON).revision.question.number
def edit(person):
    new = replace(wording, stem="Which finding is missing? Says " + person.name)
    try:
        return revise(question, new, "It was unclear.", based_on=1, actor=person, at=NOON).number
    except BankRefused as refused:
        return refused.code
for act in (take, edit):
    print(*meet(lambda: act(judy), lambda: act(jane)))
"""


@pytest.mark.services
def test_the_second_waits_for_the_first(tmp_path: Path) -> None:
    """Two adjudicators never have one question; the second editor is told that the wording has changed."""
    server = postgres_url() or pytest.skip("no PostgreSQL answers on this machine")
    with migrated_site(tmp_path / "home", server) as env:
        done = manage("shell", "-v0", "-c", MEET, env=env)
    assert done.stdout.splitlines() == ["2 3", "2 changed"], done.stderr
