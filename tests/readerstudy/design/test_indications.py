"""Indications that share words with options: said to coordinators wherever cases stand, and in nobody's way."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from annotation.models import AnswerKey, Report, User
from readerstudy.design.checking import cases_with_information, indication_notes, sha256_of_information, statement_on
from readerstudy.design.creating import copy_study
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.ordering import marked, shared_words
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from readerstudy.study.permissions import StudyRefused
from tests.conftest import NOON
from tests.readerstudy.design.drafts import make_draft
from tests.refusals import refuses

HINT = "pneumothorax: in the right answer"


@pytest.fixture
def draft(cora: User) -> ReaderStudy:
    """Cases 2 and 3 tell: of the key, which is pneumothorax, and of another option."""
    study = make_draft(cora)
    study.arms.update(information="indication")
    for number, told in ((2, "Pneumothorax?"), (3, "aortic aneurysm")):
        revision = study.cases.get(number=number).revision_id
        Report.objects.filter(pk__in=AnswerKey.objects.filter(pk=revision).values("report")).update(indication=told)
    return study


def read_of(study: ReaderStudy) -> str:
    return sha256_of_information(cases_with_information(study))


def test_each_case_is_named_with_the_words_and_freezing_goes_on(draft: ReaderStudy) -> None:
    [note] = indication_notes(draft)
    assert f"have: 2 ({HINT}), 3 (aortic). Read them" in note
    assert freeze_study(draft, actor=None, at=NOON, indications_read=read_of(draft)).state == StudyState.FROZEN


def test_who_freezes_states_that_they_were_read_and_it_is_kept(draft: ReaderStudy, cora: User) -> None:
    with refuses(StudyRefused, "indications_not_read") as caught:
        freeze_study(draft, actor=cora, at=NOON)
    assert caught.match("state that none of them")
    draft.refresh_from_db()
    assert (draft.state, draft.orders.count(), statement_on(draft)) == (StudyState.DRAFT, 0, None)
    freeze_study(draft, actor=cora, at=NOON, indications_read=read_of(draft))
    statement = statement_on(draft)
    assert statement is not None
    assert (statement.who, statement.at) == (cora.name, NOON)
    assert json.loads(draft.protocol)["indications_read_at"] == NOON.isoformat()


@pytest.mark.parametrize("change", ["indication", "key", "cases"])
def test_a_statement_does_not_outlive_a_change(draft: ReaderStudy, change: str) -> None:
    read = read_of(draft)
    revision = draft.cases.get(number=1).revision_id
    if change == "indication":
        Report.objects.filter(pk__in=AnswerKey.objects.filter(pk=revision).values("report")).update(indication="Fever")
    elif change == "key":
        AnswerKey.objects.filter(pk=revision).update(key="C")
    else:
        draft.cases.get(number=4).delete()
    with refuses(StudyRefused, "indications_not_read") as caught:
        freeze_study(draft, actor=None, at=NOON, indications_read=read)
    assert caught.match("as they stand now")


def test_a_copy_needs_a_statement_of_its_own(draft: ReaderStudy) -> None:
    freeze_study(draft, actor=None, at=NOON, indications_read=read_of(draft))
    with refuses(StudyRefused, "indications_not_read"):
        freeze_study(copy_study(draft, actor=None, at=NOON), actor=None, at=NOON)


def test_without_indications_the_protocol_says_nothing_of_it(draft: ReaderStudy) -> None:
    read = read_of(draft)
    draft.arms.update(information="age_sex")
    freeze_study(draft, actor=None, at=NOON, indications_read=read)
    assert "indications_read" not in draft.protocol
    assert statement_on(draft) is None


def test_nothing_is_said_where_no_indication_shows(draft: ReaderStudy) -> None:
    draft.arms.update(information="age_sex")
    assert indication_notes(draft) == []


@pytest.mark.parametrize("page", ["cases", "dry-run", "freeze"])
def test_coordinators_read_it_and_administrators_who_look_on_do_not(
    client: Client, draft: ReaderStudy, cora: User, ada: User, page: str
) -> None:
    for person, is_told in ((cora, True), (ada, False)):
        client.force_login(person)
        assert (HINT in client.get(f"/studies/trial/{page}/").content.decode()) is is_told


def test_the_preview_of_a_choice_says_it_too(client: Client, draft: ReaderStudy, cora: User) -> None:
    client.force_login(cora)
    asked = {"how": "list", "numbers": "1 2", "seed": "1", "n_sets": "1", "n_shared": "0", "do": "preview"}
    assert HINT in client.post("/studies/trial/cases/", asked, headers={"HX-Request": "true"}).content.decode()


def test_the_command_line_says_it_too(draft: ReaderStudy, tmp_path: Path) -> None:
    plan, out = tmp_path / "plan.json", io.StringIO()
    call_command("export_protocol", "trial", "--output", str(plan), stdout=io.StringIO())
    call_command("create_study", str(plan), "--name", "Again", "--json", stdout=out)
    assert any(HINT in note for note in json.loads(out.getvalue())["notes"])


# --- Which words of an indication set an option apart ---
OPTIONS = ["Pneumothorax", "Pleural effusion on the left", "Pleural thickening on the right", "None of the above"]


@pytest.mark.parametrize(
    ("indication", "found"),
    [
        ("Cough for two weeks", [[], [], [], []]),
        ("Rule out PNEUMOTHORAX.", [["pneumothorax"], [], [], []]),
        ("Effusions? Left-sided pain", [[], ["effusion", "left"], [], []]),
        ("pleural disease", [[], ["pleural"], ["pleural"], []]),
        ("none; see above", [[], [], [], []]),
        ("hemopneumothorax", [[], [], [], []]),
        ("", [[], [], [], []]),
    ],
)
def test_whole_words_that_only_some_options_have(indication: str, found: list[list[str]]) -> None:
    assert shared_words(indication, OPTIONS) == found


def test_a_word_of_all_options_tells_nothing() -> None:
    options = ["Left pleural effusion", "Right pleural effusion", "Pleural effusion on both sides"]
    assert shared_words("pleural effusion, known", options) == [[], [], []]


def test_words_of_other_alphabets() -> None:
    assert shared_words("Verdacht auf Erguß", ["ERGUSS links", "Pneumothorax"]) == [["erguss"], []]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Effusions? Left-sided.", [("Effusions", True), ("? Left-sided.", False)]),
        ("hemopneumothorax", [("hemopneumothorax", False)]),
        (
            "Verdacht auf ERGUSS und Erguß",
            [("Verdacht auf ", False), ("ERGUSS", True), (" und ", False), ("Erguß", True)],
        ),
        ("", []),
    ],
)
def test_a_text_in_pieces_marks_the_words_however_they_are_written(text: str, pieces: list[tuple[str, bool]]) -> None:
    assert marked(text, ["effusion", "erguss"]) == pieces
