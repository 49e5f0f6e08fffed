"""What coordinators do to a question over the API: by the acts of its page, noted and refused as there."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.enums import Role
from annotation.models import AuditEvent, Finding, Question, QuestionBank, QuestionTag, Revision, SeenKey, User
from annotation.models.people import TokenScope
from annotation.questionbank.checking import check_revisions
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.annotation.review.cases import NOON, make_bank, make_revisions, make_round

ONE = "banks/chest/questions/1/"
REVISED = {"based_on": 1, "reason": "A clearer question.", "stem": "Which finding is absent on this radiograph?"}


@pytest.fixture
def bank(db: None) -> QuestionBank:
    bank = make_bank("Chest")
    make_revisions(bank, {1: {}, 2: {"stem": "Short?"}})
    check_revisions(bank, Revision.objects.filter(bank=bank), actor=None, at=NOON)
    return bank


@pytest.fixture
def script(cora: User, bank: QuestionBank) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.BANK, bank.slug)


def test_a_question_is_revised_and_the_revision_undone(script: Program, cora: User) -> None:
    made = script.post(f"{ONE}revise/", REVISED, idempotency_key="monday")
    assert (made.status_code, made["Location"]) == (201, "/api/v1/banks/chest/questions/1/revisions/2/")
    assert {name: made.json()[name] for name in ("number", "stem", "author", "reason")} == {
        "number": 2,
        "stem": REVISED["stem"],
        "author": "Cora",
        "reason": "A clearer question.",
    }
    assert script.post(f"{ONE}revise/", REVISED, idempotency_key="monday")["Idempotent-Replayed"] == "true"
    assert script.get(ONE).json()["stem"] == REVISED["stem"]
    assert SeenKey.objects.get().person == cora
    undone = script.post(f"{ONE}undo/", {"based_on": 2}).json()
    assert (undone["number"], undone["stem"]) == (3, "Which finding is absent on these radiographs (1)?")
    assert Revision.objects.filter(question__number=1).count() == 3


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        ({"reason": ""}, 422, "invalid"),
        ({"based_on": 7}, 409, "changed"),
        ({"stem": "Which finding is absent on these radiographs (1)?"}, 422, "unchanged"),
        ({"options": ["one", "two", "three"]}, 422, "invalid"),
        ({"options": ["one", "one", "two", "three"]}, 422, "rules"),
        ({"images_left_out": ["nowhere"]}, 422, "rules"),
        ({"key": "E"}, 422, "invalid"),
        ({"colour": "red"}, 422, "invalid"),
    ],
)
def test_what_the_editor_refuses_is_refused(script: Program, sent: dict[str, Any], status: int, code: str) -> None:
    problem_of(script.post(f"{ONE}revise/", {**REVISED, **sent}), status, code)
    assert Revision.objects.filter(question__number=1).count() == 1
    assert not AuditEvent.objects.filter(act="question.revised").exists()


def test_tags_come_and_go(script: Program) -> None:
    assert script.post(f"{ONE}tag/", {"tag": "Look  Again"}).json()["tags"] == ["look again"]
    assert script.post(f"{ONE}tag/", {"tag": "look again"}).json()["tags"] == ["look again"]
    assert script.post(f"{ONE}untag/", {"tag": "look again"}).json()["tags"] == []
    assert QuestionTag.objects.count() == 1
    problem_of(script.post(f"{ONE}tag/", {"tag": "x" * 41}), 422, "tag_too_long")


def test_a_change_since_it_was_read_is_refused(script: Program) -> None:
    etag = script.get(ONE)["ETag"]
    script.post(f"{ONE}tag/", {"tag": "later"})
    problem_of(script.post(f"{ONE}withdraw/", {"reason": "It is wrong."}, if_match=etag), 412, "changed_since")
    assert Question.objects.get(number=1).state == "imported"


def test_findings_are_read_and_dismissed(script: Program, cora: User) -> None:
    """Those of a bank tell rule and question; place and detail, which may tell the key, are noted as read."""
    found = script.get("banks/chest/findings/").json()["results"]
    assert {row["question"] for row in found} == {1, 2}
    assert all({"place", "detail"}.isdisjoint(row) for row in found)
    assert not SeenKey.objects.exists()
    ours = script.get("banks/chest/questions/2/findings/").json()["results"]
    assert {row["id"] for row in ours} == {row["id"] for row in found if row["question"] == 2}
    assert SeenKey.objects.get().question.number == 2
    chosen = ours[0]
    address = f"banks/chest/questions/2/findings/{chosen['id']}/dismiss/"
    problem_of(script.post(address, {"reason": " "}), 422, "invalid")
    told = script.post(address, {"reason": "Meant to be short."}).json()
    assert (told["dismissed_by"], told["dismiss_reason"]) == ("Cora", "Meant to be short.")
    assert chosen["id"] not in {row["id"] for row in script.get("banks/chest/findings/").json()["results"]}
    of_rule = script.get(f"banks/chest/findings/?rule={chosen['rule']}").json()["results"]
    assert {row["rule"] for row in of_rule} <= {chosen["rule"]}
    problem_of(
        script.post(f"{ONE}findings/{chosen['id']}/dismiss/", {"reason": "Of another question."}), 404, "not_found"
    )


def test_whoever_answers_a_question_blind_hears_nothing_of_it(cora: User) -> None:
    review_round = make_round(cora, name="Blind")
    bank = review_round.plan.bank
    check_revisions(bank, Revision.objects.filter(bank=bank), actor=None, at=NOON)
    assert Finding.objects.filter(bank=bank).exists()
    script = program_of(cora, Role.COORDINATOR, TokenScope.BANK, bank.slug)
    judged = review_round.assignments.values_list("revision__question__number", flat=True)
    told = script.get(f"banks/{bank.slug}/findings/").json()["results"]
    assert {row["question"] for row in told}.isdisjoint(judged)
    one = f"banks/{bank.slug}/questions/{judged[0]}/"
    problem_of(script.get(f"{one}findings/"), 403, "key_hidden")
    problem_of(script.post(f"{one}revise/", REVISED), 403, "key_hidden")
    problem_of(script.post(f"{one}tag/", {"tag": "x"}), 403, "withheld")
