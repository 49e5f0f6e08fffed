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

from annotation.decorators import AuthenticatedRequest, anyone, person_required
from annotation.forms.account import LoginForm, NewPasswordForm, PasswordChangeForm, PasswordLinkForm, ProfileForm
from annotation.people import joining, mailing, passwords

login = anyone(
    auth_views.LoginView.as_view(
        template_name="annotation/people/login.html", authentication_form=LoginForm, redirect_authenticated_user=True
    )
)
_end_session = auth_views.LogoutView.as_view()


@anyone
@never_cache
@require_POST
def logout(request: HttpRequest) -> HttpResponseBase:
    """End the session and have the browser drop the images that it kept."""
    response = _end_session(request)
    response["Clear-Site-Data"] = '"cache", "storage"'
    return response


@person_required
@require_http_methods(["GET", "HEAD", "POST"])
def profile(request: AuthenticatedRequest) -> HttpResponse:
    person = request.user
    form = ProfileForm(request.POST or None, initial={"name": person.name, "time_zone": person.time_zone})
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        joining.change_profile(person, name=data["name"], time_zone=data["time_zone"], at=timezone.now())
        messages.success(request, _("Saved."))
        return redirect("profile")
    return render(request, "annotation/people/profile.html", {"form": form}, status=422 if form.errors else 200)


@person_required
@require_http_methods(["GET", "HEAD", "POST"])
def password_change(request: AuthenticatedRequest) -> HttpResponse:
    form = PasswordChangeForm(request.user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        passwords.set_password(request.user, form.cleaned_data["password"], at=timezone.now())
        update_session_auth_hash(request, request.user)
        messages.success(request, _("Your password is changed. You are logged out everywhere else."))
        return redirect("profile")
    status = 422 if form.errors else 200
    return render(request, "annotation/people/password_change.html", {"form": form}, status=status)


class _PasswordForgotten(auth_views.PasswordResetView):
    template_name = "annotation/people/password_forgotten.html"
    form_class = PasswordLinkForm
    email_template_name = "annotation/people/_password_mail.txt"
    subject_template_name = "annotation/people/_password_mail_subject.txt"
    success_url = reverse_lazy("password-reset-sent")
    extra_email_context = {"public_url": settings.PUBLIC_URL}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), "can_send": mailing.can_send()}


@method_decorator(never_cache, name="dispatch")
class _PasswordFromLink(auth_views.PasswordResetConfirmView):
    template_name = "annotation/people/password_new.html"
    form_class = NewPasswordForm  # type: ignore[assignment]
    success_url = reverse_lazy("login")

    def form_valid(self, form: Any) -> HttpResponse:
        passwords.set_password(form.user, form.cleaned_data["password"], at=timezone.now())
        del self.request.session[auth_views.INTERNAL_RESET_SESSION_TOKEN]
        messages.success(self.request, _("Your password is set. Log in with it."))
        return redirect("login")


@anyone
@require_http_methods(["GET", "HEAD"])
def password_reset_sent(request: HttpRequest) -> HttpResponse:
    return render(request, "annotation/people/password_sent.html", {"can_send": mailing.can_send()})


password_reset = anyone(_PasswordForgotten.as_view())
password_reset_confirm = anyone(_PasswordFromLink.as_view())
