"""A comparison of models as a job: a bank of 41,007 questions and twenty models is no work for a page."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.enums import JobState
from annotation.jobs.handlers import Params, Progress, Result
from annotation.jobs.queueing import enqueue
from annotation.models import Job, QuestionBank, User

KIND = "compare_models"
REPEATABILITY = "repeatability"  # see readerstudy.comparison.repeating, which loads scipy


def ask_for_comparison(bank: QuestionBank, *, actor: User, at: datetime) -> Job:
    """One that waits or runs already is enough."""
    under_way = job_under_way(bank)
    if under_way is not None:
        return under_way
    title = _("Comparison of models on %(bank)s") % {"bank": bank.name[:150]}
    return enqueue(KIND, title, {"bank": bank.pk, "actor": actor.pk}, actor=actor, at=at)


def run_comparison(progress: Progress, params: Params) -> Result:
    """The handler. Run twice it stores once."""
    from readerstudy.comparison.comparing_models import compare_models  # loads scipy

    bank = QuestionBank.objects.get(pk=params["bank"])
    progress.report(0, 1)
    actor = User.objects.filter(pk=params["actor"]).first()
    made = compare_models(bank, actor=actor, at=timezone.now())
    progress.report(1, 1)
    return {"bank": bank.slug, "comparison": made.public_id}


def job_under_way(bank: QuestionBank) -> Job | None:
    unfinished = Job.objects.filter(kind=KIND, state__in=[JobState.QUEUED, JobState.RUNNING])
    return unfinished.filter(params__bank=bank.pk).first()
