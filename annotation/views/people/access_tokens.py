"""Access tokens on the profile page: made, shown once, revoked."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.forms.account import TokenForm
from annotation.models import AccessToken, User
from annotation.people.tokens import make_token, revoke_token
from annotation.views.site.confirming import run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required

SHOWN_FOR = timedelta(days=30)  # after the end of a token


def listed_tokens(person: User, at: datetime) -> QuerySet[AccessToken]:
    """Those that work, and those that ended lately."""
    return person.access_tokens.filter(expires_at__gt=at - SHOWN_FOR).exclude(revoked_at__lt=at - SHOWN_FOR)


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def token_new(request: AuthenticatedRequest) -> HttpResponse:
    """The form; a good one makes the token and shows it this once."""
    form = TokenForm(request.user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        made = run_on_form(form, lambda: make_token(request.user, **form.cleaned_data, **by(request)))
        if made is not None:
            return render(request, "annotation/people/token_made.html", {"made": made})
    status = 422 if form.errors else 200
    return render(request, "annotation/people/token_new.html", {"form": form}, status=status)


@person_required
@require_POST
def token_revoke(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    token = get_object_or_404(AccessToken, public_id=public_id, owner=request.user)
    revoke_token(token, **by(request))
    messages.success(request, _("The token “%(name)s” is revoked.") % {"name": token.name})
    return redirect("profile")
