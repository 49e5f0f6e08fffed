"""The log-in, whatever proves who somebody is: its stages, a second factor, and the provider of the settings.

What allauth asks this site: sign-up is closed, messages are ours, and secrets are sealed. The lock after wrong tries,
of passwords, codes and recovery codes alike. Second factors set up and removed on the profile, in the steps of allauth.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any, TypeVar, cast

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records, perform_login, record_authentication
from allauth.account.internal.flows.reauthentication import is_reauthentication_required
from allauth.account.models import Login
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.socialaccount.internal import statekit
from axes.handlers.proxy import AxesProxyHandler
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME, authenticate
from django.contrib.auth.signals import user_login_failed
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.http.response import HttpResponseRedirect
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from msgspec.structs import asdict

from annotation.models import Invitation, User
from annotation.people import provider_accounts, second_factors
from annotation.people.accounts import UNKNOWN_ADDRESS
from annotation.people.backend import has_failed_too_often
from annotation.people.invitations import find_invitation
from annotation.people.kernels.provider_settings import Provider
from annotation.people.provider_accounts import BUSY, Trip, claims_for, login_address, not_believed, waiting_place
from annotation.people.tokens import PeopleRefused, check_open
from annotation.views.site.confirming import flashed, said
from annotation.views.site.decorators import AuthenticatedRequest, anyone, person_required

BACKEND = "annotation.people.backend.PersonBackend"


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """People come by invitation, or from the provider of the settings."""
        return False

    def login(self, request: HttpRequest, user: Any) -> None:
        user.backend = BACKEND
        super().login(request, user)

    def respond_user_inactive(self, request: HttpRequest, user: Any) -> HttpResponse:
        messages.error(request, _("This account cannot log in. Ask an administrator."))
        return redirect("login")

    def reauthenticate(self, user: Any, password: str) -> bool:
        """Wrong passwords count as those of the log-in page do."""
        found = authenticate(context.request, username=user.email, password=password)
        return found is not None and found.pk == user.pk

    def is_reauthentication_required(self, *, app: str, **more: Any) -> bool:
        """Not right after logging in."""
        records = get_authentication_records(context.request, context.request.user)
        return not records or time.time() - records[-1]["at"] > settings.ACCOUNT_REAUTHENTICATION_TIMEOUT

    def get_client_ip(self, request: HttpRequest) -> str:
        return request.META.get("REMOTE_ADDR") or UNKNOWN_ADDRESS

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        """Of errors alone; our views report what was done."""
        if message:
            messages.add_message(request, level, message, extra_tags=extra_tags)


class FactorAdapter(DefaultMFAAdapter):
    error_messages = {
        **DefaultMFAAdapter.error_messages,
        "incorrect_code": _("This code or key does not fit. A code of the app works once, and for a minute."),
    }

    def _get_site_name(self) -> str:
        return _("Reading room")

    def generate_authenticator_name(self, user: Any, type: Authenticator.Type) -> str:
        n = Authenticator.objects.filter(user=user, type=type).count() + 1
        return _("Passkey %(n)s") % {"n": n}

    def encrypt(self, text: str) -> str:
        return second_factors.sealed(text)

    def decrypt(self, encrypted_text: str) -> str:
        return second_factors.unsealed(encrypted_text)


View = TypeVar("View", bound=Callable[..., HttpResponseBase])


def sign_in(request: HttpRequest, person: User, method: str, next_page: str) -> HttpResponse:
    """Log the person in, or ask for the second factor first. ``method``: what was proven, such as "password"."""
    record_authentication(request, person, method=method)
    answer: HttpResponse = perform_login(request, Login(user=person, redirect_url=next_page))
    return answer


def proven_lately(view: View) -> View:
    """Ask for password, code or passkey again, unless the person gave one in the last minutes.

    What was sent is not kept meanwhile: the form comes up again.
    """

    @wraps(view)
    def guarded(request: AuthenticatedRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if is_reauthentication_required(request, app="allauth.mfa"):
            methods = AccountAdapter(request).get_reauthentication_methods(request.user)
            if methods:
                return HttpResponseRedirect(f"{methods[0]['url']}?{urlencode({REDIRECT_FIELD_NAME: request.path})}")
        return view(request, *args, **kwargs)

    return cast("View", guarded)


# --- The lock after wrong tries, of passwords, codes and recovery codes alike ---------------------
def locked_page(request: HttpRequest, account: str) -> HttpResponse | None:
    """The page that says when it ends, where nothing is looked at now: neither a password nor a code."""
    if not settings.AXES_ENABLED:
        return None
    is_locked = has_failed_too_often(account, request.META.get("REMOTE_ADDR", ""), at=timezone.now())
    if not is_locked and AxesProxyHandler.is_allowed(request, {"username": account}):
        return None
    context = {"cooloff_timedelta": timedelta(hours=settings.AXES_COOLOFF_TIME)}
    return render(request, settings.AXES_LOCKOUT_TEMPLATE, context, status=429)


def note_wrong_code(request: HttpRequest, account: str) -> None:
    """Count a wrong code or key as a wrong password is counted."""
    if settings.AXES_ENABLED:
        user_login_failed.send(sender=__name__, credentials={"username": account}, request=request)


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
    with flashed(request) as say:
        provider_accounts.disconnect(request.user, at=timezone.now())
        say(_("Your account is not connected any more."))
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
    return said(request, _("You can log in with %(name)s from now on.") % {"name": provider.name}, "provider-connect")


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


# --- second factors: asked for at log-in, set up and removed on the profile ---------------------------
_form = require_http_methods(["GET", "HEAD", "POST"])


def sets_up_factor(view: View) -> View:
    """Open to people who have to set up a second factor before anything else."""
    view.sets_up_factor = True  # type: ignore[attr-defined]
    return view


def _step(name: str) -> Callable[..., HttpResponseBase]:
    """The view of this name in ``factor_steps``."""

    def step(request: HttpRequest, **place: Any) -> HttpResponseBase:
        from annotation.views.people import factor_steps  # loads cryptography: not at every start

        answer: HttpResponseBase = getattr(factor_steps, name).as_view()(request, **place)
        return answer

    return step


def _again(name: str) -> Callable[..., HttpResponseBase]:
    return sets_up_factor(person_required(never_cache(_form(_step(name)))))


def _on_profile(name: str) -> Callable[..., HttpResponseBase]:
    return sets_up_factor(person_required(never_cache(_form(proven_lately(_step(name))))))


# At log-in
ask_for_factor = anyone(_form(_step("AskForFactor")))
login_passkey = anyone(_form(_step("LogInWithPasskey")))

# Again, before something that matters
password_again = _again("PasswordAgain")
code_again = _again("CodeAgain")
passkey_again = _again("PasskeyAgain")

# On the profile
app_set_up = _on_profile("SetUpApp")
app_remove = _on_profile("RemoveApp")
passkey_add = _on_profile("AddPasskey")
passkey_remove = _on_profile("RemovePasskey")
recovery_codes = _on_profile("ShowCodes")
recovery_codes_new = _on_profile("MakeCodes")


@sets_up_factor
@person_required
@never_cache
@require_safe
def factors(request: AuthenticatedRequest) -> HttpResponse:
    """What the person has, and what the site asks for."""
    found = list(Authenticator.objects.filter(user=request.user).order_by("pk"))
    codes = next((one for one in found if one.type == Authenticator.Type.RECOVERY_CODES), None)
    context = {
        "app": next((one for one in found if one.type == Authenticator.Type.TOTP), None),
        "passkeys": [one for one in found if one.type == Authenticator.Type.WEBAUTHN],
        "n_codes": len(codes.wrap().get_unused_codes()) if codes else 0,
        "is_due": second_factors.is_due(request.user),
        "reset": None if found else second_factors.last_reset(request.user),
    }
    return render(request, "annotation/people/factors/factors.html", context)
