"""Second factors: asked for at log-in, set up and removed on the profile. The steps are those of allauth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from allauth.mfa.models import Authenticator
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.people import second_factors
from annotation.views.people.signing_in import proven_lately
from annotation.views.site.decorators import AuthenticatedRequest, anyone, person_required

View = TypeVar("View", bound=Callable[..., HttpResponseBase])
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
