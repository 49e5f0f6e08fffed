"""What a coordinator may say about an image: how it was taken, whose it is. Each change is in the audit log."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from annotation.audit.recording import record
from annotation.enums import ViewPosition
from annotation.models import Image, User


@transaction.atomic
def correct_view(image: Image, view: ViewPosition, laterality: str, *, actor: User | None, at: datetime) -> bool:
    """Set view position and side; the audit row keeps what stood there before. False when nothing changes."""
    held = Image.objects.select_for_update().get(pk=image.pk)
    before = [str(held.view_position), held.laterality]
    if before == [view.value, laterality]:
        return False
    held.view_position, held.laterality = view, laterality
    held.save(update_fields=["view_position", "laterality"])
    facts = {"before": before, "after": [view.value, laterality]}
    record("image.view_corrected", actor=actor, at=at, subject=held, facts=facts)
    return True


@transaction.atomic
def set_credits(image: Image, attribution: str, licence: str, *, actor: User | None, at: datetime) -> bool:
    """Set whose image this is and under which licence it is shown. False when nothing changes."""
    held = Image.objects.select_for_update().get(pk=image.pk)
    if (held.attribution, held.licence) == (attribution, licence):
        return False
    held.attribution, held.licence = attribution, licence
    held.save(update_fields=["attribution", "licence"])
    record("image.credited", actor=actor, at=at, subject=held, facts={"attribution": attribution, "licence": licence})
    return True
