"""Model endpoints: what they are, what a probe found out about their models, and what these cost.

Administrators probe and set prices, coordinators read.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.call_enums import ProbeQuestion
from annotation.endpoints.configured_endpoints import endpoint_named
from annotation.endpoints.endpoint_overview import endpoint_lines, has_usable_key, prices_of, probe_jobs, probes_of
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.endpoints.prices import set_price
from annotation.endpoints.probing import ask_for_probe, counts_of
from annotation.enums import Role
from annotation.forms.model_endpoints import PriceForm, ProbeForm
from annotation.site.permissions import is_administrator
from annotation.site.sorted_tables import numbered_page
from annotation.views.site.confirming import run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, role_required

PROBES_PER_PAGE = 25


@role_required(Role.ADMINISTRATOR, Role.COORDINATOR)
@never_cache
@require_safe
def model_endpoints(request: AuthenticatedRequest) -> HttpResponse:
    """All that are named, or how to name one."""
    context = {"lines": endpoint_lines(timezone.localdate()), "may_change": is_administrator(request.user)}
    return render(request, "annotation/endpoints/list.html", context)


@role_required(Role.ADMINISTRATOR, Role.COORDINATOR)
@never_cache
@require_safe
@vary_on_headers("HX-Request")
def model_endpoint(request: AuthenticatedRequest, name: str) -> HttpResponse:
    """With the findings of the newest probe, or of the one that the address names."""
    return _page(request, endpoint_named(name))


@role_required(Role.ADMINISTRATOR)
@require_POST
def model_endpoint_probe(request: AuthenticatedRequest, name: str) -> HttpResponse:
    """Start a probe; its progress shows on the page of the endpoint."""
    endpoint, form = endpoint_named(name), ProbeForm(request.POST, auto_id="probe_%s")
    if form.is_valid():
        asked = form.cleaned_data["model"]
        if run_on_form(form, lambda: ask_for_probe(endpoint, asked, **by(request)), field="model"):
            return redirect("model-endpoint", name)
    return _page(request, endpoint, probe_form=form)


@role_required(Role.ADMINISTRATOR)
@require_POST
def model_endpoint_price(request: AuthenticatedRequest, name: str) -> HttpResponse:
    endpoint, form = endpoint_named(name), PriceForm(request.POST, auto_id="price_%s")
    if form.is_valid():
        price = run_on_form(form, lambda: set_price(name, **form.cleaned_data, **by(request)))
        if price is not None:
            messages.success(request, _("The price is kept."))
            return redirect("model-endpoint", name)
    return _page(request, endpoint, price_form=form)


def _page(
    request: AuthenticatedRequest,
    endpoint: Endpoint,
    *,
    probe_form: ProbeForm | None = None,
    price_form: PriceForm | None = None,
) -> HttpResponse:
    """The page, or while a probe runs the part of it that changes."""
    probes, today = probes_of(endpoint), timezone.localdate()
    asked = request.GET.get("probe", "")
    shown = get_object_or_404(probes, public_id=asked) if asked else probes.first()
    under_way, failed = probe_jobs(endpoint)
    model = endpoint.model or (shown.model if shown else "")
    context: dict[str, Any] = {
        "endpoint": endpoint,
        "may_change": is_administrator(request.user),
        "probe": shown,
        "findings": [(ProbeQuestion.label_of(one["code"]), one) for one in shown.findings] if shown else [],
        "under_way": under_way,
        "failed": failed,
        "page": numbered_page(request.GET, probes, PROBES_PER_PAGE),
        "probe_form": probe_form or ProbeForm(initial={"model": model}, auto_id="probe_%s"),
    }
    if asks_for_part(request):
        return render(request, "annotation/endpoints/_probe.html", context)
    context |= {
        "has_key": has_usable_key(endpoint),
        "history": [(one, counts_of(one)) for one in context["page"]],
        "prices": prices_of(endpoint, today),
        "price_form": price_form or PriceForm(initial={"model": model, "valid_from": today}, auto_id="price_%s"),
    }
    is_refused = any(form is not None for form in (probe_form, price_form))
    return render(request, "annotation/endpoints/endpoint.html", context, status=422 if is_refused else 200)
