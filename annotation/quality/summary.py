"""What the checks say of a whole bank: how many questions each rule is about, and what shows only over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from annotation.models import AnswerKey, Finding, QuestionBank, QuestionVector, Revision
from annotation.quality.kernels.bankwide import BankWide, bank_wide
from annotation.quality.kernels.rules import NEAR_DUPLICATE, NEAR_EMBEDDED, PUBLIC_TWIN, RULES, Rule
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share

CHUNK = 2_000


@dataclass(frozen=True)
class RuleCount:
    """``questions``: the share of all current questions in which the rule fired; ``dismissed`` of its findings.

    A rule over whole banks that nobody has run on this one has no share, flagged ``not_asked``.
    """

    rule: Rule
    questions: Estimate
    n_findings: int
    n_dismissed: int


@dataclass(frozen=True)
class BankSummary:
    n_questions: int
    rules: list[RuleCount]  # all of them, in the order of the table
    whole: BankWide


def summarise(bank: QuestionBank) -> BankSummary:
    """Computed anew each time, from the current questions and their stored findings."""
    current = Revision.objects.in_bank(bank).current()
    n = current.count()
    return BankSummary(n, _rule_counts(bank, current, n), bank_wide(_lengths_and_keys(current)))


def _compared(bank: QuestionBank, current: QuerySet[Revision]) -> dict[str, bool]:
    """Of each rule over whole banks whether it was ever run on this one."""
    compared, sought = QuestionBank.objects.values_list("compared_at", "twins_sought_at").get(pk=bank.pk)
    vectors = QuestionVector.objects.filter(revision__in=current.order_by().values("pk"))
    embedded = vectors.exclude(embedding__threshold=None).exists()
    return {NEAR_DUPLICATE: bool(compared), PUBLIC_TWIN: bool(sought), NEAR_EMBEDDED: embedded}


def _rule_counts(bank: QuestionBank, current: QuerySet[Revision], n: int) -> list[RuleCount]:
    rows = Finding.objects.of_rules().filter(revision__in=current.order_by().values("pk")).order_by()
    counted = rows.values_list("rule").annotate(
        n_questions=Count("revision", distinct=True),
        n=Count("pk"),
        gone=Count("pk", filter=Q(dismissed_at__isnull=False)),
    )
    found = {rule: numbers for rule, *numbers in counted}
    counts, compared = [], _compared(bank, current)
    for code, rule in RULES.items():
        questions, findings, dismissed = found.get(code, (0, 0, 0))
        ran = bool(findings) or compared.get(code, True)
        counts.append(RuleCount(rule, share(questions, n if ran else 0, asked=ran), findings, dismissed))
    return counts


def _lengths_and_keys(current: QuerySet[Revision]) -> Iterator[tuple[list[int], str]]:
    rows, last = current.order_by("pk").values_list("pk", "options"), 0
    while page := list(rows.filter(pk__gt=last)[:CHUNK]):
        last = page[-1][0]
        keys = dict(AnswerKey.objects.filter(pk__in=[pk for pk, _options in page]).values_list("pk", "key"))
        yield from (([len(option) for option in options], keys.get(pk, "")) for pk, options in page)
