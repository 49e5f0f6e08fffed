"""A study while its readers read: progress and problems, never answers."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.models import User
from annotation.people.mailing import can_send
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, person_required
from readerstudy.acts.studies import reader_of
from readerstudy.enrolment.inviting import open_invitations, takes_readers
from readerstudy.enrolment.participation import rules_of
from readerstudy.enrolment.reader_eligibility import readers_with_keys_at_hand
from readerstudy.enrolment.rules_in_words import facts_in_words
from readerstudy.enums import StudyState
from readerstudy.forms.studies import DeadlineForm, GlassForm, ReasonForm, ReplaceForm, VoidForm
from readerstudy.models import ReaderStudy
from readerstudy.monitoring.progress import (
    TOO_FAST_MS,
    flagged_cases,
    progress_of,
    progress_of_readers,
    refused_answers,
    sittings,
    voidings_of,
)
from readerstudy.reading.practice import n_right
from readerstudy.study.deadlines import study_deadline_text, unfinished
from readerstudy.study.permissions import may_coordinate_study
from readerstudy.unblinding.looks import is_over, looks_before_closing, may_see_results
from readerstudy.views.study.access import coordinated_study, overseen_study


@person_required
@never_cache
@require_safe
@vary_on_headers("HX-Request")
def study_watch(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """How far the readers are; the table alone for HTMX, which asks again every 15 seconds."""
    study = overseen_study(request.user, slug)
    context: dict[str, Any] = {
        "study": study,
        "readers": progress_of(study, timezone.now()),
        "coordinates": may_coordinate_study(request.user, study),
        "now": timezone.now(),
        "too_fast_s": TOO_FAST_MS // 1000,
    }
    if asks_for_part(request):
        return render(request, "readerstudy/monitoring/_readers.html", context)
    return render(
        request, "readerstudy/monitoring/watch.html", context | _around(study, request.user, context["coordinates"])
    )


def _around(study: ReaderStudy, person: User, coordinates: bool) -> dict[str, Any]:
    """What is shown around the table; remarks of readers on cases are for coordinators."""
    from readerstudy.monitoring.rereviewing import rereviews_of  # loads numpy: not at every start

    is_open = study.state == StudyState.OPEN
    context: dict[str, Any] = {
        "deadline": study_deadline_text(study),
        "looks": looks_before_closing(study),
        "is_open": is_open,
        "takes_readers": takes_readers(study),
        "may_see": may_see_results(study),
        "n_unfinished": unfinished(study).count(),
        "can_send": can_send(),
    }
    if coordinates:
        context |= {
            "flagged": flagged_cases(study),
            "with_keys": readers_with_keys_at_hand(study),
            "invited": list(open_invitations(study, timezone.now())),
            "voidings": voidings_of(study, person=person),
            "void_form": VoidForm(auto_id="void_%s"),
            "deadline_form": DeadlineForm(study) if is_open and study.deadline_at else None,
            "glass_form": GlassForm(auto_id="glass_%s") if is_open else None,
            "rereviews": rereviews_of(study) if may_see_results(study) else [],
        }
    return context


@person_required
@never_cache
@require_safe
def study_reader(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """One reader: who they are, their sittings, what went wrong, and what can be done about it."""
    study = coordinated_study(request.user, slug)
    enrolment = reader_of(study, public_id)
    [progress] = progress_of_readers([enrolment], timezone.now())
    has_left = enrolment.withdrawn_at is not None or enrolment.replaced_at is not None
    is_reading = study.state == StudyState.OPEN and not has_left and enrolment.finished_at is None
    is_there = enrolment.reader is not None and enrolment.finished_at is None and enrolment.replaced_at is None
    context = {
        "study": study,
        "reader": progress,
        "enrolment": enrolment,
        "about": facts_in_words(enrolment.facts),
        "sittings": sittings(enrolment),
        "refused": refused_answers(enrolment),
        "has_left": has_left,
        "can_send": can_send(),
        "is_reading": is_reading,
        "may_withdraw": not has_left and not is_over(study) and enrolment.reader is not None,
        "deadline_form": DeadlineForm(study) if is_reading and progress.status.deadline else None,
        "pass_form": ReasonForm(prefix="pass") if progress.status.is_stuck else None,
        "n_right": n_right(enrolment) if progress.status.is_stuck else 0,
        "n_needed": rules_of(study).practice_pass,
        "withdraw_form": ReasonForm(prefix="withdraw"),
        "replace_form": ReplaceForm(prefix="replace") if takes_readers(study) and is_there else None,
    }
    return render(request, "readerstudy/monitoring/reader.html", context)
