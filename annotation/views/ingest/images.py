"""Images as coordinators see them: the list, one image, and what may be said about it."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Prefetch, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.enums import ImageState, RenditionKind, Role, ViewPosition
from annotation.forms.images import CreditForm, ImageFilterForm, ReasonForm, ViewForm
from annotation.ingest import describing, quarantine
from annotation.ingest.serving import image_descriptors
from annotation.ingest.uploading import images_of_upload
from annotation.models import AuditEvent, Image, Rendition
from annotation.site import showings
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, role_required

IMAGES_PER_PAGE = 24
EVENTS_SHOWN = 20


def _images() -> QuerySet[Image]:
    kept = Image.objects.filter(exam__bank__deleted_at__isnull=True)
    return kept.select_related("exam__bank").order_by("-exam_id", "position", "id")


@role_required(Role.COORDINATOR)
@require_safe
@vary_on_headers("HX-Request")
def images(request: AuthenticatedRequest) -> HttpResponse:
    """Every image, by bank and state."""
    form = ImageFilterForm(request.GET)
    wanted = form.cleaned_data if form.is_valid() else {}
    found = _images()
    if bank := wanted.get("bank"):
        found = found.filter(exam__bank=bank)
    if state := wanted.get("state"):
        found = found.filter(state=state)
    if upload := wanted.get("upload"):
        found = found.filter(pk__in=images_of_upload(upload))
    previews = Prefetch("renditions", Rendition.objects.filter(kind=RenditionKind.PREVIEW), to_attr="previews")
    page = Paginator(found.prefetch_related(previews), IMAGES_PER_PAGE).get_page(request.GET.get("page"))
    template = "_image_list.html" if asks_for_part(request) else "list.html"
    context = {"form": form, "page": page, "is_filtered": any(wanted.values()), "only_bank": wanted.get("bank")}
    return render(request, f"annotation/images/{template}", context)


@role_required(Role.COORDINATOR)
@require_safe
def image(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """One image with what is known about it, in full depth when it may be seen."""
    return _image_page(request, _image(public_id))


@role_required(Role.COORDINATOR)
@require_POST
def image_view(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Correct the view position and the side."""
    shown, form = _image(public_id), ViewForm(request.POST)
    if not form.is_valid():
        return _image_page(request, shown, view_form=form)
    data = form.cleaned_data
    view = ViewPosition(data["view_position"])
    if describing.correct_view(shown, view, data["laterality"], actor=request.user, at=timezone.now()):
        messages.success(request, _("View position and side are corrected."))
        _tell_readings(request, shown)
    return redirect("image", public_id)


@role_required(Role.COORDINATOR)
@require_POST
def image_credits(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Say whose the image is and under which licence it is shown."""
    shown, form = _image(public_id), CreditForm(request.POST)
    if not form.is_valid():
        return _image_page(request, shown, credit_form=form)
    data = form.cleaned_data
    if describing.set_credits(shown, data["attribution"], data["licence"], actor=request.user, at=timezone.now()):
        messages.success(request, _("Attribution and licence are stored."))
        _tell_readings(request, shown)
    return redirect("image", public_id)


@role_required(Role.COORDINATOR)
@require_POST
def image_quarantine(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Take an image out of sight because it may identify somebody."""
    shown, form = _image(public_id), ReasonForm(request.POST)
    if not form.is_valid():
        return _image_page(request, shown, reason_form=form)
    try:
        quarantine.quarantine_image(shown, reason=form.cleaned_data["reason"], actor=request.user, at=timezone.now())
        messages.success(request, _("The image is in quarantine: nobody sees it until it is decided upon."))
    except quarantine.NotToBeQuarantined:
        messages.error(request, _("This image has no pixels that could be seen."))
    return redirect("image", public_id)


def _tell_readings(request: AuthenticatedRequest, image: Image) -> None:
    """Whoever reads with it goes on seeing what was frozen."""
    if names := showings.read_in(image.pk):
        said = _("Readers of “%(names)s” go on seeing what was frozen; the change shows in studies frozen from now on.")
        messages.info(request, said % {"names": "”, “".join(names)})


def _image(public_id: str) -> Image:
    return get_object_or_404(_images().prefetch_related("renditions"), public_id=public_id)


def _image_page(
    request: AuthenticatedRequest,
    shown: Image,
    *,
    view_form: ViewForm | None = None,
    credit_form: CreditForm | None = None,
    reason_form: ReasonForm | None = None,
) -> HttpResponse:
    sent: list[forms.Form | None] = [view_form, credit_form, reason_form]
    events = AuditEvent.objects.filter(subject_type="image", subject_id=shown.public_id).select_related("actor")
    context = {
        "image": shown,
        "views": image_descriptors([shown]),
        "view_form": view_form
        or ViewForm(initial={"view_position": shown.view_position, "laterality": shown.laterality}),
        "credit_form": credit_form or CreditForm(initial={"attribution": shown.attribution, "licence": shown.licence}),
        "reason_form": reason_form or ReasonForm(),
        "can_be_quarantined": shown.state in (ImageState.AVAILABLE, ImageState.CHECKING),
        "siblings": shown.exam.images.exclude(pk=shown.pk),
        "n_questions": shown.exam.questions.count(),
        "events": events.order_by("-id")[:EVENTS_SHOWN],
    }
    return render(request, "annotation/images/image.html", context, status=422 if any(sent) else 200)
