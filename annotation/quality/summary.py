"""What the checks say of a whole bank: how many questions each rule is about, and what shows only over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from annotation.models import AnswerKey, Finding, QuestionBank, Revision
from annotation.quality.kernels.bankwide import BankWide, bank_wide
from annotation.quality.kernels.rules import RULES, Rule
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share

CHUNK = 2_000


@dataclass(frozen=True)
class RuleCount:
    """``questions``: the share of all current questions in which the rule fired; ``dismissed`` of its findings."""

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
    return BankSummary(n, _rule_counts(current, n), bank_wide(_lengths_and_keys(current)))


def _rule_counts(current: QuerySet[Revision], n: int) -> list[RuleCount]:
    rows = Finding.objects.of_rules().filter(revision__in=current.order_by().values("pk")).order_by()
    counted = rows.values_list("rule").annotate(
        n_questions=Count("revision", distinct=True),
        n=Count("pk"),
        gone=Count("pk", filter=Q(dismissed_at__isnull=False)),
    )
    found = {rule: numbers for rule, *numbers in counted}
    counts = []
    for code, rule in RULES.items():
        questions, findings, dismissed = found.get(code, (0, 0, 0))
        counts.append(RuleCount(rule, share(questions, n), findings, dismissed))
    return counts


def _lengths_and_keys(current: QuerySet[Revision]) -> Iterator[tuple[list[int], str]]:
    rows, last = current.order_by("pk").values_list("pk", "options"), 0
    while page := list(rows.filter(pk__gt=last)[:CHUNK]):
        last = page[-1][0]
        keys = dict(AnswerKey.objects.filter(pk__in=[pk for pk, _options in page]).values_list("pk", "key"))
        yield from (([len(option) for option in options], keys.get(pk, "")) for pk, options in page)
