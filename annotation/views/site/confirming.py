"""Asking for a confirmation before an act that takes something away: what follows from it, and the button for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.http import HttpResponse
from django.shortcuts import render

from annotation.views.site.decorators import AuthenticatedRequest


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """What the page asks: a title, what follows from the act, and the button that does it."""

    title: str
    sentences: list[str]
    label: str
    back: str  # the address to which "no" leads
    about: str = ""  # the name of what it is about, shown above the title
    sent: Mapping[str, int | str | Sequence[int]] = field(default_factory=dict)  # goes back with the answer

    @property
    def fields(self) -> list[tuple[str, int | str]]:
        """What is sent, one field for each value of a list."""
        listed = ((name, [value] if isinstance(value, int | str) else value) for name, value in self.sent.items())
        return [(name, value) for name, values in listed for value in values]


def is_confirmed(request: AuthenticatedRequest) -> bool:
    return request.POST.get("confirmed") == "yes"


def confirm(request: AuthenticatedRequest, asked: Confirmation) -> HttpResponse:
    context = {"question": asked, "address": request.path, "back": asked.back, "is_danger": True}
    return render(request, "annotation/confirm.html", context, status=409)
