"""The reviews of a round as files."""

from __future__ import annotations

import io

from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotation.decorators import AuthenticatedRequest, person_required
from annotation.exports.files import scratch_file
from annotation.exports.reviews import COLUMNS, export_reviews
from annotation.exports.tables import CONTENT_TYPES, Format, write_codebook
from annotation.review.standing import may_see_outcomes
from annotation.views.rounds import coordinated_round


@person_required
@never_cache
@require_GET
def round_export(request: AuthenticatedRequest, slug: str, form: str) -> FileResponse:
    """All reviews in one of the formats; written whole before the first byte is sent, so that none is cut short."""
    review_round = coordinated_round(request.user, slug)
    if form not in Format.values():
        raise Http404
    if not may_see_outcomes(request.user, review_round):
        raise PermissionDenied(_("You review in this round yourself: its reviews are hidden until it closes."))
    file = scratch_file()
    export_reviews(review_round, Format(form), file, actor=request.user, at=timezone.now())
    return FileResponse(
        file,
        as_attachment=True,
        filename=f"{review_round.slug}-reviews.{form}",
        content_type=CONTENT_TYPES[Format(form)],
    )


@person_required
@require_GET
def round_codebook(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """What each column of the files means."""
    review_round = coordinated_round(request.user, slug)
    text = io.BytesIO()
    write_codebook(text, COLUMNS)
    response = HttpResponse(text.getvalue(), content_type=CONTENT_TYPES[Format.CSV])
    response["Content-Disposition"] = f'attachment; filename="{review_round.slug}-codebook.csv"'
    return response
