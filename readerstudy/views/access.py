"""Which study a person may look at or change, and which stored analysis a page may show. To strangers and to its
readers a study does not exist; its results are shown to coordinators, once they may be seen and the study is unblinded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django import forms
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.models import User
from annotation.site.permissions import is_administrator, is_coordinator
from annotation.views.site.confirming import Confirmation, confirm, refusals_on
from annotation.views.site.decorators import AuthenticatedRequest, View, person_required
from readerstudy.acts.studies import coordinated_study as coordinated_study
from readerstudy.acts.studies import named_study
from readerstudy.analysis.kernels.result import StoredAnalysis
from readerstudy.analysis.storing import note_opened
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.predictions.looks import is_seen
from readerstudy.results.kernels.stored import order_of, panel_names
from readerstudy.results.looking import Seen, inside, named_result, reader_names
from readerstudy.study.overview import studies_known_to
from readerstudy.study.permissions import knows_study

Result = TypeVar("Result")
Response = TypeVar("Response", bound=HttpResponseBase)


def person_page(*methods: str, fresh: bool = False) -> Callable[[View], View]:
    """For any person who is logged in, asked by these methods; ``fresh``: kept by no cache."""

    def decorate(view: View) -> View:
        asked = require_http_methods([*methods])(view)
        return person_required(never_cache(asked) if fresh else asked)

    return decorate


def stored(form: forms.Form, act: Callable[[], Result], *, field: str | None = None) -> Result | None:
    """What the act gives for a good form; None for one that was not sent, or says what is wrong."""
    if form.is_valid():
        with refusals_on(form, field=field):
            return act()
    return None


def as_file(response: Response, name: str) -> Response:
    """The same, saved under this name."""
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def overseen_study(person: User, slug: str) -> ReaderStudy:
    """The study, for its coordinators, and for administrators to look at."""
    study = named_study(slug)
    if knows_study(person, study):
        return study
    raise Http404


def listed_studies(person: User) -> QuerySet[ReaderStudy]:
    """The studies that a person knows. Raises PermissionDenied for whoever coordinates none."""
    known = studies_known_to(person)
    if not is_coordinator(person) and not is_administrator(person) and not known.exists():
        raise PermissionDenied(_("This page is for people who coordinate a reader study."))
    return known


def confirm_in_study(request: AuthenticatedRequest, study: ReaderStudy, asked: Confirmation) -> HttpResponse:
    """Ask, under the name of the study."""
    return confirm(request, asked, "readerstudy/design/confirm.html", study=study)


# --- Which stored analysis a page may show: to coordinators, once results may be seen -------------
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
