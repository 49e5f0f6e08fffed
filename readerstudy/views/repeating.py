"""How well a model repeats itself on one bank or study."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.decorators import AuthenticatedRequest, person_required
from readerstudy.comparing.repeating import repeatability_for, repeated_targets
from readerstudy.views.models import known_entry


@person_required
@never_cache
@require_safe
def model_repeatability(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """On the bank or study that the address names, else on the first one with several live runs."""
    entry = known_entry(request.user, public_id)
    targets = repeated_targets(entry, request.user)
    asked = request.GET.get("on", "")
    target = next((one for one in targets if one.name == asked or not asked), None)
    if target is None and asked:
        raise Http404
    context: dict[str, Any] = {"entry": entry, "targets": targets, "target": target}
    if target is not None and not target.is_hidden:
        context["result"] = repeatability_for(request.user, target)
    return render(request, "readerstudy/models/repeatability.html", context)
