"""The quarantine: images that may identify somebody, one or many at once, for the people who may decide about them.

The words that are never names: an image in which only these are found does not wait here for its text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.contrib import messages
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from msgspec import Struct

from annotation.acts.banks import against_the_mark
from annotation.contributions import read_in
from annotation.enums import ImageState, RenditionKind, Role
from annotation.forms.images import MaskForm, ReasonForm, TurnForm, WordForm
from annotation.imaging.kernels.masking import Box, boxes_within, crops_around
from annotation.imaging.kernels.textwords import ALLOWED
from annotation.ingest import quarantine as acts
from annotation.ingest import searching
from annotation.ingest.kernels.credits import IngestRefused
from annotation.ingest.serving import image_descriptors
from annotation.jobs.queueing import job_under_way
from annotation.models import AuditEvent, Image, Question, Rendition
from annotation.site.health import has_text_search
from annotation.site.sorted_tables import numbered_page
from annotation.views.site.confirming import Confirmation, confirm, is_confirmed, refusals_on, said
from annotation.views.site.decorators import AuthenticatedRequest, by, role_required

IMAGES_PER_PAGE = 50
UNDOABLE = "undoable_release"  # in the session: what the last decision released, and when


@role_required(Role.DEIDENTIFIER)
@never_cache
@require_safe
def quarantine(request: AuthenticatedRequest) -> HttpResponse:
    """All images in quarantine, oldest first, with the reason."""
    images = quarantined().select_related("exam__bank").prefetch_related(previews())
    context = {
        "page": numbered_page(request.GET, images, IMAGES_PER_PAGE),
        "n_undo": undoable(request).images.count(),
        "reported": [(who, held[:MOST_AT_ONCE]) for who, held in acts.held_by_reviewers().items() if len(held) > 1],
    }
    return render(request, "annotation/images/quarantine.html", context)


@role_required(Role.DEIDENTIFIER)
@never_cache
@require_safe
def quarantined_image(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    return _page(request, _quarantined(public_id))


@role_required(Role.DEIDENTIFIER)
@require_POST
def quarantine_release(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """The image identifies nobody."""
    image = _quarantined(public_id)
    form = (TurnForm if image.turn else ReasonForm)(request.POST)
    if not form.is_valid():
        return _page(request, image, failed="release", form=form)
    reason, turned = form.cleaned_data["reason"], form.cleaned_data.get("shown") == "turned"
    if image.turn and acts.mark_against(image, turned) and not is_confirmed(request):
        sent = {"shown": form.cleaned_data["shown"], "reason": reason}
        return confirm(request, against_the_mark(sent, back=reverse("quarantined-image", args=[public_id])))

    def release() -> None:
        who = by(request)
        if image.turn:
            acts.show_turned(image, turned, reason=reason, **who)
        acts.release(image, reason=reason, **who)
        offer_to_undo(request, [image], who["at"])

    done = _("The image is released: it can be seen where its questions are reviewed.")
    return _decide(request, image, release, done)


@role_required(Role.DEIDENTIFIER)
@require_POST
def quarantine_remove(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """The image is not wanted here: its pixels are deleted."""
    image, form = _quarantined(public_id), ReasonForm(request.POST)
    if not form.is_valid():
        return _page(request, image, failed="remove", form=form)
    done = _("The image is removed and its pixels are deleted.")
    return _decide(request, image, lambda: acts.remove(image, **form.cleaned_data, **by(request)), done)


@role_required(Role.DEIDENTIFIER)
@require_POST
def quarantine_mask(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Black out boxes; the image stays in quarantine, to be looked at again."""
    image, form = _quarantined(public_id), MaskForm(request.POST)
    if not form.is_valid():
        return _page(request, image, failed="mask", form=form)
    is_on_image = bool(boxes_within(form.boxes, columns=image.columns or 0, rows=image.rows or 0))
    if is_on_image and not is_confirmed(request):
        return confirm(request, _confirm_mask(image, form))
    withdraw_offer(request)
    try:
        acts.mask(image, form.boxes, reason=form.cleaned_data["reason"], **by(request))
    except IngestRefused as refusal:
        if refusal.code == "nothing_to_black_out":
            form.add_error(None, str(refusal))
            return _page(request, image, failed="mask", form=form)
        return _not_decided(request, refusal, image)
    sentence = _("The boxes are black in the stored pixels. Look once more, then release the image.")
    return said(request, sentence, "quarantined-image", public_id)


