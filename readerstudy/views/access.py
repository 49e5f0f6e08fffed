"""How pages of studies are opened: by whom, by which methods, and which part of a stored analysis they show."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django import forms
from django.http import Http404, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.models import User
from annotation.views.site.confirming import Confirmation, confirm, refusals_on
from annotation.views.site.decorators import AuthenticatedRequest, View, person_required
from readerstudy.acts.studies import seen_analysis
from readerstudy.analysis.kernels.result import StoredAnalysis
from readerstudy.analysis.storing import note_opened
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.results.kernels.stored import order_of, panel_names
from readerstudy.results.looking import Seen, inside, named_result, reader_names

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


def confirm_in_study(request: AuthenticatedRequest, study: ReaderStudy, asked: Confirmation) -> HttpResponse:
    """Ask, under the name of the study."""
    return confirm(request, asked, "readerstudy/design/confirm.html", study=study)


# --- which part of a stored analysis --------------------------------------------------------------


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
