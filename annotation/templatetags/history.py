"""What happened to an image, in words: the acts of the audit log."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

register = template.Library()

ACTS = {
    "image.ingested": gettext_noop("came in"),
    "image.searched": gettext_noop("searched for text"),
    "image.quarantined": gettext_noop("put into quarantine"),
    "image.released": gettext_noop("released from quarantine"),
    "image.masked": gettext_noop("boxes blacked out"),
    "image.removed": gettext_noop("removed, its pixels deleted"),
    "image.view_corrected": gettext_noop("view corrected"),
    "image.credited": gettext_noop("attribution and licence changed"),
}


@register.filter
def act_word(act: str) -> str:
    return _(ACTS[act]) if act in ACTS else act
