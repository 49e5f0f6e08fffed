"""Home, which is the open work of a person with one button to continue, and what every page shows."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.audit.deleting import opens
from annotation.enums import ImageState
from annotation.models import Image
from annotation.outcomes.next_steps import next_of_images
from annotation.people.open_work import NextStep, first_due
from annotation.review.home import OpenWork, open_work_of
from annotation.site.permissions import looks_after, may_see_quarantine, site_roles
from annotation.views.site.decorators import AuthenticatedRequest, person_required


@person_required
@require_safe
def home(request: AuthenticatedRequest) -> HttpResponse:
    work = open_work_of(request.user, timezone.now())
    context = {
        "open_work": work,
        "step": next_step(work),
        "may_see_quarantine": may_see_quarantine(request.user),
        "n_in_quarantine": work.images.n_quarantined if work.images else 0,  # in place of what the navigation would ask
    }
    return render(request, "annotation/home.html", context)


def next_step(work: OpenWork) -> NextStep | None:
    """Own cases come first, then what is up to this person, then what everything waits for; None without open work."""
    own = [section.step for section in work.work if section.is_own]
    quarantine = next_of_images(work.images, decides=work.decides_quarantine) if work.images else None
    decides = quarantine if work.decides_quarantine else None
    looked_after = [*(section.step for section in work.work if not section.is_own), quarantine]
    step = first_due([*own, decides, *looked_after])
    if step is None and work.administration is not None and work.administration.n_people == 1:
        sentence = _("You are the only person here. Invite a coordinator first.")
        return NextStep(_("Invite people"), sentence, reverse("person-invite"))
    return step


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
