"""How often an issue was found, apart by what a question is, by who reviewed it, or by the file that brought it.

Questions that a reviewer flagged, what became of questions, and what was found in them, as filters of the bank. Who
still judges in a round learns nothing of that round by them, and nothing of a question that they judge.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import CharField, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from annotation.contributions import reads_in_bank
from annotation.enums import EXPLANATIONS, Difficulty, Flag, ImportKind, RoundState, Task, Word
from annotation.enums import _ as marked
from annotation.models import BankImport, Finding, QuestionBank, Review, ReviewRound, Settlement, User
from annotation.models.fields import AsRead
from annotation.questionbank.filters import ANY, BankFilter, BankSearch, Choices, Rows
from annotation.questionbank.kernels.question_checks import DIVERSITY, EXPERT, GATED, JUDGED, PARTS, PartState
from annotation.questionbank.kernels.rules import RULES
from annotation.questionbank.validity import MOST_COUNTED, GateCount, count_gate, gate_is, gate_of, part_is
from annotation.review.kernels.settling import Against
from annotation.review.onlookers import (
    questions_hidden_from,
    revisions_in_pairs_of,
    rounds_with_outcomes_for,
    similarity_hidden_from,
    withheld_questions,
)
from annotation.review.outcomes import ASKED_BY, adjudicated, flags_asked_by_forms, newest_reviews
from annotation.site.permissions import is_coordinator
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.issues import PAPER_FLAGS, CountingRule, Judged, JudgedQuestions, PaperOutcome

ANY_FLAG = "any"


class GroupBy(Word):
    """What the questions of rounds are taken apart by."""

    TASK = "task", marked("Task")
    CATEGORY = "category", marked("Category")
    DIFFICULTY = "difficulty", marked("Stated difficulty")
    REVIEWER = "reviewer", marked("Reviewer")
    IMPORT = "import", marked("Import")


_COLUMNS = {
    GroupBy.TASK: "assignment__revision__task",
    GroupBy.CATEGORY: "assignment__revision__category",
    GroupBy.DIFFICULTY: "assignment__revision__difficulty",
    GroupBy.REVIEWER: "assignment__reviewer",
    GroupBy.IMPORT: "assignment__revision__bank_import__public_id",
}


class CountedIssue(Struct, frozen=True):
    """One choice of what is counted: an outcome of the paper, one flag, or any flag at all."""

    name: str  # as addresses and tables say it
    label: str
    flags: tuple[Flag, ...]


COUNTED_ISSUES: dict[str, CountedIssue] = {
    one.name: one
    for one in (
        CountedIssue(ANY_FLAG, marked("Any flag at all"), tuple(Flag)),
        *(CountedIssue(f"paper_{one.value}", one.label, flags) for one, flags in PAPER_FLAGS.items()),
        *(CountedIssue(f"flag_{one.value}", one.label, (one,)) for one in Flag),
    )
}
PAPER_ISSUES = [f"paper_{one.value}" for one in PaperOutcome]


class GroupOutcome(Struct, frozen=True):
    """One group; ``n_reviews`` of its questions, whoever wrote them."""

    value: str
    label: str
    n_reviews: int
    share: Estimate


def group_outcomes(
    rounds: Sequence[ReviewRound], by: GroupBy, issue: CountedIssue, rule: CountingRule
) -> list[GroupOutcome]:
    """The rate of one issue in each group, in two or three queries; the groups as people expect them ordered.

    By reviewer no rule of counting applies: of the questions that one reviewed, those that the same one flagged.
    """
    return all_group_outcomes(rounds, [by], [issue], rule)[by][issue.name]


def all_group_outcomes(
    rounds: Sequence[ReviewRound], groupings: Sequence[GroupBy], issues: Sequence[CountedIssue], rule: CountingRule
) -> dict[GroupBy, dict[str, list[GroupOutcome]]]:
    """The same of several groupings, and of several issues by name, from rows that are read once."""
    columns = [_COLUMNS[by] for by in groupings]
    rows = newest_reviews(*rounds).order_by().values_list("assignment__revision", *ASKED_BY, *columns)
    judged, values, asked = list[Judged](), [], flags_asked_by_forms()
    for revision, form, answered_at, flags, *of_one in rows:
        judged.append(Judged(revision, "", revision, frozenset(flags), asked(form, answered_at, flags)))
        values.append(of_one)
    return {
        by: _outcomes(rounds, by, issues, rule, [of_one[place] for of_one in values], judged)
        for place, by in enumerate(groupings)
    }


def _outcomes(
    rounds: Sequence[ReviewRound],
    by: GroupBy,
    issues: Sequence[CountedIssue],
    rule: CountingRule,
    values: Sequence[object],
    judged: Sequence[Judged],
) -> dict[str, list[GroupOutcome]]:
    """``values`` and ``judged`` run in parallel."""
    groups: dict[object, list[Judged]] = defaultdict(list)
    for value, one in zip(values, judged, strict=True):
        groups[value].append(one)
    n_reviews = Counter({value: len(found) for value, found in groups.items()})
    if by is GroupBy.REVIEWER:
        rule = CountingRule.ANY
    if rule is CountingRule.ADJUDICATED:
        group_of = dict(zip((one.question for one in judged), values, strict=True))
        standing = adjudicated(rounds, judged)
        groups = {value: [one for one in standing if group_of[one.question] == value] for value in groups}
    questions = {value: JudgedQuestions.of(found) for value, found in groups.items()}
    named = _labels(by, list(groups))
    return {
        issue.name: [
            GroupOutcome(
                str(value),
                label,
                n_reviews[value],
                questions[value].rate([flag.value for flag in issue.flags], rule, {}).share,
            )
            for value, label in named
        ]
        for issue in issues
    }


def _labels(by: GroupBy, values: Sequence[object]) -> list[tuple[object, str]]:
    """Each value with what people read, in order: of the vocabulary, by name, or by time."""
    of: dict[GroupBy, Callable[[Sequence[object]], list[tuple[object, str]]]] = {
        GroupBy.TASK: lambda present: [(one.value, _(one.label)) for one in Task if one.value in present],
        GroupBy.DIFFICULTY: lambda present: [(one.value, _(one.label)) for one in Difficulty if one.value in present],
        GroupBy.CATEGORY: lambda present: [(one, str(one) or _("no category")) for one in sorted(map(str, present))],
        GroupBy.REVIEWER: _reviewers,
        GroupBy.IMPORT: _imports,
    }
    return of[by](values)


def _reviewers(values: Sequence[object]) -> list[tuple[object, str]]:
    people = User.objects.filter(pk__in=[*values]).order_by(AsRead("name"), "pk").values_list("pk", "name")
    return [(pk, name) for pk, name in people]


def _imports(values: Sequence[object]) -> list[tuple[object, str]]:
    """Wordings that people wrote belong to one further row of the bank."""
    rows = BankImport.objects.filter(public_id__in=[*values]).order_by("started_at", "pk")
    found: list[tuple[object, str]] = []
    for one in rows:
        day = date_format(timezone.localtime(one.started_at), "SHORT_DATE_FORMAT")
        edited = one.kind == ImportKind.EDITS
        found.append((one.public_id, _("written here") if edited else f"{one.file_name or _('without a file')}, {day}"))
    return found


# --- Questions that a reviewer flagged, what became of questions, and what was found in -----------
def _rounds_of(search: BankSearch) -> list[int]:
    if "rounds" not in search.kept:
        search.kept["rounds"] = list(
            rounds_with_outcomes_for(search.person, ReviewRound.objects.exclude(plan__rule=EXPLANATIONS))
        )
    found: list[int] = search.kept["rounds"]
    return found


def _flagged(search: BankSearch, value: str) -> QuerySet[Any, Any]:
    """The questions whose review, in the version that counts and of whichever wording, has the flag."""
    later = Review.objects.filter(assignment=OuterRef("assignment"), version__gt=OuterRef("version"))
    reviews = Review.objects.filter(
        ~Exists(later), assignment__round__in=_rounds_of(search), assignment__round__plan__bank=search.bank
    ).alias(words=Cast("flags", CharField()))
    reviews = reviews.exclude(assignment__revision__question__in=questions_hidden_from(search.person))
    reviews = reviews.exclude(flags=[]) if value == ANY else reviews.filter(words__contains=f'"{value}"')
    return reviews.order_by().values("assignment__revision__question")


FLAGGED = BankFilter(
    name="flag",
    label=gettext_lazy("Flag of a reviewer"),
    choices=lambda _search: [(ANY, _("any flag")), *((flag.value, _(flag.label)) for flag in Flag)],
    narrow=lambda rows, search, value: rows.filter(question__in=_flagged(search, value)),
    seek=lambda search, value: ("question__in", _flagged(search, value)),
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


def _rules(_search: BankSearch) -> Choices:
    rules = [(rule.code, str(rule.label)) for rule in RULES.values()]
    return [(ANY, _("any finding")), *rules, *((code, _(PARTS[code].label)) for code in JUDGED)]


def _with_validity(rows: Rows, search: BankSearch, value: str) -> Rows:
    """By the gate of the bank, or ``c1-fail``: one part in one state. A bank without a gate has no V(Q)."""
    code, _dash, state = value.rpartition("-")
    if code:
        condition = part_is(search.bank, code, PartState(state))
    elif gate := gate_of(search.bank):
        condition = gate_is(search.bank, gate.parts, PartState(state))
    else:
        return rows.none()
    rows = rows.exclude(question__in=questions_hidden_from(search.person))
    if search.person and code in ("", DIVERSITY):
        rows = rows.exclude(pk__in=revisions_in_pairs_of(search.person))
    return rows.filter(condition)


def _validity_states(search: BankSearch) -> Choices:
    states = [(state, _(state.label)) for state in PartState]
    whole = [(str(state), f"V(Q): {words}") for state, words in states] if gate_of(search.bank) else []
    parts = [
        (f"{code}-{state}", f"{_(PARTS[code].label)}: {words}")
        for code in GATED
        for state, words in states
        if state != PartState.UNDECIDED or code in (*JUDGED, EXPERT)
    ]
    return [*whole, *parts]


def valid_shown_to(person: User, bank: QuestionBank, *, n_questions: int = MOST_COUNTED + 1) -> GateCount | None:
    """The counts of V(Q) for a coordinator who does not read in the bank; None also where it has no gate."""
    if not is_coordinator(person) or reads_in_bank(person.pk, bank.pk):
        return None
    return count_gate(bank, withheld_questions(person), person=person, n_questions=n_questions)


VALID = BankFilter(
    name="validity",
    label=gettext_lazy("Validity"),
    choices=_validity_states,
    narrow=_with_validity,
    of_coordinators=True,
)
FOUND = BankFilter(
    name="finding",
    label=gettext_lazy("Finding"),
    choices=_rules,
    narrow=_with_finding,
    seek=lambda search, value: ("pk__in", _open_findings(search, value).values("revision")),
    of_coordinators=True,
)
