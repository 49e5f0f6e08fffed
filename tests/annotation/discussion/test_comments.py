"""Comments: who writes, reads, withdraws and finishes them; whom they mention, and where that person finds it."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from annotation.enums import AssignmentState, RoundState
from annotation.models import Assignment, AuditEvent, Job, Mention, Question, QuestionComment, ReviewRound, User
from annotation.questionbank.bank_life import is_unused
from annotation.review.commenting import (
    DiscussionRefused,
    add_comment,
    comments_of,
    finish_todo,
    mentionable,
    parts_of,
    waiting_for,
    withdraw_comment,
)
from annotation.review.ending import close_round, count_open
from annotation.review.rounds import create_round
from tests.annotation.review.cases import make_bank, make_revision
from tests.annotation.rounds.made import make_open, say, theirs
from tests.conftest import make_person
from tests.refusals import refuses


@pytest.fixture
def spring(cora: User, rita: User, remo: User) -> ReviewRound:
    """Rita and Remo have reviewed both questions; the round is open."""
    made = make_open(2, rita, remo, name="Spring", actor=cora, reviewers_per_question=2)
    for one in (*theirs(rita), *theirs(remo)):
        say(one)
    return made


@pytest.fixture
def closed(spring: ReviewRound, cora: User, noon: datetime) -> ReviewRound:
    close_round(spring, actor=cora, at=noon, confirmed_open=count_open(spring))
    return spring


def first_of(review_round: ReviewRound) -> Question:
    return Question.objects.select_related("bank").get(bank=review_round.plan.bank, number=1)


def address(person: User, question: Question) -> str:
    return f"/review/{Assignment.objects.get(reviewer=person, revision__question=question).public_id}/comments/"


def texts(question: Question, person: User) -> list[tuple[str, str]]:
    return [(one.author, one.text) for one in comments_of(question, person, parts_of(person, question))]


def test_reviewers_read_and_write_once_the_round_is_closed(
    spring: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    question = first_of(spring)
    add_comment(question, "The key\r\nis B.\x00", actor=cora, at=noon)
    with refuses(DiscussionRefused, "withheld") as refused:
        add_comment(question, "Mine.", actor=rita, at=noon)
    assert refused.value.status == 403
    assert comments_of(question, rita, parts_of(rita, question)) == []
    close_round(spring, actor=cora, at=noon, confirmed_open=count_open(spring))
    add_comment(question, "Mine.", actor=rita, at=noon)
    assert texts(question, rita) == [("Cora", "The key\nis B."), ("Rita", "Mine.")]


def test_a_question_in_a_second_round_is_silent_again(
    closed: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    question = first_of(closed)
    add_comment(question, "Read this.", mentioned=[rita.pk], actor=cora, at=noon)
    assert waiting_for(rita).count() == 1
    again = create_round(closed.plan, name="Again", reviewers=[make_person("Nils")], actor=cora, at=noon)
    one = Assignment.objects.filter(round=again, revision__question=question)
    for state in (RoundState.DRAFT, RoundState.OPEN, RoundState.COMPLETE, RoundState.ADJUDICATION):
        ReviewRound.objects.filter(pk=again.pk).update(state=state)
        one.update(reviewer=rita, state=AssignmentState.SUBMITTED)
        assert (parts_of(rita, question), waiting_for(rita).count()) == (frozenset(), 0), state
        one.update(state=AssignmentState.WITHDRAWN)
        assert waiting_for(rita).count() == 1, state


def test_reviewers_do_not_learn_who_else_reviewed(
    closed: ReviewRound, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    question = first_of(closed)
    add_comment(question, "From Remo's side.", is_todo=True, actor=remo, at=noon)
    add_comment(question, "Both of you.", mentioned=[rita.pk, remo.pk], actor=cora, at=noon)
    assert texts(question, rita)[0][0] == "a colleague"
    assert [one.mentioned for one in comments_of(question, rita, parts_of(rita, question))] == [[], ["Rita"]]
    assert [one.mentioned for one in comments_of(question, cora, parts_of(cora, question))] == [[], ["Remo", "Rita"]]
    assert mentionable(question, rita, parts_of(rita, question)) == [cora]
    assert mentionable(question, cora, parts_of(cora, question)) == [remo, rita]
    with refuses(DiscussionRefused, "not_mentionable"):
        add_comment(question, "You?", mentioned=[remo.pk], actor=rita, at=noon)


def test_nobody_is_mentioned_who_may_not_read_it_and_nothing_is_no_comment(
    spring: ReviewRound, cora: User, rita: User, stan: User, ada: User, noon: datetime
) -> None:
    for person in (rita, stan, ada):
        with refuses(DiscussionRefused, "not_mentionable"):
            add_comment(first_of(spring), "Look.", mentioned=[person.pk], actor=cora, at=noon)
    for text, code in ((" \n", "no_text"), ("\x00", "no_text"), ("x" * 5001, "too_long")):
        with refuses(DiscussionRefused, code, status=422):
            add_comment(first_of(spring), text, actor=cora, at=noon)
    assert not QuestionComment.objects.exists()
    assert not AuditEvent.objects.filter(act="question.commented").exists()


def test_one_withdraws_ones_own(closed: ReviewRound, cora: User, rita: User, noon: datetime) -> None:
    question = first_of(closed)
    made = add_comment(question, "Wrong place.", mentioned=[rita.pk], is_todo=True, actor=cora, at=noon)
    with refuses(DiscussionRefused, "not_yours"):
        withdraw_comment(made, actor=rita, at=noon)
    withdraw_comment(made, actor=cora, at=noon)
    withdraw_comment(made, actor=cora, at=noon)
    assert texts(question, cora) == [("Cora", "")]
    assert waiting_for(rita).count() == 0
    assert AuditEvent.objects.filter(act="comment.withdrawn").count() == 1
    with refuses(DiscussionRefused, "no_todo"):
        finish_todo(made, actor=cora, at=noon)


@pytest.mark.logs("comment.done")
def test_who_finishes_a_todo(closed: ReviewRound, cora: User, rita: User, remo: User, noon: datetime) -> None:
    question = first_of(closed)
    made = add_comment(question, "Ask Rita.", mentioned=[rita.pk], is_todo=True, actor=cora, at=noon)
    with refuses(DiscussionRefused, "not_concerned"):
        finish_todo(made, actor=remo, at=noon)
    finish_todo(made, actor=rita, at=noon)
    finish_todo(made, actor=cora, at=noon.replace(hour=13))
    made.refresh_from_db()
    assert (made.done_by, made.done_at) == (rita, noon)
    plain = add_comment(question, "Nothing to do.", actor=cora, at=noon)
    with refuses(DiscussionRefused, "no_todo"):
        finish_todo(plain, actor=cora, at=noon)


def test_a_mention_is_on_the_home_page_until_it_is_read(
    reviewer: Client, closed: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    question = first_of(closed)
    add_comment(question, "Please look.", mentioned=[rita.pk], actor=cora, at=noon)
    todo = add_comment(question, "Please mend.", mentioned=[rita.pk], is_todo=True, actor=cora, at=noon)
    assert "Comments on questions mention you: 1 to do, 1 new." in reviewer.get("/").content.decode()
    listed = reviewer.get("/mentions/").content.decode()
    assert address(rita, question) in listed
    assert "Please look." in listed
    assert "Please mend." in reviewer.get(address(rita, question)).content.decode()
    assert not Mention.objects.filter(seen_at=None).exists()
    assert "Please look." not in reviewer.get("/mentions/").content.decode()
    answer = reviewer.post(f"/comments/{todo.public_id}/done/", {"back": "mentions"})
    assert answer["Location"] == "/mentions/"
    assert "/mentions/" not in reviewer.get("/").content.decode()


@pytest.mark.logs("question.commented")
def test_a_mention_is_mailed_without_what_it_says(
    settings: Settings, closed: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    settings.EMAIL_HOST = "localhost"
    add_comment(first_of(closed), "SECRET-WORDS", mentioned=[rita.pk], actor=cora, at=noon)
    [job] = Job.objects.filter(kind="send_letter")
    assert "SECRET-WORDS" not in str(job.params) + job.title


def test_the_page_of_a_question_holds_the_comments(coordinator: Client, closed: ReviewRound, rita: User) -> None:
    question = first_of(closed)
    page = f"/banks/{question.bank.slug}/1/"
    sent = {"text": "Is the key right?", "mentioned": [rita.pk], "is_todo": "on"}
    answer = coordinator.post(f"/comments/on/{question.public_id}/", sent)
    assert answer["Location"] == f"{page}#comments"
    text = coordinator.get(page).content.decode()
    assert "Is the key right?" in text
    assert "@Rita" in text
    assert "Mark as done" in text
    empty = coordinator.post(f"/comments/on/{question.public_id}/", {"text": "", "mentioned": ["x", "²"]}, follow=True)
    assert "Write a comment first." in empty.content.decode()
    long = "Worth a look. " * 400
    refused = coordinator.post(f"/comments/on/{question.public_id}/", {"text": long}, follow=True).content.decode()
    assert f"required>{long}</textarea>" in refused  # what was typed is not lost
    assert "Worth a look." not in coordinator.get(page).content.decode()
    [made] = QuestionComment.objects.all()
    coordinator.post(f"/comments/{made.public_id}/withdraw/")
    assert "Is the key right?" not in coordinator.get(page).content.decode()


def test_to_strangers_no_comment_exists(
    client: Client, spring: ReviewRound, cora: User, rita: User, stan: User, ada: User, noon: datetime
) -> None:
    question = first_of(spring)
    made = add_comment(question, "Hidden.", actor=cora, at=noon)
    for person in (rita, stan, ada):
        client.force_login(person)
        for path in (f"on/{question.public_id}", f"{made.public_id}/withdraw", f"{made.public_id}/done", "none/done"):
            assert client.post(f"/comments/{path}/", {"text": "x"}).status_code == 404
        assert "Hidden." not in client.get("/mentions/").content.decode()
    assert QuestionComment.objects.count() == 1


def test_queries_do_not_grow_with_the_comments(
    client: Client, closed: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    question, counts = first_of(closed), []
    for more in (1, 5):
        for _number in range(more):
            add_comment(question, "Again.", mentioned=[rita.pk], is_todo=True, actor=cora, at=noon)
        for person in (cora, rita):
            client.force_login(person)
            cache.clear()
            own = f"/banks/{question.bank.slug}/1/" if person == cora else address(rita, question)
            for page in (own, "/mentions/"):
                client.get(page)
                with CaptureQueriesContext(connection) as queries:
                    client.get(page)
                counts.append(len(queries))
    assert counts[:4] == counts[4:]
    # its whole history, what classifiers gave it, what models answered without images, whether a leaderboard asks it
    assert max(counts) <= 51


def test_a_bank_with_comments_is_in_use(cora: User, noon: datetime) -> None:
    question = make_revision(make_bank("Chest"), 1).question
    assert is_unused(question.bank)
    add_comment(question, "Keep this.", actor=cora, at=noon)
    assert not is_unused(question.bank)


def test_who_left_is_named_by_coordinators_and_mentioned_by_nobody(
    closed: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    question = first_of(closed)
    add_comment(question, "Last words.", actor=rita, at=noon)
    User.objects.filter(pk=rita.pk).update(is_active=False)
    assert texts(question, cora) == [("Rita", "Last words.")]
    assert rita not in mentionable(question, cora, parts_of(cora, question))
