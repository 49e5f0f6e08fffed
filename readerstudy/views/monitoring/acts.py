"""What a coordinator does for readers while they read: one act for each address."""

from __future__ import annotations

from datetime import datetime

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotation.refusals import Refused
from annotation.site.zones import time_text
from annotation.views.site.confirming import (
    Confirmation,
    is_confirmed,
    is_possible_or_flash,
    is_valid_or_flash,
    run_and_flash,
)
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required
from readerstudy.enrolment.participation import replace_reader, withdraw
from readerstudy.forms.studies import DeadlineForm, ReasonForm, ReplaceForm
from readerstudy.models import Enrolment, ReaderStudy
from readerstudy.monitoring.unfinished import (
    check_extends,
    check_extends_reader,
    extend_reader,
    extend_study,
    remind_reader,
    remind_unfinished,
)
from readerstudy.reading.practice import let_pass
from readerstudy.study.deadlines import deadline_text, study_deadline_text, unfinished
from readerstudy.views.enrolment.inviting import show_once
from readerstudy.views.monitoring.readers import reader_of
from readerstudy.views.study.access import confirm_in_study, coordinated_study


@person_required
@require_POST
def study_extend(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """More time for everybody, after showing for whom and until when."""
    study = coordinated_study(request.user, slug)
    form = DeadlineForm(study, request.POST)

    def extend() -> str:
        deadline = form.cleaned_data["deadline"]
        extend_study(study, deadline, **by(request))
        return _("The deadline is %(when)s now.") % {"when": time_text(deadline, study.time_zone)}

    if is_valid_or_flash(request, form):
        deadline = form.cleaned_data["deadline"]
        if is_confirmed(request):
            run_and_flash(request, extend)
        elif is_possible_or_flash(request, lambda: check_extends(study, deadline, timezone.now())):
            return confirm_in_study(request, study, about_all(study, deadline, str(form["deadline"].value())))
    return redirect("study-watch", slug)


@person_required
@require_POST
def study_remind(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """An e-mail to everybody who has not finished."""
    study = coordinated_study(request.user, slug)
    run_and_flash(request, lambda: _sent(remind_unfinished(study, **by(request))))
    return redirect("study-watch", slug)


def _sent(n: int) -> str:
    return ngettext("%(n)s e-mail was sent.", "%(n)s e-mails were sent.", n) % {"n": n}


@person_required
@require_POST
def reader_extend(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """More time for one reader, after showing whose and until when."""
    study = coordinated_study(request.user, slug)
    enrolment = reader_of(study, public_id)
    form = DeadlineForm(study, request.POST)

    def extend() -> str:
        deadline = form.cleaned_data["deadline"]
        extend_reader(enrolment, deadline, **by(request))
        facts = {"reader": enrolment.pseudonym, "when": time_text(deadline, study.time_zone)}
        return _("%(reader)s has time until %(when)s now.") % facts

    if is_valid_or_flash(request, form):
        deadline = form.cleaned_data["deadline"]
        if is_confirmed(request):
            run_and_flash(request, extend)
        elif is_possible_or_flash(request, lambda: check_extends_reader(enrolment, deadline, timezone.now())):
            return confirm_in_study(request, study, about_reader(enrolment, deadline, str(form["deadline"].value())))
    return redirect("study-reader", slug, public_id)


@person_required
@require_POST
def reader_remind(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    enrolment = reader_of(coordinated_study(request.user, slug), public_id)
    run_and_flash(request, lambda: _sent(remind_reader(enrolment, **by(request))))
    return redirect("study-reader", slug, public_id)


@person_required
@require_POST
def reader_withdraw(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """On behalf of a reader who asked for it, or cannot go on."""
    enrolment = reader_of(coordinated_study(request.user, slug), public_id)
    form = ReasonForm(request.POST, prefix="withdraw")

    def leave() -> str:
        withdraw(enrolment, **by(request), reason=form.cleaned_data["reason"])
        return _("%(reader)s has left the study.") % {"reader": enrolment.pseudonym}

    if is_valid_or_flash(request, form, _("Say why the reader leaves: a paper has to report it.")):
        run_and_flash(request, leave)
    return redirect("study-reader", slug, public_id)


@person_required
@require_POST
def reader_pass(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """Let a reader go on who did not pass the practice block."""
    enrolment = reader_of(coordinated_study(request.user, slug), public_id)
    form = ReasonForm(request.POST, prefix="pass")

    def go_on() -> str:
        let_pass(enrolment, form.cleaned_data["reason"], **by(request))
        return _("%(reader)s can go on to the main block.") % {"reader": enrolment.pseudonym}

    if is_valid_or_flash(request, form, _("Say why the reader may go on: a paper has to report it.")):
        run_and_flash(request, go_on)
    return redirect("study-reader", slug, public_id)


@person_required
@never_cache
@require_POST
def reader_replace(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """Somebody else takes the next order; their link is shown once."""
    enrolment = reader_of(coordinated_study(request.user, slug), public_id)
    form = ReplaceForm(request.POST, prefix="replace")
    if not is_valid_or_flash(request, form):
        return redirect("study-reader", slug, public_id)
    try:
        issued = replace_reader(enrolment, **form.cleaned_data, **by(request))
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect("study-reader", slug, public_id)
    return show_once(request, issued)


# --- what is asked before more time is given: whose deadline moves, from when to when -------------
def about_all(study: ReaderStudy, deadline: datetime, typed: str) -> Confirmation:
    """``typed`` goes back with the answer."""
    readers = list(unfinished(study).select_related("study"))
    kept = [one for one in readers if one.deadline_at is not None and one.deadline_at > deadline]
    names = [one.pseudonym for one in readers if one not in kept]
    sentences = [_moved(study_deadline_text(study), deadline, study), _for(names)]
    for one in kept:
        facts = {"reader": one.pseudonym, "when": deadline_text(one)}
        sentences.append(_("%(reader)s keeps a later deadline: %(when)s.") % facts)
    title = _("Extend the deadline for everybody")
    return Confirmation(
        title=title,
        sentences=[*sentences, _never_back()],
        label=_("Extend the deadline"),
        back=reverse("study-watch", args=[study.slug]),
        is_danger=False,
        sent={"deadline": typed},
    )


def about_reader(enrolment: Enrolment, deadline: datetime, typed: str) -> Confirmation:
    title = _("More time for %(reader)s") % {"reader": enrolment.pseudonym}
    sentences = [
        _moved(deadline_text(enrolment), deadline, enrolment.study),
        _("It is for %(reader)s alone.") % {"reader": enrolment.pseudonym},
        _never_back(),
    ]
    return Confirmation(
        title=title,
        sentences=sentences,
        label=_("Give more time"),
        back=reverse("study-reader", args=[enrolment.study.slug, enrolment.public_id]),
        is_danger=False,
        sent={"deadline": typed},
    )


def _moved(before: str, deadline: datetime, study: ReaderStudy) -> str:
    facts = {"before": before, "after": time_text(deadline, study.time_zone)}
    return _("The deadline moves from %(before)s to %(after)s.") % facts


def _for(names: list[str]) -> str:
    if not names:
        return _("Nobody reads at present whose deadline moves; it is for those who join later.")
    sentence = ngettext(
        "It is for %(n)s reader who has not finished: %(names)s; and for those who join later.",
        "It is for %(n)s readers who have not finished: %(names)s; and for those who join later.",
        len(names),
    )
    return sentence % {"n": len(names), "names": ", ".join(names)}


def _never_back() -> str:
    return _("A deadline never moves earlier again.")
