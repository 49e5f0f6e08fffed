"""The data of a study on its page: buttons, files, and who is refused."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEvent, User
from annotation.tables.writing import Format
from readerstudy.acts.files import export_offers
from readerstudy.enums import StudyState
from readerstudy.exports.exporting import StudyTable, columns_of
from readerstudy.models import ReaderStudy, StudyRole
from tests.annotation.review.cases import NOON
from tests.readerstudy.exports.read_study import void


def address(table: str = "responses", form: str = "csv", slug: str = "trial") -> str:
    return reverse("study-export", args=[slug, table, form])


def body(response: object) -> bytes:
    return b"".join(response.streaming_content)  # type: ignore[attr-defined]


def test_the_responses_of_a_closed_study(client: Client, study: ReaderStudy, cora: User) -> None:
    client.force_login(cora)
    response = client.post(address())
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"] == 'attachment; filename="trial-responses.csv"'
    assert "no-store" in response["Cache-Control"]
    rows = list(csv.DictReader(io.StringIO(body(response).decode("utf-8-sig"), newline="")))
    assert len(rows) == 17
    assert rows[1]["correct"] == "true"


@pytest.mark.parametrize("table", list(StudyTable))
def test_before_closing_there_are_no_answers(client: Client, study: ReaderStudy, cora: User, table: StudyTable) -> None:
    ReaderStudy.objects.update(state=StudyState.OPEN)
    client.force_login(cora)
    response = client.post(address(table.value))
    assert response.status_code == (403 if table in (StudyTable.RESPONSES, StudyTable.EVENTS) else 200)
    if response.status_code == 403:
        assert "hidden until the study is closed" in response.content.decode()
    assert ReaderStudy.objects.get().unblinded_at is None


def test_a_link_that_a_browser_follows_by_itself_takes_nothing(client: Client, study: ReaderStudy, cora: User) -> None:
    client.force_login(cora)
    assert client.get(address()).status_code == 405


def test_who_is_refused(client: Client, study: ReaderStudy, ada: User, cora: User, rita: User, stan: User) -> None:
    assert client.post(address()).status_code == 302
    for person, status in ((stan, 404), (rita, 404), (ada, 403)):
        client.force_login(person)
        assert client.post(address()).status_code == status
        assert client.get(reverse("study-codebook", args=["trial", "events"])).status_code == status
    StudyRole.objects.create(study=study, user=stan, granted_by=cora, granted_at=NOON)
    client.force_login(stan)
    assert client.post(address("orders")).status_code == 200


def test_one_button_takes_all_that_is_not_hidden(client: Client, study: ReaderStudy, cora: User) -> None:
    client.force_login(cora)
    for state, n_tables in ((StudyState.OPEN, 4), (StudyState.CLOSED, 6)):
        ReaderStudy.objects.update(state=state)
        with zipfile.ZipFile(io.BytesIO(body(client.post(address("all", form="zip"))))) as archive:
            described = json.loads(archive.read("trial/datapackage.json"))["resources"]
            assert len(archive.namelist()) == n_tables * len(Format) + 2
        assert ("responses" in {one["name"] for one in described}) is (state == StudyState.CLOSED)


def test_what_is_not_there(client: Client, study: ReaderStudy, cora: User) -> None:
    client.force_login(cora)
    for wrong in (address("people"), address(form="ods"), address("all"), address(slug="other")):
        assert client.post(wrong).status_code == 404
    assert client.get(reverse("study-codebook", args=["trial", "people"])).status_code == 404


def test_the_codebook_names_key_and_correct_only_after_closing(client: Client, study: ReaderStudy, cora: User) -> None:
    client.force_login(cora)
    for state, named in ((StudyState.OPEN, False), (StudyState.CLOSED, True)):
        ReaderStudy.objects.update(state=state)
        text = client.get(reverse("study-codebook", args=["trial", "responses"])).content.decode("utf-8-sig")
        columns = [row["column"] for row in csv.DictReader(io.StringIO(text, newline=""))]
        assert ({"key", "correct"} <= set(columns)) is named


@pytest.mark.parametrize("state", list(StudyState))
def test_own_ids_are_offered_and_given_once_a_study_is_over(
    client: Client, study: ReaderStudy, cora: User, state: StudyState
) -> None:
    over = state in (StudyState.CLOSED, StudyState.ANALYSED)
    ReaderStudy.objects.update(state=state)
    client.force_login(cora)
    assert ("with own ids" in client.get(reverse("study-data", args=["trial"])).content.decode()) is over
    response = client.post(address("orders"), {"source_ids": "1"})
    assert response.status_code == (200 if over else 403)
    if over:
        assert "source_id" in body(response).decode().splitlines()[0]
    codebook = client.get(reverse("study-codebook", args=["trial", "orders"])).content.decode()
    assert ("source_id" in codebook) is over


def test_the_buttons_say_what_is_hidden_and_what_unblinds(study: ReaderStudy) -> None:
    def shown() -> str:
        return render_to_string("readerstudy/studies/_exports.html", {"study": study, "exports": export_offers(study)})

    assert shown().count("<button") == 1 + 6 * 4
    assert "unblinds the study" in shown()
    study.unblinded_at = NOON
    assert "unblinds the study" not in shown()
    study.state = StudyState.OPEN
    assert shown().count("<button") == 1 + 4 * 4
    assert shown().count("Hidden until the study is closed") == 2


def export(path: Path, *more: str, form: str = "csv") -> None:
    call_command("export_responses", "--study", "trial", "--format", form, "--output", str(path), *more, verbosity=0)


@pytest.mark.parametrize("form", list(Format))
def test_a_file_and_its_codebook_the_same_each_time(study: ReaderStudy, form: Format, tmp_path: Path) -> None:
    path = tmp_path / f"answers.{form.value}"
    export(path, form=form.value)
    first = path.read_bytes()
    export(path, form=form.value)
    assert path.read_bytes() == first
    with (tmp_path / "answers.codebook.csv").open(encoding="utf-8-sig") as file:
        named = [row["column"] for row in csv.DictReader(file)]
    assert named == [column.name for column in columns_of(study, StudyTable.RESPONSES)]
    assert len(list(tmp_path.iterdir())) == 2


def test_into_a_folder_go_all_tables(study: ReaderStudy, tmp_path: Path) -> None:
    export(tmp_path)
    expected = {f"{table.value}{end}" for table in StudyTable for end in (".csv", ".codebook.csv")}
    assert {path.name for path in tmp_path.iterdir()} == expected


def test_one_table_by_its_name(study: ReaderStudy, tmp_path: Path) -> None:
    void(study.cases.filter(block="main")[0])
    export(tmp_path / "v.csv", "--table", "voidings")
    with (tmp_path / "v.csv").open(encoding="utf-8-sig") as file:
        assert [row["reason"] for row in csv.DictReader(file)] == ["two keys are right"]


def test_answers_of_an_open_study_need_a_reason(study: ReaderStudy, tmp_path: Path) -> None:
    ReaderStudy.objects.update(state=StudyState.OPEN)
    for more in ((), ("--table", "events"), ("--before-closing", "why not")):
        with pytest.raises(CommandError, match="--before-closing") as refusal:
            export(tmp_path / "a.csv", *more)
        assert refusal.value.returncode == 2
    assert not list(tmp_path.iterdir())
    export(tmp_path / "o.csv", "--table", "orders")
    export(tmp_path / "a.csv", "--before-closing", "the sponsor asks for it now")
    assert AuditEvent.objects.get(act="study.glass_broken").facts["reason"] == "the sponsor asks for it now"
    assert "correct" not in (tmp_path / "a.csv").read_text().splitlines()[0]


@pytest.mark.parametrize("state", [StudyState.CLOSED, StudyState.ANALYSED])
def test_own_ids_of_a_study_that_is_over(study: ReaderStudy, tmp_path: Path, state: StudyState) -> None:
    ReaderStudy.objects.update(state=StudyState.OPEN)
    with pytest.raises(CommandError, match="not closed yet"):
        export(tmp_path / "o.csv", "--table", "orders", "--source-ids")
    assert not list(tmp_path.iterdir())
    ReaderStudy.objects.update(state=state)
    export(tmp_path / "o.csv", "--table", "orders", "--source-ids")
    for name in ("o.csv", "o.codebook.csv"):
        assert "source_id" in (tmp_path / name).read_text()


def test_what_cannot_be_is_refused_with_status_2(study: ReaderStudy, tmp_path: Path) -> None:
    for study_name, path in (("nowhere", tmp_path / "a.csv"), ("trial", tmp_path / "missing" / "a.csv")):
        with pytest.raises(CommandError) as refusal:
            call_command("export_responses", "--study", study_name, "--format", "csv", "--output", str(path))
        assert refusal.value.returncode == 2
    assert not list(tmp_path.iterdir())
