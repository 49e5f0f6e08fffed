"""Which stored analysis a page may show: to coordinators, once results may be seen and the study is unblinded."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import User
from readerstudy.analysis.kernels.result import StoredAnalysis
from readerstudy.analysis.seeing import note_opened
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.results.kernels.stored import order_of, panel_names
from readerstudy.results.looking import Seen, inside, is_seen, named_result, reader_names
from readerstudy.views.study.access import coordinated_study


def seen_analysis(person: User, slug: str, public_id: str) -> Analysis:
    """Raises Http404 for strangers and another study, PermissionDenied while results are hidden."""
    study = coordinated_study(person, slug)
    check_seen(study)
    known = Analysis.objects.select_related("created_by").defer("result")
    analysis = get_object_or_404(known, study=study, public_id=public_id)
    analysis.study = study
    return analysis


def check_seen(study: ReaderStudy) -> None:
    """The first look at results is never a plain link or a GET. Raises PermissionDenied before it."""
    if not is_seen(study):
        raise PermissionDenied(_("The results of this study have not been looked at yet. Begin at its page “Results”."))


def seen_result(person: User, slug: str, public_id: str) -> Seen:
    return seen_by(person, seen_analysis(person, slug, public_id))


def seen_by(person: User, analysis: Analysis) -> Seen:
    """Of an analysis that may be seen; that this person reads it is noted."""
    note_opened(analysis, actor=person, at=timezone.now())
    return Seen(inside(analysis), analysis, named_result(analysis, reader_names(analysis)))


def panel_named(result: StoredAnalysis, wanted: str) -> str:
    """All tasks unless a task is asked for; Http404 for one that the analysis does not hold."""
    names = panel_names(result)
    if not wanted:
        return names[0]
    if wanted not in names:
        raise Http404
    return wanted


def rater_at(result: StoredAnalysis, place: int) -> str:
    """By the place in the order of the analysis."""
    names = order_of(result)
    if place >= len(names):
        raise Http404
    return names[place]
