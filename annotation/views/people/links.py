"""The page behind a one-time link, whatever it invites to; and asking before a link is revoked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.forms.people import AcceptForm
from annotation.models import User
from annotation.models.people import OneTimeLink
from annotation.people.accounts import has_account
from annotation.people.confirmations import ask_for_confirmation
from annotation.people.mailing import try_to_send
from annotation.refusals import Refused
from annotation.views.people.signing_in import sign_in
from annotation.views.site.confirming import Confirmation, run_on_form
from annotation.views.site.decorators import AuthenticatedRequest


def closed_page(request: HttpRequest, refusal: Refused, status: int = 0) -> HttpResponse:
    """The link does not work, and why."""
    context = {"title": _("This invitation does not work"), "message": str(refusal)}
    return render(request, "annotation/error.html", context, status=status or refusal.status)


def new_account_page(
    request: HttpRequest,
    link: OneTimeLink,
    template: str,
    accept: Callable[..., User | None],
    *,
    next_page: Callable[[User], str],
    context: dict[str, Any],
) -> HttpResponse:
    """Somebody who is not logged in makes an account, unless there is one with the address of the link."""
    form = AcceptForm(link, request.POST or None)
    knows_account = has_account(link.email)
    if request.method == "POST" and not knows_account and form.is_valid():
        person = run_on_form(form, lambda: accept(link, **form.account(), at=timezone.now()))
        if person is not None:
            messages.success(request, _("Welcome. Your account is ready."))
            source, now = request.META.get("REMOTE_ADDR", ""), timezone.now()
            try_to_send(lambda: ask_for_confirmation(person, source=source, at=now))
            return sign_in(request, person, "password", resolve_url(next_page(person)))
    context = {**context, "form": form, "invitation": link, "here": request.path, "knows_account": knows_account}
    return render(request, template, context, status=422 if form.errors else 200)


def own_account_page(
    request: HttpRequest,
    link: OneTimeLink,
    template: str,
    check: Callable[[], None],
    accept: Callable[[], HttpResponse],
    *,
    context: dict[str, Any],
) -> HttpResponse:
    """Somebody who is logged in uses the link with their account, or reads why they cannot."""
    refusal = None
    try:
        check()
        if request.method == "POST":
            return accept()
    except Refused as refused:
        if refused.code == "link_closed":
            return closed_page(request, refused)
        refusal = refused
    context = {**context, "invitation": link, "refusal": refusal}
    return render(request, template, context, status=409 if refusal else 200)


def revoking(sentence: str, back: str) -> Confirmation:
    """What is asked before a link is revoked."""
    label = _("Revoke the link")
    until = _("Until the day on which it ends it can be restored from the list of revoked links.")
    return Confirmation(title=label, sentences=[sentence, until], label=label, back=back)


def stops_at_once(link: OneTimeLink) -> str:
    return _("The link for %(whom)s stops working at once.") % {"whom": whom(link)}


def whom(link: OneTimeLink) -> str:
    return link.name or link.email or _("whoever has it")


def flash_restored(request: AuthenticatedRequest, is_restored: bool) -> None:
    if is_restored:
        messages.success(request, _("The link works again."))
    else:
        messages.warning(request, _("This link is used or has ended: it cannot be restored."))
