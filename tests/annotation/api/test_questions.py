"""Questions of a bank over the API: as its page lists them, by role, blinded where the page is, from end to end."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotation.enums import ImportState, QuestionState, Role
from annotation.jobs.running import run
from annotation.models import (
    Assignment,
    AuditEvent,
    BankImport,
    Finding,
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
from annotation.questionbank import listing
from annotation.questionbank.checking import check_revisions
from annotation.review.commenting import add_comment
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.annotation.review.cases import make_bank, make_revisions, make_round
from tests.conftest import NOON, make_person

TASKS = ("presence", "negation", "location")


@pytest.fixture
def bank(db: None) -> QuestionBank:
    bank = make_bank("Chest")
    asked: dict[int, dict[str, Any]] = {
        number: {"task": TASKS[number % 3], "category": f"class {number % 4}"} for number in range(1, 61)
    }
    make_revisions(bank, asked)
    return bank


@pytest.fixture
def script(cora: User, bank: QuestionBank) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, bank.slug)


def walk(script: Program, address: str) -> list[int]:
    """The numbers of all pages of a list."""
    found: list[int] = []
    following: str | None = address
    while following:
        page = script.get(following).json()
        found += [row["number"] for row in page["results"]]
        following = page["next"]
    return found


QUERIES = ("", "sort=-number", "sort=task", "sort=-category", "task=negation", "category=class+1&task=presence", "q=z")


@pytest.mark.parametrize("most", [5_000, 10])
def test_a_walk_finds_what_the_page_finds(
    script: Program, coordinator: Client, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a bank that is too large to be listed as a whole."""
    monkeypatch.setattr(listing, "MOST_LISTED", most)
    monkeypatch.setattr(listing, "WINDOW", 25)
    monkeypatch.setattr(listing, "PER_PAGE", 100)
    for query in QUERIES:
        shown, address = [], f"/banks/chest/?{query}"
        while address:
            context = coordinator.get(address).context
            shown += [row.number for row in context["rows"]]
            address = f"/banks/chest/?{context['next_query']}" if context["next_query"] else ""
        assert walk(script, f"banks/chest/questions/?limit=7&{query}") == shown, query


def test_a_question_as_it_is_read(script: Program) -> None:
    told = script.get("banks/chest/questions/7/").json()
    assert (told["number"], told["task"], told["state"], told["revision"]) == (7, "negation", "imported", 1)
    assert len(told["options"]) == 4
    assert {"key", "explanation"}.isdisjoint(told)
    assert told["images"]
    assert script.get("banks/chest/questions/?limit=1&fields=number,stem").json()["results"] == [
        {"number": 1, "stem": told["stem"].replace("7", "1")}
    ]


def test_reading_a_key_is_noted(script: Program, cora: User) -> None:
    told = script.get("banks/chest/questions/7/key/")
    assert told.json()["key"] == "B"
    assert told["Cache-Control"] == "private, no-store"
    assert "ETag" not in told
    assert SeenKey.objects.get().question == Question.objects.get(number=7)
    assert AuditEvent.objects.get(act="key.seen").actor == cora


def test_who_answers_a_question_blind_reads_neither_its_key_nor_its_revisions(cora: User) -> None:
    bank = make_round(cora, name="Blind").plan.bank
    script = program_of(cora, Role.COORDINATOR, TokenScope.BANK, bank.slug)
    problem_of(script.get(f"banks/{bank.slug}/questions/1/key/"), 403, "key_hidden")
    assert script.get(f"banks/{bank.slug}/questions/1/revisions/").json()["results"] == []
    problem_of(script.get(f"banks/{bank.slug}/questions/1/revisions/1/"), 404, "not_found")


def test_revisions_do_not_change_and_are_sent_once(script: Program) -> None:
    page = script.get("banks/chest/questions/7/revisions/").json()
    assert [row["number"] for row in page["results"]] == [1]
    first = script.get("banks/chest/questions/7/revisions/1/")
    assert first.json()["author"] is None
    assert script.get("banks/chest/questions/7/revisions/1/", if_none_match=first["ETag"]).status_code == 304
    problem_of(script.get("banks/chest/questions/7/revisions/2/"), 404, "not_found")
    problem_of(script.get("banks/chest/questions/99999999999999999999/"), 404, "not_found")
    for cursor in ("x", "AAAA", "WyIiLCAiYSIsICIiXQ", "WyIiLCAxLCAxXQ"):
        problem_of(script.get(f"banks/chest/questions/?cursor={cursor}"), 400, "bad_cursor")


