"""Which run of a model the figures show, and runs that are taken back."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.enums import EntryState
from readerstudy.models import PredictionRun
from readerstudy.predictions.entries import lock_entry
from readerstudy.predictions.importing import is_before_unblinding
from readerstudy.predictions.kernels.records import PredictionsRefused
from readerstudy.study.locking import lock_study

NAMED, TAKEN_BACK = "predictions.named", "predictions.withdrawn"


@transaction.atomic
def name_run(run: PredictionRun, *, actor: User | None, at: datetime) -> None:
    """The figures show this run instead of the one named before. Naming it again changes nothing.

    Once results of the study were seen, the choice is stored as made afterwards.
    """
    _hold(run)
    if run.withdrawn_at is not None:
        raise PredictionsRefused("run_withdrawn", _("This run is withdrawn and cannot be named for the figures."))
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
    _hold(run)
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
    """Why a planned run stands no longer for its model; empty while it does. ``is_chosen``: by the plan."""
    entry = run.entry
    if run.withdrawn_at is not None:
        return _("run withdrawn: %(why)s") % {"why": run.withdrawn_because}
    if entry.state == EntryState.WITHDRAWN:
        return _("model withdrawn: %(why)s") % {"why": entry.withdrawn_because}
    if entry.state == EntryState.REPLACED:
        return _("model replaced by %(name)s") % {"name": entry.replaced_by}
    return "" if run.is_named or is_chosen else _("another run of the model was named")


def _hold(run: PredictionRun) -> None:
    """Lock the entry of the run, and its study, and bring the run up to date.

    Refused once the entry is not listed.
    """
    lock_entry(run.entry)
    if run.study is not None:
        lock_study(run.study)
    run.refresh_from_db(fields=["is_named", "named_at", "withdrawn_at"])


def _facts(run: PredictionRun) -> dict[str, object]:
    return {"run": run.public_id, "number": run.number, "on": run.study.name if run.study else run.bank.name}
