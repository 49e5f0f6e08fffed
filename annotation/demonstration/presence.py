"""Whether the demonstration is there; asked at every start, so it loads nothing of what builds one."""

from __future__ import annotations

from annotation.models import AuditEvent

BUILT = "demonstration.built"


def is_complete() -> bool:
    """Whether a build came to its end here, whatever people have done with it since."""
    return AuditEvent.objects.filter(act=BUILT).exists()
