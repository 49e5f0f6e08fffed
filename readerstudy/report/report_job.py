"""A report as a job: asked for by a button."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.enums import JobState
from annotation.jobs.handlers import Params, Progress, Result
from annotation.jobs.queueing import enqueue
from annotation.models import Job, User
from readerstudy.models import Analysis

KIND = "make_report"
UNDER_WAY = (JobState.QUEUED, JobState.RUNNING)


def ask_for_report(analysis: Analysis, *, actor: User | None, at: datetime) -> Job:
    """One that waits or runs already is enough."""
    newest = newest_job(analysis)
    if newest is not None and newest.state in UNDER_WAY:
        return newest
    title = _("Report of %(study)s") % {"study": analysis.study.name[:150]}
    params = {"analysis": analysis.pk, "actor": actor.pk if actor else None}
    return enqueue(KIND, title, params, actor=actor, at=at)


def newest_job(analysis: Analysis) -> Job | None:
    return Job.objects.filter(kind=KIND, params__analysis=analysis.pk).order_by("-pk").first()


def run_report(progress: Progress, params: Params) -> Result:
    """The handler. Run twice it stores once; nobody sees a result by it."""
    from readerstudy.report.making import make_report  # draws with matplotlib, slow to load

    analysis = Analysis.objects.select_related("study__bank").get(pk=params["analysis"])
    actor = User.objects.filter(pk=params["actor"]).first()
    report = make_report(analysis, actor=actor, at=timezone.now(), tell=progress.report)
    return {
        "study": analysis.study.slug,
        "analysis": analysis.public_id,
        "report": report.public_id,
        "files": len(report.contents),
        "sha256": report.sha256,
    }
