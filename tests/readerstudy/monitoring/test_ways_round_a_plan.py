"""Further ways to a better number from the same data: what comes, goes or is asked for after results were seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.test import Client
from django.utils import timezone
from openpyxl import load_workbook

from annotation.exports.kernels import recompute
from annotation.models import User
from annotation.tables.kernels.table import Table
from readerstudy.analysis import gathering
from readerstudy.analysis.kernels.labels import headings
from readerstudy.analysis.kernels.scoring import Settings
from readerstudy.analysis.storing import see_analysis
from readerstudy.design.kernels.analysis_plan import AnalysisPlan
from readerstudy.design.voiding import void_case
from readerstudy.enrolment.participation import withdraw
from readerstudy.enums import StudyState
from readerstudy.exports import report_writing
from readerstudy.exports.agreement_sheets import agreement_sheets
from readerstudy.exports.checklists import checklist_rows
from readerstudy.exports.fact_finding import facts_of
from readerstudy.exports.methods import methods_text
from readerstudy.exports.report_writing import printed_tables
from readerstudy.exports.sheets import accuracy_sheets
from readerstudy.models import Analysis, ModelEntry, PredictionRun, ReaderStudy
from readerstudy.predictions.entries import edit_model, withdraw_model
from readerstudy.predictions.runs import name_run, withdraw_run
from readerstudy.reading.response_import import import_responses
from readerstudy.results.kernels import rendering
from readerstudy.results.looking import own_analysis, share_results, stored_result
from tests.annotation.review.cases import NOON, make_revisions
from tests.readerstudy.analysis.made import analyse_by
from tests.readerstudy.monitoring.test_better_numbers import LATER, MODELS, READERS, SEEN, N, read_elsewhere, seen_trial
from tests.readerstudy.monitoring.test_choosing_late import left_over, numbers, predicted, unlabelled
from tests.readerstudy.report.made import QUICK
from tests.readerstudy.studies import make_study

pytestmark = pytest.mark.django_db
EXCLUDING = Settings(seed=QUICK.seed, draws=QUICK.draws, failed_in_accuracy="exclude")


@pytest.fixture
def study() -> ReaderStudy:
    return seen_trial()


def frozen(name: str, at: datetime = NOON, **fields: Any) -> ReaderStudy:
    return make_study(name, n_cases=N, state=StudyState.FROZEN, opened_at=None, n_orders=0, frozen_at=at, **fields)


def put(study: ReaderStudy, rows: Iterable[str], at: datetime) -> None:
    text = "\n".join(["reader,case,option,state,active_ms", *rows]).encode()
    found = import_responses(study, name="r.csv", content=text, actor=None, at=at)
    assert found.stored, found.problems


def rows_of(readers: Mapping[str, str], skip: tuple[str, ...] = ()) -> list[str]:
    rows = [
        f"{name},{case},{said[case - 1]},answered,{1000 * place + 37 * case}"
        for place, (name, said) in enumerate(readers.items(), 1)
        for case in range(1, N + 1)
    ]
    return [row for row in rows if not row.startswith(skip)]


def result_now(study: ReaderStudy) -> Any:
    return stored_result(analyse_by(QUICK, ReaderStudy.objects.get(pk=study.pk), at=LATER))


def look(study: ReaderStudy) -> Any:
    see_analysis(analyse_by(QUICK, study, at=NOON), actor=None, at=SEEN)
    return result_now(study)


def reasons(result: Any) -> dict[str, str]:
    return {one["reader"]: one["reason"] for one in result["excluded"] if one["kind"] == "reader"}


def is_all_planned(result: Any) -> bool:
    planned = [one for one in result["comparisons"] if one["planned"]]
    return bool(planned) and result["plan"]["is_planned"] and not headings(result)


def is_post_hoc_variant(variant: Any) -> bool:
    """Labelled, with no claim and no adjusted p."""
    compared = variant["comparisons"]
    adjusted = [value for one in compared for name, value in one.items() if name.endswith("p_holm") and value]
    claims = {one.get(name) for one in compared for name in ("superior", "non_inferior", "equivalent")}
    return (
        unlabelled(variant, "post_hoc") == []
        and {one["planned"] for one in compared} == {False}
        and claims == {None}
        and {one["value"] for one in adjusted} == {None}
    )


# --- readers --------------------------------------------------------------------------------------
def test_the_rest_of_a_reader_changes_nothing_and_is_not_counted() -> None:
    five = {**READERS, "R4": "B" * 22 + "AA", "R5": READERS["R2"]}
    study = frozen("Trial")
    put(study, rows_of(five, skip=("R4,22,", "R4,23,", "R4,24,")), NOON)
    predicted(study, "Alpha", MODELS["Alpha"], NOON)
    before = look(study)
    put(study, ["R4,22,B,answered,", "R4,23,,declined,", "R4,24,,missing,"], LATER)
    after = result_now(study)
    for part in ("comparisons", "mrmc", "panels", "time", "tables", "order", "raters", "plan", "variants"):
        assert after[part] == before[part]
    assert reasons(after) == {"R4": "3 answers came after results had been seen: not counted"}
    text = " ".join(methods_text(after, facts_of(analyse_by(QUICK, study, at=LATER), after)).split())
    assert "R4 (3 answers came after results had been seen: not counted)" in text


@pytest.mark.parametrize("way", ["withdrawn", "replaced"])
def test_a_reader_who_leaves_after_results_were_seen_stays(study: ReaderStudy, cora: User, way: str) -> None:
    before = result_now(study)
    if way == "withdrawn":
        withdraw(study.enrolments.get(pseudonym="R1"), actor=cora, at=LATER, reason="asked for it")
    else:
        study.enrolments.filter(pseudonym="R1").update(replaced_at=LATER)
    analysis = analyse_by(QUICK, study, at=LATER)
    after = stored_result(analysis)
    for part in ("comparisons", "mrmc", "panels", "order"):
        assert after[part] == before[part]
    [left] = [one for one in after["raters"] if one.get("left_because") and one["kind"] == "reader"]
    assert (left["name"], left["left_because"]) == ("R1", f"{way} on {LATER.date().isoformat()}")
    study.refresh_from_db()
    analysis.study = study
    text = " ".join(methods_text(after, facts_of(analysis, after)).split())
    assert f"kept since they were planned: R1 ({way} on {LATER.date().isoformat()})" in text
    variant = after["variants"]["without_readers_who_left"]
    assert is_post_hoc_variant(variant)
    assert variant["mrmc"]["readers"]["n_readers"] == 2
    [printed] = [table for table in printed_tables(after) if table.name == "variants"]
    assert "without the readers who left after results had been seen" in printed.caption + str(printed.parts)
    assert [row for table in accuracy_sheets(after) if table.name == "variants" for row in table.rows if "R1" in row]


def test_readers_leave_and_come_where_the_plan_names_pairs_of_each_of_them(cora: User) -> None:
    study = frozen("Trial", analysis=AnalysisPlan(pairs=(("Alpha", "each reader"), ("Alpha", "R9"))).as_json())
    put(study, rows_of(READERS), NOON)
    predicted(study, "Alpha", MODELS["Alpha"], NOON)
    before = look(study)
    put(study, rows_of({"R9": "A" * N}), LATER)
    withdraw(study.enrolments.get(pseudonym="R1"), actor=cora, at=LATER)
    after = result_now(study)
    assert after["comparisons"] == before["comparisons"]
    assert set(after["variants"]) == {"with_late_readers", "without_readers_who_left"}
    assert all(map(is_post_hoc_variant, after["variants"].values()))
    assert "variants" in [table.name for table in printed_tables(after)]


def test_a_late_reader_who_leaves_counts_nowhere(study: ReaderStudy, cora: User) -> None:
    put(study, [f"R4,{case},A,answered," for case in range(1, N + 1)], LATER)
    before = result_now(study)
    withdraw(study.enrolments.get(pseudonym="R4"), actor=cora, at=LATER)
    after = result_now(study)
    assert after["mrmc"] == before["mrmc"]
    assert (after["variants"], reasons(after)) == ({}, {"R4": "came after results had been seen: withdrawn"})


# --- a study that was there before the readings were seen in another one --------------------------
def add_reader(copy: ReaderStudy) -> None:
    put(copy, [f"R4,{case},A,answered," for case in range(1, N + 1)], LATER)


def add_rest(copy: ReaderStudy) -> None:
    put(copy, ["R5,24,A,answered,"], LATER)


def add_model(copy: ReaderStudy) -> None:
    predicted(copy, "Gamma", "B" * N, LATER)


def name_another_run(copy: ReaderStudy) -> None:
    name_run(PredictionRun.objects.get(study=copy, entry__name="Alpha", number=2), actor=None, at=LATER)


def withdraw_beta(copy: ReaderStudy) -> None:
    withdraw_run(PredictionRun.objects.get(entry__name="Beta", study=copy), "wrong file", actor=None, at=LATER)


def withdraw_reader(copy: ReaderStudy) -> None:
    withdraw(copy.enrolments.get(pseudonym="R1"), actor=User.objects.create(email="c@example.org"), at=LATER)


def withdraw_entry(copy: ReaderStudy) -> None:
    withdraw_model(ModelEntry.objects.get(name="Beta"), "wrong weights", actor=None, at=LATER)


def rename(copy: ReaderStudy) -> None:
    edit_model(ModelEntry.objects.get(name="Beta"), {"name": "Gamma"}, actor=None, at=LATER)


def do_nothing(copy: ReaderStudy) -> None:
    pass


CHOICES: list[Callable[[ReaderStudy], None]] = [
    *(add_reader, add_rest, add_model, name_another_run, withdraw_beta, withdraw_entry, rename, withdraw_reader),
    do_nothing,
]


@pytest.mark.parametrize("choose", CHOICES)
@pytest.mark.parametrize("is_seen", [False, True])
def test_what_is_chosen_in_a_twin_after_its_readings_were_seen(
    choose: Callable[[ReaderStudy], None], *, is_seen: bool
) -> None:
    """``is_seen``: results of the twin were seen before, so that what comes then is late by itself."""
    copy, study = frozen("Copy"), frozen("Trial")
    for one in (copy, study):
        put(one, rows_of(READERS), NOON)
    put(copy, rows_of({"R5": READERS["R1"][::-1]}, skip=("R5,24,",)), NOON)
    for name, letters in MODELS.items():
        predicted(copy, name, letters, NOON)
    run = predicted(copy, "Alpha", "B" * N, NOON)
    PredictionRun.objects.filter(pk=run.pk).update(is_named=False)
    PredictionRun.objects.filter(study=copy, entry__name="Alpha", number=1).update(is_named=True)
    look(study)
    if is_seen:
        see_analysis(analyse_by(QUICK, copy, at=SEEN), actor=None, at=SEEN)
    before = result_now(copy)
    assert is_all_planned(before)
    choose(copy)
    after = result_now(copy)
    assert is_all_planned(after) == (is_seen or choose is do_nothing)
    assert not is_seen or numbers(after, "Alpha") == numbers(before, "Alpha")


# --- the same rows in another study ---------------------------------------------------------------
def test_declined_answers_are_answers_where_rows_are_compared() -> None:
    rows = [
        row if int(row.split(",")[1]) > 5 else f"{row.split(',')[0]},{row.split(',')[1]},,declined,900"
        for row in rows_of(READERS)
    ]
    study, copy = frozen("Trial"), frozen("Copy", LATER)
    put(study, rows, NOON)
    predicted(study, "Alpha", MODELS["Alpha"], NOON)
    predicted(study, "Beta", "x" * 6 + MODELS["Alpha"][6:], NOON)
    look(study)
    put(copy, rows, LATER)
    predicted(copy, "Gamma", "x" * 6 + MODELS["Alpha"][6:], LATER)
    result = result_now(copy)
    assert headings(result)
    assert [one["names"] for one in result["plan"]["runs_seen_before"]] == [["Gamma"]]


WORDINGS: dict[str, Callable[[str], str]] = {
    "a space without width": lambda text: f"{text[:3]}\u200b{text[3:]}",
    "a soft hyphen": lambda text: f"{text[:3]}\u00ad{text[3:]}",
    "wide letters": lambda text: "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text),
}


@pytest.mark.parametrize("way", WORDINGS)
def test_signs_that_nobody_sees_make_no_other_wording(study: ReaderStudy, way: str) -> None:
    def changed(bank: Any, facts: Any) -> Any:
        found = make_revisions(bank, facts)
        for one in found:
            one.stem, one.options = WORDINGS[way](one.stem), list(map(WORDINGS[way], one.options))
            one.save()
        return found

    with patch("tests.readerstudy.studies.make_revisions", changed):
        copy = read_elsewhere(f"With {way}", at=LATER)  # a name of its own: made studies are kept
    stems = [{one.revision.stem for one in made.cases.select_related("revision")} for made in (study, copy)]
    assert stems[0].isdisjoint(stems[1])
    assert headings(result_now(copy))


# --- labels ---------------------------------------------------------------------------------------
def test_planned_pairs_of_a_copy_are_not_planned() -> None:
    plan = AnalysisPlan(pairs=(("Alpha", "R1"),)).as_json()
    for name, at in (("Trial", NOON), ("Copy", LATER)):
        made = frozen(name, at, analysis=plan)
        put(made, rows_of(READERS), at)
        predicted(made, "Alpha", MODELS["Alpha"], at)
        result = look(made) if name == "Trial" else result_now(made)
    assert headings(result)
    assert not any(one["planned"] for one in result["comparisons"])
    [pair] = [one for one in result["comparisons"] if one["family"] == "planned pairs"]
    assert "post_hoc" in pair["p"]["flags"]
    assert "post_hoc" in pair["p_holm"]["flags"]


def test_an_analysis_by_other_settings_from_before_they_were_named(
    study: ReaderStudy, cora: User, client: Client
) -> None:
    new = analyse_by(QUICK, study, at=LATER, chosen=EXCLUDING)
    ReaderStudy.objects.update(seed=QUICK.seed)
    old = Analysis.objects.create(
        study=study,
        inputs_sha256=new.inputs_sha256,
        seed=1,
        settings={name: one for name, one in new.settings.items() if name != "differs"},
        result=new.result.replace(',"differs":["failed_in_accuracy"]', ""),
        result_sha256="0" * 64,
        software={**new.software, "rule": "analysis-3"},
        created_at=NOON,
    )
    words = "not planned: failed extractions left out of accuracy; 100 bootstrap draws"
    link = share_results(Analysis.objects.get(pk=old.pk), days=30, note="", actor=cora, at=timezone.now())
    assert words in client.get(f"/shared/{link.token}/", follow=True).content.decode()
    client.force_login(cora)
    assert words in client.get(f"/studies/trial/results/{old.public_id}/").content.decode()
    assert "left out of accuracy; 100 bootstrap draws" in client.get("/studies/trial/data/").content.decode()


@pytest.mark.parametrize("way", ["run", "model"])
def test_the_mean_of_runs_stays_when_a_bad_one_is_withdrawn(way: str) -> None:
    study = frozen("Trial")
    put(study, rows_of(READERS), NOON)
    predicted(study, "Alpha", MODELS["Alpha"], NOON)
    bad = predicted(study, "Alpha", "A" * N, NOON)

    def runs(result: Any) -> Any:
        return next(one["runs"] for one in result["panels"]["All tasks"]["raters"] if one["name"] == "Alpha")

    before = look(study)
    bad.refresh_from_db()
    if way == "run":
        withdraw_run(bad, "wrong file", actor=None, at=LATER)
    else:
        withdraw_model(ModelEntry.objects.get(), "wrong file", actor=None, at=LATER)
    after = result_now(study)
    assert runs(after) == runs(before)
    [alpha] = [one for one in after["raters"] if one["name"] == "Alpha"]
    assert alpha["left_because"] == ("run 2 withdrawn: wrong file" if way == "run" else "model withdrawn: wrong file")
    assert left_over(after) == []


def other_analysis(study: ReaderStudy, kind: str) -> Analysis:
    """By other settings, or of a copy."""
    if kind == "sensitivity":
        return analyse_by(QUICK, study, at=LATER, chosen=EXCLUDING)
    copy = read_elsewhere("Copy", at=LATER)
    predicted(copy, "Alpha", MODELS["Alpha"], LATER)
    return analyse_by(QUICK, copy, at=LATER)


@pytest.mark.parametrize(("kind", "flag"), [("sensitivity", "settings_differ"), ("copy", "seen_before")])
def test_no_file_says_planned_of_what_is_not(study: ReaderStudy, kind: str, flag: str) -> None:
    analysis = other_analysis(study, kind)
    analysis.study.refresh_from_db()
    result = stored_result(analysis)
    said = [str(row[-1]) for row in checklist_rows(result, facts_of(analysis, result))]
    assert not [one for one in said if one.lower().startswith(("as planned", "planned comparison"))]
    sheets = [*accuracy_sheets(result), *agreement_sheets(result)]
    for table in sheets:
        assert without_flag(table, flag) == [], f"{table.name}.csv does not say it"
    [comparison] = [one for one in sheets if one.name == "comparison"]
    line = [column.name for column in comparison.columns].index("line")
    assert "planned" not in {row[line] for row in comparison.rows}


def without_flag(table: Table, flag: str) -> list[Any]:
    return [
        row for row in table.rows for cell in row if isinstance(cell, dict) and flag not in cell.get("flags", [flag])
    ]


@pytest.mark.parametrize("kind", ["sensitivity", "copy"])
def test_the_workbook_and_the_script_repeat_the_headings(
    study: ReaderStudy, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    analysis = other_analysis(study, kind)
    analysis.study.refresh_from_db()
    for module, name in ((rendering, "render"), (report_writing, "rendered")):
        monkeypatch.setattr(module, name, lambda *_given: b"figure")
    report_writing.write_report(analysis, tmp_path)
    sheet = load_workbook(tmp_path / "tables" / "tables.xlsx").worksheets[0]
    [words] = headings(stored_result(analysis))
    assert [cell.value for cell in sheet["A"]] == ["heading", words]
    assert recompute.main(tmp_path) == 0
    start = "SENSITIVITY ANALYSIS, NOT PLANNED" if kind == "sensitivity" else words.upper().partition(" TRIAL")[0]
    assert capsys.readouterr().out.splitlines()[1].startswith(start)


def test_voidings_after_results_were_seen_make_a_variant_that_is_post_hoc(study: ReaderStudy, cora: User) -> None:
    void_case(study.cases.get(number=12), "ambiguous", actor=cora, at=LATER)
    assert is_post_hoc_variant(result_now(study)["variants"]["without_all_voided"])


def test_an_older_analysis_that_ends_later_does_not_become_the_studys_own(study: ReaderStudy) -> None:
    older = gathering.gathered(study)
    predicted(study, "Late", "B" * N, LATER)
    newer = analyse_by(QUICK, study, at=LATER)
    with patch.object(gathering, "gathered", lambda _study: older):
        analyse_by(QUICK, study, at=LATER)  # asked for before, done after
    assert own_analysis(study) == newer
