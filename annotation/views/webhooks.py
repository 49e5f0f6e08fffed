"""Webhooks: which programs are notified of what, and what they answered. Whoever runs the server names them."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.enums import Role
from annotation.models import WebhookDelivery
from annotation.site.sorted_tables import numbered_page
from annotation.views.site.decorators import AuthenticatedRequest, by, role_required
from annotation.webhooks.deliveries import deliveries, send_again, send_test, webhook_lines, webhook_named
from annotation.webhooks.kernels.webhook_list import EVENTS

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
