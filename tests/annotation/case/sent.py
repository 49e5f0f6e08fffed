"""What a page tells about a case, made in code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.urls import reverse

from annotation.models import Assignment

PAGE = "0f8fad5b-d9cb-469f-a165-70867728950e"
WALL = 1_790_000_000_000


def to(name: str, assignment: Assignment) -> str:
    return reverse(f"review-{name}", args=[assignment.public_id])


def event(sequence: int, kind: str, second: float, **details: Any) -> dict[str, Any]:
    told = {"sequence": sequence, "kind": kind, "client_ms": second * 1000, "wall_ms": WALL + second * 1000}
    return {**told, "details": details} if details else told


def fields(*events: dict[str, Any], page: str = PAGE, **more: Any) -> dict[str, Any]:
    """The fields of a POST that carry the clock."""
    return {"page": page, "events": json.dumps(events), **more}


def seen(views: Sequence[str], *, step: str = "blind", first: int = 0, start: float = 1.0, end: float = 11.0) -> Any:
    """All of these views on screen, and the commit of a step ``end - start`` seconds later."""
    return fields(
        event(first, "painted", start, views=list(views)),
        event(first + 1, "heartbeat", (start + end) / 2),
        event(first + 2, "submitted", end, step=step),
    )
