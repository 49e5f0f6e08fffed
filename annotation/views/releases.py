"""Benchmarks that were released from a bank: a dry run, the release itself, and its files."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.http import FileResponse, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.acts import files
from annotation.enums import Role, Split
from annotation.exports.release_files import ImageSize
from annotation.exports.releases import ReleasePlan, ask_to_pack, packed_of, plan_release, release
from annotation.forms import valid_data
from annotation.forms.bank import PackedForm, ReleaseForm
from annotation.models import Release
from annotation.questionbank.validity import gate_of
from annotation.views.bank_validators import bank_of
from annotation.views.site.confirming import is_confirmed, refusals_on, said
from annotation.views.site.decorators import AuthenticatedRequest, by, role_required


@role_required(Role.COORDINATOR)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def bank_releases(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """What was released; sent once it shows what would be, sent again it releases that."""
    bank = bank_of(request, slug)
    form = ReleaseForm(request.POST or None)
    plan = None
    if request.method == "POST" and form.is_valid():
        wanted = form.wanted(bank)
        with refusals_on(form, field="name"):
            if is_confirmed(request):
                made = release(wanted, **by(request))
                return said(request, _("“%(name)s” is released.") % {"name": made.name}, "bank-releases", slug)
            plan = plan_release(wanted, request.user)
    releases = Release.objects.filter(bank=bank)
    context = {
        "bank": bank,
        "gate": gate_of(bank),
        "form": form,
        "plan": plan,
        **(_told(plan) if plan else {}),
        "splits": [(split, _(split.label)) for split in Split],
        "is_anything_released": Release.objects.exists(),
        "releases": [
            (one, [one.counts[split]["questions"] for split in Split], packed_of(one))
            for one in releases.select_related("gate", "released_by", "withdrawn_by")
        ],
        "sizes": [(size.value, _(size.label)) for size in ImageSize],
    }
    return render(request, "annotation/validators/releases.html", context, status=422 if form.errors else 200)


def _told(plan: ReleasePlan) -> dict[str, Any]:
    """The plan for its table: counts in the order of the splits, then of all."""

    def in_order(counts: Counter[Split]) -> list[int]:
        return [*(counts[split] for split in Split), counts.total()]

    return {
        "plan_questions": in_order(plan.questions),
        "plan_patients": in_order(plan.patients),
        "plan_tables": [(label, [(name, in_order(n)) for name, n in rows.items()]) for label, rows in plan.tables],
        "left_out": list(plan.left_out.items()),
        "n_failing": plan.n_not_passing,
    }


@role_required(Role.COORDINATOR)
@require_POST
def release_file(request: AuthenticatedRequest, slug: str, public_id: str, what: str) -> HttpResponse | FileResponse:
    """``files``, ``packed`` (with images), ``keys``; ``pack`` has the second written by a job."""
    rows = Release.objects.filter(bank=bank_of(request, slug)).select_related("bank", "gate")
    made = get_object_or_404(rows, public_id=public_id)
    if what == "pack":
        images = valid_data(PackedForm(request.POST))["images"]
        return redirect("job", ask_to_pack(made, ImageSize(images), **by(request)).public_id)
    return files.release_file(made, what, request.POST, **by(request))
