"""Voidings of an older study: said with the import of its readings, before anybody can have seen a result; or never."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.models import AuditEvent, User
from readerstudy.analysis.gathering import gather
from readerstudy.enums import StudyState
from readerstudy.exports.fact_finding import facts_of, flow_of
from readerstudy.exports.methods import methods_text
from readerstudy.models import ReaderStudy, Response, Voiding
from readerstudy.predictions.looks import unblind
from readerstudy.reading.response_import import DeclaredFile, ResponsesImported, import_responses
from readerstudy.results.looking import stored_result
from tests.annotation.review.cases import NOON
from tests.readerstudy.analysis.made import analyse_by
from tests.readerstudy.report.made import QUICK
from tests.readerstudy.studies import make_study

pytestmark = pytest.mark.django_db
READINGS = "reader,case,option,state\nR1,1,A,answered\nR1,2,B,answered\nR1,3,B,answered\n"
VOIDINGS = "case,reason\n1,two options are right\n"


@pytest.fixture
def study() -> ReaderStudy:
    return make_study("Old", state=StudyState.FROZEN, opened_at=None, n_orders=0)


def send(
    study: ReaderStudy, readings: str = READINGS, voidings: str | None = VOIDINGS, **said: Any
) -> ResponsesImported:
    declared = DeclaredFile("voidings.csv", voidings.encode()) if voidings is not None else None
    content = readings.encode()
    return import_responses(study, name="old.csv", content=content, actor=None, at=NOON, declared=declared, **said)


def test_they_are_stored_with_the_readings_and_say_who_declared_them(study: ReaderStudy) -> None:
    dry = send(study, dry_run=True)
    assert (dry.voided, dry.stored, Voiding.objects.count()) == (1, False, 0)
    result = send(study)
    assert (result.created, result.voided, result.stored) == (3, 1, True)
    voiding = Voiding.objects.get()
    assert (voiding.declared, voiding.before_unblinding, voiding.reason) == (True, True, "two options are right")
    assert voiding.source.startswith("voidings.csv sha256:")
    facts = AuditEvent.objects.get(act="study.voidings_declared").facts
    assert (facts["n"], facts["statement"]) == (1, "decided in the original study")
    assert [one["decided"] for one in gather(study).excluded] == ["declared_with_readings"]
    again = send(study)
    assert (again.is_refused, again.voided, again.unchanged) == (False, 0, 3)


def test_the_analysis_and_the_methods_do_not_call_them_decided_before_unblinding(study: ReaderStudy) -> None:
    send(study)
    analysis = analyse_by(QUICK, study, at=NOON)
    result = stored_result(analysis)
    asked = result["questions"]
    assert (asked["n_scored"], asked["n_voided_before_unblinding"], asked["n_voided_declared"]) == (2, 1, 1)
    facts = facts_of(analysis, result)
    text = " ".join(methods_text(result, facts).split())
    assert "Voided in the original study, as declared by the coordinator with the import of the readings" in text
    assert "Voided before unblinding and left out: 0 cases" in text
    assert "case 1 (declared): two options are right" in text
    aside = str(dict(flow_of(result, facts).columns)["Cases"])
    assert "Voided in the original study, as declared: 1" in aside
    assert "Voided before unblinding" not in aside


def test_once_the_readings_are_in_they_are_refused_with_what_would_do(study: ReaderStudy) -> None:
    send(study, voidings=None)
    result = send(study)
    [(row, why)] = result.voiding_problems
    assert (row, Voiding.objects.count()) == (0, 0)
    assert "are in already" in why
    assert "import_voidings" in why


def test_once_a_result_was_seen_they_are_refused(study: ReaderStudy) -> None:
    unblind(study, actor=None, at=NOON, because="models alone")
    result = send(study)
    [(_row, why)] = result.voiding_problems
    assert "sensitivity analysis" in why
    assert not Voiding.objects.exists()
    assert not Response.objects.exists()  # one act: neither


def test_a_bad_row_of_either_file_stores_nothing_of_both(study: ReaderStudy) -> None:
    bad = send(study, voidings="case,reason\n99,wrong\n2,\n")
    assert [row for row, _why in bad.voiding_problems] == [2, 3]
    worse = send(study, readings=READINGS + "R1,77,A,answered\n")
    assert [problem.row for problem in worse.problems] == [5]
    assert send(study, voidings="reason\nwrong\n").voiding_problems[0][0] == 0
    assert not Voiding.objects.exists()
    assert not Response.objects.exists()


# --- the command ----------------------------------------------------------------------------------
def run(tmp_path: Path, *words: str) -> str:
    (tmp_path / "old.csv").write_text(READINGS)
    (tmp_path / "voidings.csv").write_text(VOIDINGS)
    out = StringIO()
    call_command("import_responses", str(tmp_path / "old.csv"), "--study", "Old", *words, stdout=out, stderr=out)
    return out.getvalue()


def test_the_command_takes_both_files_with_the_statement(study: ReaderStudy, tmp_path: Path) -> None:
    voidings = ["--voidings", str(tmp_path / "voidings.csv")]
    with pytest.raises(CommandError, match="decided-in-original-study"):
        run(tmp_path, *voidings)
    with pytest.raises(CommandError, match="--voidings"):
        run(tmp_path, "--decided-in-original-study")
    assert not Response.objects.exists()
    result = json.loads(run(tmp_path, *voidings, "--decided-in-original-study", "--json"))
    assert (result["created"], result["voided"], result["voiding_errors"], result["stored"]) == (3, 1, [], True)
    assert Voiding.objects.get().declared


def test_the_command_names_the_refusal(study: ReaderStudy, tmp_path: Path) -> None:
    run(tmp_path)
    out = StringIO()
    words = ["--voidings", str(tmp_path / "voidings.csv"), "--decided-in-original-study"]
    with pytest.raises(CommandError, match="Nothing was stored"):
        call_command("import_responses", str(tmp_path / "old.csv"), "--study", "Old", *words, stdout=out, stderr=out)
    assert "voidings: Readings of this study are in already" in out.getvalue()


# --- the page -------------------------------------------------------------------------------------
def post(client: Client, *, decided: bool = True, do: str = "check", seen: str = "", fragment: bool = True) -> Any:
    files = {
        "file": SimpleUploadedFile("old.csv", READINGS.encode()),
        "voidings": SimpleUploadedFile("voidings.csv", VOIDINGS.encode()),
    }
    said = {"decided": "on"} if decided else {}
    headers = {"HX-Request": "true"} if fragment else {}
    return client.post("/studies/old/import/", {**files, **said, "do": do, "seen": seen}, headers=headers)


def test_the_page_takes_both_files_after_a_look_at_both(client: Client, study: ReaderStudy, cora: User) -> None:
    client.force_login(cora)
    assert "Say so, or leave the file out" in post(client, decided=False).content.decode()
    checked = post(client)
    assert "voided cases" in checked.content.decode()
    assert not Voiding.objects.exists()
    result = checked.context["result"]
    assert result.sent_sha256 != result.sha256
    refused = post(client, do="store", seen=result.sha256, fragment=False)  # of the readings alone
    assert refused.status_code == 422
    assert post(client, do="store", seen=result.sent_sha256, fragment=False).status_code == 302
    assert (Voiding.objects.get().actor, Voiding.objects.get().declared) == (cora, True)


def test_the_page_says_why_it_is_too_late(client: Client, study: ReaderStudy, cora: User) -> None:
    send(study, voidings=None)
    client.force_login(cora)
    page = post(client, fragment=False)
    assert page.status_code == 422
    assert "Voidings: <bdi>Readings of this study are in already" in " ".join(page.content.decode().split())
