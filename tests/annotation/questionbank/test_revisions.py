"""Revisions by hand: stored beside what was, refused with a sentence, undone by a new one; and their pages.

What an editor may store, and how two wordings differ.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from annotation.enums import ImportState, QuestionState, RoundState
from annotation.models import (
    AnswerKey,
    AuditEvent,
    BankImport,
    Edit,
    Finding,
    Question,
    QuestionBank,
    ReviewRound,
    Revision,
    User,
)
from annotation.questionbank.bank_life import is_unused
from annotation.questionbank.editing import current_revision, revise, undo, wording_of
from annotation.questionbank.filters import BankSearch
from annotation.questionbank.importing import bring_back_question, import_questions, locate, withdraw_question
from annotation.questionbank.kernels.entries import BankRefused
from annotation.questionbank.kernels.wording import IMAGES, LABELS, PieceKind, Wording, changes, check_wording, pieces
from annotation.questionbank.listing import PageStart, questions_page
from annotation.review.assigning import who_knows_keys
from annotation.review.rounds import create_round
from annotation.review.samples import SampleRefused, draw_sample, preview_sample
from annotation.site.sorted_tables import Sorting
from annotation.statistics.kernels.sampling import StratifyBy
from tests.annotation.review.cases import make_bank, make_revision
from tests.refusals import refuses

NEW_STEM = "Which of these findings is absent on both radiographs?"
LONG = "No pleural line is seen on either view of this exam."


@pytest.fixture
def question(db: None) -> Question:
    return make_revision(make_bank("Chest"), 1).question


def changed(question: Question, **fields: Any) -> Wording:
    return replace(wording_of(current_revision(question)), **fields)


def write(question: Question, cora: User, noon: datetime, **fields: Any) -> Revision:
    based_on = current_revision(question).number
    return revise(question, changed(question, **fields), "Reads better.", based_on=based_on, actor=cora, at=noon)


def test_a_revision_stands_beside_the_one_before(question: Question, cora: User, noon: datetime) -> None:
    before = current_revision(question)
    after = write(question, cora, noon, stem=NEW_STEM, key="C")
    assert current_revision(question) == after
    assert (after.number, after.stem, after.options) == (2, NEW_STEM, before.options)
    before.refresh_from_db()
    assert before.stem != NEW_STEM
    assert [AnswerKey.objects.get(pk=one.pk).key for one in (before, after)] == ["B", "C"]
    assert AnswerKey.objects.get(pk=after.pk).report_id == AnswerKey.objects.get(pk=before.pk).report_id
    edit = Edit.objects.get(revision=after)
    assert (edit.before, edit.author, edit.reason) == (before, cora, "Reads better.")
    question.refresh_from_db()
    assert question.state == QuestionState.REVISED
    assert AuditEvent.objects.get(act="question.revised").facts == {"revision": 2, "fields": ["stem", "key"]}
    page = questions_page(BankSearch(question.bank, {}), Sorting(), PageStart())
    assert [one.stem for one in page.revisions] == [NEW_STEM]
    [conflict] = who_knows_keys([cora.pk], [question.pk])
    assert conflict.reason == "Cora wrote a revision of it."  # an author is given nothing that they wrote


def test_a_revision_is_checked_by_the_rules(question: Question, cora: User, noon: datetime) -> None:
    after = write(question, cora, noon, options=("All of the above", "Pneumothorax", "Visible ribs", "Air"))
    assert "all_of_the_above" in set(Finding.objects.filter(revision=after).values_list("rule", flat=True))


def test_bad_revisions_change_nothing(question: Question, cora: User, noon: datetime) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [({}, "unchanged"), ({"key": "E"}, "rules")]
    for fields, code in (*wrong, ({"stem": "Absent in Mr. John Doe, MRN 12345678?"}, "rules")):
        with refuses(BankRefused, code, status=422):
            write(question, cora, noon, **fields)
    with refuses(BankRefused, "no_reason"):
        revise(question, changed(question, stem=NEW_STEM), " \n", based_on=1, actor=cora, at=noon)
    with refuses(BankRefused, "imported"):
        undo(question, based_on=1, actor=cora, at=noon)
    assert current_revision(question).number == 1
    assert not Edit.objects.exists()
    assert not AuditEvent.objects.filter(act="question.revised").exists()


def test_the_second_of_two_editors_is_told_what_differs(
    question: Question, cora: User, ada: User, noon: datetime
) -> None:
    hers = changed(question, stem=NEW_STEM)
    revise(question, changed(question, key="C", category="Lung"), "Key.", based_on=1, actor=ada, at=noon)
    with refuses(BankRefused, "changed", match="Ada has changed this question since you opened it: Key, Category"):
        revise(question, hers, "Stem.", based_on=1, actor=cora, at=noon)
    assert current_revision(question).number == 2


def test_no_revision_while_an_import_runs(question: Question, cora: User, noon: datetime) -> None:
    BankImport.objects.create(
        bank=question.bank, state=ImportState.RUNNING, file_name="x.json", started_at=noon, heartbeat_at=noon
    )
    with refuses(BankRefused, "import_running"):
        write(question, cora, noon, stem=NEW_STEM)


def test_undo_is_a_new_revision(question: Question, cora: User, noon: datetime) -> None:
    first = wording_of(current_revision(question))
    write(question, cora, noon, stem=NEW_STEM)
    back = undo(question, based_on=2, actor=cora, at=noon)
    assert back.number == 3
    assert wording_of(back) == first
    assert Edit.objects.get(revision=back).undoes == Revision.objects.get(question=question, number=2)
    again = undo(question, based_on=3, actor=cora, at=noon)
    assert again.stem == NEW_STEM


def test_a_bank_with_revisions_is_in_use(question: Question, cora: User, noon: datetime) -> None:
    question.exam.images.all().delete()
    assert is_unused(question.bank)
    write(question, cora, noon, stem=NEW_STEM)
    assert not is_unused(question.bank)


def test_a_withdrawn_question_is_drawn_by_no_sample(question: Question, cora: User, noon: datetime) -> None:
    withdraw_question(question, "Copied from a textbook.", actor=cora, at=noon)
    with refuses(SampleRefused, "no_questions"):
        preview_sample(question.bank, by=StratifyBy.NONE, per_thousand=1000, seed=1)
    with refuses(BankRefused, "withdrawn"):
        write(question, cora, noon, stem=NEW_STEM)
    with refuses(BankRefused, "withdrawn"):
        withdraw_question(question, "Again.", actor=cora, at=noon)
    bring_back_question(question, actor=cora, at=noon)
    question.refresh_from_db()
    assert question.state == QuestionState.IMPORTED
    with refuses(BankRefused, "not_withdrawn"):
        bring_back_question(question, actor=cora, at=noon)
    with refuses(BankRefused, "no_reason"):
        withdraw_question(question, " ", actor=cora, at=noon)


# --- files and revisions ---------------------------------------------------------------------------
RECORD = {
    "study_id": "s1",
    "question": "Which finding is absent?",
    "options": ["A. An aortic knob", "B. Pneumothorax", "C. Visible ribs", "D. Air"],
    "correct_answer": "B",
    "correct_answer_explanation": LONG,
    "task_name": "Negation Assessment",
    "category": "Pleura",
    "difficulty": "easy",
    "PatientID": "p1",
    "AccessionNumber": "a1",
    "StudyInstanceUid": "1.2.3",
    "ImagePath": ["../deid_png/a.png"],
    "ImageViewPosition": ["PA"],
}


def brought(tmp_path: Path, cora: User, noon: datetime, **fields: object) -> dict[str, int]:
    path = tmp_path / "q.json"
    path.write_text(json.dumps({"q1": {**RECORD, **fields}}))
    result = import_questions(locate(path), bank_name="Filed", actor=cora, clock=lambda: noon)
    assert result.stored, result.as_json()
    return {name: result.as_json()[name] for name in ("created", "updated", "unchanged")}


def filed(cora: User) -> Question:
    return Question.objects.get(bank=QuestionBank.objects.get(name="Filed"))


@pytest.mark.django_db(transaction=True)
def test_the_same_file_leaves_an_edited_question_alone_and_another_brings_its_own_wording(
    tmp_path: Path, cora: User, noon: datetime
) -> None:
    brought(tmp_path, cora, noon)
    write(filed(cora), cora, noon, stem=NEW_STEM, difficulty="hard")
    assert brought(tmp_path, cora, noon) == {"created": 0, "updated": 0, "unchanged": 1}
    assert (current_revision(filed(cora)).stem, filed(cora).state) == (NEW_STEM, QuestionState.REVISED)
    assert brought(tmp_path, cora, noon, category="Lung") == {"created": 0, "updated": 1, "unchanged": 0}
    current = current_revision(filed(cora))
    assert (current.number, current.stem, current.category) == (3, "Which finding is absent?", "Lung")
    assert filed(cora).state == QuestionState.IMPORTED


# --- pages -----------------------------------------------------------------------------------------
def typed(question: Question, **fields: object) -> dict[str, object]:
    return {**wording_of(current_revision(question)).texts(), "based_on": 1, "reason": "Reads better.", **fields}


def test_an_editor_previews_stores_and_comes_back_to_the_question(coordinator: Client, question: Question) -> None:
    assert NEW_STEM not in coordinator.get("/banks/chest/1/revise/").content.decode()
    preview = coordinator.post("/banks/chest/1/revise/", typed(question, stem=NEW_STEM))
    assert (preview.status_code, current_revision(question).number) == (200, 1)
    for shown in ("As a reviewer will see it", "<ins", "<del>"):
        assert shown in preview.content.decode()
    answer = coordinator.post("/banks/chest/1/revise/", typed(question, stem=NEW_STEM, store="yes"))
    assert answer["Location"] == "/banks/chest/1/"
    page = coordinator.get("/banks/chest/1/").content.decode()
    for shown in (NEW_STEM, "Reads better.", "Revision 2 was written.", "Undo this revision"):
        assert shown in page
    coordinator.post("/banks/chest/1/undo/", {"based_on": "2"})
    assert current_revision(question).number == 3


def test_a_refused_wording_is_kept_in_the_form_and_line_ends_of_a_browser_change_nothing(
    coordinator: Client, question: Question
) -> None:
    Revision.objects.update(stem="Line one\nLine two")
    for sent, told in (
        ({"stem": "Line one\r\nLine two"}, "Nothing differs"),
        ({"stem": "Absent in MRN 12345678?"}, "This looks like an identifier"),
        ({"stem": NEW_STEM, "difficulty": "none of these"}, "Select a valid choice"),
    ):
        page = coordinator.post("/banks/chest/1/revise/", typed(question, **sent, store="yes"))
        assert page.status_code == 422
        assert told in page.content.decode()
        assert sent["stem"].splitlines()[0] in page.content.decode()


def test_after_another_editor_the_form_stands_on_their_revision(
    coordinator: Client, question: Question, ada: User, noon: datetime
) -> None:
    sent = typed(question, stem=NEW_STEM, store="yes")
    revise(question, changed(question, key="C"), "Key.", based_on=1, actor=ada, at=noon)
    page = coordinator.post("/banks/chest/1/revise/", sent)
    assert page.status_code == 409
    assert "Ada has changed this question since you opened it: Key." in page.content.decode()
    assert page.context["form"]["based_on"].value() == "2"


def test_acts_on_a_question_that_is_not_there(coordinator: Client, question: Question) -> None:
    for act in ("revise", "undo", "withdraw", "bring-back", "dismiss"):
        assert coordinator.post(f"/banks/chest/99/{act}/").status_code == 404
        assert coordinator.get(f"/banks/chest/1/{act}/").status_code == (200 if act == "revise" else 405)


def test_a_question_is_withdrawn_and_brought_back(coordinator: Client, question: Question) -> None:
    coordinator.post("/banks/chest/1/withdraw/", {"reason": "Copied."})
    question.refresh_from_db()
    assert question.state == QuestionState.WITHDRAWN
    page = coordinator.get("/banks/chest/1/").content.decode()
    assert "withdrawn" in page
    assert "Bring back" in page
    coordinator.post("/banks/chest/1/bring-back/")
    question.refresh_from_db()
    assert question.state == QuestionState.IMPORTED


def test_a_finding_is_dismissed_with_a_reason(
    coordinator: Client, question: Question, cora: User, noon: datetime
) -> None:
    write(question, cora, noon, options=("All of the above", "Pneumothorax", "Visible ribs", "Air"))
    finding = Finding.objects.filter(rule="all_of_the_above").get()
    page = coordinator.get("/banks/chest/1/").content.decode()
    assert finding.detail.split("“")[0][:20] in page
    coordinator.post("/banks/chest/1/dismiss/", {"finding": finding.public_id, "reason": ""})
    finding.refresh_from_db()
    assert finding.dismissed_at is None
    coordinator.post("/banks/chest/1/dismiss/", {"finding": finding.public_id, "reason": "It is meant so."})
    finding.refresh_from_db()
    assert finding.dismissed_by == cora
    assert "It is meant so." in coordinator.get("/banks/chest/1/").content.decode()


def test_a_coordinator_who_is_to_answer_blind_does_not_edit(
    coordinator: Client, question: Question, cora: User, noon: datetime
) -> None:
    plan = draw_sample(question.bank, name="S", by=StratifyBy.NONE, per_thousand=1000, actor=cora, at=noon)
    made = create_round(plan, name="Own", reviewers=[cora], actor=cora, at=noon)
    ReviewRound.objects.filter(pk=made.pk).update(state=RoundState.OPEN)
    assert coordinator.get("/banks/chest/1/revise/").status_code == 403


BEFORE = Wording(
    stem="Which finding is absent?",
    options=("An aortic knob", "Pneumothorax", "Visible ribs", "A gastric bubble"),
    key="B",
    explanation="No pleural line is seen on either view.",
    task="negation",
    category="Pleura",
)


def faults(**fields: object) -> list[tuple[str, str]]:
    found = check_wording(replace(BEFORE, **fields), BEFORE, 20)
    return [(one.field, one.code) for one in found]


def test_a_fault_that_was_there_before_does_not_stop_another_change() -> None:
    assert faults(stem="Which of these findings is absent?") == []
    marked = replace(BEFORE, stem="Which finding is absent in MRN 12345678?")
    assert [one.code for one in check_wording(marked, BEFORE, 20)] == ["identifier"]
    assert check_wording(replace(marked, category="Lung"), marked, 20) == []
    short = replace(BEFORE, explanation="")
    assert check_wording(replace(short, stem="Which finding do you not see?"), short, 20) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"stem": "  "}, ("stem", "completeness")),
        ({"options": ("a", "b", "c")}, ("options", "format")),
        ({"options": ("a", "b", "c", "d", "e")}, ("options", "format")),
        ({"options": ("a", "b", "A ", "d")}, ("options", "duplicate_options")),
        ({"options": ("a", "", "c", "d")}, ("options", "completeness")),
        ({"key": "E"}, ("key", "key_outside_options")),
        ({"explanation": "Short."}, ("explanation", "format")),
        ({"task": "guessing"}, ("task", "unknown_task")),
        ({"difficulty": "impossible"}, ("difficulty", "format")),
        ({"category": "c" * 201}, ("category", "too_long")),
        ({"stem": "Which finding is absent in John Doe, MRN 12345678?"}, ("stem", "identifier")),
    ],
)
def test_the_rules_of_import_hold(fields: dict[str, object], expected: tuple[str, str]) -> None:
    assert expected in faults(**fields)


def test_changes_name_the_fields_in_the_order_of_the_editor() -> None:
    after = replace(BEFORE, key="C", stem="Which finding is not there?", options=(*BEFORE.options[:3], "Air"))
    found = changes(BEFORE, after)
    assert [one.field for one in found] == ["stem", "option_d", "key"]
    assert [one.label for one in found] == ["Question", "Option D", "Key"]
    assert [IMAGES, *BEFORE.texts()] == list(LABELS)


def test_a_difference_is_read_word_by_word() -> None:
    found = pieces("No pleural line is seen.", "No clear pleural line is seen here.")
    assert [(kind.value, text) for kind, text in found] == [
        ("same", "No"),
        ("new", " clear"),
        ("same", " pleural line is "),
        ("gone", "seen."),
        ("new", "seen here."),
    ]


@given(st.text(alphabet="ab \n.", max_size=40), st.text(alphabet="ab \n.", max_size=40))
def test_the_pieces_give_back_both_texts(before: str, after: str) -> None:
    found = pieces(before, after)
    assert "".join(text for kind, text in found if kind != PieceKind.NEW) == before
    assert "".join(text for kind, text in found if kind != PieceKind.GONE) == after
