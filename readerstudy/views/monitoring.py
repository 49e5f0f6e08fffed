"""A study while its readers read: progress and problems, never answers; a reader who is replaced; and what touches
results: interim results behind glass, voided cases, a re-review of missed cases.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.vary import vary_on_headers

from annotation.forms import valid_data
from annotation.forms.images import check_in_words
from annotation.models import ReviewRound, User
from annotation.people.mailing import can_send
from annotation.site.permissions import is_coordinator
from annotation.views.site.confirming import (
    Confirmation,
    flashed,
    is_confirmed,
)
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by
from readerstudy.acts.studies import coordinated_study, overseen_study, reader_of
from readerstudy.design.voiding import check_may_void, main_case, void_case
from readerstudy.enrolment.inviting import open_invitations, readers_with_keys_at_hand, takes_readers
from readerstudy.enrolment.participation import replace_reader, rules_of
from readerstudy.enrolment.progress import (
    TOO_FAST_MS,
    flagged_cases,
    order_balance,
    progress_of,
    progress_of_readers,
    refused_answers,
    sittings,
    voidings_of,
)
from readerstudy.enrolment.rules_in_words import facts_in_words
from readerstudy.enums import StudyState
from readerstudy.forms.studies import DeadlineForm, GlassForm, ReasonForm, ReplaceForm, RereviewForm, VoidForm
from readerstudy.models import ReaderStudy, StudyCase
from readerstudy.predictions.looks import is_over, looks_before_closing, may_see_results, view_interim_results
from readerstudy.reading.case_opening import n_right
from readerstudy.study.hidden_images import left_in_sight
from readerstudy.study.overview import n_out_of_sight, study_deadline_text, unfinished
from readerstudy.study.permissions import may_coordinate_study
from readerstudy.views.access import confirm_in_study, person_page, stored
from readerstudy.views.invitations import show_reader_link


@person_page("POST", fresh=True)
def reader_replace(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """Somebody else takes an order that is free; their link is shown once."""
    enrolment = reader_of(coordinated_study(request.user, slug), public_id)
    form = ReplaceForm(request.POST, prefix="replace")
    with flashed(request):
        return show_reader_link(request, replace_reader(enrolment, **valid_data(form), **by(request)))
    return redirect("study-reader", slug, public_id)


# --- What touches results: interim results behind glass, voided cases, a re-review of -------------
@person_page("POST", fresh=True)
def study_interim(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Break the glass: each look needs its reason, and there is no address at which the results stay."""
    study = coordinated_study(request.user, slug)
    form = GlassForm(request.POST)
    with flashed(request):
        now = timezone.now()
        found = view_interim_results(study, valid_data(form)["reason"], actor=request.user, at=now)
        context = {"study": study, "tallies": found, "looks": looks_before_closing(study), "now": now}
        return render(request, "readerstudy/monitoring/interim.html", context)
    return redirect("study-watch", slug)


@person_page("POST")
def study_void(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Leave a case out, after showing which one it is; whoever has it open reads on, and the answer is stored."""
    study = coordinated_study(request.user, slug)
    form = VoidForm(request.POST)
    with flashed(request) as say:
        sent = valid_data(form, _("Give the number of the case and the reason."))
        case, reason = main_case(study, sent["case"]), sent["reason"]
        if not is_confirmed(request):
            check_may_void(case, reason)
            return confirm_in_study(request, study, _about_voiding(study, case, reason))
        say(_leave_out(case, reason, request.user))
    return redirect("study-watch", slug)


def _about_voiding(study: ReaderStudy, case: StudyCase, reason: str) -> Confirmation:
    names = {"number": case.number, "question": case.revision.question.number, "stem": case.revision.stem}
    sentences = [
        _("Case %(number)s is question %(question)s: “%(stem)s”") % names,
        _("Reason: %(reason)s") % {"reason": reason},
        _("Nobody has seen a result: the case is left out of everything.")
        if study.unblinded_at is None
        else _("Results were seen: the case stays in all results but a labelled sensitivity analysis."),
        _("Readers do not notice it. Voiding cannot be undone."),
    ]
    label = _("Void case %(number)s") % names
    sent: dict[str, int | str] = {"case": case.number, "reason": reason}
    back = reverse("study-watch", args=[study.slug])
    return Confirmation(title=label, sentences=sentences, label=label, sent=sent, back=back)


def _leave_out(case: StudyCase, reason: str, actor: User) -> str:
    voiding = void_case(case, reason, actor=actor, at=timezone.now())
    sentence = (
        _("Case %(number)s is voided and left out of every result.")
        if voiding.before_unblinding
        else _("Case %(number)s is voided. Results were seen before: only a sensitivity analysis leaves it out.")
    )
    return sentence % {"number": case.number}


@person_page("GET", "HEAD", "POST", fresh=True)
def study_rereview(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Choose how often a case must have been missed, then make the draft of a round."""
    from readerstudy.conducting.rereviewing import send_to_rereview  # loads numpy: not at every start

    study = coordinated_study(request.user, slug)
    initial = {"threshold": 50, "name": _("Re-review of %(study)s") % {"study": study.name[:180]}}
    form = RereviewForm(request.POST if request.method == "POST" else None, initial=initial)

    def send() -> ReviewRound:
        return send_to_rereview(study, form.cleaned_data["threshold"], name=form.cleaned_data["name"], **by(request))

    if made := stored(form, send):
        messages.success(request, _("The round is a draft. Choose its reviewers, then open it."))
        return redirect("round", made.slug) if is_coordinator(request.user) else redirect("study-watch", slug)
    context: dict[str, Any] = {"study": study, "form": form}
    return render(request, "readerstudy/monitoring/rereview.html", context, status=422 if form.errors else 200)


# --- A study while its readers read: progress and problems, never answers -------------------------
@person_page("GET", "HEAD", fresh=True)
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
    from readerstudy.conducting.rereviewing import rereviews_of  # loads numpy: not at every start

    is_open = study.state == StudyState.OPEN
    context: dict[str, Any] = {
        "deadline": study_deadline_text(study),
        "looks": looks_before_closing(study),
        "balance": order_balance(study),
        "n_hidden": n_out_of_sight([study]).get(study.pk, 0),
        "left": left_in_sight([study]).get(study.pk, []),
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


@person_page("GET", "HEAD", fresh=True)
def study_reader(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """One reader: who they are, their sittings, what went wrong, and what can be done about it."""
    study = coordinated_study(request.user, slug)
    enrolment = reader_of(study, public_id)
    [progress] = progress_of_readers([enrolment], timezone.now())
    has_left = enrolment.withdrawn_at is not None or enrolment.replaced_at is not None
    is_reading = study.state == StudyState.OPEN and not has_left and enrolment.finished_at is None
    is_there = enrolment.reader is not None and enrolment.finished_at is None and enrolment.replaced_at is None
    facts = {**enrolment.facts, "closing": enrolment.closing}
    context = {
        "study": study,
        "reader": progress,
        "enrolment": enrolment,
        "about": [*(dict(facts_in_words(facts)) | dict(check_in_words(enrolment.display))).items()],
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
