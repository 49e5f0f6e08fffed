"""A bank as a file to take away."""

from __future__ import annotations

from django.http import FileResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotation.enums import Role
from annotation.exports.bank_export import export_bank_zip
from annotation.exports.tables import scratch_file
from annotation.forms.bank import BankExportForm
from annotation.models import QuestionBank
from annotation.views.site.decorators import AuthenticatedRequest, by, role_required


@role_required(Role.COORDINATOR)
@never_cache
@require_GET
def bank_export(request: AuthenticatedRequest, slug: str) -> FileResponse:
    """Questions, changes and data card; written whole before the first byte is sent, and who takes it is noted."""
    one = get_object_or_404(QuestionBank, slug=slug)
    file = scratch_file()
    export_bank_zip(one, BankExportForm(request.GET).choice(), file, **by(request))
    return FileResponse(file, as_attachment=True, filename=f"{one.slug}.zip", content_type="application/zip")