def test_few_queries(script: Program, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    addresses = ("questions/", "questions/?task=presence&sort=category", "questions/7/", "questions/7/revisions/")
    script.get("banks/chest/questions/?sort=category")  # the categories of a bank are kept for an hour
    for address in addresses:
        with django_assert_max_num_queries(12):
            assert script.get(f"banks/chest/{address}").status_code == 200


# --- what coordinators do to a question over the API: by the acts of its page, noted and refused as there ---
ONE = "banks/chest/questions/1/"
REVISED = {"based_on": 1, "reason": "A clearer question.", "stem": "Which finding is absent on this radiograph?"}


@pytest.fixture
def checked(db: None) -> QuestionBank:
    checked = make_bank("Chest")
    make_revisions(checked, {1: {}, 2: {"stem": "Short?"}})
    check_revisions(checked, Revision.objects.filter(bank=checked), actor=None, at=NOON)
    return checked


@pytest.fixture
def editor(cora: User, checked: QuestionBank) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, checked.slug)


def test_a_question_is_revised_and_the_revision_undone(editor: Program, cora: User) -> None:
    made = editor.post(f"{ONE}revise/", REVISED, idempotency_key="monday")
    assert (made.status_code, made["Location"]) == (201, "/api/v1/banks/chest/questions/1/revisions/2/")
    assert {name: made.json()[name] for name in ("number", "stem", "author", "reason")} == {
        "number": 2,
        "stem": REVISED["stem"],
        "author": "Cora",
        "reason": "A clearer question.",
    }
    assert editor.post(f"{ONE}revise/", REVISED, idempotency_key="monday")["Idempotent-Replayed"] == "true"
    assert editor.get(ONE).json()["stem"] == REVISED["stem"]
    assert SeenKey.objects.get().person == cora
    undone = editor.post(f"{ONE}undo/", {"based_on": 2}).json()
    assert (undone["number"], undone["stem"]) == (3, "Which finding is absent on these radiographs (1)?")
    assert Revision.objects.filter(question__number=1).count() == 3


REFUSED: list[tuple[dict[str, Any], int, str]] = [
    ({"reason": ""}, 422, "invalid"),
    ({"based_on": 7}, 409, "changed"),
    ({"stem": "Which finding is absent on these radiographs (1)?"}, 422, "unchanged"),
    ({"options": ["one", "two", "three"]}, 422, "invalid"),
    ({"options": ["one", "one", "two", "three"]}, 422, "rules"),
    ({"images_left_out": ["nowhere"]}, 422, "rules"),
    ({"key": "E"}, 422, "invalid"),
    ({"colour": "red"}, 422, "invalid"),
]


def test_what_the_editor_refuses_is_refused(editor: Program) -> None:
    for sent, status, code in REFUSED:
        problem_of(editor.post(f"{ONE}revise/", {**REVISED, **sent}), status, code)
    assert Revision.objects.filter(question__number=1).count() == 1
    assert not AuditEvent.objects.filter(act="question.revised").exists()


def test_tags_come_and_go(editor: Program) -> None:
    assert editor.post(f"{ONE}tag/", {"tag": "Look  Again"}).json()["tags"] == ["look again"]
    assert editor.post(f"{ONE}tag/", {"tag": "look again"}).json()["tags"] == ["look again"]
    assert editor.post(f"{ONE}untag/", {"tag": "look again"}).json()["tags"] == []
    assert QuestionTag.objects.count() == 1
    problem_of(editor.post(f"{ONE}tag/", {"tag": "x" * 41}), 422, "tag_too_long")


