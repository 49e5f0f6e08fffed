"""Whoever has seen the results can choose nothing any more: each way of trying it, where the study was read here and
where its readings were imported."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from annotation.models import AuditEvent, User
from readerstudy.analysis.kernels.labels import CAME_LATE
from readerstudy.analysis.storing import is_stale, see_analysis
from readerstudy.design.kernels.documents import VoidingRow
from readerstudy.design.voiding import import_voidings, void_case
from readerstudy.enums import StudyState
from readerstudy.models import ModelEntry, PredictionRun, ReaderStudy
from readerstudy.predictions.entries import edit_model, replace_model, withdraw_model
from readerstudy.predictions.listing import Target
from readerstudy.predictions.runs import name_run, withdraw_run
from readerstudy.reading.response_import import import_responses
from readerstudy.results.looking import stored_result
from tests.annotation.review.cases import NOON
from tests.made_once import made_once
from tests.readerstudy.analysis.made import analyse_by
from tests.readerstudy.predictions.made import answers, import_file
from tests.readerstudy.report.made import QUICK
from tests.readerstudy.studies import make_study

pytestmark = pytest.mark.django_db
N = 12
READERS = {"R1": "BBBBBABABBAA", "R2": "BBABBABBBBAA", "R3": "BBBABBAABABA"}
MODELS = {"Alpha": "BBBBBBBBBBAA", "Beta": "BABABABBABAB"}

SEEN, LATER = NOON + timedelta(hours=1), NOON + timedelta(hours=2)
SeenStudy = tuple[ReaderStudy, Any]


def predicted(study: ReaderStudy, name: str, letters: str, at: datetime) -> PredictionRun:
    entry, _made = ModelEntry.objects.get_or_create(name=name, defaults={"created_at": at})
    given = {str(number): letter for number, letter in enumerate(letters, 1)}
    run = import_file(entry, Target.of_study(study), answers(**given), at=at).run
    assert run is not None
    return run


def result_of(study: ReaderStudy) -> Any:
    study.refresh_from_db()
    return stored_result(analyse_by(QUICK, study, at=LATER))


def numbers(result: Any, *names: str) -> list[tuple[str, float, float]]:
    """Planned difference and adjusted p of these models."""
    rows = [one for one in result["comparisons"] if one["family"] == "primary" and one["first"] in names]
    return [(one["first"], one["difference"]["value"], one["p_holm"]["value"]) for one in rows]


def left_over(result: Any) -> list[str]:
    return [
        one["first"] for one in result["comparisons"] if one["family"] == "post hoc" and one["panel"] == "All tasks"
    ]


@made_once
def seen_study(*, opened: bool) -> ReaderStudy:
    """Imported readings; ``opened``: somebody opened and closed it as well. Its results have been looked at."""
    state, at = (StudyState.CLOSED, NOON) if opened else (StudyState.FROZEN, None)
    study = make_study("Trial", n_cases=N, state=state, opened_at=at, n_orders=0)
    rows = [f"{name},{case},{said[case - 1]},answered" for name, said in READERS.items() for case in range(1, N + 1)]
    text = "\n".join(["reader,case,option,state", *rows]).encode()
    assert import_responses(study, name="old.csv", content=text, actor=None, at=NOON).stored
    for name, letters in MODELS.items():
        predicted(study, name, letters, NOON)
    see_analysis(analyse_by(QUICK, study, at=NOON), actor=None, at=SEEN)
    study.refresh_from_db()
    assert study.unblinded_at == SEEN
    return study


@pytest.fixture(params=["read elsewhere", "opened and closed"])
def seen(request: pytest.FixtureRequest) -> SeenStudy:
    study = seen_study(opened=request.param == "opened and closed")
    return study, stored_result(study.analyses.get())


def test_seeing_the_results_makes_no_analysis_stale(seen: SeenStudy) -> None:
    study, _before = seen
    [analysis] = study.analyses.all()
    assert not is_stale(analysis)


def test_voidings_that_favour_a_model_leave_the_planned_comparison_as_it_was(seen: SeenStudy, cora: User) -> None:
    study, before = seen
    void_case(study.cases.get(number=12), "ambiguous", actor=cora, at=LATER)
    rows = [VoidingRow(line, str(number), "ambiguous") for line, number in enumerate((1, 3), 2)]
    import_voidings(study, rows, source="voidings.csv", actor=None, at=LATER)
    result = result_of(study)
    assert numbers(result, *MODELS) == numbers(before, *MODELS)
    assert result["questions"]["n_scored"] == N
    assert {one["decided"] for one in result["excluded"]} == {"after_unblinding"}
    line = result["variants"]["without_all_voided"]
    assert (line["label"], line["n"]) == ("sensitivity: without the cases voided after unblinding too", N - 3)
    events = AuditEvent.objects.filter(act__in=["study.case_voided", "study.voidings_imported"])
    assert {one.facts["before_unblinding"] for one in events} == {False}


def test_a_model_made_from_the_key_is_post_hoc_with_its_date(seen: SeenStudy) -> None:
    study, before = seen
    predicted(study, "Keyed", "B" * N, LATER)
    result = result_of(study)
    assert numbers(result, *MODELS) == numbers(before, *MODELS)
    assert left_over(result) == ["Keyed"]
    [rater] = [one for one in result["raters"] if one["name"] == "Keyed"]
    assert (rater["post_hoc"], rater["imported_at"]) == (True, LATER.isoformat())
    assert result["panels"]["All tasks"]["groups"] == before["panels"]["All tasks"]["groups"]


def test_a_new_version_does_not_take_the_name_that_the_plan_means(seen: SeenStudy) -> None:
    study, before = seen
    entry = ModelEntry.objects.create(name="Alpha", version="0", created_at=LATER)
    given = {str(number): "B" for number in range(1, N + 1)}
    import_file(entry, Target.of_study(study), answers(**given), at=LATER)
    result = result_of(study)
    assert numbers(result, *MODELS) == numbers(before, *MODELS)
    assert left_over(result) == ["Alpha 0"]


def test_a_better_run_that_is_named_afterwards_stands_beside_the_planned_one(seen: SeenStudy) -> None:
    study, before = seen
    better = predicted(study, "Alpha", "B" * N, LATER)
    name_run(better, actor=None, at=LATER)
    result = result_of(study)
    assert numbers(result, *MODELS) == numbers(before, *MODELS)
    assert left_over(result) == ["Alpha (run 2)"]
    [planned] = [one for one in result["raters"] if one["name"] == "Alpha"]
    assert planned["left_because"] == "another run of the model was named"
    assert AuditEvent.objects.get(act="predictions.named").facts["before_unblinding"] is False


@pytest.mark.parametrize("way", ["run", "model", "replaced"])
def test_an_unwelcome_model_that_is_withdrawn_afterwards_stays(seen: SeenStudy, way: str) -> None:
    """Fewer models in the family would make the others more significant."""
    study, before = seen
    run = PredictionRun.objects.get(entry__name="Beta")
    if way == "run":
        withdraw_run(run, "wrong file", actor=None, at=LATER)
    elif way == "model":
        withdraw_model(run.entry, "wrong weights", actor=None, at=LATER)
    else:
        replace_model(run.entry, {"name": "Beta", "version": "2"}, actor=None, at=LATER)
    result = result_of(study)
    assert numbers(result, *MODELS) == numbers(before, *MODELS)
    [beta] = [one for one in result["raters"] if one["name"] == "Beta"]
    assert beta["left_because"]
    assert not beta["post_hoc"]


def test_a_renamed_model_is_post_hoc_and_the_p_of_the_others_stay(seen: SeenStudy) -> None:
    study, before = seen
    edit_model(ModelEntry.objects.get(name="Beta"), {"name": "Gamma"}, actor=None, at=LATER)
    result = result_of(study)
    assert numbers(result, "Alpha", "Beta", "Gamma") == numbers(before, "Alpha")
    assert left_over(result) == ["Gamma"]
    [gamma] = [one for one in result["raters"] if one["name"] == "Gamma"]
    assert gamma["planned_as"] == ["Beta"]
    assert result["panels"]["All tasks"]["groups"] == before["panels"]["All tasks"]["groups"]


def test_readers_who_come_afterwards_count_in_a_labelled_variant_only(seen: SeenStudy) -> None:
    """Whoever adds a reader, or the rest of one, knows which model that helps."""
    study, before = seen
    rows = [f"R4,{case},A,answered" for case in range(1, N + 1)]
    text = "\n".join(["reader,case,option,state", *rows]).encode()
    assert import_responses(study, name="more.csv", content=text, actor=None, at=LATER).stored
    result = result_of(study)
    for part in ("comparisons", "mrmc", "panels", "time", "tables", "order", "raters", "plan"):
        assert result[part] == before[part], f"{part}: a reader who came late changes nothing of it"
    assert [(one["reader"], one["reason"]) for one in result["excluded"]] == [("R4", CAME_LATE)]
    variant = result["variants"]["with_late_readers"]
    assert "R4" in [one["name"] for one in variant["panels"]["All tasks"]["raters"]]
    assert variant["mrmc"]["readers"]["n_readers"] == before["mrmc"]["readers"]["n_readers"] + 1
    assert {one["planned"] for one in variant["comparisons"]} == {False}
    assert unlabelled(variant, "post_hoc") == []


def unlabelled(part: Any, flag: str, place: str = "") -> list[str]:
    """Where a value stands in it without the flag."""
    if isinstance(part, dict):
        own = [place] if flag not in part.get("flags", [flag]) else []
        return [*own, *(found for name, one in part.items() for found in unlabelled(one, flag, f"{place}.{name}"))]
    if isinstance(part, list):
        return [found for one in part for found in unlabelled(one, flag, place)]
    return []


def test_what_is_chosen_while_blind_is_planned(seen: SeenStudy) -> None:
    """In the same way, one hour earlier."""
    study, _before = seen
    ReaderStudy.objects.filter(pk=study.pk).update(unblinded_at=None)
    PredictionRun.objects.update(was_planned=False)
    study.refresh_from_db()
    withdraw_run(PredictionRun.objects.get(entry__name="Beta"), "wrong file", actor=None, at=NOON)
    edit_model(ModelEntry.objects.get(name="Alpha"), {"name": "Gamma"}, actor=None, at=NOON)
    import_voidings(study, [VoidingRow(2, "1", "ambiguous")], source="voidings.csv", actor=None, at=NOON)
    result = result_of(study)
    assert [name for name, *_numbers in numbers(result, *MODELS, "Gamma")] == ["Gamma"]
    assert (left_over(result), result["questions"]["n_scored"]) == ([], N - 1)
