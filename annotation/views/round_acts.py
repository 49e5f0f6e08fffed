"""What a coordinator does with a round: one act for each address."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotation.archiving import bring_back
from annotation.decorators import AuthenticatedRequest, person_required, role_required
from annotation.enums import Role, RoundState
from annotation.forms.rounds import PersonForm, RemoveForm, ReviewersForm, RoundTextForm, ViewingForm
from annotation.models import ReviewRound, User
from annotation.review import rounds as acts
from annotation.review.assigning import RoundRefused, assign_round
from annotation.review.reassigning import add_reviewer, reassign, remove_reviewer
from annotation.review.rounds import RoundNotComplete
from annotation.review.viewing import set_viewing
from annotation.views.bin import delete_or_ask
from annotation.views.rounds import coordinated_round


@person_required
@require_POST
def round_assign(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Assign a draft to the people chosen."""
    review_round = coordinated_round(request.user, slug)
    form = ReviewersForm(review_round, request.POST)
    if not form.is_valid():
        messages.error(request, _("Somebody in the list cannot review any more: choose again."))
        return redirect("round", slug)
    try:
        n = assign_round(review_round, list(form.cleaned_data["reviewers"]), actor=request.user, at=timezone.now())
    except RoundRefused as refusal:
        messages.error(request, str(refusal))
    else:
        said = ngettext("%(n)s review is assigned.", "%(n)s reviews are assigned.", n) % {"n": n}
        messages.success(request, said)
    return redirect("round", slug)


@person_required
@require_http_methods(["GET", "HEAD", "POST"])
def round_edit(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Name, sample, steps and instructions of a draft."""
    review_round = coordinated_round(request.user, slug)
    if review_round.state != RoundState.DRAFT:
        messages.error(request, _("The round is open or closed: it stays as it is. Make another round."))
        return redirect("round", slug)
    form = RoundTextForm.of_draft(review_round, request.POST or None)
    if request.method == "POST" and form.is_valid():
        asked = form.cleaned_data
        words = {"name": asked["name"], "steps": asked["steps"], "instructions": asked["instructions"]}
        try:
            acts.change_draft(review_round, plan=asked["sample"], **words, actor=request.user, at=timezone.now())
        except RoundRefused as refusal:
            form.add_error(refusal.field, str(refusal))
        else:
            messages.success(request, _("The round is changed."))
            return redirect("round", slug)
    context = {"round": review_round, "form": form}
    return render(request, "annotation/rounds/edit.html", context, status=422 if form.errors else 200)


@person_required
@require_POST
def round_viewing(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Which image tools the reviewers have, and how large their window must be."""
    review_round = coordinated_round(request.user, slug)
    form = ViewingForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(word) for words in form.errors.values() for word in words))
        return redirect("round", slug)
    try:
        set_viewing(review_round, form.viewing(), actor=request.user, at=timezone.now())
    except RoundRefused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("Tools and window are stored; reviewers have them with their next page."))
    return redirect("round", slug)


@person_required
@require_POST
def round_open(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    review_round = coordinated_round(request.user, slug)
    try:
        reason = request.POST.get("without_images", "")[:300]
        acts.open_round(review_round, actor=request.user, at=timezone.now(), without_images=reason)
    except RoundRefused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("The round is open: its reviewers see their questions now."))
    return redirect("round", slug)


@person_required
@require_POST
def round_close(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Close; with questions left open, ask first and say how many."""
    review_round = coordinated_round(request.user, slug)
    agreed = request.POST.get("confirmed_open", "0")
    confirmed = int(agreed) if agreed.isascii() and agreed.isdigit() and len(agreed) < 10 else 0
    try:
        acts.close_round(review_round, actor=request.user, at=timezone.now(), confirmed_open=confirmed)
    except RoundNotComplete as incomplete:
        context = {"round": review_round, "incomplete": incomplete}
        return render(request, "annotation/rounds/close.html", context, status=409)
    except RoundRefused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("The round is closed."))
    return redirect("round", slug)


@person_required
@require_POST
def round_archive(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    review_round = coordinated_round(request.user, slug)
    try:
        acts.archive_round(review_round, actor=request.user, at=timezone.now())
    except RoundRefused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("The round is archived."))
    return redirect("round", slug)


@person_required
@require_POST
def round_bring_back(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    review_round = coordinated_round(request.user, slug)
    bring_back(review_round, actor=request.user, at=timezone.now())
    messages.success(request, _("The round is back."))
    return redirect("round", slug)


@role_required(Role.ADMINISTRATOR)
@require_POST
def round_delete(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    return delete_or_ask(request, get_object_or_404(ReviewRound, slug=slug), "rounds")


@person_required
@require_POST
def round_reviewer_add(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    review_round = coordinated_round(request.user, slug)
    form = PersonForm(review_round, request.POST, prefix="add")
    if not form.is_valid():
        messages.error(request, _("Choose a person who may review in this round."))
        return redirect("round", slug)
    person = form.cleaned_data["person"]
    try:
        n = add_reviewer(review_round, person, actor=request.user, at=timezone.now())
    except RoundRefused as refusal:
        messages.error(request, str(refusal))
    else:
        said = ngettext("%(name)s has %(n)s question now.", "%(name)s has %(n)s questions now.", n)
        messages.success(request, said % {"name": person, "n": n})
    return redirect("round", slug)


@person_required
@require_POST
def round_reviewer_remove(request: AuthenticatedRequest, slug: str, pk: int) -> HttpResponse:
    """What they submitted stays; what they left open goes to a named person or to the others."""
    review_round = coordinated_round(request.user, slug)
    person = get_object_or_404(User, pk=pk)
    form = RemoveForm(review_round, request.POST, but_not=User.objects.filter(pk=pk), prefix="takes")
    if not form.is_valid():
        messages.error(request, _("Choose a person who may review in this round."))
        return redirect("round-reviewer", slug, pk)
    try:
        n = remove_reviewer(review_round, person, to=form.cleaned_data["person"], actor=request.user, at=timezone.now())
    except RoundRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("round-reviewer", slug, pk)
    said = ngettext(
        "%(name)s is out of the round; %(n)s open question went to others.",
        "%(name)s is out of the round; %(n)s open questions went to others.",
        n,
    )
    messages.success(request, said % {"name": person, "n": n})
    return redirect("round", slug)


@person_required
@require_POST
def round_reassign(request: AuthenticatedRequest, slug: str, pk: int) -> HttpResponse:
    """Give the ticked questions of one reviewer to another person."""
    review_round = coordinated_round(request.user, slug)
    person = get_object_or_404(User, pk=pk)
    form = PersonForm(review_round, request.POST, but_not=User.objects.filter(pk=person.pk), prefix="to")
    chosen = request.POST.getlist("assignment")
    if not chosen or not form.is_valid():
        messages.error(request, _("Tick at least one question, and choose the person who takes it."))
        return redirect("round-reviewer", slug, pk)
    to = form.cleaned_data["person"]
    try:
        n = reassign(review_round, chosen, to=to, actor=request.user, at=timezone.now())
    except RoundRefused as refusal:
        messages.error(request, str(refusal))
    else:
        said = ngettext("%(n)s question went to %(name)s.", "%(n)s questions went to %(name)s.", n)
        messages.success(request, said % {"name": to, "n": n})
    return redirect("round-reviewer", slug, pk)
