"""Which parts of V(Q) keep a question out of new samples: a rule of each bank, empty until a person sets it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import Question, QuestionBank, Revision, User
from annotation.quality.checking import QualityRefused
from annotation.quality.kernels.validity_parts import CAN_FAIL
from annotation.quality.validity import failing_revisions
from annotation.site.slugs import listed


@transaction.atomic
def keep_out(bank: QuestionBank, parts: Collection[str], *, actor: User | None, at: datetime) -> bool:
    """From now on no sample draws a question that fails one of these parts; none: nothing is kept out.

    False where it was so already. Raises QualityRefused (``archived``, ``no_part``).
    """
    if strange := [code for code in parts if code not in CAN_FAIL]:
        sentence = _("Nothing can fail by %(parts)s. Choose among: %(known)s.")
        facts = {"parts": listed(strange), "known": ", ".join(CAN_FAIL)}
        raise QualityRefused("no_part", sentence % facts, status=422, field="parts")
    locked = QuestionBank.objects.select_for_update(of=("self",)).get(pk=bank.pk)
    if locked.archived_at is not None:
        raise QualityRefused("archived", _("“%(bank)s” is archived: bring it back first.") % {"bank": bank.name})
    wanted = [code for code in CAN_FAIL if code in parts]
    if wanted == locked.kept_out_by:
        return False
    facts_of_change: dict[str, Any] = {"parts": wanted, "before": locked.kept_out_by}
    locked.kept_out_by = wanted
    locked.save(update_fields=["kept_out_by"])
    record("bank.kept_out_changed", actor=actor, at=at, subject=locked, facts=facts_of_change)
    return True


def kept_out(bank: QuestionBank) -> QuerySet[Any, Any] | None:
    """The wordings that no sample of the bank draws; None where the bank keeps nothing out."""
    return failing_revisions(bank, bank.kept_out_by) if bank.kept_out_by else None


def n_kept_out(bank: QuestionBank, hidden: QuerySet[Question]) -> int:
    """All that the rule of the bank keeps out, each question once."""
    out = kept_out(bank)
    current = Revision.objects.in_bank(bank).current().exclude(question__in=hidden)
    return 0 if out is None else current.filter(pk__in=out).count()
