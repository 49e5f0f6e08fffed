"""Log in, log out, passwords and the own profile."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth import views as auth_views
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.forms.account import LoginForm, NewPasswordForm, PasswordChangeForm, PasswordLinkForm, ProfileForm
from annotation.people import accounts, confirmations, mailing
from annotation.people.open_sessions import sessions_of
from annotation.site.permissions import coordinates_any_round
from annotation.views.people.access_tokens import listed_tokens
from annotation.views.people.open_sessions import note_session
from annotation.views.people.signing_in import sign_in
from annotation.views.people.throttling import locked_page
from annotation.views.site.decorators import AuthenticatedRequest, anyone, person_required


class _LogIn(auth_views.LoginView):
    template_name = "annotation/people/login.html"
    authentication_form = LoginForm
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"provider": settings.OIDC_PROVIDER}

    def form_valid(self, form: Any) -> HttpResponse:
        return sign_in(self.request, form.get_user(), "password", self.get_success_url())


_log_in = _LogIn.as_view()


@anyone
@require_http_methods(["GET", "HEAD", "POST"])
def login(request: HttpRequest) -> HttpResponseBase:
    """Refused before anything is hashed where too many passwords were wrong."""
    if request.method == "POST":
        locked = locked_page(request, request.POST.get("username", "").strip().lower())
        if locked is not None:
            return locked
    return _log_in(request)


_end_session = auth_views.LogoutView.as_view()


@anyone
@never_cache
@require_POST
def logout(request: HttpRequest) -> HttpResponseBase:
    """End the session and have the browser drop the images that it kept.

    What else it keeps goes only where the page has looked and found no answer that waits to be sent.
    """
    is_empty = request.POST.get("empty") == "1"
    response = _end_session(request)
    response["Clear-Site-Data"] = '"cache", "storage"' if is_empty else '"cache"'
    return response


@person_required
@require_http_methods(["GET", "HEAD", "POST"])
def profile(request: AuthenticatedRequest) -> HttpResponse:
    person = request.user
    fields = ("name", "time_zone", "wants_digest")
    known = {field: getattr(person, field) for field in fields}
    form = ProfileForm(request.POST or None, initial=known, coordinates=coordinates_any_round(person))
    if request.method == "POST" and form.is_valid():
        accounts.change_profile(person, **known | form.cleaned_data, at=timezone.now())
        messages.success(request, _("Saved."))
        return redirect("profile")
    context: dict[str, Any] = {"form": form, "provider": settings.OIDC_PROVIDER}
    context["is_confirmed"] = not mailing.can_send() or confirmations.is_confirmed(person)
    context["tokens"] = listed_tokens(person, timezone.now())
    return render(request, "annotation/people/profile.html", context, status=422 if form.errors else 200)


@person_required
@require_POST
def email_ask(request: AuthenticatedRequest) -> HttpResponse:
    """Send a link that confirms the address of the person, once more."""
    source = request.META.get("REMOTE_ADDR", "")
    if confirmations.ask_for_confirmation(request.user, source=source, at=timezone.now()):
        messages.success(request, _("A link is being sent to %(email)s.") % {"email": request.user.email})
    else:
        messages.warning(request, _("Nothing was sent. Try again in an hour."))
    return redirect("profile")


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def email_confirm(request: AuthenticatedRequest, token: str) -> HttpResponse:
    """The page behind that link. A look confirms nothing: programs that examine e-mails look at links, too."""
    if request.method != "POST":
        return render(request, "annotation/people/email_confirm.html")
    if confirmations.confirm(request.user, token, at=timezone.now()):
        messages.success(request, _("Your address is confirmed."))
    else:
        messages.warning(request, _("This link does not work for your account: it is too old, or of another one."))
    return redirect("profile")


@person_required
@require_http_methods(["GET", "HEAD", "POST"])
def password_change(request: AuthenticatedRequest) -> HttpResponse:
    now = timezone.now()
    tokens = request.user.access_tokens.filter(revoked_at=None, expires_at__gt=now)
    form = PasswordChangeForm(request.user, request.POST or None, tokens=tokens)
    if request.method == "POST" and form.is_valid():
        kept = form.cleaned_data.get("kept", ())
        accounts.set_password(request.user, form.cleaned_data["password"], at=now, kept=kept)
        update_session_auth_hash(request, request.user)
        note_session(request)
        messages.success(request, _("Your password is changed. You are logged out everywhere else."))
        return redirect("profile")
    status = 422 if form.errors else 200
    sessions = sessions_of(request.user, request.session.session_key or "")
    context = {"form": form, "others": [one for one in sessions if not one.is_current]}
    return render(request, "annotation/people/password_change.html", context, status=status)


@anyone
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def password_reset(request: HttpRequest) -> HttpResponse:
    """Ask for a link; the answer is the same whether the address is known or not."""
    form = PasswordLinkForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        source = request.META.get("REMOTE_ADDR", "")
        mailing.ask_for_password_link(form.cleaned_data["email"], source=source, at=timezone.now())
        return redirect("password-reset-sent")
    context = {"form": form, "can_send": mailing.can_send()}
    return render(request, "annotation/people/password_forgotten.html", context)


@method_decorator(never_cache, name="dispatch")
class _PasswordFromLink(auth_views.PasswordResetConfirmView):
    template_name = "annotation/people/password_new.html"
    form_class = NewPasswordForm  # type: ignore[assignment]
    token_generator = accounts.link_tokens
    success_url = reverse_lazy("login")

    def form_valid(self, form: Any) -> HttpResponse:
        accounts.set_password(form.user, form.cleaned_data["password"], at=timezone.now())
        del self.request.session[auth_views.INTERNAL_RESET_SESSION_TOKEN]
        messages.success(self.request, _("Your password is set. Log in with it."))
        return redirect("login")


@anyone
@require_http_methods(["GET", "HEAD"])
def password_reset_sent(request: HttpRequest) -> HttpResponse:
    return render(request, "annotation/people/password_sent.html", {"can_send": mailing.can_send()})


password_reset_confirm = anyone(require_http_methods(["GET", "HEAD", "POST"])(_PasswordFromLink.as_view()))
