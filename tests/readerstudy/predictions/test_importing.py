"""Matching and storing: what counts, what is told, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from annotation.enums import ImportState
from annotation.models import AuditEvent, BankImport, Image, Revision, User
from annotation.questionbank.bank_life import check_unused
from annotation.questionbank.kernels.entries import BankRefused
from readerstudy.enums import EntryState, PredictionState, StudyState
from readerstudy.model_runs.publishing import changed_letters, read_again
from readerstudy.models import ModelEntry, Prediction, PredictionRun
from readerstudy.predictions import importing
from readerstudy.predictions.kernels.records import PredictionProblem, PredictionsRefused
from readerstudy.predictions.listing import Target
from tests.annotation.review.cases import NOON, OPTIONS
from tests.readerstudy.predictions.made import (
    answers,
    entry_named,
    give_keys,
    import_file,
    keyed_bank,
    lines,
    options_of,
)
from tests.readerstudy.studies import make_study
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def bank() -> Target:
    return Target(keyed_bank(3))


def problem_in(target: Target, content: bytes, entry: ModelEntry | None = None) -> PredictionProblem:
    """The first one of a file, of which nothing is stored then."""
    result = import_file(entry or entry_named(), target, content)
    assert not PredictionRun.objects.exists(), "a file with a problem may leave nothing behind"
    return result.problems[0]


def test_a_file_whose_letters_take_too_long_is_refused_whole(bank: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "MOST_SECONDS", -1)
    assert "Send the final answers without reasoning" in problem_in(bank, answers(Q1="B")).message


def test_a_run_is_stored_with_everything_that_the_file_says(bank: Target) -> None:
    content = lines(
        {"id": "Q1", "pred_answer": "B", "explanation": "dark", "gt_answer": "D", "correct": True},
        {"id": "Q2", "pred_answer": "I cannot tell."},
        {"id": "Q9", "pred_answer": "A"},
    )
    result = import_file(entry_named(version="2"), bank, content)
    run = PredictionRun.objects.get()
    rows = list(run.predictions.order_by("row").values_list("state", "option", "raw", "explanation", "row"))
    assert rows == [("answered", "B", "B", "dark", 1), ("failed", "", "I cannot tell.", "", 2)]
    assert (run.number, run.is_named, run.form, run.rule, run.n_missing) == (1, True, "direct", "extract-2", 1)
    assert run.report["missing"] == [3]
    told = result.as_json(result.missing_keys())
    assert {
        name: told[name] for name in ("model", "version", "read", "matched", "missing", "duplicate", "unknown")
    } == {
        "model": "Model",
        "version": "2",
        "read": 3,
        "matched": 2,
        "missing": ["Q3"],
        "duplicate": [],
        "unknown": ["Q9"],
    }
    assert told["failed"] == [{"id": "Q2", "raw": "I cannot tell.", "row": 2}]
    assert told["stored"] == 2
    event = AuditEvent.objects.get(act="predictions.imported")
    assert (event.subject_id, event.facts["stored"], event.facts["failed"]) == (run.entry.public_id, 2, 1)


def test_the_raw_text_is_kept_to_the_last_character(bank: Target) -> None:
    raw = "Answer:\tB \\N \\\\ \r\n100 % of 'readers' say \"B\" \u2028 é "
    import_file(entry_named(), bank, lines({"id": "Q1", "pred_answer": raw, "explanation": raw}))
    stored = Prediction.objects.get()
    assert (stored.raw, stored.explanation, stored.option) == (raw, raw, "B")


def test_questions_go_by_their_key_or_their_number(bank: Target) -> None:
    result = import_file(entry_named(), bank, answers(**{"Q1": "A", "2": "B"}))
    assert [one.question.number for one in result.matching.answers] == [1, 2]
    again = import_file(entry_named("Other"), bank, answers(**{"Q1": "A", "1": "A"}))
    assert (again.stored, again.matching.duplicate) == (1, ["1"])


def test_an_id_goes_by_its_text_with_the_mark_of_a_csv_and_without(bank: Target) -> None:
    assert bank.bank is not None
    give_keys(bank.bank, **{"0012": 1, "1e5": 2})
    result = import_file(
        entry_named(), bank, lines({"id": "'0012", "pred_answer": "B"}, {"id": "1e5", "pred_answer": "B"})
    )
    assert (result.matching.unknown, len(result.matching.answers)) == ([], 2)


def test_a_csv_of_ours_names_two_ids_apart_that_differ_by_an_apostrophe(bank: Target) -> None:
    assert bank.bank is not None
    give_keys(bank.bank, **{"0012": 1, "'0012": 2})
    result = import_file(entry_named(), bank, b"id,pred_answer\n'0012,B\n''0012,C\n", name="file.csv")
    assert options_of(result) == {"0012": "B", "'0012": "C"}
    rows = result.matching.answers
    assert [(one.question.number, one.option) for one in rows] == [(1, "B"), (2, "C")]


@pytest.mark.parametrize(("duplicates", "option"), [("first", "B"), ("last", "A")])
def test_of_different_answers_one_counts_when_the_importer_says_which(
    bank: Target, duplicates: str, option: str
) -> None:
    content = lines({"id": "Q1", "pred_answer": "B"}, {"id": "Q1", "pred_answer": "A"})
    assert problem_in(bank, content)[:2] == (2, "Q1")
    result = import_file(ModelEntry.objects.get(), bank, content, duplicates=duplicates)
    assert (options_of(result), result.matching.duplicate, result.stored) == ({"Q1": option}, ["Q1"], 1)


def test_the_same_answer_twice_counts_once(bank: Target) -> None:
    content = lines({"id": "Q1", "pred_answer": "B"}, {"id": "Q1", "pred_answer": "(b)"})
    result = import_file(entry_named(), bank, content)
    assert (result.stored, result.matching.duplicate, result.is_refused) == (1, ["Q1"], False)


def test_the_letter_is_of_the_options_as_the_record_lists_them(bank: Target) -> None:
    turned = [f"{letter}) {text}" for letter, text in zip("ABCD", OPTIONS[::-1], strict=True)]
    own = [f"{a}. {b}" for a, b in zip("ABCD", OPTIONS, strict=True)]
    content = lines(
        {"id": "Q1", "pred_answer": "A", "options": turned}, {"id": "Q2", "pred_answer": "A", "options": own}
    )
    result = import_file(entry_named(), bank, content)
    assert options_of(result) == {"Q1": "D", "Q2": "A"}
    assert result.matching.other_order == ["Q1"]


@pytest.mark.parametrize(
    "held",
    [
        {"options": dict(zip("ABCD", OPTIONS[::-1], strict=True))},
        {"choices": list(OPTIONS[::-1])},
        {"choices": {"text": list(OPTIONS[::-1]), "label": list("ABCD")}},
        dict(zip("ABCD", OPTIONS[::-1], strict=True)),
        {"options": [text.upper() for text in OPTIONS[::-1]]},
    ],
)
def test_options_in_another_order_are_translated_wherever_a_record_holds_them(
    bank: Target, held: dict[str, Any]
) -> None:
    result = import_file(entry_named(), bank, lines({"id": "Q1", "pred_answer": "A", **held}))
    assert (options_of(result), result.matching.other_order) == ({"Q1": "D"}, ["Q1"])
    harness = lines({"doc": {"id": "Q1", **held}, "resps": [["A"]]})
    assert options_of(import_file(entry_named("Harness"), bank, harness)) == {"Q1": "D"}


def test_a_record_with_options_of_another_question_is_refused_by_name(bank: Target) -> None:
    reworded = ["A. Yes", "B. No", "C. Perhaps", "D. Never"]
    content = lines({"id": "Q1", "pred_answer": "A"}, {"id": "Q3", "pred_answer": "A", "options": reworded})
    problem = problem_in(bank, content)
    assert (problem.row, problem.id) == (2, "Q3")
    assert OPTIONS[0] in problem.message


def test_options_that_differ_by_case_alone_keep_their_letters(bank: Target) -> None:
    Revision.objects.filter(question__number=1).update(options=["Rib", "Gas", "rib", "Mass"])
    result = import_file(entry_named(), bank, lines({"id": "Q1", "pred_answer": "C"}))
    assert options_of(result) == {"Q1": "C"}


def test_two_answers_are_counted_apart(bank: Target) -> None:
    result = import_file(entry_named(), bank, answers(Q1="A or B", Q2="none of these", Q3="C"))
    assert result.run
    assert (result.run.n_failed, result.run.report["two_answers"]) == (2, 1)


def test_a_dry_run_tells_the_same_and_stores_nothing(bank: Target) -> None:
    dry = import_file(ModelEntry(name="New"), bank, answers(Q1="B"), dry_run=True)
    assert (dry.stored, len(dry.matching.answers)) == (0, 1)
    assert not ModelEntry.objects.exists()
    import_file(ModelEntry(name="New"), bank, answers(Q1="B"))
    assert ModelEntry.objects.get().runs.count() == 1


def test_the_same_file_again_changes_nothing_and_another_is_a_repeat(bank: Target) -> None:
    entry = entry_named()
    import_file(entry, bank, answers(Q1="B"))
    again = import_file(entry, bank, answers(Q1="B"))
    assert (again.stored, again.unchanged, again.run and again.run.number) == (0, True, 1)
    assert import_file(entry, bank, answers(Q1="B"), dry_run=True).unchanged
    import_file(entry, bank, answers(Q1="A"))
    runs = PredictionRun.objects.order_by("number").values_list("number", "is_named")
    assert list(runs) == [(1, True), (2, False)]


def test_a_study_takes_its_main_block_in_the_wording_that_it_froze() -> None:
    study = make_study("Trial", n_cases=2, n_practice=1)
    give_keys(study.bank, Q1=1, Q2=2)
    first = Revision.objects.get(bank=study.bank, question__number=1)
    later = BankImport.objects.create(
        bank=study.bank, state=ImportState.PUBLISHED, file_name="new", started_at=NOON, heartbeat_at=NOON
    )
    Revision.objects.create(
        **{name: getattr(first, name) for name in ("question", "bank", "options", "task", "content_sha256")},
        number=2,
        stem="Another wording?",
        bank_import=later,
    )
    Revision.objects.filter(pk=first.pk).update(superseded_by=later)
    result = import_file(entry_named(), Target.of_study(study), answers(**{"Q1": "A", "1001": "B"}))
    assert (result.matching.unknown, list(result.missing_ids.values())) == (["1001"], [2])
    assert Prediction.objects.get().revision == first


def test_who_takes_no_predictions(bank: Target) -> None:
    kept: dict[str, dict[str, Any]] = {"draft": {"state": StudyState.DRAFT}, "archived": {"archived_at": NOON}}
    for why, fields in kept.items():
        study = make_study(why, n_cases=1, **fields)
        assert why in problem_in(Target.of_study(study), answers(**{"1": "A"}), entry_named(why)).message
    assert "withdrawn" in problem_in(bank, answers(Q1="A"), entry_named(state=EntryState.WITHDRAWN)).message


def test_a_file_about_something_else_is_refused(bank: Target) -> None:
    result = import_file(entry_named(), bank, answers(X1="A", X2="B"))
    assert "No id of the file" in result.problems[0].message
    assert result.matching.unknown == ["X1", "X2"]


def test_a_bank_with_predictions_cannot_be_deleted(bank: Target) -> None:
    import_file(entry_named(), bank, answers(Q1="A"))
    Image.objects.filter(exam__bank=bank.bank).delete()  # a reason of their own
    with refuses(BankRefused, "in_use", match="Predictions"):
        check_unused(bank.bank)


# --- stated chances of being right ----------------------------------------------------------------
def test_a_stated_chance_is_stored_in_percent_and_none_as_nothing(bank: Target) -> None:
    content = lines(
        {"id": "Q1", "pred_answer": "B", "confidence": 87.5},
        {"id": "Q2", "pred_answer": {"answer": "A", "confidence": "60 %"}},
        {"id": "Q3", "pred_answer": "A", "confidence": None},
    )
    assert not import_file(entry_named(), bank, content).is_refused
    assert list(Prediction.objects.order_by("row").values_list("confidence", flat=True)) == [87.5, 60, None]


@pytest.mark.parametrize("said", [140, -1, "high", True, "nan", [80]])
def test_a_confidence_that_is_no_chance_is_refused_with_its_row(bank: Target, said: object) -> None:
    content = lines(
        {"id": "Q1", "pred_answer": "B", "confidence": 80}, {"id": "Q2", "pred_answer": "B", "confidence": said}
    )
    problem = problem_in(bank, content)
    assert (problem.row, problem.id) == (2, "Q2")
    assert "a number from 0 to 100, or nothing" in problem.message


def test_shares_are_refused_and_never_taken_for_percent(bank: Target) -> None:
    content = b"id,prediction,confidence\nQ1,B,\nQ2,A,0.85\nQ3,A,1\n"
    problem = problem_in(bank, content)
    assert (problem.row, problem.id) == (3, "Q2")
    assert "write 85 for 0.85" in problem.message
    assert not import_file(entry_named("Other"), bank, content.replace(b"Q3,A,1", b"Q3,A,100")).is_refused


def test_two_chances_of_one_answer_are_two_answers(bank: Target) -> None:
    content = lines(
        {"id": "Q1", "pred_answer": "B", "confidence": 80}, {"id": "Q1", "pred_answer": "B", "confidence": 60}
    )
    told = "Row 1 answers this question with B, confidence 80, this row with B, confidence 60."
    assert told in problem_in(bank, content).message


# --- a run by the rule before ---------------------------------------------------------------------
def by_the_rule_before(bank: Target) -> PredictionRun:
    """As ``letter-1`` read it: MedGemma's thought for its answer, and no wording."""
    said = {"Q1": "<unused94>thought\nThe answer is A.<unused95>B", "Q2": f"The answer is {OPTIONS[2]}.", "Q3": "D"}
    run = import_file(entry_named(), bank, answers(**said)).run
    assert run is not None
    for row, option in ((1, "A"), (2, "")):
        state = PredictionState.ANSWERED if option else PredictionState.FAILED
        Prediction.objects.filter(run=run, row=row).update(option=option, state=state)
    PredictionRun.objects.filter(pk=run.pk).update(rule="letter-1", report={})
    return PredictionRun.objects.get(pk=run.pk)


