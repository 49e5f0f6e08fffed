"""The terms under which a bank was given, whether its questions are public, and whether its images came smaller."""

from __future__ import annotations

import hashlib
from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import Finding, QuestionBank, User
from annotation.quality.kernels.rules import PUBLIC_TWIN
from annotation.questionbank.kernels.entries import BankRefused

LONGEST_TERMS = 50_000  # characters


def change_terms(
    bank: QuestionBank,
    *,
    terms: str,
    holds_quarters: bool,
    is_public: bool | None = None,
    actor: User | None,
    at: datetime,
) -> bool:
    """Store what differs, and say whether anything did. Permissions keep the terms under which they were given.

    ``is_public`` None: as it is. Where it changes, open findings of twins in public banks go, of this bank and those
    that name it: they have to be sought anew.

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
        wanted = terms, holds_quarters, locked.is_public if is_public is None else is_public
        if (locked.terms, locked.holds_quarters, locked.is_public) == wanted:
            return False
        facts = {
            "terms_sha256": hashlib.sha256(terms.encode()).hexdigest(),
            "before_sha256": hashlib.sha256(locked.terms.encode()).hexdigest(),
            "holds_quarters": holds_quarters,
            "is_public": wanted[2],
        }
        if locked.is_public != wanted[2]:
            _forget_twins(locked)
        locked.terms, locked.holds_quarters, locked.is_public = wanted
        locked.save(update_fields=["terms", "holds_quarters", "is_public"])
        record("bank.terms_changed", actor=actor, at=at, subject=locked, facts=facts)
    return True


def _forget_twins(bank: QuestionBank) -> None:
    named = Finding.objects.filter(rule=PUBLIC_TWIN, dismissed_at=None)
    named.filter(Q(bank=bank) | Q(other__question__bank=bank)).delete()
    QuestionBank.objects.filter(Q(pk=bank.pk) | Q(is_public=False)).update(twins_sought_at=None)
