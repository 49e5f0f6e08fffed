"""The reviews of a round as files."""

from __future__ import annotations

import io

from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotation.exports.files import scratch_file
from annotation.exports.reviews import columns_of_reviews, export_reviews, may_take_source_ids
from annotation.exports.source_ids import SourceIdsHidden
from annotation.exports.tables import CONTENT_TYPES, Format, formats_here, write_codebook
from annotation.figures.kernels.forms import FIGURE_TYPES, FigureForm, Width, download_header
from annotation.review.outcomes import outcomes_file
from annotation.review.reviewer_progress import may_see_outcomes
from annotation.views.review.rounds import asked_rule, coordinated_round
from annotation.views.site.decorators import AuthenticatedRequest, person_required


@person_required
@never_cache
@require_GET
def round_export(request: AuthenticatedRequest, slug: str, form: str) -> FileResponse:
    """All reviews in one of the formats; written whole before the first byte is sent, so that none is cut short."""
    review_round = coordinated_round(request.user, slug)
    if form not in formats_here():
        raise Http404
    if not may_see_outcomes(request.user, review_round):
        raise PermissionDenied(_("You review in this round yourself: its reviews are hidden until it closes."))
    file, source_ids = scratch_file(), "source_ids" in request.GET
    try:
        export_reviews(review_round, Format(form), file, actor=request.user, at=timezone.now(), source_ids=source_ids)
    except SourceIdsHidden:
        raise PermissionDenied(_("The ids of the imported file are hidden until the round is closed.")) from None
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
    write_codebook(text, columns_of_reviews(source_ids=may_take_source_ids(review_round)))
    response = HttpResponse(text.getvalue(), content_type=CONTENT_TYPES[Format.CSV])
    response["Content-Disposition"] = f'attachment; filename="{review_round.slug}-codebook.csv"'
    return response


@person_required
@never_cache
@require_GET
def round_figure(request: AuthenticatedRequest, slug: str, width: str, form: str) -> HttpResponse:
    """The outcomes as they are drawn for a paper, by the rule in the address."""
    review_round = coordinated_round(request.user, slug)
    if width not in set(Width) or form not in set(FigureForm):
        raise Http404
    if not may_see_outcomes(request.user, review_round):
        raise PermissionDenied(_("You review in this round yourself: its reviews are hidden until it closes."))
    file = outcomes_file(review_round, asked_rule(request), FigureForm(form), Width(width))
    response = HttpResponse(file, content_type=FIGURE_TYPES[FigureForm(form)])
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"  # an SVG has its own styles
    response["Content-Disposition"] = download_header(slug, "outcomes", Width(width), FigureForm(form))
    return response
