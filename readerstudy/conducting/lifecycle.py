"""A reader study is opened for its readers, closed, analysed in the background, and archived or deleted."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NotRequired, TypedDict

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.audit import deleting
from annotation.audit.deleting import BinRefused, note_purged
from annotation.audit.recording import record
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue, job_under_way
from annotation.models import Invitation, Job, QuestionBank, User
from readerstudy.design.checking import hindrances_of
from readerstudy.design.freezing import commitment_holds
from readerstudy.enums import OVER, Block, StudyState
from readerstudy.models import ReaderStudy, Response
from readerstudy.predictions.looks import may_see_results
from readerstudy.study.overview import unfinished
from readerstudy.study.permissions import StudyRefused, check_not_archived, check_transition, lock_study


@transaction.atomic
def open_study(study: ReaderStudy, *, actor: User | None, at: datetime) -> None:
    """Readers read from now on. Opening an open study changes nothing.

    Refused for a draft, a closed and an archived study, and while an image is missing or not the one that was frozen.
    """
    lock_study(study)
    if study.state == StudyState.OPEN:
        return
    check_transition(study, StudyState.OPEN)
    check_not_archived(study)
    hindrances = hindrances_of(study)
    if hindrances:
        raise StudyRefused("has_problems", " ".join(hindrances))
    study.state, study.opened_at = StudyState.OPEN, at
    study.save(update_fields=["state", "opened_at"])
    record("study.opened", actor=actor, at=at, subject=study)


@transaction.atomic
def close_study(study: ReaderStudy, *, actor: User | None, at: datetime, confirmed_open: int = 0) -> None:
    """Nothing is read from now on, and what was read is analysed in the background. Closing twice changes nothing.

    ``confirmed_open`` is the number of readers without an end that the person was shown and agreed to leave. Refused
    (``not_complete``, with ``n_open``) when another number is unfinished.
    """
    lock_study(study)
    if study.state in OVER:
        return
    check_transition(study, StudyState.CLOSED)
    n_open = unfinished(study).count()
    if n_open != confirmed_open:
        sentence = ngettext(
            "%(n)s reader has not finished yet. Close the study without the rest?",
            "%(n)s readers have not finished yet. Close the study without the rest?",
            n_open,
        )
        raise StudyRefused("not_complete", sentence % {"n": n_open}, n_open=n_open)
    study.state, study.closed_at = StudyState.CLOSED, at
    study.save(update_fields=["state", "closed_at"])
    facts: dict[str, object] = {"n_open": n_open}
    if study.protocol:
        facts["commitment_holds"] = commitment_holds(study)
    record("study.closed", actor=actor, at=at, subject=study, facts=facts)
    if Response.objects.filter(reading__enrolment__study=study, reading__case__block=Block.MAIN).exists():
        ask_for_analysis(study, actor=actor, at=at)


# --- an analysis as a job: asked for by a button, and by the closing of a study -------------------
class AnalysisParams(TypedDict):
    study: int
    actor: int | None
    others: NotRequired[dict[str, str]]  # settings that are not those of the plan, by their names


KIND: JobKind[AnalysisParams] = JobKind("analyse_study")


def ask_for_analysis(
    study: ReaderStudy, *, others: Mapping[str, str] | None = None, actor: User | None, at: datetime
) -> Job:
    title = _("Sensitivity analysis of %(study)s") if others else _("Analysis of %(study)s")
    title %= {"study": study.name[:150]}
    params = AnalysisParams(study=study.pk, actor=actor.pk if actor else None, others=dict(others or {}))
    return enqueue(KIND, title, params, actor=actor, at=at)


def ask_for_results(study: ReaderStudy, *, others: Mapping[str, str] | None = None, actor: User, at: datetime) -> Job:
    """As ``ask_for_analysis``, once results may be seen; one that waits or runs already is enough.

    ``others``: settings that are not those of the plan, for a sensitivity analysis, which is always one more.
    """
    if not may_see_results(study):
        sentence = _("Results are available after closing; the analysis runs automatically then.")
        raise StudyRefused("results_hidden", sentence, status=403)
    under_way = None if others else analysis_under_way(study)
    return under_way or ask_for_analysis(study, others=others, actor=actor, at=at)


def run_analysis(progress: Progress, params: AnalysisParams) -> Result:
    """The handler: computes, then draws what pages show. Run twice it stores once; nobody sees a result by it."""
    from readerstudy.analysis.kernels.scoring import read_settings
    from readerstudy.analysis.storing import analyse_study, default_settings
    from readerstudy.results.looking import prepare_figures

    study = ReaderStudy.objects.get(pk=params["study"])
    progress.report(0, 2)
    actor = User.objects.filter(pk=params["actor"]).first() if params["actor"] else None
    settings = read_settings({**default_settings(study).as_json(), **params.get("others", {})})
    analysis = analyse_study(study, actor=actor, at=timezone.now(), settings=settings)
    progress.report(1, 2)
    prepare_figures(analysis)
    progress.report(2, 2)
    return {"study": study.slug, "analysis": analysis.public_id, "inputs_sha256": analysis.inputs_sha256}


def analysis_under_way(study: ReaderStudy) -> Job | None:
    """An analysis of this study that waits or runs."""
    return job_under_way(KIND, study=study.pk)


# --- archived, or a draft that is deleted ---------------------------------------------------------
@transaction.atomic
def archive(study: ReaderStudy, *, actor: User, at: datetime) -> None:
    """Out of the lists; everything stays readable. Raises StudyRefused while open."""
    lock_study(study)
    if study.state == StudyState.OPEN:
        raise StudyRefused("open", _("The study is open: close it before you archive it."))
    deleting.archive(study, actor=actor, at=at)


@transaction.atomic
def bring_back(study: ReaderStudy, *, actor: User, at: datetime) -> None:
    lock_study(study)
    deleting.bring_back(study, actor=actor, at=at)


def hide_study(study: ReaderStudy) -> None:
    """Only a draft goes into the bin. Raises BinRefused once it is frozen, and while copies or readers belong to it."""
    if study.state != StudyState.DRAFT:
        raise BinRefused("frozen", _("The study is frozen and stays: archive it instead."))
    if study.copies.exists() or study.enrolments.exists():
        raise BinRefused("in_use", _("Copies or readers belong to this study: archive it instead."))


def show_study(study: ReaderStudy) -> None:
    """Raises BinRefused while its bank is in the bin."""
    if study.bank.deleted_at is not None:
        raise BinRefused("bank_in_bin", _("Restore its question bank “%(name)s” first.") % {"name": study.bank.name})


@transaction.atomic
def purge_study(study: ReaderStudy, at: datetime) -> bool:
    """With its cases, roles and invitations; not while a copy of it is in the bin."""
    if ReaderStudy.everywhere.filter(copy_of=study).exists():
        return False
    note_purged(study, at=at)
    Invitation.objects.filter(to_study__study=study).delete()
    study.delete()
    return True


def consequences_of_study(study: ReaderStudy) -> list[str]:
    n = study.cases.count()
    choice = ngettext("The choice of its %(n)s case", "The choice of its %(n)s cases", n) % {"n": n}
    return [
        _("%(choice)s, its rules and its plan are hidden. The question bank keeps its questions.") % {"choice": choice}
    ]


def use_of_bank(bank: QuestionBank) -> str:
    """Why the bank cannot be deleted; empty where no study has its questions."""
    kept = ReaderStudy.objects if bank.deleted_at is None else ReaderStudy.everywhere  # it waits for those in the bin
    if kept.filter(bank=bank).exists():
        return _("A reader study uses questions of this bank: archive the bank instead.")
    return ""
