"""Full addresses of one-time links, for people who are not in a browser here yet."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse


def invitation_link(token: str) -> str:
    return f"{settings.PUBLIC_URL}{reverse('invitation', args=[token])}"


def password_link(uid: str, token: str) -> str:
    return f"{settings.PUBLIC_URL}{reverse('password-reset-confirm', args=[uid, token])}"
