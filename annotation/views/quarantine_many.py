"""One decision about many images in quarantine: first what follows from it; and undoing a release."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from annotation.decorators import AuthenticatedRequest, role_required
from annotation.enums import ImageState, Role
from annotation.forms.images import ReasonForm
from annotation.ingest import quarantine as acts
from annotation.models import Image, Question
from annotation.views.confirming import is_confirmed
from annotation.views.quarantine import RELEASED, previews, waiting

DECISIONS: dict[str, acts.Decision] = {"release": acts.release, "remove": acts.remove}


@role_required(Role.DEIDENTIFIER)
@require_POST
def quarantine_decide(request: AuthenticatedRequest) -> HttpResponse:
    """Ask with the consequences; confirmed and with a reason, decide about each image that was selected."""
    word = request.POST.get("decision", "")
    asked = waiting().filter(public_id__in=request.POST.getlist("image")).prefetch_related(previews())
    selected = list(asked)
    if word not in DECISIONS or not selected:
        messages.warning(request, _("Select at least one image that is in quarantine."))
        return redirect("quarantine")
    form = ReasonForm(request.POST if is_confirmed(request) else None)
    if not form.is_valid():
        return _ask(request, word, selected, form)
    outcome = acts.decide_each(
        selected, DECISIONS[word], reason=form.cleaned_data["reason"], actor=request.user, at=timezone.now()
    )
    if word == "release":
        request.session[RELEASED] = [image.public_id for image in outcome.done]
    _tell(request, word, outcome)
    return redirect("quarantine")


@role_required(Role.DEIDENTIFIER)
@require_POST
def quarantine_undo(request: AuthenticatedRequest) -> HttpResponse:
    """Put back what the last decision of this person released."""
    n_back = 0
    for image in Image.objects.filter(public_id__in=request.session.pop(RELEASED, []), state=ImageState.AVAILABLE):
        try:
            acts.quarantine_image(image, reason=_("Release undone."), actor=request.user, at=timezone.now())
        except acts.NotToBeQuarantined:  # removed in this very moment
            continue
        n_back += 1
    said = ngettext("%(n)s image is back in quarantine.", "%(n)s images are back in quarantine.", n_back)
    messages.success(request, said % {"n": n_back})
    return redirect("quarantine")


def _ask(request: AuthenticatedRequest, word: str, selected: list[Image], form: ReasonForm) -> HttpResponse:
    marked = [(image, sum(not finding["allowed"] for finding in image.text_findings)) for image in selected]
    context = {
        "decision": word,
        "images": marked,
        "n_marked": sum(n > 0 for _image, n in marked),
        "n_questions": Question.objects.filter(Q(exam__images__in=selected) | Q(exam__prior__images__in=selected))
        .distinct()
        .count(),
        "form": form,
    }
    template = "annotation/images/quarantine_decide.html"
    return render(request, template, context, status=422 if form.errors else 409)


def _tell(request: AuthenticatedRequest, word: str, outcome: acts.Decided) -> None:
    n = len(outcome.done)
    if n and word == "release":
        messages.success(request, ngettext("%(n)s image is released.", "%(n)s images are released.", n) % {"n": n})
    elif n:
        said = ngettext("%(n)s image is removed, its pixels are deleted.", "%(n)s images are removed.", n)
        messages.success(request, said % {"n": n})
    if outcome.n_overtaken:
        said = ngettext(
            "Somebody else decided about %(n)s image in the meantime; it stays as it is.",
            "Somebody else decided about %(n)s images in the meantime; they stay as they are.",
            outcome.n_overtaken,
        )
        messages.warning(request, said % {"n": outcome.n_overtaken})
    for sentence in outcome.refusals:
        messages.error(request, sentence)
