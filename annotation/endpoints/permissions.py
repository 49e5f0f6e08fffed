"""What of a bank may be sent to an endpoint. Without a permission, nothing."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext as _

from annotation.models import QuestionBank, SendingPermission
from annotation.refusals import Refused


class SendingRefused(Refused):
    """Something may not be sent to an endpoint."""


def permission_in_force(
    bank: QuestionBank, endpoint: str, *, at: datetime, images: bool = False, reports: bool = False
) -> SendingPermission:
    """The newest permission under which questions, and with them images or reports, may be sent now.

    Raises SendingRefused (``no_permission``).
    """
    needed = {"questions": True} | ({"images": True} if images else {}) | ({"reports": True} if reports else {})
    found = SendingPermission.objects.filter(
        bank=bank, endpoint=endpoint, withdrawn_at=None, expires_at__gt=at, **needed
    ).first()
    if found is None:
        what = _("questions and images") if images else _("questions")
        what = _("questions and reports") if reports else what
        sentence = _(
            "Nobody has permitted to send %(what)s of “%(bank)s” to the endpoint “%(endpoint)s”, or the permission is "
            "over. An administrator gives it on the page of the bank."
        )
        named = {"what": what, "bank": bank.name, "endpoint": endpoint}
        raise SendingRefused("no_permission", sentence % named, status=409)
    return found
