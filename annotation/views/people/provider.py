"""Logging in by the provider of the settings: the redirect, its answer, and connecting an account with it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from allauth.socialaccount.internal import statekit
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.models import Invitation
from annotation.people import provider_accounts
from annotation.people.invitations import find_invitation
from annotation.people.kernels.provider_settings import Provider
from annotation.people.links import PeopleRefused, check_open
from annotation.people.provider import BUSY, Trip, claims_for, login_address, not_believed, waiting_place
from annotation.views.people.signing_in import locked_page, proven_lately, sign_in
from annotation.views.site.confirming import run_and_flash
from annotation.views.site.decorators import AuthenticatedRequest, anyone, person_required

PLACE = "oidc"  # of its questions among those that a session keeps


@anyone
@never_cache
@require_POST
def provider_login(request: HttpRequest) -> HttpResponse:
    """Go there, with the invitation that somebody has in hand, or with the page that they want to see afterwards."""
    invited = find_invitation(request.POST["invitation"]) if "invitation" in request.POST else None
    if "invitation" in request.POST:
        check_open(invited, timezone.now())
    wanted = request.POST.get("next", "")
    is_here = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return _go(request, {"next": wanted if is_here else "", "invitation": invited.pk if invited else None})


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@proven_lately
def provider_connect(request: AuthenticatedRequest) -> HttpResponse:
    """Whether the account of somebody who is logged in is connected; going there to connect it."""
    if request.method == "POST":
        return _go(request, {"person": request.user.pk})
    context = {"provider": _provider(), "is_connected": provider_accounts.is_connected(request.user)}
    return render(request, "annotation/people/provider.html", context)


@person_required
@require_POST
@proven_lately
def provider_disconnect(request: AuthenticatedRequest) -> HttpResponse:
    _provider()

    def end() -> str:
        provider_accounts.disconnect(request.user, at=timezone.now())
        return _("Your account is not connected any more.")

    run_and_flash(request, end)
    return redirect("provider-connect")


@anyone
@never_cache
@require_safe
def provider_answer(request: HttpRequest) -> HttpResponse:
    """What the browser brings back from there. Everything that is not believed is one page and one row of the log."""
    provider, source = _provider(), _source(request)
    try:
        with waiting_place(source):
            return locked_page(request, "") or _answered(request, provider)
    except PeopleRefused as refusal:
        context = {"refusal": refusal, "provider": provider}
        answer = render(request, "annotation/people/provider_refused.html", context, status=refusal.status)
        if refusal.code == BUSY:  # nothing of what was brought back is used up
            answer["Refresh"] = "3"
        else:
            provider_accounts.note_refusal(refusal, source=source, at=timezone.now())
        return answer


def _answered(request: HttpRequest, provider: Provider) -> HttpResponse:
    kept = statekit.unstash_state(request, provider_id=PLACE, state_id=request.GET.get("state", ""))
    if kept is None:
        sentence = _("This log-in was begun in another browser or too long ago. Begin again.")
        raise PeopleRefused("provider_state", sentence, status=400)
    code, now = request.GET.get("code", ""), timezone.now()
    if "error" in request.GET or not code:
        sentence = _("%(name)s did not let you in. Try again, or log in with your password.") % {"name": provider.name}
        raise PeopleRefused("provider_declined", sentence, status=403)
    if request.GET.get("iss", provider.issuer) != provider.issuer:
        raise not_believed("issuer")
    trip = Trip(**kept["trip"])
    claims = claims_for(provider, code, trip, callback=_callback(), at=now)
    if "person" in kept:
        return _connected(request, claims, provider, kept["person"])
    invited = Invitation.objects.filter(pk=kept["invitation"]).first() if kept["invitation"] else None
    person = provider_accounts.come_in(claims, provider, invitation=invited, at=now)
    return sign_in(request, person, "provider", kept["next"] or resolve_url(settings.LOGIN_REDIRECT_URL))


def _connected(request: HttpRequest, claims: dict[str, Any], provider: Provider, person: int) -> HttpResponse:
    if not request.user.is_authenticated or request.user.pk != person:
        raise PeopleRefused("provider_state", _("You are logged in as somebody else now. Begin again."), status=400)
    provider_accounts.connect(request.user, claims, provider, at=timezone.now())
    messages.success(request, _("You can log in with %(name)s from now on.") % {"name": provider.name})
    return redirect("provider-connect")


def _go(request: HttpRequest, kept: dict[str, Any]) -> HttpResponse:
    """A page that goes on by itself: the policy of our pages lets no form lead to another site."""
    provider, trip = _provider(), Trip.new()
    state = statekit.stash_state(request, provider_id=PLACE, state={**kept, "trip": asdict(trip)})
    address = login_address(provider, trip, state=state, callback=_callback(), source=_source(request))
    answer = render(request, "annotation/people/provider_go.html", {"provider": provider, "address": address})
    answer["Refresh"] = f"0; url={address}"
    return answer


def _provider() -> Provider:
    provider: Provider | None = settings.OIDC_PROVIDER
    if provider is None:
        raise Http404
    return provider


def _source(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))


def _callback() -> str:
    return f"{settings.PUBLIC_URL}{reverse('provider-answer')}"
