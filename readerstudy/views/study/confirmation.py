"""Asking back before an act that cannot be undone: what follows from it, and the button that does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from annotation.views.site.decorators import AuthenticatedRequest
from readerstudy.models import ReaderStudy


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
