from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from annotation.audit.deleting import opens
from annotation.enums import ImageState
from annotation.models import Image
from annotation.site.permissions import looks_after, site_roles


def site(request: HttpRequest) -> dict[str, Any]:
    """What every page shows: whether this is a demonstration, and the roles that decide on the navigation."""
    return {
        "is_demonstration": settings.DEMO,
        "token_cookie": settings.CSRF_COOKIE_NAME,
        # Of pages that everybody has: nothing flashes white before somebody who only reads or reviews.
        "own_theme": SimpleLazyObject(lambda: "light" if looks_after(request.user) else "dark"),
        "my_roles": SimpleLazyObject(lambda: site_roles(request.user)),  # as is this
        "opens_bin": SimpleLazyObject(lambda: request.user.is_authenticated and opens(request.user)),
        "n_in_quarantine": n_in_quarantine,  # asked only where the navigation shows it
    }


def n_in_quarantine() -> int:
    return Image.objects.filter(state=ImageState.QUARANTINED).count()
