"""Doing what a short form asks for, and saying on the next page what came of it."""

from __future__ import annotations

from collections.abc import Callable

from django import forms
from django.contrib import messages

from annotation.views.site.decorators import AuthenticatedRequest
from readerstudy.study.locking import StudyRefused


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
