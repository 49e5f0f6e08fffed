"""What of a bank may be sent to which endpoint: its terms, the permissions, giving and withdrawing one."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from annotation.call_enums import EndpointPlace
from annotation.endpoints.configured_endpoints import endpoints
from annotation.endpoints.sending_permissions import give_permission, is_same_text, withdraw_permission
from annotation.enums import Role
from annotation.forms.sending import PermissionForm, TermsForm, WithdrawalForm
from annotation.ingest.model_pictures import images_never_sent
from annotation.models import QuestionBank, SendingPermission
from annotation.questionbank.terms import change_terms
from annotation.site.permissions import is_administrator, is_coordinator
from annotation.views.site.confirming import run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, by, role_required


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
        changed = run_on_form(form, lambda: change_terms(one, **data, **who))
        if changed is not None:
            messages.success(request, _("The terms are stored.") if changed else _("Nothing differs."))
            return redirect("bank-sending", slug)
    context = {"bank": one, "form": form}
    return render(request, "annotation/sending/terms.html", context, status=422 if form.errors else 200)


@role_required(Role.ADMINISTRATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def bank_permission_new(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The form shows the terms of the bank word by word. Other terms in between are shown again, not accepted yet."""
    one = get_object_or_404(QuestionBank, slug=slug)
    form = PermissionForm(one, request.user.time_zone, request.POST or None)
    if request.method == "POST" and form.is_valid():
        data, who = form.cleaned_data, by(request)
        given = run_on_form(
            form,
            lambda: give_permission(
                one,
                data["endpoint"],
                questions=data["questions"],
                images=data["images"],
                reports=data["reports"],
                reason=data["reason"],
                agreement=data["agreement"],
                accepted_terms=form.accepted_terms(),
                expires_at=data["expires_at"],
                **who,
            ),
        )
        if given is not None:
            sentence = _("“%(endpoint)s” may be sent what you chose.")
            messages.success(request, sentence % {"endpoint": given.endpoint})
            return redirect("bank-sending", slug)
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
    form = WithdrawalForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        because, who = form.cleaned_data["because"], by(request)
        if run_on_form(form, lambda: withdraw_permission(permission, because, **who)) is not None:
            messages.success(request, _("The permission is withdrawn."))
            return redirect("bank-sending", slug)
    context = {"bank": permission.bank, "permission": permission, "form": form}
    return render(request, "annotation/sending/withdraw.html", context, status=422 if form.errors else 200)
