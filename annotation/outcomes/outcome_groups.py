"""How often an issue was found, apart by what a question is, by who reviewed it, or by the file that brought it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from annotation.enums import Difficulty, Flag, ImportKind, Task, Word
from annotation.enums import _ as marked
from annotation.models import BankImport, ReviewRound, User
from annotation.review.asked import ASKED_BY, flags_asked_by_forms
from annotation.review.outcomes import adjudicated, newest_reviews
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


@dataclass(frozen=True)
class CountedIssue:
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


@dataclass(frozen=True)
class GroupOutcome:
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
    people = User.objects.filter(pk__in=[*values]).order_by("name", "pk").values_list("pk", "name")
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
