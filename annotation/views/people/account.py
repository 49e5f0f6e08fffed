"""Passwords and the own profile; and somebody who leaves: what is stored about them, and removing an account.

Access tokens on the profile page: made, shown once, revoked. Where somebody is logged in.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth import views as auth_views
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse, reverse_lazy
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.case.kernels.keys import Part, listed
from annotation.enums import Role
from annotation.forms.account import (
    LoginForm,
    NewPasswordForm,
    PasswordChangeForm,
    PasswordLinkForm,
    ProfileForm,
    TokenForm,
)
from annotation.models import AccessToken, User
from annotation.people import accounts, mailing
from annotation.people.accounts import check_can_go, end_others, end_session, pseudonym_of, remove_person, sessions_of
from annotation.people.person_data import export_person
from annotation.people.tokens import make_token, revoke_token
from annotation.site.permissions import coordinates_any_round
from annotation.tables.writing import scratch_file
from annotation.views.people.signing_in import locked_page, sign_in
from annotation.views.site.confirming import (
    Confirmation,
    confirm,
    flashed,
    is_confirmed,
    is_possible_or_flash,
    refusals_on,
    said,
)
from annotation.views.site.decorators import AuthenticatedRequest, anyone, by, person_required, role_required

SHOWN_FOR = timedelta(days=30)  # of a token, after its end


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def token_new(request: AuthenticatedRequest) -> HttpResponse:
    """The form; a good one makes the token and shows it this once."""
    form = TokenForm(request.user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with refusals_on(form):
            made = make_token(request.user, **form.cleaned_data, **by(request))
            return render(request, "annotation/people/token_made.html", {"made": made})
    status = 422 if form.errors else 200
    return render(request, "annotation/people/token_new.html", {"form": form}, status=status)


@person_required
@require_POST
def token_revoke(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    token = get_object_or_404(AccessToken, public_id=public_id, owner=request.user)
    revoke_token(token, **by(request))
    return said(request, _("The token “%(name)s” is revoked.") % {"name": token.name}, "profile")


# --- Where somebody is logged in ------------------------------------------------------------------
@person_required
@never_cache
@require_safe
def open_sessions(request: AuthenticatedRequest) -> HttpResponse:
    note_session(request)
    sessions = sessions_of(request.user, request.session.session_key or "")
    return render(request, "annotation/people/sessions.html", {"sessions": sessions})


@person_required
@require_POST
def session_end(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    if not end_session(request.user, pk, at=timezone.now()):
        raise Http404
    return said(request, _("You are logged out there."), "open-sessions")


@person_required
@require_POST
def sessions_end_others(request: AuthenticatedRequest) -> HttpResponse:
    n = end_others(request.user, request.session.session_key or "", at=timezone.now())
    sentence = ngettext("You are logged out at %(n)s other place.", "You are logged out at %(n)s other places.", n)
    return said(request, sentence % {"n": n} if n else _("You were logged in nowhere else."), "open-sessions")


def note_session(request: HttpRequest) -> None:
    """The session of this request is in the list, also where it has a new key."""
    UserSession.objects.create_from_request(request)


# --- Log in, log out, passwords and the own profile -----------------------------------------------
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
    fields = ("name", "time_zone", "wants_digest", "keys")
    known = {field: getattr(person, field) for field in fields}
    form = ProfileForm(request.POST or None, initial=known, coordinates=coordinates_any_round(person))
    if request.method == "POST" and form.is_valid():
        accounts.change_profile(person, **known | form.cleaned_data, at=timezone.now())
        return said(request, _("Saved."), "profile")
    context: dict[str, Any] = {"form": form, "provider": settings.OIDC_PROVIDER}
    context["is_confirmed"] = not mailing.can_send() or mailing.is_confirmed(person)
    context["key_parts"] = listed(Part)
    lately = timezone.now() - SHOWN_FOR
    context["tokens"] = person.access_tokens.filter(expires_at__gt=lately).exclude(revoked_at__lt=lately)
    return render(request, "annotation/people/profile.html", context, status=422 if form.errors else 200)


@person_required
@require_POST
def email_ask(request: AuthenticatedRequest) -> HttpResponse:
    """Send a link that confirms the address of the person, once more."""
    source = request.META.get("REMOTE_ADDR", "")
    if mailing.ask_for_confirmation(request.user, source=source, at=timezone.now()):
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
    if mailing.confirm(request.user, token, at=timezone.now()):
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
        return said(request, _("Your password is changed. You are logged out everywhere else."), "profile")
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
        return said(self.request, _("Your password is set. Log in with it."), "login")


@anyone
@require_http_methods(["GET", "HEAD"])
def password_reset_sent(request: HttpRequest) -> HttpResponse:
    return render(request, "annotation/people/password_sent.html", {"can_send": mailing.can_send()})


password_reset_confirm = anyone(require_http_methods(["GET", "HEAD", "POST"])(_PasswordFromLink.as_view()))


@person_required
@never_cache
@require_POST
def own_data(request: AuthenticatedRequest) -> FileResponse:
    """What the site holds about whoever asks."""
    return _zip_of(request, request.user)


@role_required(Role.ADMINISTRATOR)
@never_cache
@require_POST
def person_data(request: AuthenticatedRequest, pk: int) -> FileResponse:
    """The same of somebody else, to be handed over to them."""
    return _zip_of(request, get_object_or_404(User, pk=pk))


@role_required(Role.ADMINISTRATOR)
@require_POST
def person_remove(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Remove an account, after saying what goes and what stays."""
    somebody = get_object_or_404(User, pk=pk, removed_at=None)
    if not is_possible_or_flash(request, lambda: check_can_go(somebody, actor=request.user)):
        return redirect("person", pk)
    if not is_confirmed(request):
        return confirm(request, _removal_of(somebody))
    with flashed(request) as say:
        remove_person(somebody, **by(request))
        say(_("The account is removed. Its work is listed under “%(name)s”.") % {"name": pseudonym_of(somebody)})
    return redirect("person", pk)


def _removal_of(person: User) -> Confirmation:
    sentences = [
        _("Name, e-mail, password, roles, competences, log-ins and sessions go. This cannot be undone."),
        _("Reviews, readings, decisions and the audit log stay, under “%(name)s”.") % {"name": pseudonym_of(person)},
        _("What people wrote in comments and reasons stays as they wrote it; so do backups taken before."),
        _("Hand over what the site holds about the person first, if they ask for it."),
    ]
    title, back = _("Remove the account"), reverse("person", args=[person.pk])
    return Confirmation(title=title, sentences=sentences, label=title, back=back, about=str(person))


def _zip_of(request: AuthenticatedRequest, person: User) -> FileResponse:
    file = scratch_file()
    export_person(person, file, **by(request))
    name = f"person-{person.pk}.zip"
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")
