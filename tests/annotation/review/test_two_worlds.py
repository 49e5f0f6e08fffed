"""Two rounds that differ only in what the others said give one person equal bytes, until they may see it.

Every address that leads to a round, a case or a question is asked, as a page and as a fragment; what is random in an
answer (its form token) is taken out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import product
from typing import NamedTuple

import pytest
from django.db import transaction
from django.test import Client

from annotation.enums import AssignmentState, Flag, RoundState
from annotation.models import Assignment, Mention, QuestionComment, QuestionTag, ReviewRound, User
from annotation.outcomes.adjudicating import begin_adjudication, name_adjudicator, take_next
from annotation.review.commenting import open_questions, parts_of, people_of
from annotation.review.ending import close_round, complete_reviews, count_open
from annotation.review.kernels.form_design import PAPER
from annotation.review.kernels.visibility import (
    DiscussionPart,
    Onlooker,
    OthersPart,
    QuestionOnlooker,
    visible_of_discussion,
    visible_of_others,
)
from annotation.review.onlookers import withheld_questions
from annotation.review.rounds import create_round, open_round
from tests.annotation.rounds.made import make_sample, say, theirs
from tests.conftest import make_person


class Answer(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    body: bytes


Answers = dict[str, Answer]  # by address and kind of request
World = Callable[[ReviewRound], None]
TOKEN = re.compile(rb'name="csrfmiddlewaretoken" value="[^"]+"|"X-CSRFToken": "[^"]+"')
IGNORED = {"Set-Cookie", "Content-Length", "Expires"}  # the length follows the token, the last is now


class OtherWorld(Exception):
    """Takes back what a world has stored."""


def of_round(person: User, review_round: ReviewRound) -> list[Assignment]:
    return [one for one in theirs(person) if one.round_id == review_round.pk]


def addresses(person: User, review_round: ReviewRound) -> Iterator[str]:
    yield from ("/", "/review/", "/rounds/", f"/review/rounds/{review_round.slug}/", "/profile/", "/mentions/")
    yield from (f"/review/rounds/{review_round.slug}/?show={chosen}" for chosen in ("unfinished", "submitted"))
    yield from (
        f"/rounds/{review_round.slug}/{rest}" for rest in ("", "export/csv/", "codebook/", "report.zip", "agreement/")
    )
    yield from (f"/rounds/{review_round.slug}/outcomes/{rest}" for rest in ("one.svg", "two.pdf"))
    yield f"/rounds/{review_round.slug}/reviewers/{person.pk}/"
    yield f"/adjudication/{review_round.slug}/"
    bank = review_round.plan.bank.slug
    yield from (f"/banks/{bank}/", f"/banks/{bank}/1/", f"/banks/{bank}/1/revise/")
    for one in Assignment.objects.filter(reviewer=person).select_related("revision__question").order_by("pk"):
        yield from (f"/review/{one.public_id}/", f"/review/{one.public_id}/categories/")
        yield from (f"/review/{one.public_id}/comments/", f"/banks/{bank}/{one.revision.question.number}/")
        yield f"/adjudication/question/{one.public_id}/"


def seen_by(client: Client, person: User, review_round: ReviewRound) -> Answers:
    """Status, headers and bytes of every answer, as a page and as a fragment."""
    client.force_login(person)
    found: Answers = {}
    for address in addresses(person, review_round):
        for headers in ({}, {"HX-Request": "true"}):
            answer = client.get(address, headers=headers)
            body = TOKEN.sub(b"", b"".join(answer) if answer.streaming else answer.content)
            kept = sorted((name, value) for name, value in answer.headers.items() if name not in IGNORED)
            found[f"{address} {headers}"] = Answer(answer.status_code, kept, body)
    return found


def in_a_world(world: World, review_round: ReviewRound, look: Callable[[], Answers]) -> Answers:
    """What ``look`` gives after ``world``; everything that both stored is taken back."""
    found: Answers = {}
    try:
        with transaction.atomic():
            world(review_round)
            found = look()
            raise OtherWorld
    except OtherWorld:
        pass
    return found


@pytest.fixture
def spring(db: None, cora: User, rita: User, remo: User, noon: datetime) -> ReviewRound:
    """Rita has answered one of four questions; Remo has all four."""
    made = create_round(
        make_sample(4), name="Spring", reviewers=[rita, remo], reviewers_per_question=2, actor=cora, at=noon
    )
    open_round(made, actor=cora, at=noon)
    say(of_round(rita, made)[0], comment="RITA-WORDS")
    return made


def silent(review_round: ReviewRound) -> None:
    """Remo has said nothing yet."""


def mild(review_round: ReviewRound) -> None:
    for one in of_round(User.objects.get(name="Remo"), review_round):
        say(one, best="C", verdict="revise", comment="mild")


def harsh(review_round: ReviewRound) -> None:
    for place, one in enumerate(of_round(User.objects.get(name="Remo"), review_round)):
        at = one.round.opened_at + timedelta(hours=place) if one.round.opened_at else None
        assert at is not None
        grades = dict.fromkeys(PAPER.grades, 1)
        say(one, best="D", flags=[Flag.UNSOUND], verdict="reject", comment="REMO-WORDS", grades=grades, at=at)


def and_said(world: World, words: str, *, to: str) -> World:
    """The world, in which Remo says this of every question that the person ``to`` judges: as tag, comment and to-do."""

    def said(review_round: ReviewRound) -> None:
        world(review_round)
        remo, judge = User.objects.get(name="Remo"), User.objects.get(name=to)
        at = review_round.created_at
        for question in {one.revision.question for one in theirs(judge)}:
            QuestionTag.objects.create(question=question, word=words.lower(), by=remo, at=at)
            for number, (author, mentioned, is_done) in enumerate(
                [(remo, judge, False), (remo, judge, True), (judge, remo, True)]
            ):
                comment = QuestionComment.objects.create(
                    public_id=f"said{number}of{question.pk}", question=question, author=author, text=words, at=at,
                    is_todo=True, done_by=remo if is_done else None, done_at=at if is_done else None,
                )  # fmt: skip
                Mention.objects.create(comment=comment, person=mentioned)

    return said


def test_a_reviewer_sees_nothing_of_the_others(
    client: Client, spring: ReviewRound, rita: User, without_pixels: None
) -> None:
    worlds = (silent, and_said(mild, "SAID-MILDLY", to="Rita"), and_said(harsh, "SAID-HARSHLY", to="Rita"))
    seen = [in_a_world(world, spring, lambda: seen_by(client, rita, spring)) for world in worlds]
    assert len(seen[0]) > 40
    assert seen[0] == seen[1] == seen[2]
    assert b"RITA-WORDS" in b"".join(one.body for one in seen[0].values())


@pytest.mark.parametrize("ending", ["complete", "close"])
def test_a_reviewer_sees_nothing_of_them_after_the_end(
    client: Client, spring: ReviewRound, cora: User, rita: User, noon: datetime, ending: str
) -> None:
    end = {"complete": complete_reviews, "close": close_round}[ending]

    def look() -> Answers:
        end(spring, actor=cora, at=noon, confirmed_open=count_open(spring))
        return seen_by(client, rita, spring)

    said = ("SAID-MILDLY", "SAID-HARSHLY") if ending == "complete" else ("SAID-AFTER", "SAID-AFTER")
    worlds = [and_said(world, words, to="Rita") for world, words in zip((mild, harsh), said, strict=True)]
    seen = [in_a_world(world, spring, look) for world in worlds]
    assert seen[0] == seen[1]
    bodies = b"".join(one.body for one in seen[1].values())
    assert (b"SAID-" in bodies) == (ending == "close")
    assert b"Remo" not in bodies


def test_a_coordinator_who_reviews_is_a_reviewer(
    client: Client, spring: ReviewRound, cora: User, noon: datetime
) -> None:
    """Until the round is closed; how far the others are is theirs to know."""
    one = of_round(User.objects.get(name="Remo"), spring)[3]
    Assignment.objects.filter(pk=one.pk).update(reviewer=cora)

    def look() -> Answers:
        complete_reviews(spring, actor=cora, at=noon, confirmed_open=count_open(spring))
        return seen_by(client, cora, spring)

    worlds = (and_said(mild, "SAID-MILDLY", to="Cora"), and_said(harsh, "SAID-HARSHLY", to="Cora"))
    seen = [in_a_world(world, spring, look) for world in worlds]
    differing = {address for address in seen[0] if seen[0][address] != seen[1][address]}
    assert differing <= {f"/rounds/spring/ {headers}" for headers in ({}, {"HX-Request": "true"})}  # "last seen"
    bodies = b"".join(one.body for one in seen[1].values())
    assert b"REMO-WORDS" not in bodies
    assert b"SAID-" not in bodies


def test_an_adjudicator_sees_nothing_before_the_own_review(
    client: Client, spring: ReviewRound, cora: User, noon: datetime
) -> None:
    judy = make_person("Judy")

    def look() -> Answers:
        complete_reviews(spring, actor=cora, at=noon, confirmed_open=count_open(spring))
        name_adjudicator(spring, judy, actor=cora, at=noon)
        begin_adjudication(spring, actor=cora, at=noon)
        taken = take_next(spring, judy, at=noon)
        assert taken is not None
        Assignment.objects.filter(pk=taken.pk).update(public_id="same-in-both")
        and_said(silent, next(words), to="Judy")(spring)
        return seen_by(client, judy, spring)

    words = iter(("SAID-MILDLY", "SAID-HARSHLY"))
    seen = [in_a_world(world, spring, look) for world in (mild, harsh)]
    assert seen[0] == seen[1]


ONLOOKER = ("coordinates", "reviews", "adjudicates", "is_closed", "own_final")
CASES = [
    # coordinates, reviews, adjudicates, closed, own final -> what may be seen
    ((True, False, False, False, False), set(OthersPart)),
    ((True, True, False, False, False), set()),
    ((True, False, True, False, False), set()),
    ((True, True, True, True, False), set(OthersPart)),
    ((True, False, True, False, True), {OthersPart.REVIEWS}),
    ((False, True, False, False, True), set()),
    ((False, True, False, True, True), set()),
    ((False, False, True, False, False), set()),
    ((False, False, True, False, True), {OthersPart.REVIEWS}),
    ((False, False, False, False, False), set()),
    ((False, False, False, True, True), set()),
]


@pytest.mark.parametrize(("facts", "expected"), CASES)
def test_what_others_did_is_seen_by_one_rule(facts: tuple[bool, ...], expected: set[OthersPart]) -> None:
    assert visible_of_others(Onlooker(**dict(zip(ONLOOKER, facts, strict=True)))) == expected


def test_names_are_never_seen_by_who_judges_before_the_end() -> None:
    for facts in product((False, True), repeat=5):
        onlooker = Onlooker(**dict(zip(ONLOOKER, facts, strict=True)))
        parts = visible_of_others(onlooker)
        judges = onlooker.reviews or onlooker.adjudicates
        if judges and not onlooker.is_closed:
            assert not parts & {OthersPart.NAMES, OthersPart.OUTCOMES}, onlooker
        if OthersPart.REVIEWS in parts:
            assert onlooker.coordinates or (onlooker.adjudicates and onlooker.own_final), onlooker


READ = {DiscussionPart.COMMENTS, DiscussionPart.TAGS}
DISCUSSED = [
    # coordinates, judges now, has judged -> what may be known of a question
    ((False, False, False), set()),
    ((False, False, True), READ),
    ((False, True, False), set()),
    ((False, True, True), set()),
    ((True, False, False), set(DiscussionPart)),
    ((True, False, True), set(DiscussionPart)),
    ((True, True, False), set()),
    ((True, True, True), set()),
]


@pytest.mark.parametrize(("facts", "expected"), DISCUSSED)
def test_what_was_said_about_a_question_is_known_by_one_rule(
    facts: tuple[bool, bool, bool], expected: set[DiscussionPart]
) -> None:
    coordinates, judges, has_judged = facts
    onlooker = QuestionOnlooker(coordinates=coordinates, judges=judges, has_judged=has_judged)
    assert visible_of_discussion(onlooker) == expected


@pytest.mark.parametrize("of_round", list(RoundState))
def test_every_state_of_a_review_and_its_round_says_who_may_know(
    spring: ReviewRound, cora: User, rita: User, of_round: RoundState
) -> None:
    """Rita has one question, in the wording of before; Cora, who coordinates, has the same one."""
    ReviewRound.objects.filter(pk=spring.pk).update(state=of_round)
    one, other = theirs(rita)[0], theirs(User.objects.get(name="Remo"))[0]
    Assignment.objects.exclude(pk__in=[one.pk, other.pk]).update(state=AssignmentState.WITHDRAWN)
    Assignment.objects.filter(pk=other.pk).update(reviewer=cora, revision=one.revision)
    question, is_closed = one.revision.question, of_round == RoundState.CLOSED
    QuestionTag.objects.create(question=question, word="x", by=cora, at=spring.created_at)
    for state in AssignmentState:
        Assignment.objects.filter(pk__in=[one.pk, other.pk]).update(state=state)
        gone = state in (AssignmentState.RETURNED, AssignmentState.WITHDRAWN)
        reads = is_closed and state == AssignmentState.SUBMITTED
        assert parts_of(rita, question) == (READ if reads else set()), state
        assert parts_of(cora, question) == (set(DiscussionPart) if gone or is_closed else set()), state
        who = {person.name for person in people_of(question)}
        assert who == ({"Rita"} if reads else set()) | ({"Cora"} if gone or is_closed else set()), state
        assert (question in withheld_questions(cora)) == (not gone and not is_closed), state
        for person in (rita, cora):
            heard = QuestionTag.objects.filter(open_questions(person))
            assert heard.exists() == (DiscussionPart.COMMENTS in parts_of(person, question)), state
