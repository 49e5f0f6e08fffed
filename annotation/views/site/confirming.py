"""Declared acts on pages: a POST to the thing, confirmed where it must be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_POST

from annotation.acts import Act
from annotation.acts import Confirmation as Confirmation
from annotation.forms import valid_data
from annotation.refusals import Refused
from annotation.site.sentences import number_written
from annotation.views.site.decorators import AuthenticatedRequest, person_required, role_required

Result = TypeVar("Result")


def is_confirmed(request: AuthenticatedRequest) -> bool:
    return request.POST.get("confirmed") == "yes"


def confirm(
    request: AuthenticatedRequest, confirmation: Confirmation, template: str = "annotation/confirm.html", **more: Any
) -> HttpResponse:
    """Ask. ``more``: what the template needs beside the question."""
    return render(request, template, {"question": confirmation, "address": request.path, **more})


def number_sent(request: HttpRequest, name: str) -> int | None:
    """A whole number that a script sent, or how many a person agreed to; None where there is none."""
    return number_written(request.POST.get(name, ""))


class Refusable:
    """A block that a refusal ends, of which ``tell`` says so. Inside, ``say`` takes the sentence of what was done."""

    def __init__(self, tell: Callable[[Refused], None], say: Callable[[str], object] = str) -> None:
        self.tell, self.say = tell, say

    def __enter__(self) -> Callable[[str], object]:
        return self.say

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if not isinstance(error, Refused):
            return False
        self.tell(error)
        return True


def refusals_on(form: forms.Form, *, field: str | None = None) -> Refusable:
    """What is refused inside is read on the form, at its field if it names one."""
    return Refusable(lambda error: form.add_error(error.field if error.field in form.fields else field, str(error)))


def flashed(request: HttpRequest) -> Refusable:
    """What is said inside, or the sentence of a refusal, is read on the next page."""
    return Refusable(lambda error: messages.error(request, str(error)), partial(messages.success, request))


def said(request: HttpRequest, sentence: str, to: Any, *place: Any) -> HttpResponse:
    """On to a page (as ``redirect`` takes it), where the sentence is read."""
    messages.success(request, sentence)
    return redirect(to, *place)


def is_possible_or_flash(request: AuthenticatedRequest, check: Callable[[], object]) -> bool:
    """Whether a check lets an act through, before somebody is asked about it; if not, its refusal is shown."""
    with flashed(request):
        check()
        return True
    return False


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
