"""The lock after wrong tries, of passwords, codes and recovery codes alike."""

from __future__ import annotations

from datetime import timedelta

from axes.handlers.proxy import AxesProxyHandler
from django.conf import settings
from django.contrib.auth.signals import user_login_failed
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from annotation.people.backend import has_failed_too_often


def locked_page(request: HttpRequest, account: str) -> HttpResponse | None:
    """The page that says when it ends, where nothing is looked at now: neither a password nor a code."""
    if not settings.AXES_ENABLED:
        return None
    is_locked = has_failed_too_often(account, request.META.get("REMOTE_ADDR", ""), at=timezone.now())
    if not is_locked and AxesProxyHandler.is_allowed(request, {"username": account}):
        return None
    context = {"cooloff_timedelta": timedelta(hours=settings.AXES_COOLOFF_TIME)}
    return render(request, settings.AXES_LOCKOUT_TEMPLATE, context, status=429)


def note_wrong_code(request: HttpRequest, account: str) -> None:
    """Count a wrong code or key as a wrong password is counted."""
    if settings.AXES_ENABLED:
        user_login_failed.send(sender=__name__, credentials={"username": account}, request=request)
