"""Questions that a reviewer flagged, what became of questions, and what was found in them, as filters of the bank.

Who still judges in a round learns nothing of that round by them, and nothing of a question that they judge.
"""

from __future__ import annotations

from typing import Any

from django.db.models import CharField, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Cast
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.enums import Flag, RoundState
from annotation.models import Finding, Review, ReviewRound, Settlement
from annotation.quality.kernels.rules import RULES
from annotation.quality.kernels.validity_parts import JUDGED, PARTS
from annotation.questionbank.filters import ANY, BankFilter, BankSearch, Choices, Rows, Sought
from annotation.review.kernels.settling import Against
from annotation.review.onlookers import questions_hidden_from, rounds_with_outcomes_for, similarity_hidden_from


def _rounds_of(search: BankSearch) -> list[int]:
    if "rounds" not in search.kept:
        search.kept["rounds"] = list(rounds_with_outcomes_for(search.person, ReviewRound.objects.all()))
    found: list[int] = search.kept["rounds"]
    return found


def _flagged(search: BankSearch, value: str) -> QuerySet[Any, Any]:
    """The questions whose review, in the version that counts and of whichever wording, has the flag."""
    later = Review.objects.filter(assignment=OuterRef("assignment"), version__gt=OuterRef("version"))
    reviews = Review.objects.filter(
        ~Exists(later),
        assignment__round__in=_rounds_of(search),
        assignment__round__plan__bank=search.bank,
    ).alias(words=Cast("flags", CharField()))
    reviews = reviews.exclude(assignment__revision__question__in=questions_hidden_from(search.person))
    reviews = reviews.exclude(flags=[]) if value == ANY else reviews.filter(words__contains=f'"{value}"')
    return reviews.order_by().values("assignment__revision__question")


def _narrow_flagged(rows: Rows, search: BankSearch, value: str) -> Rows:
    return rows.filter(question__in=_flagged(search, value))


def _seek_flagged(search: BankSearch, value: str) -> Sought | None:
    return "question__in", _flagged(search, value)


def _flags(_search: BankSearch) -> Choices:
    return [(ANY, _("any flag")), *((flag.value, _(flag.label)) for flag in Flag)]


FLAGGED = BankFilter(
    name="flag",
    label=gettext_lazy("Flag of a reviewer"),
    choices=_flags,
    narrow=_narrow_flagged,
    seek=_seek_flagged,
    of_coordinators=True,
)


BY_RULE, WAITS, LEFT, DECIDED, AGAINST_ALL = "by_rule", "waits", "left", "decided", "against_all"
_SENTENCES = {
    BY_RULE: gettext_lazy("settled by the rule"),
    WAITS: gettext_lazy("waits for an adjudicator"),
    LEFT: gettext_lazy("left undecided when the round was closed"),
    DECIDED: gettext_lazy("decided by an adjudicator"),
    AGAINST_ALL: gettext_lazy("decided against all reviewers"),
    Against.MISSING: gettext_lazy("was disputed: a review was missing"),
    Against.NOT_BLIND: gettext_lazy("was disputed: no blind answers"),
    Against.ANSWERS_DIFFER: gettext_lazy("was disputed: blind answers differ"),
    Against.NOT_THE_KEY: gettext_lazy("was disputed: all chose another option than the key"),
    Against.VERDICT: gettext_lazy("was disputed: a verdict other than accept"),
    Against.GRADE: gettext_lazy("was disputed: a grade below 3"),
    Against.FLAG: gettext_lazy("was disputed: a flag"),
}


def _settled(search: BankSearch, value: str) -> QuerySet[Any, Any]:
    """The questions whose newest settlement, in whichever wording, came about like this."""
    seen = Settlement.objects.filter(round__in=_rounds_of(search), revision__bank=search.bank)
    newer = seen.filter(revision__question=OuterRef("revision__question"), pk__gt=OuterRef("pk"))
    found = seen.filter(~Exists(newer)).exclude(revision__question__in=questions_hidden_from(search.person))
    if value == BY_RULE:
        found = found.filter(reasons=[])
    elif value in (WAITS, LEFT):
        of_closed = Q(round__state=RoundState.CLOSED)
        found = found.exclude(reasons=[]).filter(of_closed if value == LEFT else ~of_closed, decided_at=None)
    elif value == DECIDED:
        found = found.exclude(decided_at=None)
    elif value == AGAINST_ALL:
        found = found.filter(against_all=True)
    else:
        found = found.alias(words=Cast("reasons", CharField())).filter(words__contains=f'"code": "{value}"')
    return found.order_by().values("revision__question")


SETTLED = BankFilter(
    name="outcome",
    label=gettext_lazy("Outcome of a review"),
    choices=lambda _search: [(name, str(words)) for name, words in _SENTENCES.items()],
    narrow=lambda rows, search, value: rows.filter(question__in=_settled(search, value)),
    seek=lambda search, value: ("question__in", _settled(search, value)),
    of_coordinators=True,
)


# --- what rules and validators found ---
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
