"""Over the API one act changes many questions and is undone; comments are read, written, withdrawn and ticked off."""

from __future__ import annotations

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotation.enums import ImportState, QuestionState, Role
from annotation.jobs.running import run
from annotation.models import (
    Assignment,
    BankImport,
    Job,
    Mention,
    Question,
    QuestionBank,
    QuestionComment,
    QuestionTag,
    Revision,
    SeenKey,
    User,
)
from annotation.models.people import TokenScope
from annotation.review.commenting import add_comment
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.annotation.review.cases import make_bank, make_revisions, make_round
from tests.conftest import NOON, make_person

CHANGES, COMMENTS = "banks/chest/changes/", "banks/chest/questions/1/comments/"


@pytest.fixture
def bank(db: None) -> QuestionBank:
    bank = make_bank("Chest")
    make_revisions(bank, {1: {"task": "presence"}, 2: {"task": "presence"}, 3: {}})
    return bank


@pytest.fixture
def script(cora: User, bank: QuestionBank) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, "chest")


def run_newest() -> None:
    assert run(Job.objects.latest("pk").public_id, clock=timezone.now)


def tagged() -> list[int]:
    return list(QuestionTag.objects.standing().order_by("question").values_list("question__number", flat=True))


def test_many_questions_are_tagged_and_it_is_undone(script: Program) -> None:
    asked = {"act": "tag", "tag": "look again", "numbers": [1, 3, 77]}
    made = script.post(CHANGES, asked, idempotency_key="one")
    assert (made.status_code, made.json()["state"], made.json()["n_changed"]) == (202, "queued", None)
    problem_of(script.post(f"{made['Location']}undo/", {}), 409, "nothing")
    assert script.post(CHANGES, asked, idempotency_key="one").json() == made.json()
    run_newest()
    told = script.get(made["Location"]).json()
    assert (told["state"], told["n_changed"], told["words"], tagged()) == ("succeeded", 2, "look again", [1, 3])
    undone = script.post(f"{made['Location']}undo/", {}, idempotency_key="two")
    run_newest()
    assert tagged() == []
    assert script.post(f"{made['Location']}undo/", {}, idempotency_key="two").json() == undone.json()
    problem_of(script.post(f"{made['Location']}undo/", {}), 409, "nothing")
    assert [row["act"] for row in script.get(CHANGES).json()["results"]] == ["untag", "tag"]


def test_what_filters_find_is_confirmed_by_its_number(script: Program, bank: QuestionBank) -> None:
    asked = {"act": "withdraw", "reason": "Of the pilot.", "filters": {"task": "presence"}}
    assert problem_of(script.post(CHANGES, asked), 409, "list_changed")["facts"] == {"n": 2}
    problem_of(script.post(CHANGES, {**asked, "n": 3}), 409, "list_changed")
    assert script.post(CHANGES, {**asked, "n": 2}).status_code == 202
    run_newest()
    assert Question.objects.filter(state=QuestionState.WITHDRAWN).count() == 2
    problem_of(script.post(CHANGES, {**asked, "filters": {"task": "hammer"}}), 422, "invalid")
    problem_of(script.post(CHANGES, {**asked, "numbers": [1]}), 422, "invalid")
    problem_of(script.post(CHANGES, {"act": "bring_back"}), 422, "invalid")
    problem_of(script.post(CHANGES, {"act": "tag", "numbers": [1]}), 422, "no_tag")
    problem_of(script.post(CHANGES, {"act": "bring_back", "numbers": [77]}), 422, "none_found")
    QuestionBank.objects.update(archived_at=NOON)
    problem_of(script.post(CHANGES, {**asked, "n": 2}), 409, "bank_archived")


def test_acts_of_others_and_of_another_bank_are_not_there(script: Program, bank: QuestionBank, ada: User) -> None:
    made = script.post(CHANGES, {"act": "tag", "tag": "mine", "numbers": [1]})
    other = program_of(make_person("Coco", Role.COORDINATOR), Role.COORDINATOR, TokenScope.BANK, "chest")
    assert other.get(CHANGES).json()["results"] == []
    problem_of(other.get(made["Location"]), 404, "not_found")
    problem_of(other.post(f"{made['Location']}undo/", {}), 404, "not_found")
    make_bank("Other")
    problem_of(script.get("banks/other/changes/"), 404, "not_found")
    problem_of(script.post("banks/other/changes/", {"act": "tag", "tag": "x", "numbers": [1]}), 404, "not_found")
    problem_of(program_of(ada, Role.ADMINISTRATOR).get(CHANGES), 403, "forbidden")


