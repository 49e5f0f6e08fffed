"""One decision about many images in quarantine: first what follows from it; and undoing a release."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from annotation.contributions import read_in
from annotation.enums import Role
from annotation.forms.images import ReasonForm
from annotation.imaging.kernels.masking import Box, crops_around
from annotation.ingest import quarantine as acts
from annotation.ingest.kernels.credits import IngestRefused
from annotation.models import Image, Question
from annotation.views.ingest.quarantine import offer_to_undo, previews, quarantined, undoable, withdraw_offer
from annotation.views.site.confirming import Confirmation, confirm, is_confirmed
from annotation.views.site.decorators import AuthenticatedRequest, role_required

MOST_CROPS = 6  # of one image, beside the whole of it
DECISIONS: dict[str, acts.Decision] = {"release": acts.release, "remove": acts.remove}


@dataclass(frozen=True)
class Selected:
    """An image that is decided upon with others, and what was found in it."""

    image: Image

    @property
    def n_marked(self) -> int:
        return sum(not finding["allowed"] for finding in self.image.text_findings)

    @property
    def boxes(self) -> list[Box]:
        """Where text was found that is not on the list of allowed words; where there is none, what is on it."""
        found = self.image.text_findings
        chosen = [one["box"] for one in found if not one["allowed"]] or [one["box"] for one in found]
        return [(x, y, width, height) for x, y, width, height in chosen]

    @cached_property
    def crops(self) -> list[Box]:
        return crops_around(self.boxes, columns=self.image.columns or 0, rows=self.image.rows or 0)

    @property
    def shown_crops(self) -> list[Box]:
        return self.crops[:MOST_CROPS]

    @property
    def n_crops_left_out(self) -> int:
        return len(self.crops) - len(self.shown_crops)


@role_required(Role.DEIDENTIFIER)
@require_POST
def quarantine_decide(request: AuthenticatedRequest) -> HttpResponse:
    """Ask with the consequences; confirmed and with a reason, decide about each image that was selected."""
    word = request.POST.get("decision", "")
    chosen = quarantined().filter(public_id__in=request.POST.getlist("image")).prefetch_related(previews())
    selected = list(chosen)
    if word not in DECISIONS or not selected:
        messages.warning(request, _("Select at least one image that is in quarantine."))
        return redirect("quarantine")
    form = ReasonForm(request.POST if is_confirmed(request) else None)
    if not form.is_valid():
        return _ask(request, word, selected, form)
    at = timezone.now()
    outcome = acts.decide_each(selected, DECISIONS[word], reason=form.cleaned_data["reason"], actor=request.user, at=at)
    withdraw_offer(request)
    if word == "release" and outcome.done:
        offer_to_undo(request, outcome.done, at)
    _flash(request, word, outcome)
    return redirect("quarantine")


@role_required(Role.DEIDENTIFIER)
@require_POST
def quarantine_undo(request: AuthenticatedRequest) -> HttpResponse:
    """Put back what the last decision of this person released, where nobody decided later."""
    last = undoable(request)
    images = list(last.images)
    studies = sorted({name for image in images for name in read_in(image.pk)})
    if studies and not is_confirmed(request):
        return confirm(request, _confirm_undo(len(images), studies))
    n_back = 0
    for image in images:
        try:
            acts.undo_release(image, since=last.since, actor=request.user, at=timezone.now())
        except IngestRefused:  # somebody decided in this very moment
            continue
        n_back += 1
    withdraw_offer(request)
    if n_back:
        sentence = ngettext("%(n)s image is back in quarantine.", "%(n)s images are back in quarantine.", n_back)
        messages.success(request, sentence % {"n": n_back})
    _flash_overtaken(request, last.n_released - n_back)
    return redirect("quarantine")


def _confirm_undo(n: int, studies: list[str]) -> Confirmation:
    label = ngettext("Put %(n)s image back into quarantine", "Put %(n)s images back into quarantine", n) % {"n": n}
    return Confirmation(
        title=label,
        sentences=[
            _("Some of these images are shown to the readers of “%(names)s”. In quarantine nobody sees them.")
            % {"names": "”, “".join(studies)},
            _("They can be released again."),
        ],
        label=label,
        back=reverse("quarantine"),
    )


def _ask(request: AuthenticatedRequest, word: str, selected: list[Image], form: ReasonForm) -> HttpResponse:
    images = [Selected(image) for image in selected]
    context = {
        "decision": word,
        "images": images,
        "n_marked": sum(one.n_marked > 0 for one in images),
        "n_questions": Question.objects.filter(Q(exam__images__in=selected) | Q(exam__prior__images__in=selected))
        .distinct()
        .count(),
        "form": form,
    }
    template = "annotation/images/quarantine_decide.html"
    return render(request, template, context, status=422 if form.errors else 409)


def _flash(request: AuthenticatedRequest, word: str, outcome: acts.Decided) -> None:
    n = len(outcome.done)
    if n and word != "release":  # the list shows a release where it offers to undo it
        sentence = ngettext(
            "%(n)s image is removed, its pixels are deleted.", "%(n)s images are removed, their pixels are deleted.", n
        )
        messages.success(request, sentence % {"n": n})
    _flash_overtaken(request, outcome.n_overtaken)
    for sentence in outcome.refusals:
        messages.error(request, sentence)


def _flash_overtaken(request: AuthenticatedRequest, n: int) -> None:
    if n:
        sentence = ngettext(
            "Somebody else decided about %(n)s image in the meantime; it stays as it is.",
            "Somebody else decided about %(n)s images in the meantime; they stay as they are.",
            n,
        )
        messages.warning(request, sentence % {"n": n})
