"""What a coordinator does with a round: one act for each address."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotation.bin.archiving import bring_back
from annotation.enums import Role, RoundState
from annotation.forms.rounds import DueForm, RemoveForm, ReviewersForm, RoundPersonForm, RoundTextForm, ViewingForm
from annotation.models import ReviewRound, User
from annotation.review import rounds as acts
from annotation.review.assigning import RoundRefused, assign_round, listed
from annotation.review.due import due_text, remind_reviewers, set_due
from annotation.review.reassigning import (
    Handover,
    HandoverChanged,
    add_reviewer,
    handover_of,
    reassign,
    reassign_all,
    remove_reviewer,
)
from annotation.review.rounds import RoundNotComplete
from annotation.review.viewing import set_viewing
from annotation.views.review.rounds import coordinated_round
from annotation.views.site.bin import delete_or_ask
from annotation.views.site.confirming import Confirmation, confirm
from annotation.views.site.decorators import AuthenticatedRequest, person_required, role_required


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
    """Which image tools the reviewers have, how large their window must be, and what a double-click does."""
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
        messages.success(request, _("Stored: it counts for reviewers from their next page on."))
    return redirect("round", slug)


@person_required
@require_POST
def round_due(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Until when the reviews are to be in."""
    review_round = coordinated_round(request.user, slug)
    form = DueForm(request.user.time_zone, request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(word) for words in form.errors.values() for word in words))
        return redirect("round", slug)
    try:
        set_due(review_round, form.cleaned_data["due_at"], actor=request.user, at=timezone.now())
    except RoundRefused as refusal:
        messages.error(request, str(refusal))
    else:
        due = due_text(review_round, request.user)
        words = _("The reviews are due by %(due)s.") % {"due": due} if due else _("The round has no due date.")
        messages.success(request, words)
    return redirect("round", slug)


@person_required
@require_POST
def round_remind(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """A letter to everybody who is not done."""
    review_round = coordinated_round(request.user, slug)
    try:
        reminded = remind_reviewers(review_round, actor=request.user, at=timezone.now())
    except RoundRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("round", slug)
    n = len(reminded.sent)
    sentences = [ngettext("%(n)s e-mail is being sent.", "%(n)s e-mails are being sent.", n) % {"n": n}]
    if reminded.too_soon:
        names = ", ".join(person.name for person in reminded.too_soon)
        sentences.append(_("Reminded within a day already, and not again: %(names)s.") % {"names": names})
    messages.success(request, " ".join(sentences))
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
    form = RoundPersonForm(review_round, request.POST, prefix="add")
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
    """Give the ticked questions of one reviewer, or all that are open, to another person."""
    review_round = coordinated_round(request.user, slug)
    person = get_object_or_404(User, pk=pk)
    form = RoundPersonForm(review_round, request.POST, but_not=User.objects.filter(pk=person.pk), prefix="to")
    chosen = request.POST.getlist("assignment")
    is_all = "all" in request.POST
    if not (chosen or is_all) or not form.is_valid():
        messages.error(request, _("Select at least one question, and choose the reviewer who takes it over."))
        return redirect("round-reviewer", slug, pk)
    to = form.cleaned_data["person"]
    try:
        if is_all:
            return _reassign_all(request, review_round, person, to)
        n = reassign(review_round, chosen, to=to, actor=request.user, at=timezone.now())
    except RoundRefused as refusal:
        messages.error(request, str(refusal))
    else:
        said = ngettext("%(n)s question went to %(name)s.", "%(n)s questions went to %(name)s.", n)
        messages.success(request, said % {"name": to, "n": n})
    return redirect("round-reviewer", slug, pk)


def _reassign_all(request: AuthenticatedRequest, review_round: ReviewRound, person: User, to: User) -> HttpResponse:
    """Every open question that the person may have, once the coordinator has read what follows."""
    confirmed = request.POST.get("confirmed_all", "")
    back = reverse("round-reviewer", args=[review_round.slug, person.pk])
    try:
        if not (confirmed.isascii() and confirmed.isdecimal() and len(confirmed) < 10):
            raise HandoverChanged(handover_of(review_round, person, to=to))
        handover = reassign_all(
            review_round, person, to=to, confirmed=int(confirmed), actor=request.user, at=timezone.now()
        )
    except HandoverChanged as changed:
        handover = changed.handover
        if handover.names:
            return confirm(request, _confirm_handover(handover, person, to, back))
        messages.error(request, " ".join(_what_stays(handover, person, to)) or _("No open question is left."))
        return redirect(back)
    said = ngettext("%(n)s question went to %(name)s.", "%(n)s questions went to %(name)s.", len(handover.names))
    messages.success(request, said % {"name": to, "n": len(handover.names)})
    for sentence in _what_stays(handover, person, to):
        messages.warning(request, sentence)
    return redirect(back)


def _confirm_handover(handover: Handover, person: User, to: User, back: str) -> Confirmation:
    n = len(handover.names)
    names = {"n": n, "all": handover.n_open, "name": to, "person": person}
    sentences = [
        ngettext(
            "%(n)s of %(all)s open questions of %(person)s goes to %(name)s, at the end of their list.",
            "%(n)s of %(all)s open questions of %(person)s go to %(name)s, at the end of their list.",
            n,
        )
        % names
    ]
    if handover.n_begun:
        begun = ngettext(
            "%(n)s of them was opened by %(person)s. What they entered stays stored and is not used; %(name)s "
            "starts afresh and does not see it.",
            "%(n)s of them were opened by %(person)s. What they entered stays stored and is not used; %(name)s "
            "starts afresh and does not see it.",
            handover.n_begun,
        )
        sentences.append(begun % (names | {"n": handover.n_begun}))
    sentences += [*_what_stays(handover, person, to), _("Submitted reviews stay and count.")]
    return Confirmation(
        title=ngettext("Reassign %(n)s question to %(name)s?", "Reassign %(n)s questions to %(name)s?", n) % names,
        sentences=sentences,
        label=ngettext("Reassign %(n)s question", "Reassign %(n)s questions", n) % names,
        back=back,
        about=person.name,
        sent={"all": "yes", "confirmed_all": n, "to-person": to.pk},
    )


def _what_stays(handover: Handover, person: User, to: User) -> list[str]:
    """Which questions the person cannot be given, and why: a sentence, or none."""
    if not handover.stay:
        return []
    said = ngettext(
        "Question %(numbers)s stays with %(person)s, since it cannot go to %(name)s. %(reasons)s",
        "Questions %(numbers)s stay with %(person)s, since they cannot go to %(name)s. %(reasons)s",
        len(handover.stay),
    )
    words = {"numbers": listed(handover.stay), "person": person, "name": to, "reasons": handover.reasons}
    return [said % words]
