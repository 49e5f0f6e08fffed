"""Images as coordinators see them: the list, one image, what may be stated about it; and the bytes of renditions."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.enums import ImageState, RenditionKind, Role, ViewPosition
from annotation.forms.images import CreditForm, ImageFilterForm, ReasonForm, ViewForm
from annotation.ingest import describing, serving
from annotation.ingest.quarantine import quarantine_image
from annotation.ingest.serving import image_descriptors
from annotation.ingest.uploading import images_of_upload
from annotation.models import AuditEvent, Image, Rendition
from annotation.site import hooks
from annotation.site.sorted_tables import numbered_page
from annotation.views.site.confirming import run_and_flash
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, person_required, role_required

IMAGES_PER_PAGE = 24
EVENTS_SHOWN = 20
KEEP = "private, max-age=31536000, immutable"  # a name always means the same bytes
KEEP_NOTHING = "no-store"


def _images() -> QuerySet[Image]:
    images = Image.objects.filter(exam__bank__deleted_at__isnull=True)
    return images.select_related("exam__bank").order_by("-exam_id", "position", "id")


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
    page = numbered_page(request.GET, found.prefetch_related(previews), IMAGES_PER_PAGE)
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
        _flash_readings(request, shown)
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
        _flash_readings(request, shown)
    return redirect("image", public_id)


@role_required(Role.COORDINATOR)
@require_POST
def image_quarantine(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Take an image out of sight because it may identify somebody."""
    shown, form = _image(public_id), ReasonForm(request.POST)
    if not form.is_valid():
        return _image_page(request, shown, reason_form=form)

    def hide() -> str:
        quarantine_image(shown, reason=form.cleaned_data["reason"], actor=request.user, at=timezone.now())
        return _("The image is in quarantine: nobody sees it until it is decided upon.")

    run_and_flash(request, hide)
    return redirect("image", public_id)


# The bytes of images that are shown. Nothing here says what an image is called at its source.


@person_required
@require_safe
def rendition(request: AuthenticatedRequest, name: str) -> HttpResponse:
    """An available image, to whoever may see it; for everybody else there is nothing here."""
    zstd, now = accepts_zstd(request), timezone.now()
    return bytes_response(serving.serve_rendition(name, person=request.user, accepts_zstd=zstd, at=now), KEEP)


@person_required
@require_safe
def thumbnail(request: AuthenticatedRequest, name: str) -> HttpResponse:
    """The same, small, for lists; by the name of its preview."""
    return bytes_response(serving.serve_thumbnail(name, person=request.user, at=timezone.now()), KEEP)


@role_required(Role.DEIDENTIFIER)
@require_safe
def quarantine_rendition(request: AuthenticatedRequest, name: str) -> HttpResponse:
    """An image in quarantine, to the people who decide about it; no browser keeps it."""
    served = serving.serve_quarantined(name, accepts_zstd=accepts_zstd(request), at=timezone.now())
    return bytes_response(served, KEEP_NOTHING)


def _flash_readings(request: AuthenticatedRequest, image: Image) -> None:
    """Whoever reads with it still sees what was frozen."""
    if names := hooks.read_in(image.pk):
        sentence = _(
            "Readers of “%(names)s” go on seeing what was frozen; the change shows in studies frozen from now on."
        )
        messages.info(request, sentence % {"names": "”, “".join(names)})


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


def accepts_zstd(request: HttpRequest) -> bool:
    """Whether zstd is listed, and not with a quality of zero (RFC 9110, 12.5.3)."""
    for part in request.headers.get("Accept-Encoding", "").lower().split(","):
        coding, _, parameters = part.strip().partition(";")
        if coding.strip() == "zstd":
            return parameters.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def bytes_response(served: serving.Served, cache_control: str) -> HttpResponse:
    response = HttpResponse(served.content, content_type=served.content_type)
    response["Cache-Control"] = cache_control
    response["Content-Length"] = str(len(served.content))
    if served.encoding:
        response["Content-Encoding"] = served.encoding
        patch_vary_headers(response, ["Accept-Encoding"])
    return response
