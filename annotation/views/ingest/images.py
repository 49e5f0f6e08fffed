"""Images as coordinators see them: the list, one image, what may be stated about it; and the bytes of renditions."""

from __future__ import annotations

from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.enums import ImageState, RenditionKind, Role
from annotation.forms.images import CreditForm, ImageFilterForm, ReasonForm, ViewForm
from annotation.ingest import serving
from annotation.ingest.describing import images_of_banks
from annotation.ingest.serving import image_descriptors
from annotation.ingest.uploading import images_of_upload
from annotation.models import AuditEvent, Rendition
from annotation.site.sorted_tables import numbered_page
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, person_required, role_required

IMAGES_PER_PAGE = 24
EVENTS_SHOWN = 20
KEEP = "private, max-age=31536000, immutable"  # a name always means the same bytes
KEEP_NOTHING = "no-store"


@role_required(Role.COORDINATOR)
@require_safe
@vary_on_headers("HX-Request")
def images(request: AuthenticatedRequest) -> HttpResponse:
    """Every image, by bank and state."""
    form = ImageFilterForm(request.GET)
    wanted = form.cleaned_data if form.is_valid() else {}
    found = images_of_banks().order_by("-exam_id", "position", "id")
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
    shown = get_object_or_404(images_of_banks().prefetch_related("renditions"), public_id=public_id)
    events = AuditEvent.objects.filter(subject_type="image", subject_id=shown.public_id).select_related("actor")
    context = {
        "image": shown,
        "views": image_descriptors([shown]),
        "view_form": ViewForm(initial={"view_position": shown.view_position, "laterality": shown.laterality}),
        "credit_form": CreditForm(initial={"attribution": shown.attribution, "licence": shown.licence}),
        "reason_form": ReasonForm(),
        "can_be_quarantined": shown.state in (ImageState.AVAILABLE, ImageState.CHECKING),
        "siblings": shown.exam.images.exclude(pk=shown.pk),
        "n_questions": shown.exam.questions.count(),
        "events": events.order_by("-id")[:EVENTS_SHOWN],
    }
    return render(request, "annotation/images/image.html", context)


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
