"""Confirmation before an act that cannot be undone, and the message on the next page of what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from annotation.views.site.decorators import AuthenticatedRequest
from readerstudy.models import ReaderStudy
from readerstudy.study.locking import StudyRefused


@dataclass(frozen=True)
class Question:
    """What is asked back: a title, what follows from the act, and the button that does it."""

    title: str
    sentences: list[str]
    label: str
    is_danger: bool = False
    sent: Mapping[str, int | str] = field(default_factory=dict)  # goes back with the answer
    back: str = "study"  # the page of the study to which "no" leads
    reader: str = ""  # whose page that is, where it is one of a reader


def ask(request: AuthenticatedRequest, study: ReaderStudy, question: Question) -> HttpResponse:
    back = reverse(question.back, args=[study.slug, question.reader] if question.reader else [study.slug])
    context = {"study": study, "question": question, "address": request.path, "back": back}
    context |= {"is_danger": question.is_danger}
    return render(request, "readerstudy/design/confirm.html", context, status=409)


def is_valid_or_flash(request: AuthenticatedRequest, form: forms.Form, otherwise: str = "") -> bool:
    """Whether the form can be used; if not, its errors are said, or the sentence in their place."""
    if form.is_valid():
        return True
    messages.error(request, otherwise or " ".join(str(word) for words in form.errors.values() for word in words))
    return False


def run_and_flash(request: AuthenticatedRequest, act: Callable[[], str]) -> bool:
    """Do it and say the sentence that it returns; a refusal is said as well. False for a refusal."""
    try:
        messages.success(request, act())
    except StudyRefused as refusal:
        messages.error(request, str(refusal))
        return False
    return True
