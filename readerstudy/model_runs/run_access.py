"""Who may run models, watch the runs and open raw answers: coordinators, on what they do not read.

What is kept of who opened a raw answer: readerstudy/model_runs/raw_answers.py.
"""

from __future__ import annotations

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotation.enums import Role
from annotation.models import User
from annotation.site.permissions import acts_as, is_coordinator, within_reach
from readerstudy.model_runs.asked_questions import RunningRefused
from readerstudy.models import Enrolment, ModelRun, ReaderStudy, StudyCase
from readerstudy.predictions.listing import Target
from readerstudy.study.permissions import may_coordinate_study
from readerstudy.unblinding.looks import OVER, may_see_results

EXAM, PRIOR = "revision__question__exam", "revision__question__exam__prior"


def check_may_run(person: User | None, target: Target) -> None:
    """Refused for who does not coordinate, and for who reads the questions or their exams. None: the command line."""
    if person is None:
        return
    if not coordinates(person, target):
        raise RunningRefused("not_coordinator", _("Models are run by people who coordinate."), status=403)
    study = read_beside(person, target)
    if study is not None:
        sentence = _(
            "You read these questions, or others on their images, in the study “%(study)s”. Somebody else runs models "
            "on them until it is over."
        )
        raise RunningRefused("reads_them", sentence % {"study": study.name}, status=403)


def coordinates(person: User, target: Target) -> bool:
    """Coordinators of the site; of a study also its own, unless they read in it."""
    return is_coordinator(person) if target.study is None else may_coordinate_study(person, target.study)


def read_beside(person: User, target: Target) -> ReaderStudy | None:
    """A study that is not over in which the person reads questions of the target, or their exams, be it as prior.

    A run on a bank asks all its questions, so that any study of the bank is one.
    """
    read = ReaderStudy.objects.filter(pk__in=_reads(person).values("study"), bank=target.bank).exclude(state__in=OVER)
    for study in read:
        if target.study is None or study == target.study or exams_of(study) & exams_of(target.study):
            return study
    return None


def read_of_bank(person_id: int, bank_id: int) -> str:
    """The name of a study that is not over in which the person reads questions of the bank; empty: none."""
    read = ReaderStudy.objects.filter(pk__in=_reads(person_id).values("study"), bank=bank_id).exclude(state__in=OVER)
    return read.values_list("name", flat=True).first() or ""


def exams_of(study: ReaderStudy) -> set[int]:
    """Those that its cases show, the practice block and priors included. One query."""
    rows = StudyCase.objects.filter(study=study).values_list(EXAM, PRIOR)
    return {exam for row in rows for exam in row if exam is not None}


def _reads(person: User | int) -> QuerySet[Enrolment]:
    return Enrolment.objects.filter(reader=person, withdrawn_at=None, replaced_at=None)


def runs_seen_by(person: User) -> QuerySet[ModelRun]:
    """Newest first. To who reads in a study its runs do not exist, nor while it goes on those on its exams.

    A token reaches those of its place, as a coordinator alone.
    """
    found = ModelRun.objects.select_related("batch__bank", "batch__prompt", "batch__price", "entry", "study")
    found = found.exclude(study__in=ReaderStudy.objects.filter(enrolments__reader=person))
    runs: QuerySet[ModelRun] = within_reach(person, found, bank="batch__bank", study="study")
    if not is_coordinator(person):
        runs = runs.filter(study__coordinators__user=person) if acts_as(person, Role.COORDINATOR) else runs.none()
    reading = ReaderStudy.objects.filter(pk__in=_reads(person).values("study")).exclude(state__in=OVER)
    for study in reading:
        runs = runs.exclude(Q(study=None, batch__bank=study.bank_id) | Q(study__in=_beside(study)))
    return runs


def _beside(study: ReaderStudy) -> list[int]:
    """The studies with a run that show an exam of this one."""
    exams = exams_of(study)
    others = ReaderStudy.objects.filter(bank=study.bank_id, model_runs__isnull=False).distinct()
    return [other.pk for other in others if exams_of(other) & exams]


def shows_results(run: ModelRun) -> bool:
    """Whether it may be seen how often the model is right.

    In a study that is a result of it: not before it is closed and somebody has unblinded it on its own pages.
    """
    return run.study is None or (run.study.unblinded_at is not None and may_see_results(run.study))
