"""Which questions a model wrote here, and what a question says of its origin."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.enums import ImportKind
from annotation.generation.kernels.made_questions import HISTORY
from annotation.models import AnswerKey, BankImport, GenerationRun, Question, QuestionBank, Revision
from annotation.questionbank.kernels.kept_source import parsed


def generated_in(bank: QuestionBank) -> QuerySet[Question]:
    """Questions of the bank that came in as generated, whatever was made of them since."""
    brought = Revision.objects.filter(bank=bank, bank_import__kind=ImportKind.GENERATED)
    return Question.objects.filter(pk__in=brought.order_by().values("question")).order_by()


def holds_generated(bank: QuestionBank) -> bool:
    return BankImport.objects.filter(bank=bank, kind=ImportKind.GENERATED).exists()


def history_of_generated(revision: Revision) -> dict[str, Any] | None:
    """Report, findings, prompts, model and calls as the importer stored them; None for any other question.

    The caller has seen to it that the person may read the key.
    """
    kept = AnswerKey.objects.filter(pk=revision.pk).values_list("extra", flat=True).first()
    found: dict[str, Any] | None = parsed(kept or "{}").get("fields", {}).get(HISTORY)
    return found


def generates_from(bank: QuestionBank) -> str:
    """Why a bank cannot be deleted, or nothing."""
    used = GenerationRun.objects.filter(bank=bank).exists()
    return _("Questions were generated for this bank: archive the bank instead.") if used else ""
