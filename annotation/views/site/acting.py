"""The pages that declared acts are sent to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_POST

from annotation.acts import Act
from annotation.refusals import Refused
from annotation.views.site.confirming import confirm, is_confirmed, valid_data
from annotation.views.site.decorators import AuthenticatedRequest, person_required, role_required


def page_paths(thing: str, acts: Iterable[type[Act[Any]]]) -> list[URLPattern]:
    """``thing``: the route of the thing that they act on."""
    return [path(f"{thing}{act.route}", page_of(act), name=act.name) for act in acts]


def page_of(act: type[Act[Any]]) -> Callable[..., HttpResponse]:
    """Does the act, once what it asks is confirmed; its sentence, or that of its refusal, is read on the page after."""

    @(role_required(*act.roles) if act.roles else person_required)
    @require_POST
    def view(request: AuthenticatedRequest, **named: Any) -> HttpResponse:
        return _answer(request, act(act.find(request.user, **named), request.user))

    return view


def _answer(request: AuthenticatedRequest, act: Act[Any]) -> HttpResponse:
    try:
        form, at = act.form_for(request.POST), timezone.now()
        arguments = act.arguments(valid_data(form, str(act.misread)) if form is not None else {})
        asked = None if is_confirmed(request) else act.confirmation(arguments, at)
        if asked is not None:
            return confirm(request, asked, act.asking, **act.around())
        result = act.run(arguments, at)
    except Refused as refusal:
        if asked := act.confirmation_after(refusal):
            return confirm(request, asked, act.asking, **act.around())
        messages.error(request, str(refusal))
    else:
        if sentence := act.says(arguments, result):
            messages.success(request, sentence)
    return redirect(act.page())
