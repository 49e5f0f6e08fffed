"""Gather, compare, store: one comparison of the models on a bank, as one row that never changes."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import QuestionBank, User
from readerstudy.analysis.storing import as_text, software_versions
from readerstudy.comparison.kernels.bank_comparison import RULE, compare
from readerstudy.comparison.loading import gather, inputs_now
from readerstudy.design.kernels.protocol import sha256_of
from readerstudy.models import ModelComparison


class NothingToCompare(ValueError):
    """The bank holds no question with a key, or no model has a named run on it; the text says which."""


def compare_models(bank: QuestionBank, *, actor: User | None, at: datetime) -> ModelComparison:
    """The same inputs and software give the same bytes, and then the row that is there. Raises NothingToCompare."""
    inputs = inputs_now(bank)
    arrays = gather(bank)
    if not arrays.entrants:
        raise NothingToCompare(_("No model has a run that is named for this bank."))
    if not len(arrays.key):
        raise NothingToCompare(_("No question of this bank has a key: nothing can be counted as right."))
    software = {**software_versions(), "rule": RULE}
    text = as_text(compare(arrays) | {"inputs_sha256": inputs, "software": software})
    return _store(bank, inputs, text, actor=actor, at=at)


@transaction.atomic
def _store(bank: QuestionBank, inputs: str, text: str, *, actor: User | None, at: datetime) -> ModelComparison:
    """Apart from computing, so that nobody waits for that with a write."""
    hashed = sha256_of(text)
    there = ModelComparison.objects.filter(bank=bank, result_sha256=hashed).first()
    if there is not None:
        return there
    made = ModelComparison.objects.create(
        bank=bank, inputs_sha256=inputs, result=text, result_sha256=hashed, created_by=actor, created_at=at
    )
    facts = {"comparison": made.public_id, "inputs_sha256": inputs, "result_sha256": hashed}
    record("bank.models_compared", actor=actor, at=at, subject=bank, facts=facts)
    return made
