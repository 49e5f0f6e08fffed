"""Which run of a model the figures show, which represents it in a study, and runs that are taken back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct, field

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.design.kernels.analysis_plan import PlannedRun, folded, readable_analysis, run_number
from readerstudy.enums import EntryState
from readerstudy.models import PredictionRun, ReaderStudy
from readerstudy.predictions.entries import NAMED, TAKEN_BACK, lock_entry, names_at
from readerstudy.predictions.importing import is_before_unblinding
from readerstudy.predictions.kernels.records import PredictionsRefused
from readerstudy.study.permissions import lock_study


@transaction.atomic
def name_run(run: PredictionRun, *, actor: User | None, at: datetime) -> None:
    """The figures show this run instead of the one named before. Naming it again changes nothing.

    Once results of the study were seen, the choice is stored as made afterwards.
    """
    _lock_run(run)
    if run.withdrawn_at is not None:
        raise PredictionsRefused("run_withdrawn", _("This run is withdrawn and cannot be the main run."))
    if run.is_named:
        return
    others = PredictionRun.objects.filter(entry=run.entry_id, study=run.study_id, bank=run.bank_id, is_named=True)
    before = others.values_list("number", flat=True).first()
    others.update(is_named=False)
    run.is_named, run.named_at = True, at
    run.named_before_unblinding = is_before_unblinding(run.study)
    run.save(update_fields=["is_named", "named_at", "named_before_unblinding"])
    facts = {**_facts(run), "instead_of": before, "before_unblinding": run.named_before_unblinding}
    record(NAMED, actor=actor, at=at, subject=run.entry, facts=facts)


@transaction.atomic
def withdraw_run(run: PredictionRun, reason: str, *, actor: User | None, at: datetime) -> None:
    """Take a run out of the figures; its predictions stay stored."""
    _lock_run(run)
    reason = reason.strip()
    if not reason:
        raise PredictionsRefused("no_reason", _("Say why the run is withdrawn."))
    if run.withdrawn_at is not None:
        raise PredictionsRefused("run_withdrawn", _("This run is withdrawn already."))
    was_named = run.is_named
    run.is_named, run.withdrawn_at, run.withdrawn_because = False, at, reason
    run.save(update_fields=["is_named", "withdrawn_at", "withdrawn_because"])
    facts = {**_facts(run), "reason": reason, "was_named": was_named}
    record(TAKEN_BACK, actor=actor, at=at, subject=run.entry, facts=facts)


def is_post_hoc(run: PredictionRun) -> bool:
    """Whether the named run of a study was chosen after somebody had seen a result: nobody can have planned it.

    A run that comes in after that can only be named after it. Neither can a model have been planned under a name that
    it was given later.
    """
    return is_renamed(run) or not (run.named_before_unblinding or run.was_planned)


def is_renamed(run: PredictionRun) -> bool:
    """Whether its model was given another name or version after somebody had seen a result of the study."""
    seen_at, renamed_at = run.study.unblinded_at if run.study else None, run.entry.renamed_at
    return seen_at is not None and renamed_at is not None and renamed_at >= seen_at


def left_because(run: PredictionRun, *, is_chosen: bool = False) -> str:
    """Why a planned run no longer represents its model; empty while it does. ``is_chosen``: by the plan."""
    entry = run.entry
    if run.withdrawn_at is not None:
        return _("run withdrawn: %(why)s") % {"why": run.withdrawn_because}
    if entry.state == EntryState.WITHDRAWN:
        return _("model withdrawn: %(why)s") % {"why": entry.withdrawn_because}
    if entry.state == EntryState.REPLACED:
        return _("model replaced by %(name)s") % {"name": entry.replaced_by}
    return "" if run.is_named or is_chosen else _("another run of the model was named")


def withdrawn_among(runs: Iterable[PredictionRun]) -> str:
    """Further runs of a planned model that were taken back after results were seen: they stay in the mean of runs."""
    sentence = _("run %(number)s withdrawn: %(why)s")
    gone = (run for run in runs if run.withdrawn_at is not None)
    return "; ".join(sentence % {"number": run.number, "why": run.withdrawn_because} for run in gone)


def _lock_run(run: PredictionRun) -> None:
    """Lock the entry of the run, and its study, and bring the run up to date.

    Refused once the entry is not listed.
    """
    lock_entry(run.entry)
    if run.study is not None:
        lock_study(run.study)
    run.refresh_from_db(fields=["is_named", "named_at", "withdrawn_at"])


def _facts(run: PredictionRun) -> dict[str, object]:
    return {"run": run.public_id, "number": run.number, "on": run.study.name if run.study else run.bank.name}


# --- which runs represent the models of a study: those that its plan names, else the main runs
class StudyRun(Struct, frozen=True):
    """One row of an analysis."""

    run: PredictionRun
    planned_as: str = ""  # by the plan: "mean of all runs", "run 2"; empty: nothing
    is_met: bool = True  # the run that the plan names is there
    mean_of: Sequence[PredictionRun] = field(default=())  # where the plan names the mean of runs

    @property
    def is_planned(self) -> bool:
        """Whether it stood for its model when somebody first saw a result, as the plan asks."""
        return self.run.was_planned and self.is_met

    @property
    def is_post_hoc(self) -> bool:
        if not self.is_met:
            return True
        if self.planned_as and _is_blind(self.run):
            return is_renamed(self.run)
        return is_post_hoc(self.run)

    @property
    def mean_numbers(self) -> list[int]:
        """The numbers of the runs in the mean; none where they came in after unblinding, or where there is one run."""
        numbers = sorted(run.number for run in self.mean_of)
        return numbers if len(numbers) > 1 and _is_blind(self.run) else []

    @property
    def left_because(self) -> str:
        reasons = (
            left_because(run, is_chosen=bool(self.planned_as) and self.is_met) for run in self.mean_of or [self.run]
        )
        return next(filter(None, reasons), "") if self.is_planned else ""


class StudyRuns(Struct, frozen=True):
    rows: Sequence[StudyRun]
    nobody: Sequence[PlannedRun] = ()  # lines of the plan that mean no model, or several

    @property
    def runs(self) -> set[int]:
        """The keys of all runs whose answers represent a model."""
        return {run.pk for row in self.rows for run in (row.run, *row.mean_of)}


def runs_of_study(study: ReaderStudy, found: Sequence[PredictionRun]) -> StudyRuns:
    """``found``: the runs of this study that can count."""
    of_entry: dict[int, list[PredictionRun]] = {}
    for run in found:
        of_entry.setdefault(run.entry_id, []).append(run)
    planned_as, nobody = _planned_as(study, of_entry)
    rows = [row for entry, runs in of_entry.items() for row in _rows(runs, planned_as.get(entry, ""))]
    return StudyRuns(rows, nobody)


def mark_planned(study: ReaderStudy) -> None:
    """What represents its model now is planned, whatever becomes of it."""
    found_runs = runs_of_study(study, list(PredictionRun.objects.live_on(study).select_related("study")))
    PredictionRun.objects.filter(pk__in=found_runs.runs).update(was_planned=True)


def _rows(runs: Sequence[PredictionRun], planned_as: str) -> list[StudyRun]:
    """Of one model. What came in after unblinding does not stand in for what the plan meant."""
    named = [run for run in runs if run.is_named or run.was_planned]
    if not planned_as:
        return [StudyRun(run) for run in named]
    early = [run for run in runs if run.was_planned]
    chosen, number = early or runs, run_number(planned_as)
    if number is None:
        return [StudyRun(max(chosen, key=_named_last), planned_as, mean_of=chosen)]
    wanted = [run for run in chosen if run.number == number]
    if wanted:
        return [StudyRun(wanted[0], planned_as)]
    return [StudyRun(run, planned_as, is_met=False) for run in named[:1]]


def _is_blind(run: PredictionRun) -> bool:
    """It was there when somebody first saw a result, or nobody has seen one."""
    return run.was_planned or run.study is None or run.study.unblinded_at is None


def came_late(run: PredictionRun) -> bool:
    """It came in after somebody had seen a result, and stood for no model before."""
    seen_at = run.study.unblinded_at if run.study else None
    return seen_at is not None and run.imported_at > seen_at and not _is_blind(run)


def _named_last(run: PredictionRun) -> tuple[bool, bool, float, int]:
    """The run that was named last while blind, else the one that is named, else the first."""
    named_at = run.named_at.timestamp() if run.named_at else 0.0
    return run.named_before_unblinding and run.was_planned, run.is_named, named_at, -run.number


def _planned_as(
    study: ReaderStudy, of_entry: Mapping[int, Sequence[PredictionRun]]
) -> tuple[dict[int, str], list[PlannedRun]]:
    """What the plan says of each model, by its entry; and the lines that mean none, several, or one named before.

    A model that came after unblinding takes its name from nobody who was there before.
    """
    found: dict[int, str] = {}
    nobody: list[PlannedRun] = []
    plan = readable_analysis(study.analysis)
    lines = plan.runs if plan else ()
    called = {entry: _called(runs[0]) for entry, runs in of_entry.items()} if lines else {}
    for name, planned_as in lines:
        meant = [entry for entry, names in called.items() if folded(name) in names]
        early = [entry for entry in meant if any(run.was_planned for run in of_entry[entry])] or meant
        if len(early) == 1 and early[0] not in found:
            found[early[0]] = planned_as
        else:
            nobody.append((name, planned_as))
    return found, nobody


def _called(run: PredictionRun) -> set[str]:
    names = [run.entry.name, str(run.entry)]
    if is_renamed(run) and run.study is not None and run.study.unblinded_at is not None:
        names = names_at(run.entry, run.study.unblinded_at)
    return set(map(folded, names))
