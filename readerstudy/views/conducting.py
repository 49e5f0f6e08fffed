"""What a coordinator does with a study, copying and deleting it; and the step before freezing: what a reader goes
through, page by page, without anything being stored.

The reading page of a dry run is that of readers, over answers that remember nothing but a place in a cookie.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_http_methods

from annotation.site.permissions import is_coordinator
from annotation.views.site.administration import delete_or_ask
from annotation.views.site.confirming import is_confirmed
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required
from readerstudy.acts.studies import coordinated_study, overseen_study
from readerstudy.conducting.rehearsing import MOST_MAIN, SESSION, DryRun, dry_feedback, dry_run_of, dry_state
from readerstudy.design.checking import indication_notes
from readerstudy.design.conflicts import note_study_keys
from readerstudy.design.creating import copy_study
from readerstudy.design.kernels.documents import CHANCES, read_rules
from readerstudy.enrolment.participation import consent_text
from readerstudy.enums import ResponseState
from readerstudy.forms.studies import CopyForm
from readerstudy.study.overview import lines_of
from readerstudy.study.permissions import may_coordinate_study
from readerstudy.views.access import person_page, stored
from readerstudy.views.design.drafts import step_context
from readerstudy.views.reading import ACTS, PAGES, Json, feedback_json, state_json


@person_page("POST")
def study_copy(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """A new draft of the same design, under a name of its own."""
    study = coordinated_study(request.user, slug)
    form = CopyForm(request.POST) if is_confirmed(request) else CopyForm.of(study)
    if copied := stored(form, lambda: copy_study(study, **form.cleaned_data, **by(request)), field="name"):
        messages.success(request, _("This is the copy: a draft that can be changed."))
        return redirect("study", copied.slug)
    status = 422 if form.errors else 200
    return render(request, "readerstudy/design/copy.html", {"study": study, "form": form}, status=status)


@person_page("POST")
def study_delete(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Only a draft: whatever was frozen stays. Who coordinated only this study has no list of studies any more."""
    then = "studies" if is_coordinator(request.user) else "bin"
    return delete_or_ask(request, coordinated_study(request.user, slug), then)


