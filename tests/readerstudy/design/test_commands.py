"""The commands of design: create, freeze, export and import again, void. Errors end with status 2 and store nothing."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.enums import QuestionState
from annotation.models import AuditEvent, Question, User
from readerstudy.conducting.lifecycle import close_study
from readerstudy.design.checking import hindrances_of
from readerstudy.design.freezing import freeze_study
from readerstudy.enums import StudyState
from readerstudy.models import PresentedCase, ReaderStudy, Voiding
from tests.annotation.questionbank.files import make_record, run_import, write_file
from tests.annotation.review.cases import NOON
from tests.readerstudy.design.made import make_questions, same_patient

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "reader-studies.md"
pytestmark = pytest.mark.django_db


def run(command: str, *arguments: Any) -> str:
    out = io.StringIO()
    call_command(command, *map(str, arguments), stdout=out)
    return out.getvalue()


def refused(command: str, *arguments: Any) -> str:
    with pytest.raises(CommandError) as caught:
        run(command, *arguments)
    assert caught.value.returncode == 2
    return str(caught.value)


def freeze(name: str) -> None:
    freeze_study(ReaderStudy.objects.get(name=name), actor=None, at=NOON)


def cases_file(folder: Path, *names: object) -> Path:
    path = folder / "cases.txt"
    path.write_text("\n".join(map(str, names)) + "\n")
    return path


def make(folder: Path, *names: object, name: str = "Trial") -> dict[str, Any]:
    made: dict[str, Any] = json.loads(
        run("create_study", "--bank", "Bank", "--cases", cases_file(folder, *names), "--name", name, "--json")
    )
    return made


def test_a_list_takes_ids_numbers_and_ranges_and_an_id_wins(tmp_path: Path) -> None:
    keys = ["a b, c", "2", "5-6", "d", "e", "f", "g"]  # ids may look like anything, also like numbers and ranges
    run_import(write_file(tmp_path, {key: make_record(n, exam=n) for n, key in enumerate(keys, 1)}))
    make(tmp_path, "a b, c", "#4-#6; #7", "5-6", "2")
    assert refused("create_study", "--bank", "Bank", "--name", "T", "--cases", cases_file(tmp_path, "6-4"))
    listed = ReaderStudy.objects.get().cases.values_list("revision__question__number", flat=True)
    assert list(listed) == [1, 4, 5, 6, 7, 3, 2]


def test_cases_are_named_by_key_or_number(tmp_path: Path) -> None:
    records = {f"key_{n}": make_record(n, exam=n) for n in range(1, 5)}
    run_import(write_file(tmp_path, records))
    made = make(tmp_path, "key_3", "", 1, "key_4")
    assert (made["n_cases"], made["n_accepted_with_reason"], len(made["problems"])) == (3, 3, 1)
    assert "3 of 3 cases lack an image that may be shown (missing or not released): 1, 2, 3" in made["problems"][0]
    study = ReaderStudy.objects.get()
    assert list(study.cases.values_list("revision__question__number", flat=True)) == [3, 1, 4]
    assert study.cases.first().accepted_because == "listed in cases.txt; not reviewed"  # type: ignore[union-attr]


def test_a_list_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    make_questions(3)
    arguments = ["--bank", "Bank", "--name", "Trial", "--cases"]
    assert "no such question: 9, nobody" in refused("create_study", *arguments, cases_file(tmp_path, 1, 9, "nobody"))
    assert "Named twice: 2" in refused("create_study", *arguments, cases_file(tmp_path, 2, 1, 2))
    assert "no such question: 99999" in refused("create_study", *arguments, cases_file(tmp_path, 1, "9" * 5_000))
    assert "is empty" in refused("create_study", *arguments, cases_file(tmp_path, "", " "))
    assert "No such file" in refused("create_study", *arguments, tmp_path / "nowhere.txt")
    assert "no bank named" in refused("create_study", "--bank", "X", "--name", "T", "--cases", cases_file(tmp_path, 1))
    assert "needs --bank and --name" in refused("create_study", "--cases", cases_file(tmp_path, 1))
    assert "Give a plan, or" in refused("create_study")
    assert not ReaderStudy.objects.exists()


@pytest.mark.logs("study.created")
def test_questions_that_reviews_do_not_accept_need_a_reason(tmp_path: Path) -> None:
    Question.objects.filter(bank=make_questions(2, pixels=False), number=2).update(state=QuestionState.NEEDS_REVISION)
    arguments = ["--bank", "Bank", "--name", "Trial", "--cases", cases_file(tmp_path, 1, 2)]
    assert "do not accept these questions: 2." in refused("create_study", *arguments)
    run("create_study", *arguments, "--accept-reason", "the paper used it")
    reasons = ReaderStudy.objects.get().cases.values_list("accepted_because", flat=True)
    assert list(reasons) == ["the paper used it"] * 2


def test_several_questions_of_a_patient_are_allowed_because_they_were_listed(tmp_path: Path) -> None:
    same_patient(make_questions(4), 1, 2)
    assert make(tmp_path, 1, 2, 3)["rules"]["several_per_patient"] is True
    assert make(tmp_path, 1, 3, name="Other")["rules"]["several_per_patient"] is False
    freeze("Trial")


def test_a_script_freezes_once(tmp_path: Path, cora: User) -> None:
    make_questions(3, pixels=False)
    make(tmp_path, 1, 2, 3)
    act = ("act", "study-freeze", "trial", "--by", cora.email)
    assert "3 of 3 cases lack an image that may be shown (missing or not released)" in refused(*act)
    run(*act, "--with", "read_elsewhere=on")
    study = ReaderStudy.objects.get()
    assert study.state == StudyState.FROZEN
    assert "3 of 3 cases lack an image" in hindrances_of(study)[0]
    assert "is frozen and cannot change" in refused(*act)
    assert AuditEvent.objects.filter(act="study.frozen").count() == 1


def test_an_exported_plan_makes_the_same_study_again(tmp_path: Path) -> None:
    make_questions(6)
    make(tmp_path, 5, 2, 4, 1)
    freeze("Trial")
    first = tmp_path / "first.json"
    told = json.loads(run("export_protocol", "Trial", "--output", first, "--json"))
    exported = json.loads(first.read_text())
    assert told["protocol_sha256"] == exported["protocol_sha256"]
    assert "already" in refused("create_study", first)
    run("create_study", first, "--name", "Again")
    freeze("Again")
    second = tmp_path / "second.json"
    run("export_protocol", "Again", "--output", second)
    again = json.loads(second.read_text())
    for name in ("cases", "practice", "sets", "arms", "rules", "analysis", "seed", "draw", "n_orders"):
        assert again[name] == exported[name]
    assert again["protocol"]["orders"] == exported["protocol"]["orders"]
    orders = [
        list(PresentedCase.objects.filter(order__study=study).values_list("case__number", flat=True))
        for study in ReaderStudy.objects.all()
    ]
    assert orders[0] == orders[1]


def test_a_word_that_could_mean_two_studies_means_none(tmp_path: Path) -> None:
    """The name of one is the address of the other."""
    make_questions(3)
    for name in ("Trial", "trial"):
        make(tmp_path, 1, 2, 3, name=name)
    assert "could mean" in refused("export_protocol", "trial", "--output", tmp_path / "plan.json")
    run("export_protocol", "Trial", "--output", tmp_path / "plan.json")
    assert json.loads((tmp_path / "plan.json").read_text())["name"] == "Trial"


def test_after_closing_anybody_can_check_protocol_and_keys(tmp_path: Path) -> None:
    """The lines of docs/reader-studies.md, on an exported file."""
    make_questions(3)
    make(tmp_path, 1, 2, 3)
    freeze("Trial")
    path = tmp_path / "study.json"
    run("export_protocol", "Trial", "--output", path)
    assert "opening" not in json.loads(path.read_text())
    close_study(ReaderStudy.objects.get(), actor=None, at=NOON)
    run("export_protocol", "Trial", "--output", path)
    lines = DOCUMENT.read_text().split("```python\n")[1].split("```")[0]
    exec(lines.replace("study.json", str(path)), {})
    assert {case["key"] for case in json.loads(path.read_text())["opening"]["sealed"]["cases"]} == {"B"}


def test_a_plan_can_draw_its_cases(tmp_path: Path) -> None:
    make_questions(40)
    quotas = [{"task": "geometric", "n": 4}]
    draw = {"n": 12, "n_practice": 2, "n_sets": 2, "n_shared": 4, "quotas": quotas, "accepted_because": "a trial run"}
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"name": "Drawn", "bank": "Bank", "seed": 3, "draw": draw}))
    made = json.loads(run("create_study", path, "--json"))
    assert (made["n_cases"], made["n_practice"], made["n_sets"], made["problems"]) == (12, 2, 2, [])
    study = ReaderStudy.objects.get()
    assert study.cases.filter(block="main", revision__task="geometric").count() == 4
    assert [one.cases.count() for one in study.sets.all()] == [8, 8]
    freeze("Drawn")
    assert study.orders.count() == 12


@pytest.mark.logs("study.protocol_exported")
def test_the_plan_of_the_documentation_names_its_pairs_and_so_does_its_export(tmp_path: Path) -> None:
    plan = json.loads(DOCUMENT.read_text().split("```json\n")[1].split("```")[0])
    make_questions(4)
    path, exported = tmp_path / "plan.json", tmp_path / "exported.json"
    path.write_text(json.dumps({**plan, "bank": "Bank", "draw": {}, "cases": [1, 2, 3, 4]}))
    made = json.loads(run("create_study", path, "--json"))
    assert any("planned pairs or runs so far: Model A." in note for note in made["notes"])
    run("export_protocol", plan["name"], "--output", exported)
    assert json.loads(exported.read_text())["analysis"]["pairs"] == [["Model A", "each reader"], ["R1", "R2"]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[1, 2", "is not a JSON file"),
        ("[]", "An object with named values is expected"),
        ('{"bank": "Bank"}', "name: This value is missing"),
        ('{"format": "other 1", "name": "T", "bank": "Bank"}', "not a plan of the form"),
        ('{"name": "T", "bank": "Bank", "colour": 1}', "colour: A plan has no such value"),
        ('{"name": "T", "bank": "Bank", "cases": [1, {"question": true}]}', "cases 2, question: A whole number"),
        ('{"name": "T", "bank": "Bank", "rules": {"n_ready": 99}}', "rules, n_ready: Two to ten"),
        (
            '{"name": "T", "bank": "Bank", "analysis": {"pairs": [["M", "R1"], ["R1", "R1"]]}}',
            "analysis, pairs: Pair 2 has the same name on both sides.",
        ),
        ('{"name": "T", "bank": "Bank", "arms": [{"aid": "oracle"}]}', "arms 1, aid: One of"),
        ('{"name": "T", "bank": "Bank", "deadline_at": "2027-01-31T18:00"}', "deadline_at: Say the offset"),
        ('{"name": "T", "bank": "Bank", "cases": [{"question": 1, "revision": 2}]}', "another wording of these"),
        ('{"name": "T", "bank": "Bank", "cases": [{"question": 1, "text_sha256": "00"}]}', "another wording of these"),
        ('{"name": "T", "bank": "Bank", "cases": [1], "sets": [{"name": "S", "cases": [2]}]}', "The set “S” names"),
        ('{"name": "T", "bank": "Bank", "cases": [1], "sets": [{"name": "", "cases": [1]}]}', "has 1 to 60 characters"),
        (json.dumps({"name": "T", "bank": "Bank", "contact": "x" * 201}), "The contact is longer than 200"),
        ('{"name": "T", "bank": "Bank", "draw": {"n": 9, "accepted_because": "x"}}', "only 3 questions qualify"),
        ('{"name": "T", "bank": "Bank", "draw": {"n": 3, "rule": "other-1"}}', "draws by the rule cells-1"),
        ('{"name": "T", "bank": "Bank", "draw": {"n": 3, "accepted_because": [1]}}', "because: A text is"),
        ('{"name": "T", "bank": "Bank", "cases": [1], "draw": {"n": "x"}}', "draw, n: A whole number"),
        ('{"name": "T", "bank": "Bank", "cases": [1], "draw": {"cells": [["x", "easy", 1, 1]]}}', "cells 1: A task"),
        ('{"name": "T\\ud800", "bank": "Bank"}', "name: A text is expected"),
        ('{"name": "T", "bank": "Bank", "cases": ["\\ud800"]}', "question: A whole number"),
        ('{"name": "T", "bank": "Bank", "analysis": {"notes": "\\u0000"}}', "notes: This rule has"),
        ('{"name": "T", "bank": "Bank", "analysis": {"primary": " "}}', "primary: This cannot be empty"),
        ('{"name": "T", "bank": "Bank", "rules": {"hidden_tools": ["hammer"]}}', "The images have no tool of this"),
        ('{"name": "T", "bank": "Bank", "rules": {"least_width": 50000, "least_height": 700}}', "out of range"),
        ('{"name": "T", "bank": "Bank", "deadline_at": "9999-12-31T23:59:00-05:00"}', "Choose another year"),
        ('{"name": "T", "bank": "Bank", "deadline_at": "0001-01-01T00:00:00+05:00"}', "Choose another year"),
    ],
)
def test_a_plan_that_cannot_be_says_where(tmp_path: Path, content: str, words: str) -> None:
    make_questions(3)
    path = tmp_path / "plan.json"
    path.write_text(content)
    assert words in refused("create_study", path)
    assert not ReaderStudy.objects.exists()


def voidings(folder: Path, text: str) -> Path:
    path = folder / "voidings.csv"
    path.write_bytes(text.encode())
    return path


def test_voidings_come_in_whole_or_not_at_all(tmp_path: Path) -> None:
    make_questions(4)
    make(tmp_path, 1, 2, 3)
    good = voidings(tmp_path, '\ufeffcase,reason,who\r\n2,"two options, both right",me\r\n')
    assert "is a draft" in refused("import_voidings", good, "--study", "Trial")
    freeze("Trial")
    bad = voidings(tmp_path, "case,reason\n1,good reason\n4,not in the study\n2,\n1,again\n3\n")
    message = refused("import_voidings", bad, "--study", "Trial")
    for words in ("row 3: the study has no case “4”", "row 4: “reason” is empty", "row 5: the case “1” comes twice"):
        assert words in message
    assert "row 6: The row has" in message
    long = voidings(tmp_path, 'case,reason\n1,"two\nlines"\n\n9,"not in\nthe study"\n')
    assert "row 4: the study has no case “9”" in refused("import_voidings", long, "--study", "Trial")
    torn = voidings(tmp_path, 'case,reason\n1,"two\nlines"\n2,"open\n')
    assert "Row 3 is not valid CSV" in refused("import_voidings", torn, "--study", "Trial")
    assert not Voiding.objects.exists()
    good = voidings(tmp_path, '\ufeffcase,reason,who\r\n2,"two options, both right",me\r\n')
    first = json.loads(run("import_voidings", good, "--study", "Trial", "--json"))
    again = json.loads(run("import_voidings", good, "--study", "Trial", "--json"))
    assert (first["n_stored"], again["n_stored"], again["n_there"]) == (1, 0, 1)
    old = good.rename(tmp_path / "t\udcfcr.csv")
    old.write_text("case,reason\n3,faulty\n")
    run("import_voidings", old, "--study", "Trial")
    assert Voiding.objects.get(source="t?r.csv").reason == "faulty"
    stored = Voiding.objects.filter(source="voidings.csv").values_list("case__number", "reason", "before_unblinding")
    assert list(stored) == [(2, "two options, both right", True)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Missing: 'case', 'reason'"),
        ("case,case\n", "twice"),
        ("case;reason\n1;\n", "row 2: “reason”"),
        ('case,reason\n1,fine\n2,"open\n3,fine\n', "Row 3 is not valid CSV"),
    ],
)
def test_a_file_that_is_no_table_of_voidings_says_so(tmp_path: Path, text: str, words: str) -> None:
    make_questions(2)
    make(tmp_path, 1, 2)
    freeze("Trial")
    assert words in refused("import_voidings", voidings(tmp_path, text), "--study", "Trial")


def test_exporting_needs_a_place(tmp_path: Path) -> None:
    make_questions(2)
    make(tmp_path, 1, 2)
    assert "is a folder" in refused("export_protocol", "Trial", "--output", tmp_path)
    assert "does not exist" in refused("export_protocol", "Trial", "--output", tmp_path / "no" / "plan.json")
    run("export_protocol", "Trial", "--output", tmp_path / "plan.json")
    assert "protocol" not in json.loads((tmp_path / "plan.json").read_text())