def test_a_run_is_read_again_as_a_run_of_its_own_and_tells_every_letter_that_changed(
    bank: Target, cora: User, client: Client
) -> None:
    old = by_the_rule_before(bank)
    client.force_login(cora)
    page = client.get(f"/models/runs/{old.public_id}/").content.decode()
    assert "letter-1" in page
    assert "Read again by extract-2" in page
    client.post(f"/models/runs/{old.public_id}/read-again/")
    new = PredictionRun.objects.get(rule="extract-2")
    assert dict(new.predictions.values_list("row", "option")) == {1: "B", 2: "C", 3: "D"}
    assert dict(old.predictions.values_list("row", "option")) == {1: "A", 2: "", 3: "D"}
    assert (new.number, new.is_named, new.n_missing, new.file_sha256) == (2, False, 0, old.file_sha256)
    assert changed_letters(new) == [(1, "A", "B"), (2, "", "C")]
    assert "Letters that changed" in client.get(f"/models/runs/{new.public_id}/").content.decode()
    page = client.get(f"/models/runs/{old.public_id}/").content.decode()
    assert f"/models/runs/{new.public_id}/" in page
    assert "Read again by extract-2" not in page
    assert read_again(old, actor=cora, at=NOON) == new, "once is enough"
    with refuses(PredictionsRefused, "same_rule"):
        read_again(new, actor=cora, at=NOON)


def test_a_run_whose_options_stood_in_another_order_is_imported_again(bank: Target) -> None:
    old = by_the_rule_before(bank)
    old.report = {"other_order": 2}
    with refuses(PredictionsRefused, "other_order"):
        read_again(old, actor=None, at=NOON)