def test_findings_are_read_and_dismissed(editor: Program, cora: User) -> None:
    """Those of a bank tell rule and question; place and detail, which may tell the key, are noted as read."""
    found = editor.get("banks/chest/findings/").json()["results"]
    assert {row["question"] for row in found} == {1, 2}
    assert all({"place", "detail"}.isdisjoint(row) for row in found)
    assert not SeenKey.objects.exists()
    ours = editor.get("banks/chest/questions/2/findings/").json()["results"]
    assert {row["id"] for row in ours} == {row["id"] for row in found if row["question"] == 2}
    assert SeenKey.objects.get().question.number == 2
    chosen = ours[0]
    address = f"banks/chest/questions/2/findings/{chosen['id']}/dismiss/"
    problem_of(editor.post(address, {"reason": " "}), 422, "invalid")
    told = editor.post(address, {"reason": "Meant to be short."}).json()
    assert (told["dismissed_by"], told["dismiss_reason"]) == ("Cora", "Meant to be short.")
    assert chosen["id"] not in {row["id"] for row in editor.get("banks/chest/findings/").json()["results"]}
    of_rule = editor.get(f"banks/chest/findings/?rule={chosen['rule']}").json()["results"]
    assert {row["rule"] for row in of_rule} <= {chosen["rule"]}
    problem_of(
        editor.post(f"{ONE}findings/{chosen['id']}/dismiss/", {"reason": "Of another question."}), 404, "not_found"
    )


def test_whoever_answers_a_question_blind_hears_nothing_of_it(cora: User) -> None:
    review_round = make_round(cora, name="Blind")
    checked = review_round.plan.bank
    check_revisions(checked, Revision.objects.filter(bank=checked), actor=None, at=NOON)
    assert Finding.objects.filter(bank=checked).exists()
    editor = program_of(cora, Role.COORDINATOR, TokenScope.BANK, checked.slug)
    judged = review_round.assignments.values_list("revision__question__number", flat=True)
    told = editor.get(f"banks/{checked.slug}/findings/").json()["results"]
    assert {row["question"] for row in told}.isdisjoint(judged)
    one = f"banks/{checked.slug}/questions/{judged[0]}/"
    problem_of(editor.get(f"{one}findings/"), 403, "key_hidden")
    problem_of(editor.post(f"{one}revise/", REVISED), 403, "key_hidden")
    problem_of(editor.post(f"{one}tag/", {"tag": "x"}), 403, "withheld")


# --- one act changes many questions and is undone; comments ---
CHANGES, COMMENTS = "banks/chest/changes/", "banks/chest/questions/1/comments/"


@pytest.fixture
def three(db: None) -> QuestionBank:
    three = make_bank("Chest")
    make_revisions(three, {1: {"task": "presence"}, 2: {"task": "presence"}, 3: {}})
    return three


@pytest.fixture
def chooser(cora: User, three: QuestionBank) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, "chest")


def run_newest() -> None:
    assert run(Job.objects.latest("pk").public_id, clock=timezone.now)


def tagged() -> list[int]:
    return list(QuestionTag.objects.standing().order_by("question").values_list("question__number", flat=True))


def test_many_questions_are_tagged_and_it_is_undone(chooser: Program) -> None:
    asked = {"act": "tag", "tag": "look again", "numbers": [1, 3, 77]}
    made = chooser.post(CHANGES, asked, idempotency_key="one")
    assert (made.status_code, made.json()["state"], made.json()["n_changed"]) == (202, "queued", None)
    problem_of(chooser.post(f"{made['Location']}undo/", {}), 409, "nothing")
    assert chooser.post(CHANGES, asked, idempotency_key="one").json() == made.json()
    run_newest()
    told = chooser.get(made["Location"]).json()
    assert (told["state"], told["n_changed"], told["words"], tagged()) == ("succeeded", 2, "look again", [1, 3])
    undone = chooser.post(f"{made['Location']}undo/", {}, idempotency_key="two")
    run_newest()
    assert tagged() == []
    assert chooser.post(f"{made['Location']}undo/", {}, idempotency_key="two").json() == undone.json()
    problem_of(chooser.post(f"{made['Location']}undo/", {}), 409, "nothing")
    assert [row["act"] for row in chooser.get(CHANGES).json()["results"]] == ["untag", "tag"]


