"""The terms under which a bank was given, and whether its images were made smaller before they came."""

from __future__ import annotations

import hashlib
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import QuestionBank, User
from annotation.questionbank.kernels.strictjson import BankRefused

LONGEST_TERMS = 50_000  # characters


def change_terms(bank: QuestionBank, *, terms: str, holds_quarters: bool, actor: User | None, at: datetime) -> bool:
    """Store what differs, and say whether anything did. Permissions keep the terms under which they were given.

    Raises BankRefused (``archived``, ``too_long``).
    """
    terms = terms.replace("\r\n", "\n").replace("\r", "\n").strip()
    if len(terms) > LONGEST_TERMS:
        sentence = _("At most %(n)d characters can be stored.")
        raise BankRefused("too_long", sentence % {"n": LONGEST_TERMS}, status=422, field="terms")
    with transaction.atomic():
        locked = QuestionBank.objects.select_for_update(of=("self",)).get(pk=bank.pk)
        if locked.archived_at is not None:
            raise BankRefused("archived", _("“%(name)s” is archived: bring it back first.") % {"name": locked.name})
        if (locked.terms, locked.holds_quarters) == (terms, holds_quarters):
            return False
        facts = {
            "terms_sha256": hashlib.sha256(terms.encode()).hexdigest(),
            "before_sha256": hashlib.sha256(locked.terms.encode()).hexdigest(),
            "holds_quarters": holds_quarters,
        }
        locked.terms, locked.holds_quarters = terms, holds_quarters
        locked.save(update_fields=["terms", "holds_quarters"])
        record("bank.terms_changed", actor=actor, at=at, subject=locked, facts=facts)
    return True
