"""How well a model repeats itself on one bank or study."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, person_required
from readerstudy.comparison.repeating import repeatability_for, repeated_targets
from readerstudy.views.predictions.models import known_entry


@person_required
@never_cache
@require_safe
@vary_on_headers("HX-Request")
def model_repeatability(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """On the bank or study that the address names, else on the first one with several live runs.

    Computed as a job when it is first asked for; the page looks again until it is there.
    """
    entry = known_entry(request.user, public_id)
    targets = repeated_targets(entry, request.user)
    asked = request.GET.get("on", "")
    target = next((one for one in targets if one.name == asked or not asked), None)
    if target is None and asked:
        raise Http404
    context: dict[str, Any] = {"entry": entry, "targets": targets, "target": target}
    if target is not None and not target.is_hidden:
        found = repeatability_for(request.user, target, at=timezone.now())
        context |= {"result": found.result, "error": found.error, "computing": not found.result and not found.error}
    is_fragment = asks_for_part(request)
    template = "readerstudy/models/_repeatability.html" if is_fragment else "readerstudy/models/repeatability.html"
    return render(request, template, context)
