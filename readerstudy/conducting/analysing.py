"""An analysis as a job: asked for by a button, and by the closing of a study."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.enums import JobState
from annotation.jobs.handlers import Params, Progress, Result
from annotation.jobs.queueing import enqueue
from annotation.models import Job, User
from readerstudy.models import ReaderStudy

KIND = "analyse_study"


def ask_for_analysis(study: ReaderStudy, *, actor: User | None, at: datetime) -> Job:
    title = _("Analysis of %(study)s") % {"study": study.name[:150]}
    return enqueue(KIND, title, {"study": study.pk, "actor": actor.pk if actor else None}, actor=actor, at=at)


def run_analysis(progress: Progress, params: Params) -> Result:
    """The handler: computes, then draws what pages show. Run twice it stores once; nobody sees a result by it."""
    from readerstudy.analysis.storing import analyse_study
    from readerstudy.figures.figure_files import prepare_figures

    study = ReaderStudy.objects.get(pk=params["study"])
    progress.report(0, 2)
    actor = User.objects.filter(pk=params["actor"]).first()
    analysis = analyse_study(study, actor=actor, at=timezone.now())
    progress.report(1, 2)
    prepare_figures(analysis)
    progress.report(2, 2)
    return {"study": study.slug, "analysis": analysis.public_id, "inputs_sha256": analysis.inputs_sha256}


def job_under_way(study: ReaderStudy) -> Job | None:
    """An analysis of this study that waits or runs."""
    unfinished = Job.objects.filter(kind=KIND, state__in=[JobState.QUEUED, JobState.RUNNING])
    return unfinished.filter(params__study=study.pk).first()