def test_a_sample_is_made_of_chosen_questions(script: Program) -> None:
    asked = {"bank": "chest", "name": "Two", "by": "none", "per_thousand": 1000, "numbers": [1, 3]}
    assert script.post("samples/", asked).json()["n_drawn"] == 2
    rows = script.get("samples/two/questions/").json()["results"]
    assert sorted(row["number"] for row in rows) == [1, 3]


# --- comments -------------------------------------------------------------------------------------
def test_comments_are_written_read_withdrawn_and_ticked_off(
    script: Program, bank: QuestionBank, cora: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    coco = make_person("Coco", Role.COORDINATOR)
    asked = {"text": "Is B right?", "is_todo": True, "mentions": [coco.email.upper()]}
    made = script.post(COMMENTS, asked, idempotency_key="one")
    assert (made.status_code, made.json()["mentions"], made.json()["author"]) == (201, ["Coco"], "Cora")
    assert script.post(COMMENTS, asked, idempotency_key="one").json() == made.json()
    assert not SeenKey.objects.exists()
    theirs = program_of(coco, Role.COORDINATOR, TokenScope.BANK, "chest")
    [row] = theirs.get("mentions/").json()["results"]
    assert (row["question"], row["is_todo"], "text" in row) == (1, True, False)
    [read] = theirs.get(COMMENTS).json()["results"]
    with django_assert_max_num_queries(12):
        assert theirs.get(COMMENTS).json()["results"] == [read] == [made.json()]
    assert Mention.objects.get().seen_at is not None
    assert SeenKey.objects.get().person == coco
    one = f"{COMMENTS}{read['id']}/"
    problem_of(theirs.post(f"{one}withdraw/"), 403, "not_yours")
    assert theirs.post(f"{one}done/").json()["done_by"] == "Coco"
    gone = script.post(f"{one}withdraw/").json()
    assert (gone["text"], gone["withdrawn_at"] is not None) == ("", True)
    problem_of(script.post(f"{one}done/"), 409, "no_todo")
    problem_of(script.post(f"banks/chest/questions/2/comments/{read['id']}/withdraw/"), 404, "not_found")
    for sent in ({"text": " "}, {"text": ""}, {"text": "x", "mentions": ["nobody@example.org"]}, {}):
        assert script.post(COMMENTS, sent).status_code == 422
    assert QuestionComment.objects.count() == 1


def test_whoever_judges_the_question_hears_no_comment(bank: QuestionBank, cora: User) -> None:
    coco = make_person("Coco", Role.COORDINATOR)
    comment = add_comment(Question.objects.get(number=1), "It is B.", actor=coco, at=NOON, mentioned=[cora.pk])
    review_round = make_round(name="Blind")
    revision = Revision.objects.get(question__number=1, question__bank=bank)
    Assignment.objects.create(round=review_round, reviewer=cora, revision=revision, position=1)
    script = program_of(cora, Role.COORDINATOR, TokenScope.BANK, "chest")
    assert script.get("mentions/").json()["results"] == []
    for answer in (
        script.get(COMMENTS),
        script.post(COMMENTS, {"text": "Why?"}),
        script.post(f"{COMMENTS}{comment.public_id}/done/"),
        script.post(f"{COMMENTS}{comment.public_id}/withdraw/"),
    ):
        problem_of(answer, 403, "withheld")
    assert QuestionComment.objects.count() == 1


def test_a_question_of_an_import_that_is_not_published_has_no_comments(script: Program) -> None:
    BankImport.objects.update(state=ImportState.RUNNING)
    problem_of(script.get(COMMENTS), 404, "not_found")
    problem_of(script.post(COMMENTS, {"text": "Why?"}), 404, "not_found")