def _confirm_mask(image: Image, form: MaskForm) -> Confirmation:
    n = len(form.boxes)
    label = ngettext("Black out %(n)s box", "Black out %(n)s boxes", n) % {"n": n}
    x, y, width, height = ([box[place] for box in form.boxes] for place in range(4))
    return Confirmation(
        title=label,
        sentences=[
            _("The pixels below the boxes become black in the stored image, for everybody. This cannot be undone."),
            _("The image stays in quarantine, so that it is looked at once more before it is released."),
            _("Boxes, reason and your name are noted in the audit log."),
        ],
        label=label,
        back=reverse("quarantined-image", args=[image.public_id]),
        about=_("Image in quarantine"),
        sent={"x": x, "y": y, "width": width, "height": height, "reason": form.cleaned_data["reason"]},
    )


@role_required(Role.DEIDENTIFIER)
@require_POST
def quarantine_search(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Search the image for text once more; only the boxes change."""
    searching.check_text(_quarantined(public_id), at=timezone.now())
    return said(request, _("The image was searched for text again."), "quarantined-image", public_id)


def _quarantined(public_id: str) -> Image:
    images = Image.objects.filter(state=ImageState.QUARANTINED).select_related("exam__bank")
    return get_object_or_404(images.prefetch_related("renditions"), public_id=public_id)


def _decide(request: AuthenticatedRequest, image: Image, act: Callable[[], None], done: str) -> HttpResponse:
    """And on to the next image that waits, or to the list where this was the last one."""
    withdraw_offer(request)
    try:
        act()
    except IngestRefused as refusal:
        return _not_decided(request, refusal)
    others = quarantined().exclude(pk=image.pk)
    later = Q(ingested_at=image.ingested_at, pk__gt=image.pk)
    if image.ingested_at:
        later |= Q(ingested_at__gt=image.ingested_at)
    following = others.filter(later).first() or others.first()
    if following or UNDOABLE not in request.session:  # the list shows a release where it offers to undo it
        messages.success(request, done)
    return redirect("quarantined-image", following.public_id) if following else redirect("quarantine")


def quarantined() -> QuerySet[Image]:
    """All images in quarantine, oldest first."""
    return Image.objects.filter(state=ImageState.QUARANTINED).order_by("ingested_at", "pk")


class Undoable(Struct, frozen=True):
    """The last release of a person that can be put back as a whole, and the images of it that still can."""

    n_released: int
    since: datetime
    images: QuerySet[Image]


def offer_to_undo(request: AuthenticatedRequest, images: Sequence[Image], at: datetime) -> None:
    request.session[UNDOABLE] = {"at": at.isoformat(), "images": [image.public_id for image in images]}


def withdraw_offer(request: AuthenticatedRequest) -> None:
    """Any other decision is the last one now."""
    request.session.pop(UNDOABLE, None)


def undoable(request: AuthenticatedRequest) -> Undoable:
    noted = request.session.get(UNDOABLE)
    if not noted:
        return Undoable(0, timezone.now(), Image.objects.none())
    since = datetime.fromisoformat(noted["at"])
    images = acts.released_by(request.user, since).filter(public_id__in=noted["images"])
    return Undoable(len(noted["images"]), since, images.order_by("ingested_at", "pk"))


def previews() -> Prefetch[str]:
    return Prefetch("renditions", Rendition.objects.filter(kind=RenditionKind.PREVIEW), to_attr="previews")


def _not_decided(request: AuthenticatedRequest, refusal: IngestRefused, image: Image | None = None) -> HttpResponse:
    """To the list, or to an image that is still in quarantine."""
    if refusal.code == "not_in_quarantine":
        messages.warning(request, str(refusal))
        return redirect("quarantine")
    messages.error(request, str(refusal))
    return redirect("quarantined-image", image.public_id) if image else redirect("quarantine")


def _page(
    request: AuthenticatedRequest, image: Image, *, failed: str = "", form: ReasonForm | None = None
) -> HttpResponse:
    boxes = [finding for finding in image.text_findings if not finding["allowed"]]
    events = AuditEvent.objects.filter(subject_type="image", subject_id=image.public_id).select_related("actor")
    drawn = form.boxes if isinstance(form, MaskForm) and hasattr(form, "boxes") else [f["box"] for f in boxes]
    context = {
        "image": image,
        "views": image_descriptors([image], route="quarantine-rendition"),
        "preview": next((r for r in image.renditions.all() if r.kind == RenditionKind.PREVIEW), None),
        "findings": image.text_findings,
        "n_suspicious": len(boxes),
        "boxes": drawn,
        "failed": failed,
        "pictures": acts.pictures_of(image),
        "form": form or ReasonForm(),
        "events": events.order_by("-id")[:20],
    }
    return render(request, "annotation/images/quarantined_image.html", context, status=422 if failed else 200)


MOST_AT_ONCE = 500  # images that one decision is offered for
MOST_CROPS = 6  # of one image, beside the whole of it
DECISIONS: dict[str, acts.Decision] = {"release": acts.release, "remove": acts.remove}


@dataclass(frozen=True)
class Selected:
    """An image that is decided upon with others, and what was found in it."""

    image: Image
    was_searched: bool

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
    selected = list(quarantined().filter(public_id__in=request.POST.getlist("image")).prefetch_related(previews()))
    if word not in DECISIONS or not selected:
        messages.warning(request, _("Select at least one image that is in quarantine."))
        return redirect("quarantine")
    if word == "release" and not (selected := _without_turns(request, selected)):
        return redirect("quarantine")
    form = ReasonForm(request.POST if is_confirmed(request) else None)
    if not form.is_valid():
        return _ask(request, word, selected, form)
    at = timezone.now()
    outcome = acts.decide_each(selected, DECISIONS[word], reason=form.cleaned_data["reason"], actor=request.user, at=at)
    withdraw_offer(request)
    if word == "release" and outcome.done:
        offer_to_undo(request, outcome.done, at)
    if (n := len(outcome.done)) and word != "release":  # the list shows a release where it offers to undo it
        sentence = ngettext(
            "%(n)s image is removed, its pixels are deleted.", "%(n)s images are removed, their pixels are deleted.", n
        )
        messages.success(request, sentence % {"n": n})
    _flash_overtaken(request, outcome.n_overtaken)
    for sentence in outcome.refusals:
        messages.error(request, sentence)
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
            acts.undo_release(image, since=last.since, **by(request))
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


def _without_turns(request: AuthenticatedRequest, selected: list[Image]) -> list[Image]:
    """Those that can be released with others: where two pictures are there, a person opens the film and chooses."""
    if n := sum(image.waits_for_turn for image in selected):
        sentence = ngettext(
            "%(n)s film lies otherwise than usual by its file and stays here: open it and choose which of the two "
            "pictures is right.",
            "%(n)s films lie otherwise than usual by their files and stay here: open each and choose which of the two "
            "pictures is right.",
            n,
        )
        messages.warning(request, sentence % {"n": n})
    return [image for image in selected if not image.waits_for_turn]


def _ask(request: AuthenticatedRequest, word: str, selected: list[Image], form: ReasonForm) -> HttpResponse:
    searched = searching.searched_among(selected)
    images = [Selected(image, image.public_id in searched) for image in selected]
    questions = Question.objects.filter(Q(exam__images__in=selected) | Q(exam__prior__images__in=selected))
    context = {
        "decision": word,
        "images": images,
        "n_marked": sum(one.n_marked > 0 for one in images),
        "n_questions": questions.distinct().count(),
        "form": form,
    }
    return render(request, "annotation/images/quarantine_decide.html", context, status=422 if form.errors else 200)


def _flash_overtaken(request: AuthenticatedRequest, n: int) -> None:
    if n:
        sentence = ngettext(
            "Somebody else decided about %(n)s image in the meantime; it stays as it is.",
            "Somebody else decided about %(n)s images in the meantime; they stay as they are.",
            n,
        )
        messages.warning(request, sentence % {"n": n})


@role_required(Role.DEIDENTIFIER)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def quarantine_words(request: AuthenticatedRequest) -> HttpResponse:
    """The list; a word that is added begins a new search of what text holds, which finds what can be released."""
    form = WordForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        before, at, word = searching.current_words(), timezone.now(), form.cleaned_data["word"]
        with refusals_on(form):
            now = searching.add_word(word, actor=request.user, at=at)
            if now != before:
                searching.begin_search_of_quarantined(actor=request.user, at=at)
                sentence = _("“%(word)s” is on the list, for images that come in from now on.")
                messages.success(request, sentence % {"word": word})
            return redirect("quarantine-words")
    return _words_page(request, form)


@role_required(Role.DEIDENTIFIER)
@require_POST
def quarantine_word_remove(request: AuthenticatedRequest) -> HttpResponse:
    word = request.POST.get("word", "")
    searching.remove_word(word, **by(request))
    sentence = _("“%(word)s” is off the list. Images that were released stay released.")
    return said(request, sentence % {"word": word}, "quarantine-words")


def _words_page(request: AuthenticatedRequest, form: WordForm) -> HttpResponse:
    now = searching.current_words()
    images = searching.quarantined_for_words() if now.words else Image.objects.none()
    shown = images.select_related("exam__bank").prefetch_related(previews())
    context = {
        "form": form,
        "number": now.number,
        "words": sorted(now.words),
        "built_in": sorted(ALLOWED),
        "page": numbered_page(request.GET, shown, IMAGES_PER_PAGE),
        "job": job_under_way(searching.AGAIN_JOB_KIND),
        "is_searchable": has_text_search(),
    }
    return render(request, "annotation/images/quarantine_words.html", context, status=422 if form.errors else 200)