# --- The step before freezing: what a reader goes through, page by page, without ------------------
@person_page("GET")
def study_dry_run(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Information for readers and asked before their first case, and the link to the cases."""
    study = overseen_study(request.user, slug)
    may_walk = may_coordinate_study(request.user, study)
    [line] = lines_of([study])
    context = step_context(
        request,
        study,
        "study-dry-run",
        line=line,
        consent=consent_text(study).strip(),
        rules=read_rules(study.rules),
        n_shown=MOST_MAIN,
        was_done="done" in request.GET,
        may_walk=may_walk,
        notes=indication_notes(study) if may_walk else [],
    )
    return render(request, "readerstudy/design/dry_run.html", context)


# --- the reading page of a dry run ----------------------------------------------------------------
COOKIE = "dry_run"
OPENED = "opened"  # beside the number of cases that are behind the person: the next one has been opened


class DryView(Protocol):
    def __call__(self, request: AuthenticatedRequest, run: DryRun, *args: Any, **kwargs: Any) -> HttpResponse: ...


def of_dry_run(method: str) -> Callable[[DryView], Callable[..., HttpResponse]]:
    """For coordinators of the study, by this method, kept by no cache."""

    def decorate(view: DryView) -> Callable[..., HttpResponse]:
        @person_required
        @require_http_methods([method])
        @never_cache
        @wraps(view)
        def walking(request: AuthenticatedRequest, slug: str, **kwargs: str) -> HttpResponse:
            return view(request, dry_run_of(coordinated_study(request.user, slug)), **kwargs)

        return walking

    return decorate


@of_dry_run("GET")
@ensure_csrf_cookie
def study_dry_room(request: AuthenticatedRequest, run: DryRun) -> HttpResponse:
    """The shell; ``?start`` begins with the first case again."""
    study = run.study
    if not run.cases:
        return redirect("study-dry-run", study.slug)
    if "start" in request.GET:
        return _remember(redirect("study-dry-room", study.slug), run, 0)
    context = {
        "enrolment": {"public_id": f"dry-run-{study.slug}"},
        "study": study,
        "is_dry_run": True,
        "rules": run.rules,
        "chances": CHANCES,
        "urls": {
            "entry": reverse("study-dry-run", args=[study.slug]),
            **{name: reverse(f"study-dry-{name}", args=[study.slug]) for name in PAGES},
        },
    }
    return render(request, "readerstudy/design/dry_room.html", context)


@of_dry_run("POST")
def study_dry_session(request: AuthenticatedRequest, run: DryRun) -> HttpResponse:
    """Every page may write: there is nothing to write to."""
    return JsonResponse({"writer": True, "session": SESSION, "state": _state(run, _n_behind(request, run))})


@of_dry_run("GET")
def study_dry_state(request: AuthenticatedRequest, run: DryRun) -> HttpResponse:
    """A page that asks again for a case with a limit, without having answered it, has let its time run out."""
    n_behind = _n_behind(request, run)
    if run.rules.time_limit_s is not None and request.COOKIES.get(COOKIE, "").endswith(OPENED):
        n_behind += 1
    return _remember(JsonResponse(_state(run, n_behind)), run, n_behind)


@of_dry_run("POST")
def study_dry_pause(request: AuthenticatedRequest, run: DryRun) -> HttpResponse:
    return JsonResponse(_state(run, _n_behind(request, run), paused=True))


@of_dry_run("POST")
def study_dry_resume(request: AuthenticatedRequest, run: DryRun) -> HttpResponse:
    return JsonResponse(_state(run, _n_behind(request, run)))


@of_dry_run("POST")
def study_dry_case(request: AuthenticatedRequest, run: DryRun, place: str, act: str) -> HttpResponse:
    """What the page sends about a case; every answer is taken and none is kept."""
    index = run.index_of(place)
    if act == "open":
        opened = {"opened": True, "closed": False, "seconds_left": None, "choice": "", "choice_sequence": 0}
        return _remember(JsonResponse(opened), run, max(index, _n_behind(request, run)), opened=True)
    if act == "commit":
        return _committed(request, run, place, index)
    if act == "remark":
        return JsonResponse({"stored": {name: request.POST.get(name, "")[:200] for name in ("key", "kind", "value")}})
    if act in ACTS:
        return HttpResponse(status=204)
    raise Http404


def _committed(request: AuthenticatedRequest, run: DryRun, name: str, index: int) -> HttpResponse:
    option = request.POST.get("option", "")[:1]
    n_behind = max(index + 1, _n_behind(request, run))
    stored = {
        "place": name,
        "option": option,
        "state": ResponseState.ANSWERED if option else ResponseState.DECLINED,
        "key": request.POST.get("key", "")[:36],
        "delivered_late": False,
    }
    feedback = dry_feedback(run, index, option)
    if feedback is not None:
        note_study_keys(run.study, **by(request), revision=run.cases[index].revision_id)
    answer = {"stored": stored, "feedback": feedback_json(feedback), "state": _state(run, n_behind)}
    return _remember(JsonResponse(answer), run, n_behind)


def _state(run: DryRun, n_behind: int, *, paused: bool = False) -> Json:
    """The state of a reader's page, with the addresses of the dry run."""
    slug = run.study.slug
    state = state_json(dry_state(run, n_behind, paused=paused))
    state["next"] = reverse("study-dry-run", args=[slug]) + "?done"
    for case in state["cases"]:
        case["urls"] = {act: reverse("study-dry-case", args=[slug, case["id"], act]) for act in ACTS}
    return state


def _n_behind(request: HttpRequest, run: DryRun) -> int:
    """How many cases are behind the person: 0 for a cookie that says nothing."""
    number = request.COOKIES.get(COOKIE, "").partition("-")[0]
    is_known = number.isascii() and number.isdigit() and len(number) < 6
    return min(int(number), len(run.cases)) if is_known else 0


def _remember(response: HttpResponse, run: DryRun, n_behind: int, *, opened: bool = False) -> HttpResponse:
    path = reverse("study-dry-run", args=[run.study.slug])
    value = f"{n_behind}-{OPENED}" if opened else f"{n_behind}-"
    response.set_cookie(COOKIE, value, path=path, httponly=True, samesite="Strict")
    return response
