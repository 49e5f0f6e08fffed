"""The bytes of images on their way to the screen. Nothing here says what an image is called at its source."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from annotation.enums import Role
from annotation.ingest import serving
from annotation.views.site.decorators import AuthenticatedRequest, person_required, role_required

KEEP = "private, max-age=31536000, immutable"  # a name always stands for the same bytes
KEEP_NOTHING = "no-store"


@person_required
@require_safe
def rendition(request: AuthenticatedRequest, name: str) -> HttpResponse:
    """An available image, to whoever may see it; for everybody else there is nothing here."""
    try:
        served = serving.serve_rendition(
            name, person=request.user, accepts_zstd=_accepts_zstd(request), at=timezone.now()
        )
    except serving.RenditionHidden:
        raise Http404 from None
    return _response(served, KEEP)


@role_required(Role.DEIDENTIFIER)
@require_safe
def quarantine_rendition(request: AuthenticatedRequest, name: str) -> HttpResponse:
    """An image in quarantine, to the people who decide about it; no browser keeps it."""
    try:
        served = serving.serve_quarantined(name, accepts_zstd=_accepts_zstd(request), at=timezone.now())
    except serving.RenditionHidden:
        raise Http404 from None
    return _response(served, KEEP_NOTHING)


def _accepts_zstd(request: AuthenticatedRequest) -> bool:
    """Whether zstd is listed, and not with a quality of zero (RFC 9110, 12.5.3)."""
    for part in request.headers.get("Accept-Encoding", "").lower().split(","):
        coding, _, parameters = part.strip().partition(";")
        if coding.strip() == "zstd":
            return parameters.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _response(served: serving.Served, cache_control: str) -> HttpResponse:
    response = HttpResponse(served.content, content_type=served.content_type)
    response["Cache-Control"] = cache_control
    response["Content-Length"] = str(len(served.content))
    if served.encoding:
        response["Content-Encoding"] = served.encoding
        patch_vary_headers(response, ["Accept-Encoding"])
    return response
