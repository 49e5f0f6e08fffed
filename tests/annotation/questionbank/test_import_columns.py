"""A file with columns of its own, from the page that matches them to the bank and out again."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from msgspec.structs import replace
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.enums import JobState, Role
from annotation.exports.bank_export import BankChoice, BankForm, export_bank
from annotation.models import (
    AnswerKey,
    AuditEvent,
    BankImport,
    ColumnMatching,
    Job,
    Question,
    QuestionBank,
    SeenKey,
    Upload,
    User,
)
from annotation.questionbank.importing import locate
from annotation.questionbank.matchings import named_matching
from tests.annotation.questionbank.files import NOON, run_import
from tests.annotation.questionbank.sheets import SHEET, SHEET_MATCHING
from tests.commands import ends_with_2, printed
from tests.conftest import make_person
from tests.jobs import work

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]
NEW = "/banks/import/"
KEPT = "/banks/import/matchings/"


def send(client: Client, content: bytes = SHEET, name: str = "sheet.csv", bank: str = "Chest") -> str:
    response = client.post(NEW, {"file": SimpleUploadedFile(name, content), "bank": bank})
    assert response.status_code == 302
    return str(response["Location"])


def filled(client: Client, address: str, **changes: Any) -> dict[str, Any]:
    """What the page would send as it stands, with these changes."""
    form = client.get(address).context["form"]
    given = {field.name: field.value() or "" for field in form}
    return given | {"constant_category": "Chest"} | changes


def import_sheet(client: Client, **changes: Any) -> str:
    """The address of the import, stored."""
    address = send(client)
    checked = client.post(address, filled(client, address, check="yes", **changes))
    assert checked.status_code == 302, checked.context["form"].errors
    work()
    client.post(checked["Location"] + "store/")
    work()
    return str(checked["Location"])


def keep(cora: User, name: str = "sheet") -> None:
    matching = replace(SHEET_MATCHING, name=name).as_json()
    columns = SHEET.decode().partition("\n")[0].split(",")
    ColumnMatching.objects.create(
        name=name, columns=columns, matching=matching, created_by=cora, created_at=NOON, changed_at=NOON
    )


def test_match_look_check_store(coordinator: Client) -> None:
    address = send(coordinator)
    assert address.endswith("/columns/")
    page = coordinator.get(address).content.decode()
    assert "Still needed:" in page
    assert "<strong>Category</strong>" in page
    assert "Which finding is present?" in page
    assert coordinator.get(address.removesuffix("columns/"))["Location"] == address  # it waits there
    looked = coordinator.post(address, filled(coordinator, address))
    assert looked.status_code == 200
    assert [one.question.answer for one in looked.context["first"]] == ["B", "D"]
    assert not Job.objects.exists()
    assert not ColumnMatching.objects.exists()
    checked = coordinator.post(address, filled(coordinator, address, check="yes"))
    work()
    assert not Question.objects.exists()
    report = coordinator.get(checked["Location"])
    assert report.context["result"]["created"] == 2
    assert "Columns read as kept in" in report.content.decode()
    coordinator.post(checked["Location"] + "store/")
    work()
    assert set(AnswerKey.objects.values_list("key", flat=True)) == {"B", "D"}
    kept = ColumnMatching.objects.get()
    assert (kept.name, kept.matching["columns"]) == ("sheet", SHEET_MATCHING.columns)
    assert BankImport.objects.get().result["matching"] == kept.matching
    assert AuditEvent.objects.filter(act="matching.kept", subject_id=str(kept.pk)).count() == 1


def test_a_later_file_with_the_same_columns_needs_no_matching(coordinator: Client) -> None:
    import_sheet(coordinator)
    header, *_rows = SHEET.splitlines()
    more = header + b"\nd-3,7,Which?,One; Two; Three; Four,Four,It is seen on both views.,Presence,7/pa.png,58,easy,,\n"
    address = send(coordinator, more, "later.csv")
    page = coordinator.get(address)
    assert "Filled in from" in page.content.decode()
    assert page.context["first"][0].question.category == "Chest"
    response = coordinator.post(address, filled(coordinator, address, check="yes"))
    assert response.status_code == 302
    work()
    assert coordinator.get(response["Location"]).context["result"]["created"] == 1
    assert ColumnMatching.objects.count() == 1
    assert AuditEvent.objects.filter(act="matching.kept").count() == 1  # it did not change


def test_a_matching_that_leaves_a_field_is_refused_and_stores_nothing(coordinator: Client) -> None:
    address = send(coordinator)
    for changes, sentence in (
        ({"constant_category": ""}, "No column is matched to “Category”"),
        ({"column_2": ""}, "No column is matched to “Question”"),
        ({"column_3": ""}, "The options are not matched"),
        ({"column_10": "question"}, "“Question” is chosen for two columns, Stem and Room"),
        ({"constant_difficulty": "easy"}, "“Difficulty” has a column and one value"),
        ({"words": "PRES"}, "Line 1: write “word = meaning”"),
        ({"name": ""}, "Keep this matching as"),
        ({"column_1": "nonsense"}, "nonsense"),
    ):
        response = coordinator.post(address, filled(coordinator, address, check="yes", **changes))
        assert response.status_code == 422
        assert sentence in response.content.decode()
    assert not ColumnMatching.objects.exists()
    assert not Job.objects.exists()


def test_a_name_of_other_columns_is_refused(coordinator: Client, cora: User) -> None:
    keep(cora)
    ColumnMatching.objects.update(columns=["x", "y"], matching={**SHEET_MATCHING.as_json(), "columns": {"id": "x"}})
    address = send(coordinator)
    response = coordinator.post(address, filled(coordinator, address, check="yes", name="sheet"))
    assert response.status_code == 422
    assert "A matching of other columns is named “sheet”" in response.content.decode()
    assert ColumnMatching.objects.get().columns == ["x", "y"]
    assert not Job.objects.exists()


def test_after_the_check_the_matching_can_be_changed_until_it_is_stored(coordinator: Client) -> None:
    address = send(coordinator)
    wrong = filled(coordinator, address, check="yes", key_form="letter")
    place = coordinator.post(address, wrong)["Location"]
    refused = coordinator.get(address, follow=True)
    assert "The file is being checked" in refused.content.decode()
    assert coordinator.post(address, wrong)["Location"] == place
    work()
    report = coordinator.get(place)
    assert report.context["result"]["errors"][0]["message"].startswith("Row 2: The key 'left effusion'")
    assert address in report.content.decode()
    coordinator.post(address, filled(coordinator, address, check="yes", key_form="text"))
    work()
    assert coordinator.get(place).context["may_store"]
    coordinator.post(place + "store/")
    assert "has begun" in coordinator.get(address, follow=True).content.decode()
    work()
    assert Question.objects.count() == 2


def test_rows_that_are_no_question_are_refused_and_the_rest_stored(coordinator: Client) -> None:
    rows = SHEET + b"d-3,9,What is seen?,,pneumonia,It is seen on both views.,Presence,9/pa.png,,,,\n"
    address = send(coordinator, rows)
    place = coordinator.post(address, filled(coordinator, address, check="yes", separator=";"))["Location"]
    work()
    page = coordinator.get(place)
    assert "Row 4: A question has four options; this one has 0." in page.content.decode()
    assert "Store the rest: 2 questions" in page.content.decode()
    coordinator.post(place + "store/", {"skip_refused": "1"})
    work()
    assert Question.objects.count() == 2


def test_a_file_that_cannot_be_read_is_told_by_its_check(coordinator: Client) -> None:
    for content in (b"", b"\x89PNG", b'a;"b\n1;2\n', b"a;a\n1;2\n", b"%PDF-1.7"):
        address = send(coordinator, content)
        assert not address.endswith("columns/"), content
        work()
        assert "Nothing of this file can be stored" in coordinator.get(address).content.decode(), content


def test_a_file_that_is_gone_says_so(coordinator: Client, settings: Settings) -> None:
    address = send(coordinator)
    for path in (settings.HOME / "question_files").rglob("questions.json"):
        path.unlink()
    assert "Send it again" in coordinator.get(address, follow=True).content.decode()


def test_only_who_sent_a_file_sees_its_rows(client: Client, cora: User) -> None:
    client.force_login(cora)
    address = send(client)
    own = client.post(NEW, {"file": SimpleUploadedFile("q.json", b'{"q1": {}}'), "bank": "Chest"})["Location"]
    assert client.get(own + "columns/")["Location"] == own
    assert client.get("/banks/import/nonesuch/").status_code == 404
    assert client.get("/banks/import/nonesuch/columns/").status_code == 404
    client.force_login(make_person("Omni", Role.COORDINATOR))
    assert client.get(address).status_code == 404


def test_who_sees_the_rows_has_seen_the_keys_of_these_questions(coordinator: Client, cora: User) -> None:
    import_sheet(coordinator)
    assert not SeenKey.objects.exists()
    coordinator.get(send(coordinator))
    assert set(SeenKey.objects.values_list("question__number", "source")) == {
        (1, "question_file"),
        (2, "question_file"),
    }


def test_a_row_whose_id_holds_a_nul_is_refused_alone(coordinator: Client) -> None:
    import_sheet(coordinator)  # so that the ids of the file are looked for in the bank
    address = send(coordinator, SHEET.replace(b"d-1", b"d\0-1"), "nul.csv")
    assert "The text holds a NUL character" in coordinator.get(address).content.decode()
    place = coordinator.post(address, filled(coordinator, address, check="yes"))["Location"]
    work()
    told = coordinator.get(place).context["result"]["errors"]
    assert [(one["field"], one["code"]) for one in told] == [("no.", "nul_character")]


def test_the_page_and_the_list_take_few_queries(
    coordinator: Client, cora: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for name in ("sheet", "sheet 1", "sheet 2"):
        keep(cora, name)
    address = send(coordinator)
    with django_assert_max_num_queries(12):
        coordinator.get(address)
    with django_assert_max_num_queries(8):
        coordinator.get(KEPT)


def test_uploads_of_an_earlier_version_have_nothing_to_match(coordinator: Client, cora: User) -> None:
    job = Job.objects.create(kind="check_questions", title="-", params={}, state=JobState.SUCCEEDED, created_at=NOON)
    old = Upload.objects.create(created_by=cora, created_at=NOON - timedelta(days=1), purpose="questions", job=job)
    assert coordinator.get(f"/banks/import/{old.public_id}/columns/").status_code == 302


# The list of what is kept


def test_a_kept_matching_is_renamed_and_deleted(coordinator: Client, cora: User) -> None:
    import_sheet(coordinator)
    kept = ColumnMatching.objects.get()
    listed = coordinator.get(KEPT).content.decode()
    assert 'value="sheet"' in listed
    assert '<bdi class="mono">Stem</bdi>' in listed
    coordinator.post(f"{KEPT}{kept.pk}/rename/", {"name": "  Department \n 2026 "})
    kept.refresh_from_db()
    assert (kept.name, named_matching("Department 2026").name) == ("Department 2026", "Department 2026")
    asked = coordinator.post(f"{KEPT}{kept.pk}/delete/")
    assert (asked.status_code, ColumnMatching.objects.count()) == (200, 1)
    coordinator.post(f"{KEPT}{kept.pk}/delete/", {"confirmed": "yes"})
    assert not ColumnMatching.objects.exists()
    assert BankImport.objects.get().result["matching"]["name"] == "sheet"  # its own copy
    log = AuditEvent.objects.filter(act__startswith="matching.").order_by("pk").values_list("act", "facts__name")
    assert list(log)[1:] == [("matching.renamed", "Department 2026"), ("matching.deleted", "Department 2026")]
    assert "No matching is kept yet" in coordinator.get(KEPT).content.decode()


def test_a_name_that_is_none_or_taken_or_stays_changes_nothing(coordinator: Client, cora: User) -> None:
    keep(cora)
    keep(cora, "other")
    kept = ColumnMatching.objects.get(name="sheet")
    for name, sentence in {
        "  ": "Give a name",
        "x" * 201: "Give a name",
        "other": "Another matching is named “other”",
        "sheet": "",
    }.items():
        told = coordinator.post(f"{KEPT}{kept.pk}/rename/", {"name": name}, follow=True)
        assert sentence in told.content.decode()
        assert ColumnMatching.objects.filter(name="sheet", matching__name="sheet").exists()
    assert not AuditEvent.objects.filter(act="matching.renamed").exists()
    for act in ("rename", "delete"):
        assert coordinator.post(f"{KEPT}999999/{act}/", {"name": "x", "confirmed": "yes"}).status_code == 404


# The command


def test_the_command_reads_by_a_kept_matching_and_names_those_that_there_are(tmp_path: Path, cora: User) -> None:
    keep(cora)
    path = tmp_path / "later.csv"
    path.write_bytes(SHEET)
    with ends_with_2(r"no matching of columns named “other”. Kept so far: sheet."):
        call_command("import_questions", path, "--matching", "other")
    path.write_bytes(SHEET.replace(b"Stem", b"Text"))
    err = StringIO()
    with pytest.raises(CommandError, match="Nothing was stored"):
        call_command("import_questions", path, "--matching", "sheet", stderr=err)
    assert "has no column 'Stem'" in err.getvalue()
    assert not QuestionBank.objects.exists()
    path.write_bytes(SHEET)
    printed("import_questions", path, "--matching", "sheet", "--bank", "Chest")
    assert Question.objects.count() == 2
    assert BankImport.objects.get().result["matching"]["name"] == "sheet"


# Out and in again


@pytest.mark.parametrize("form", BankForm)
def test_out_in_and_out_again_is_equal(tmp_path: Path, cora: User, form: BankForm) -> None:
    keep(cora)
    path = tmp_path / "sheet.csv"
    path.write_bytes(SHEET)
    source = replace(locate(path), matching=named_matching("sheet"))
    written = []
    for number in (1, 2, 3):
        done = run_import(path, f"Bank {number}", source=source) if number == 1 else run_import(path, f"Bank {number}")
        assert (done.stored, done.n_errors) == (True, 0)
        folder = tmp_path / f"out{number}"
        bank = QuestionBank.objects.get(name=f"Bank {number}")
        export_bank(bank, BankChoice(form), folder, actor=None, at=NOON)
        path = folder / form.file_name
        written.append(path.read_bytes())
    assert written[0] == written[1] == written[2]
    if form == BankForm.JSONL:
        first = json.loads(written[0].splitlines()[0])
        assert (first["correct_answer"], first["Room"], first["column StudyDate"]) == ("B", "4", "20200101")