def test_what_filters_find_is_confirmed_by_its_number(chooser: Program, three: QuestionBank) -> None:
    asked = {"act": "withdraw", "reason": "Of the pilot.", "filters": {"task": "presence"}}
    assert problem_of(chooser.post(CHANGES, asked), 409, "list_changed")["facts"] == {"n": 2}
    problem_of(chooser.post(CHANGES, {**asked, "n": 3}), 409, "list_changed")
    assert chooser.post(CHANGES, {**asked, "n": 2}).status_code == 202
    run_newest()
    assert Question.objects.filter(state=QuestionState.WITHDRAWN).count() == 2
    problem_of(chooser.post(CHANGES, {**asked, "filters": {"task": "hammer"}}), 422, "invalid")
    problem_of(chooser.post(CHANGES, {**asked, "numbers": [1]}), 422, "invalid")
    problem_of(chooser.post(CHANGES, {"act": "bring_back"}), 422, "invalid")
    problem_of(chooser.post(CHANGES, {"act": "tag", "numbers": [1]}), 422, "no_tag")
    problem_of(chooser.post(CHANGES, {"act": "bring_back", "numbers": [77]}), 422, "none_found")
    QuestionBank.objects.update(archived_at=NOON)
    problem_of(chooser.post(CHANGES, {**asked, "n": 2}), 409, "bank_archived")


def test_acts_of_others_are_not_there(chooser: Program) -> None:
    made = chooser.post(CHANGES, {"act": "tag", "tag": "mine", "numbers": [1]})
    other = program_of(make_person("Coco", Role.COORDINATOR), Role.COORDINATOR, TokenScope.BANK, "chest")
    assert other.get(CHANGES).json()["results"] == []
    problem_of(other.get(made["Location"]), 404, "not_found")
    problem_of(other.post(f"{made['Location']}undo/", {}), 404, "not_found")


def test_a_sample_is_made_of_chosen_questions(chooser: Program) -> None:
    asked = {"bank": "chest", "name": "Two", "by": "none", "per_thousand": 1000, "numbers": [1, 3]}
    assert chooser.post("samples/", asked).json()["n_drawn"] == 2
    rows = chooser.get("samples/two/questions/").json()["results"]
    assert sorted(row["number"] for row in rows) == [1, 3]


# --- comments -------------------------------------------------------------------------------------
def test_comments_are_written_read_withdrawn_and_ticked_off(
    chooser: Program, three: QuestionBank, cora: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    coco = make_person("Coco", Role.COORDINATOR)
    asked = {"text": "Is B right?", "is_todo": True, "mentions": [coco.email.upper()]}
    made = chooser.post(COMMENTS, asked, idempotency_key="one")
    assert (made.status_code, made.json()["mentions"], made.json()["author"]) == (201, ["Coco"], "Cora")
    assert chooser.post(COMMENTS, asked, idempotency_key="one").json() == made.json()
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
    gone = chooser.post(f"{one}withdraw/").json()
    assert (gone["text"], gone["withdrawn_at"] is not None) == ("", True)
    problem_of(chooser.post(f"{one}done/"), 409, "no_todo")
    problem_of(chooser.post(f"banks/chest/questions/2/comments/{read['id']}/withdraw/"), 404, "not_found")
    for sent in ({"text": " "}, {"text": ""}, {"text": "x", "mentions": ["nobody@example.org"]}, {}):
        assert chooser.post(COMMENTS, sent).status_code == 422
    assert QuestionComment.objects.count() == 1


def test_whoever_judges_the_question_hears_no_comment(three: QuestionBank, cora: User) -> None:
    coco = make_person("Coco", Role.COORDINATOR)
    comment = add_comment(Question.objects.get(number=1), "It is B.", actor=coco, at=NOON, mentioned=[cora.pk])
    review_round = make_round(name="Blind")
    revision = Revision.objects.get(question__number=1, question__bank=three)
    Assignment.objects.create(round=review_round, reviewer=cora, revision=revision, position=1)
    chooser = program_of(cora, Role.COORDINATOR, TokenScope.BANK, "chest")
    assert chooser.get("mentions/").json()["results"] == []
    for answer in (
        chooser.get(COMMENTS),
        chooser.post(COMMENTS, {"text": "Why?"}),
        chooser.post(f"{COMMENTS}{comment.public_id}/done/"),
        chooser.post(f"{COMMENTS}{comment.public_id}/withdraw/"),
    ):
        problem_of(answer, 403, "withheld")
    assert QuestionComment.objects.count() == 1


def test_a_question_of_an_import_that_is_not_published_has_no_comments(chooser: Program) -> None:
    BankImport.objects.update(state=ImportState.RUNNING)
    problem_of(chooser.get(COMMENTS), 404, "not_found")
    problem_of(chooser.post(COMMENTS, {"text": "Why?"}), 404, "not_found")
