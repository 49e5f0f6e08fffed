"""What comparisons found in a bank, for its page: near-duplicates, and twins in public banks."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.contributions import reads_in_bank
from annotation.jobs.queueing import enqueue, job_under_way
from annotation.models import Finding, Job, QuestionBank, Revision, User
from annotation.quality.checking import COMPARISON, DuplicatesParams, QualityRefused, public_banks_beside
from annotation.quality.kernels.rules import BANKWIDE
from annotation.review.onlookers import similarity_hidden_from, withheld_questions


def ask_for_comparison(bank: QuestionBank, *, across: bool, actor: User, at: datetime) -> Job:
    """A job that compares its questions with each other, or with those of public banks; one under way is enough.

    Raises QualityRefused (``archived``, ``is_public``, ``none_public``).
    """
    if bank.archived_at is not None:
        raise QualityRefused("archived", _("“%(bank)s” is archived: bring it back first.") % {"bank": bank.name})
    if across:
        public_banks_beside(bank)
    title = _("Twins of “%(bank)s” in public banks") if across else _("Near-duplicates in “%(bank)s”")
    if under_way := job_under_way(COMPARISON, bank=bank.pk, across=across):
        return under_way
    params = DuplicatesParams(bank=bank.pk, across=across, actor=actor.pk)
    return enqueue(COMPARISON, title % {"bank": bank.name[:100]}, params, actor=actor, at=at)


def similar_found(bank: QuestionBank, person: User) -> QuerySet[Finding]:
    """Open findings of comparisons, by rule and number, of which the person may hear.

    Left out: pairs with a question that the person reviews, those with one of a pair that the person has still to judge
    in a trial of an embedding, and those with a bank of which the person reads questions
    in a study that is not over.
    """
    hidden = withheld_questions(person)
    current = Revision.objects.in_bank(bank).current().exclude(question__in=hidden).order_by()
    found = Finding.objects.open().filter(bank=bank, rule__in=BANKWIDE, revision__in=current.values("pk"))
    found = found.exclude(other__question__in=hidden).exclude(similarity_hidden_from(person))
    banks = found.exclude(other__bank=bank).order_by().values_list("other__bank", flat=True).distinct()
    read = [pk for pk in banks if reads_in_bank(person.pk, pk)]
    found = found.exclude(other__bank__in=read).select_related("revision__question", "other__question__bank")
    return found.order_by("rule", "revision__question__number")


def counts_of_similar(found: QuerySet[Finding]) -> Counter[str]:
    """By rule."""
    return Counter(found.order_by().values_list("rule", flat=True))
