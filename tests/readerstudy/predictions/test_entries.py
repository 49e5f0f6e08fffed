"""Model entries and their runs: changed with history, named beforehand, withdrawn, never deleted."""

from __future__ import annotations

from datetime import datetime

import pytest

from annotation.models import User
from readerstudy.enums import EntryState
from readerstudy.models import ModelEntry, PredictionRun, ReaderStudy
from readerstudy.predictions.entries import (
    edit_model,
    enter_model,
    find_entry,
    history_of,
    replace_model,
    withdraw_model,
)
from readerstudy.predictions.kernels.records import PredictionsRefused
from readerstudy.predictions.listing import Target
from readerstudy.predictions.runs import is_post_hoc, name_run, withdraw_run
from tests.annotation.review.cases import NOON
from tests.readerstudy.predictions.made import answers, entry_named, import_file
from tests.readerstudy.studies import make_study

pytestmark = pytest.mark.django_db


def words(entry: ModelEntry, *runs: PredictionRun) -> list[str]:
    return [one.words for one in history_of(entry, {run.public_id for run in runs})]


def run_on(study: ReaderStudy, entry: ModelEntry, option: str) -> PredictionRun:
    run = import_file(entry, Target.of_study(study), answers(**{"1": option})).run
    assert run is not None
    return run


def shown(study: ReaderStudy) -> list[int]:
    return [run.number for run in PredictionRun.objects.live_on(study).filter(is_named=True)]


@pytest.mark.logs("model.edited")
def test_what_stood_there_before_stays_in_the_history(cora: User) -> None:
    entry = enter_model({"name": "M", "prompt": "Look."}, actor=cora, at=NOON)
    edit_model(entry, {"prompt": "Look twice.", "name": "M"}, actor=None, at=NOON)
    edit_model(entry, {"prompt": "Look twice."}, actor=None, at=NOON)
    edited, entered = history_of(entry, ())
    assert (entered.who, edited.who) == ("Cora", "")
    assert [(one.field, one.before, one.after) for one in edited.changes] == [("Prompt", "Look.", "Look twice.")]


def test_a_name_and_version_are_listed_once() -> None:
    first = enter_model({"name": "M", "version": "1"}, actor=None, at=NOON)
    second = enter_model({"name": "M", "version": "2"}, actor=None, at=NOON)
    with pytest.raises(PredictionsRefused, match="listed already"):
        enter_model({"name": "M", "version": "1"}, actor=None, at=NOON)
    with pytest.raises(PredictionsRefused, match="listed already"):
        edit_model(second, {"version": "1"}, actor=None, at=NOON)
    with pytest.raises(PredictionsRefused, match="Several versions"):
        find_entry("M", None)
    assert (find_entry("M", "1"), find_entry("M", "3"), find_entry("N", None)) == (first, None, None)
    withdraw_model(first, "wrong weights", actor=None, at=NOON)
    assert find_entry("M", None) == ModelEntry.objects.get(pk=second.pk)
    enter_model({"name": "M", "version": "1"}, actor=None, at=NOON)


@pytest.mark.logs("model.replaced", "model.withdrawn")
def test_replaced_and_withdrawn_models_leave_the_figures_and_stay() -> None:
    study = make_study("Trial", n_cases=1)
    one, two = entry_named("One"), entry_named("Two")
    run_on(study, one, "A")
    run_on(study, two, "A")
    successor = replace_model(one, {"name": "One"}, actor=None, at=NOON)
    withdraw_model(two, "it saw the cases", actor=None, at=NOON)
    assert shown(study) == []
    assert PredictionRun.objects.count() == 2
    one.refresh_from_db()
    assert (one.state, one.replaced_by) == (EntryState.REPLACED, successor)
    assert "replaced by “One”" in words(one)[0]
    with pytest.raises(PredictionsRefused, match="cannot change any more"):
        edit_model(one, {"name": "X"}, actor=None, at=NOON)
    with pytest.raises(PredictionsRefused, match="cannot change any more"):
        replace_model(two, {"name": "Two"}, actor=None, at=NOON)
    with pytest.raises(PredictionsRefused, match="why"):
        withdraw_model(successor, "  ", actor=None, at=NOON)


def test_one_run_is_named_and_another_can_be_before_results_are_seen() -> None:
    study, entry = make_study("Trial", n_cases=1), entry_named()
    first, second = run_on(study, entry, "A"), run_on(study, entry, "B")
    assert shown(study) == [1]
    name_run(second, actor=None, at=NOON)
    name_run(second, actor=None, at=NOON)
    second.refresh_from_db()
    assert (shown(study), second.named_before_unblinding) == ([2], True)
    assert words(entry, first, second)[0] == "run 2 on “Trial” made the main run instead of run 1"
    assert words(entry) == []
    ReaderStudy.objects.filter(pk=study.pk).update(unblinded_at=NOON)
    name_run(PredictionRun.objects.get(pk=first.pk), actor=None, at=NOON)
    first.refresh_from_db()
    assert (shown(study), first.named_before_unblinding) == ([1], False)


@pytest.mark.logs("predictions.withdrawn")
def test_a_withdrawn_run_is_not_named_again() -> None:
    study, entry = make_study("Trial", n_cases=1), entry_named()
    first = run_on(study, entry, "A")
    withdraw_run(first, "wrong file", actor=None, at=NOON)
    assert shown(study) == []
    with pytest.raises(PredictionsRefused, match="withdrawn"):
        name_run(first, actor=None, at=NOON)
    assert run_on(study, entry, "A").number == 2  # the same file again, as a new run
    assert shown(study) == [2]


@pytest.mark.parametrize("opened", [NOON, None])
def test_a_run_that_comes_in_after_unblinding_is_post_hoc_wherever_the_study_was_read(opened: datetime | None) -> None:
    study = make_study("Old", n_cases=1, opened_at=opened)
    assert not is_post_hoc(run_on(study, entry_named("Early"), "A"))
    ReaderStudy.objects.filter(pk=study.pk).update(unblinded_at=NOON)
    study.refresh_from_db()
    assert is_post_hoc(run_on(study, entry_named("Late"), "A"))
