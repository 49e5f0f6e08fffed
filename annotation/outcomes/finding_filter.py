"""Questions in which a rule or a validator found something, as a filter of the bank.

Nobody learns by it what was found in a question that they judge in a round under way.
"""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Finding
from annotation.quality.kernels.rules import RULES
from annotation.quality.kernels.validity_parts import JUDGED, PARTS
from annotation.questionbank.filters import ANY, BankFilter, BankSearch, Choices, Rows, Sought
from annotation.review.onlookers import questions_hidden_from, similarity_hidden_from


def _open_findings(search: BankSearch, value: str) -> QuerySet[Finding]:
    found = Finding.objects.open().filter(bank=search.bank).order_by()
    found = found.exclude(revision__question__in=questions_hidden_from(search.person))
    if search.person:
        found = found.exclude(similarity_hidden_from(search.person))
    return found if value == ANY else found.filter(rule=value)


def _with_finding(rows: Rows, search: BankSearch, value: str) -> Rows:
    return rows.filter(Exists(_open_findings(search, value).filter(revision=OuterRef("pk"))))


def _seek_finding(search: BankSearch, value: str) -> Sought | None:
    return "pk__in", _open_findings(search, value).values("revision")


def _rules(_search: BankSearch) -> Choices:
    rules = [(rule.code, str(rule.label)) for rule in RULES.values()]
    return [(ANY, _("any finding")), *rules, *((code, _(PARTS[code].label)) for code in JUDGED)]


FOUND = BankFilter(
    name="finding",
    label=gettext_lazy("Finding"),
    choices=_rules,
    narrow=_with_finding,
    seek=_seek_finding,
    of_coordinators=True,
)
