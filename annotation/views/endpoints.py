"""Model endpoints and webhooks, as the people who keep the site see them.

Administrators probe and set prices, coordinators read.

What of a bank may be sent to which endpoint: its terms, the permissions, giving and withdrawing one.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.call_enums import EndpointPlace, ProbeQuestion
from annotation.endpoints.configured_endpoints import endpoint_named, endpoints, set_price
from annotation.endpoints.kernels.endpoint_list import EVENTS, Endpoint
from annotation.endpoints.sending_permissions import give_permission, is_same_text, withdraw_permission
from annotation.enums import Role
from annotation.forms.model_endpoints import PermissionForm, PriceForm, ProbeForm, TermsForm, TermsWithdrawalForm
from annotation.ingest.serving import images_never_sent
from annotation.model_calls.probing import (
    ask_for_probe,
    counts_of,
    endpoint_lines,
    has_usable_key,
    prices_of,
    probe_jobs,
    probes_of,
)
from annotation.models import QuestionBank, SendingPermission, WebhookDelivery
from annotation.people.deliveries import deliveries, send_again, send_test, webhook_lines, webhook_named
from annotation.questionbank.bank_life import change_terms
from annotation.site.permissions import is_administrator, is_coordinator
from annotation.site.sorted_tables import numbered_page
from annotation.views.site.confirming import refusals_on, said
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
        with refusals_on(form, field="model"):
            ask_for_probe(endpoint, asked, **by(request))
            return redirect("model-endpoint", name)
    return _page(request, endpoint, probe_form=form)


@role_required(Role.ADMINISTRATOR)
@require_POST
def model_endpoint_price(request: AuthenticatedRequest, name: str) -> HttpResponse:
    endpoint, form = endpoint_named(name), PriceForm(request.POST, auto_id="price_%s")
    if form.is_valid():
        with refusals_on(form):
            set_price(name, **form.cleaned_data, **by(request))
            return said(request, _("The price is kept."), "model-endpoint", name)
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


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_GET
def bank_sending(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Permissions, those in force first, with what they are based on."""
    one = get_object_or_404(QuestionBank, slug=slug)
    now = timezone.now()
    places = {endpoint.name: endpoint.place for endpoint in endpoints()}
    rows = [
        {
            "permission": permission,
            "state": permission.state_at(now),
            "holds": permission.holds_at(now),
            "place": _(places[permission.endpoint].label) if permission.endpoint in places else "",
            "terms_differ": bool(permission.terms) and not is_same_text(permission.terms, one.terms),
        }
        for permission in one.sending_permissions.select_related("given_by", "withdrawn_by")
    ]
    context = {
        "bank": one,
        "rows": sorted(rows, key=lambda row: not row["holds"]),
        "endpoints": places,
        "never_sent": images_never_sent(one),
        "may_give": is_administrator(request.user) and one.archived_at is None,
        "may_withdraw": is_administrator(request.user),
        "may_state_terms": is_coordinator(request.user) and one.archived_at is None,
    }
    return render(request, "annotation/sending/bank.html", context)


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def bank_terms(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The terms under which the bank was given, and how its images came."""
    one = get_object_or_404(QuestionBank, slug=slug)
    form = TermsForm(request.POST) if request.method == "POST" else TermsForm.of(one)
    if request.method == "POST" and form.is_valid():
        data, who = form.cleaned_data, by(request)
        with refusals_on(form):
            changed = change_terms(one, **data, **who)
            return said(request, _("The terms are stored.") if changed else _("Nothing differs."), "bank-sending", slug)
    context = {"bank": one, "form": form}
    return render(request, "annotation/sending/terms.html", context, status=422 if form.errors else 200)


@role_required(Role.ADMINISTRATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def bank_permission_new(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The form shows the terms of the bank word by word. Other terms in between are shown again, not accepted yet."""
    one = get_object_or_404(QuestionBank, slug=slug)
    form = PermissionForm(one, request.user.time_zone, request.POST or None)
    if request.method == "POST" and form.is_valid():
        with refusals_on(form):
            given = give_permission(one, **form.given(), **by(request))
            sentence = _("“%(endpoint)s” may be sent what you chose.")
            return said(request, sentence % {"endpoint": given.endpoint}, "bank-sending", slug)
    context = {
        "bank": one,
        "form": form,
        "endpoints": endpoints(),
        "is_any_outside": any(endpoint.place == EndpointPlace.OUTSIDE for endpoint in endpoints()),
        "is_accepted": bool(form.data.get("accepted")) and "accepted" not in form.errors,
    }
    return render(request, "annotation/sending/permission_new.html", context, status=422 if form.errors else 200)


@role_required(Role.ADMINISTRATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def bank_permission_withdraw(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    permissions = SendingPermission.objects.select_related("bank", "given_by")
    permission = get_object_or_404(permissions, bank__slug=slug, public_id=public_id)
    form = TermsWithdrawalForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        because, who = form.cleaned_data["because"], by(request)
        with refusals_on(form):
            withdraw_permission(permission, because, **who)
            return said(request, _("The permission is withdrawn."), "bank-sending", slug)
    context = {"bank": permission.bank, "permission": permission, "form": form}
    return render(request, "annotation/sending/withdraw.html", context, status=422 if form.errors else 200)


DELIVERIES_PER_PAGE = 50


@role_required(Role.ADMINISTRATOR)
@never_cache
@require_safe
def webhooks(request: AuthenticatedRequest) -> HttpResponse:
    page = numbered_page(request.GET, deliveries(), DELIVERIES_PER_PAGE)
    context = {"lines": webhook_lines(), "page": page, "events": ", ".join(EVENTS.values())}
    return render(request, "annotation/webhooks/webhooks.html", context)


@role_required(Role.ADMINISTRATOR)
@require_POST
def webhook_test(request: AuthenticatedRequest, name: str) -> HttpResponse:
    """Send a message that says nothing."""
    send_test(webhook_named(name), **by(request))
    messages.info(request, _("A test is being sent; its answer is shown below in a moment."))
    return redirect("site-webhooks")


@role_required(Role.ADMINISTRATOR)
@require_POST
def webhook_send_again(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    send_again(get_object_or_404(WebhookDelivery, public_id=public_id), **by(request))
    messages.info(request, _("It is sent again."))
    return redirect("site-webhooks")
