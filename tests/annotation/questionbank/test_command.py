from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.enums import Role
from annotation.models import Question, QuestionBank, Revision, SourceIdentifier, User
from annotation.models.people import TokenScope
from annotation.questionbank.bank_life import make_bank
from annotation.questionbank.kernels.entries import BankRefused
from tests.annotation.api.asking import V1, problem_of, program_of
from tests.annotation.api.schema import faults_of
from tests.annotation.questionbank.files import make_record, write_file
from tests.commands import ends_with_2, printed
from tests.conftest import NOON
from tests.refusals import refuses

COMMAND = "import_questions"


def refused(*arguments: object) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    with ends_with_2() as caught:
        call_command(COMMAND, *map(str, arguments), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue() + str(caught.value)


def test_the_bank_is_named_after_the_file_and_a_dry_run_stores_none(tmp_path: Path) -> None:
    path = write_file(tmp_path, {"q1": make_record()}, "valid_vqa_data.json")
    assert "would happen" in printed(COMMAND, path, "--dry-run")
    assert not Question.objects.exists()
    side_file = tmp_path / "d.csv"
    side_file.write_text("id,difficulty\nq1,hard\n", encoding="utf-8")
    assert "created" in printed(COMMAND, path, "--difficulty", side_file)
    assert QuestionBank.objects.get().name == "valid_vqa_data"
    assert Revision.objects.get().difficulty == "hard"


def test_the_json_result(tmp_path: Path) -> None:
    result = json.loads(printed(COMMAND, write_file(tmp_path, {"q1": make_record()}), "--bank", "Chest", "--json"))
    counted = {"read": 1, "created": 1, "updated": 0, "unchanged": 0, "rejected": 0, "exams": 1, "images": 2}
    assert list(result.items()) == list({"bank": "Chest", **counted, "errors": []}.items())


def test_a_refused_record_exits_with_2_and_says_where_and_why(tmp_path: Path) -> None:
    path = write_file(tmp_path, {"q1": make_record(), "q2": make_record(2, correct_answer="E")})
    out, err = refused(path, "--json")
    assert json.loads(out)["errors"][0].keys() == {"key", "field", "code", "message"}
    assert "q2: correct_answer" in err
    assert "Nothing was stored" in err
    assert not QuestionBank.objects.exists()
    assert "left out" in refused(path, "--skip-refused")[1]
    assert Question.objects.count() == 1


def test_another_root_for_the_images(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    path = write_file(tmp_path / "elsewhere", {"q1": make_record(ImagePath=["../deid_png/a.png", "../deid_png/b.png"])})
    printed(COMMAND, path, "--images-root", tmp_path / "images")
    assert SourceIdentifier.objects.get(value="deid_png/a.png").root == (tmp_path / "images").as_posix()


@pytest.mark.parametrize("folder", ["metadata", "questions", "", "elsewhere/deep"])
def test_a_file_as_downloaded_goes_in_from_any_folder(tmp_path: Path, folder: str) -> None:
    """Its paths go up one folder, to the root of the release; in a folder beside the images that is where they are."""
    (tmp_path / "deid_png").mkdir()
    printed(
        COMMAND,
        write_file(tmp_path / folder, {"q1": make_record(ImagePath=["../deid_png/a.png", "../deid_png/b.png"])}),
    )
    [row] = SourceIdentifier.objects.filter(value="deid_png/a.png")
    assert row.root == (tmp_path / "elsewhere/deep" if folder.startswith("else") else tmp_path).as_posix()


@pytest.mark.parametrize("path", ["../../a.png", "../deid_png/../../a.png", "/deid_png/a.png"])
def test_what_leaves_the_root_is_refused_in_any_folder(tmp_path: Path, path: str) -> None:
    for folder in ("metadata", "elsewhere"):
        _out, err = refused(write_file(tmp_path / folder, {"q1": make_record(ImagePath=[path, "../b.png"])}))
        assert "path_outside_root" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["missing.json"], "is not a file"),
        (["q.json", "--difficulty", "missing.csv"], "is not a file"),
        (["q.json", "--images-root", "missing"], "is not a folder"),
        (["q.json", "--bank", "x" * 201], "1 to 200"),
        (["q.json", "--min-explanation", "-1"], "from 0 up"),
        (["q.json", "--difficulty", "q.json"], "line 1"),
    ],
)
def test_bad_input_is_told_and_stores_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_file(tmp_path, {"q1": make_record()}, "q.json")
    _out, err = refused(*arguments)
    assert told in err
    assert not QuestionBank.objects.exists()


def test_hostile_files_store_nothing(shared_data: Path) -> None:
    for name in ("answer_index_4", "dup_key_correct_answer", "nan", "lone_surrogate", "nul_escape", "image_traversal"):
        refused(shared_data / "hostile/json" / f"{name}.json")
    assert not QuestionBank.objects.exists()


# --- A bank without questions: made by a command, and over the API by people, never with a token ---
pytestmark = pytest.mark.django_db


def sent(person: User, body: dict[str, Any], **headers: str) -> Any:
    browser = Client()
    browser.force_login(person)
    answer = browser.post(f"{V1}banks/", json.dumps(body), content_type="application/json", headers=headers)
    assert faults_of("POST", f"{V1}banks/", answer) == []
    return answer


@pytest.mark.logs("bank.made")
def test_the_command_makes_one_and_prints_its_address() -> None:
    out = StringIO()
    call_command("make_bank", "  Chest   X-rays ", "--simulated", stdout=out)
    assert out.getvalue() == "chest-x-rays\n"
    bank = QuestionBank.objects.get()
    assert (bank.name, bank.simulated, bank.created_by) == ("Chest X-rays", True, None)
    with pytest.raises(CommandError, match="exists already"):
        call_command("make_bank", "Chest X-rays", stdout=out)


@pytest.mark.parametrize("name", ["", "  ", "x" * 201])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with refuses(BankRefused, "bad_name"):
        make_bank(name, actor=None, at=NOON)
    assert not QuestionBank.objects.exists()


@pytest.mark.logs("bank.made")
def test_a_coordinator_makes_one_once_for_each_key(cora: User) -> None:
    made = sent(cora, {"name": "Chest"}, idempotency_key="one")
    assert (made.status_code, made["Location"]) == (201, "/api/v1/banks/chest/")
    assert (made.json()["n_questions"], made.json()["simulated"]) == (0, False)
    assert sent(cora, {"name": "Chest"}, idempotency_key="one").json() == made.json()
    problem_of(sent(cora, {"name": "Chest"}), 409, "name_taken")
    problem_of(sent(cora, {"name": "Other", "colour": "red"}), 422, "invalid")
    assert QuestionBank.objects.get().created_by == cora


def test_nobody_else_makes_one_and_no_token(cora: User, ada: User, rita: User) -> None:
    make_bank("Mine", actor=cora, at=NOON)
    for person in (ada, rita):
        problem_of(sent(person, {"name": "Other"}), 403, "forbidden")
    for scope in ((TokenScope.BANK, "mine"), (TokenScope.SITE, "")):
        problem_of(program_of(cora, Role.COORDINATOR, *scope).post("banks/", {"name": "Other"}), 403, "forbidden")
    assert QuestionBank.objects.count() == 1


def test_its_page_and_its_lists_are_there(coordinator: Client, cora: User) -> None:
    make_bank("Mine", actor=cora, at=NOON)
    for address in ("/banks/", "/banks/mine/", f"{V1}banks/mine/questions/", f"{V1}banks/mine/"):
        assert coordinator.get(address).status_code == 200, address
