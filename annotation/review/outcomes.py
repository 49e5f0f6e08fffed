"""What the reviews of a round found. Every number with its n, and with the rule by which it was counted.

What reviews were asked for, each by its own form: what was not asked has no answer, and is counted nowhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache
from statistics import median
from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet, Subquery
from msgspec import Struct
from msgspec.structs import replace

from annotation.enums import PAPER_FORM, Degree, Flag, GradeName, QuestionState, RoundState, Verdict, Word, _
from annotation.models import (
    AnswerKey,
    Assignment,
    Review,
    ReviewForm,
    ReviewRound,
    Revision,
    SampledQuestion,
    Settlement,
)
from annotation.models.review import ANSWERED_BLIND
from annotation.review.kernels.form import is_accepting
from annotation.review.kernels.form_design import CHOICE_LABELS, CHOICES, PAPER, FormDesign, stored_design
from annotation.review.kernels.settling import Opinion, reasons_against
from annotation.statistics.kernels.estimate import WHOLE_BANK, WHOLE_FRAME, Estimate
from annotation.statistics.kernels.intervals import ClusteredShare, clustered_share, share
from annotation.statistics.kernels.issues import (
    PAPER_FLAGS,
    CountingRule,
    IssueRate,
    Judged,
    JudgedQuestions,
    PaperOutcome,
    Seen,
)

ASKED_BY = ("form", "assignment__blind_answer__answered_at", "flags")  # columns that asked_by_forms goes by
ASKED_LABELS = {  # of what a review may have been asked for, see FormDesign.asks
    "blind_best": _("Blind answer"),
    **{f"grade_{name.value}": name.label for name in GradeName},
    **CHOICE_LABELS,
    **{f"flag_{flag.value}": flag.label for flag in Flag},
}

# What nobody was asked is told of the paper's form alone: what came later leaves older rounds as they are.
_ALWAYS_TOLD = PAPER.asks(blind=True)

AskedBy = Callable[[str, object, Iterable[str]], frozenset[str]]


def asked_by_forms() -> AskedBy:
    """What a review was asked for, see FormDesign.asks: by its form, its blind answer (None: there is none), its flags.

    A flag that is set was asked for, whatever the form is. Forms of one's own are read when the first one comes.
    """

    @cache
    def designs() -> dict[str, FormDesign]:
        return {str(one): stored_design(one.design) for one in ReviewForm.objects.all()}

    @cache
    def asked(form: str, is_blind: bool) -> frozenset[str]:
        design = PAPER if form == PAPER_FORM else designs().get(form, PAPER)
        return design.asks(blind=is_blind)

    def of_review(form: str, answer: object, flags: Iterable[str]) -> frozenset[str]:
        found = asked(form, answer is not None)
        more = {f"flag_{flag}" for flag in flags} - found
        return found | more if more else found  # one object for all reviews of a form

    return of_review


def flags_asked_by_forms() -> AskedBy:
    """The flags among them."""
    asked, only_flags = asked_by_forms(), cache(asked_flags)
    return lambda form, answer, flags: only_flags(asked(form, answer, flags))


def asked_flags(asked: frozenset[str]) -> frozenset[str]:
    return frozenset(name.removeprefix("flag_") for name in asked if name.startswith("flag_"))


# --- What the reviews of a round found. Every number with its n, and with the rule by -------------
CANNOT_JUDGE = "cannot_judge"


class IssueRow(Struct, frozen=True):
    issue: Word
    flags: tuple[Flag, ...]  # which flags count, as far as they were asked
    rate: IssueRate


class Tally(Struct, frozen=True):
    """How often each word was chosen, in how many reviews. Reviews of one question are not independent."""

    name: str
    n: int
    counts: list[tuple[Word, int]]
    is_asked: bool = True


class Grades(Struct, frozen=True):
    """One grade over the reviews: how often 5, 4, 3, 2, 1; its median; those who could not judge are counted apart."""

    name: GradeName
    n: int
    counts: list[tuple[int, int]]
    median: float | None
    n_cannot_judge: int
    is_asked: bool = True


class Outcomes(Struct, frozen=True):
    rule: CountingRule
    n_questions: int  # in the round
    n_reviewed: int  # questions with at least one submitted review
    n_reviews: int
    reviews_per_question: list[tuple[int, int]]  # (k, questions with k submitted reviews)
    paper: list[IssueRow]
    flags: list[IssueRow]
    any_issue: IssueRate
    ceiling: Estimate
    ceiling_clustered: ClusteredShare | None
    verdicts: Tally
    accepted: Estimate
    settled: Estimate
    ceiling_meant: Estimate | None  # reported input errors as they were meant; None: nobody reported one
    settled_meant: Estimate | None
    grades: list[Grades]
    degrees: list[Tally]
    category_corrected: Estimate
    has_clusters: bool
    not_asked: list[str]  # labels of what no review was asked for


class _Row(Struct, frozen=True):
    """The newest version of one review, with what it is compared to."""

    question: int
    stratum: str
    cluster: str
    flags: frozenset[str]
    grades: dict[str, int | str]
    verdict: str
    needs_image: str
    relevant: str
    category: str
    best: str | None  # None: the round asks for no blind answer
    meant: str | None  # the same, a reported input error as it was meant
    key: str
    asked: frozenset[str]  # see FormDesign.asks


def newest_reviews(*rounds: ReviewRound) -> QuerySet[Review]:
    """The version of each review that counts, one row per reviewer and question; hidden repeats count nowhere."""
    return _newest(rounds).filter(assignment__repeats=None)


def repeated_reviews(review_round: ReviewRound) -> QuerySet[Review]:
    """The newest version of each hidden repeat."""
    return _newest([review_round]).filter(assignment__repeats__isnull=False)


def _newest(rounds: Sequence[ReviewRound]) -> QuerySet[Review]:
    later = Review.objects.filter(assignment=OuterRef("assignment"), version__gt=OuterRef("version"))
    return Review.objects.filter(~Exists(later), assignment__round__in=[one.pk for one in rounds])


def blind_answers(revisions: QuerySet[Any, Any]) -> QuerySet[Assignment]:
    """Of every submitted review with a blind answer to these wordings, whatever its round: what the ceiling counts."""
    return Assignment.objects.filter(ANSWERED_BLIND, revision__in=revisions).order_by()


def round_outcomes(review_round: ReviewRound, rule: CountingRule = CountingRule.ANY) -> Outcomes:
    """The outcomes of one round so far, see ``outcomes_over``; also weighted to the mix of the bank."""
    return outcomes_of_round(review_round, [rule])[rule]


def outcomes_of_round(review_round: ReviewRound, rules: Sequence[CountingRule]) -> dict[CountingRule, Outcomes]:
    """The same by several rules. The bank is what it was when the sample was drawn."""
    plan = review_round.plan
    is_part = not plan.frame.keys().isdisjoint({"filters", "chosen"})
    left_out = [n for why, n in plan.frame.get("left_out", {}).items() if why != "withdrawn"]
    everything = Seen(plan.n_frame, WHOLE_FRAME if is_part or any(left_out) else WHOLE_BANK)
    strata = {s["stratum"]: int(s["n_frame"]) for s in plan.strata}
    return outcomes_by_rule([review_round], rules, strata, everything)


def outcomes_over(rounds: Sequence[ReviewRound], rule: CountingRule = CountingRule.ANY) -> Outcomes:
    """The outcomes so far, from the newest version of each submitted review; three queries whatever the size.

    A question counts once in each wording, with its reviews from all these rounds. By the rule ``adjudicated`` one
    query more: issues are then those that are left after adjudication, everything else is of the reviewers.
    """
    return outcomes_by_rule(rounds, [rule], {})[rule]


def outcomes_by_rule(
    rounds: Sequence[ReviewRound],
    rules: Sequence[CountingRule],
    strata: Mapping[str, int],
    everything: Seen | None = None,
) -> dict[CountingRule, Outcomes]:
    """See outcomes_over; the reviews are read once. ``everything`` is asked of the bank where it is not given."""
    plans = {one.plan_id for one in rounds}
    stratum_of = dict(SampledQuestion.objects.filter(plan__in=plans).values_list("revision_id", "stratum"))
    rows = _rows(rounds, stratum_of)
    flags_of = cache(asked_flags)
    reviewed = [Judged(row.question, row.stratum, row.cluster, row.flags, flags_of(row.asked)) for row in rows]
    asked = frozenset[str]().union(*{row.asked for row in rows})
    by_reviewers = JudgedQuestions.of(reviewed)
    n_of_question = Counter(row.question for row in rows)
    everything = everything or _bank_as_reviewed(rounds, len(n_of_question))
    ceiling = [row for row in rows if row.best is not None]
    has_errors = any(row.meant != row.best for row in rows)
    meant = [replace(row, best=row.meant) for row in rows] if has_errors else []
    of_reviewers: dict[str, Any] = {
        "n_questions": len(stratum_of),
        "n_reviewed": len(n_of_question),
        "n_reviews": len(rows),
        "reviews_per_question": sorted(Counter(n_of_question.values()).items()),
        "ceiling": share(sum(row.best == row.key for row in ceiling), len(ceiling), asked=not rows or bool(ceiling)),
        "ceiling_meant": share(sum(row.best == row.key for row in meant), len(ceiling)) if meant else None,
        "settled_meant": _share_of_questions(meant, _settles) if meant else None,
        "ceiling_clustered": _clustered_ceiling(ceiling),
        "verdicts": _tally("verdict", Verdict, [row.verdict for row in rows]),
        "accepted": _share_of_questions(
            rows, lambda of_one: all(is_accepting(one.verdict, one.flags) for one in of_one)
        ),
        "settled": _share_of_questions(rows, _settles),
        "grades": [
            _grades(name, [row.grades.get(name) for row in rows], is_asked=f"grade_{name.value}" in asked)
            for name in GradeName
            if name in PAPER.grades or f"grade_{name.value}" in asked
        ],
        "degrees": [
            _tally(name, Degree, [getattr(row, name) for row in rows], is_asked=name in asked) for name in CHOICES
        ],
        "not_asked": [
            label for name, label in ASKED_LABELS.items() if rows and name not in asked and name in _ALWAYS_TOLD
        ],
        "category_corrected": _share_of_questions(rows, lambda of_one: any(one.category for one in of_one)),
    }
    found = {}
    for rule in rules:
        is_decided = rule is CountingRule.ADJUDICATED
        judged = JudgedQuestions.of(adjudicated(rounds, reviewed)) if is_decided else by_reviewers
        found[rule] = Outcomes(rule=rule, **of_reviewers, **_issues(judged, rule, strata, everything))
    return found


def _bank_as_reviewed(rounds: Sequence[ReviewRound], n_reviewed: int) -> Seen | None:
    """None where a question of the bank has a wording that nobody reviewed in these rounds."""
    if not n_reviewed:
        return None
    seen = newest_reviews(*rounds).filter(assignment__revision=OuterRef("pk"))
    there = Revision.objects.in_bank(rounds[0].plan.bank).current().exclude(question__state=QuestionState.WITHDRAWN)
    return None if there.filter(~Exists(seen)).exists() else Seen(n_reviewed)


def _issues(
    judged: JudgedQuestions, rule: CountingRule, strata: Mapping[str, int], everything: Seen | None
) -> dict[str, Any]:
    def rate(flags: Iterable[Flag]) -> IssueRate:
        return judged.rate([flag.value for flag in flags], rule, strata, everything)

    asked = frozenset[str]().union(*(form or () for form in judged.forms)) or frozenset(Flag.values())
    counted = {one: tuple(flag for flag in flags if flag in asked) for one, flags in PAPER_FLAGS.items()}
    any_issue = rate(Flag)
    return {
        "paper": [IssueRow(outcome, counted[outcome], rate(PAPER_FLAGS[outcome])) for outcome in PaperOutcome],
        "flags": [IssueRow(flag, (flag,), rate((flag,))) for flag in Flag],
        "any_issue": any_issue,
        "has_clusters": any_issue.clustered is not None,
    }


def rules_of(*rounds: ReviewRound) -> list[CountingRule]:
    """By which rules issues can be counted: what adjudicators say only once adjudication has begun."""
    may_have = [one for one in rounds if one.state in (RoundState.ADJUDICATION, RoundState.CLOSED)]
    has_begun = bool(may_have) and ReviewRound.everywhere.filter(adjudicates__in=may_have).exists()
    return [rule for rule in CountingRule if has_begun or rule is not CountingRule.ADJUDICATED]


def adjudicated(rounds: Sequence[ReviewRound], judged: Sequence[Judged]) -> list[Judged]:
    """The flags of each question that is settled or decided: nobody flags what settled, else the adjudicator's flags.

    These are of the adjudicator's own review, which was final before the others were shown. The rule of settling lets
    no flag pass, so that a question settled by it has none of those that its reviewers were asked for.
    """
    own = Review.objects.filter(assignment=OuterRef("assignment")).order_by("-version")
    decided = (
        Settlement.objects.filter(round__in=rounds)
        .exclude(outcome=QuestionState.DISPUTED)
        .order_by("pk")
        .annotate(flags=Subquery(own.values("flags")[:1]), form=Subquery(own.values("form")[:1]))
    )
    rows = {revision: said for revision, *said in decided.values_list("revision_id", "flags", "form")}
    asked, by_form = defaultdict[Hashable, frozenset[str]](frozenset), flags_asked_by_forms()
    for one in judged:
        asked[one.question] |= one.asked or frozenset()
    found = []
    for question, one in {one.question: one for one in reversed(judged)}.items():
        if question in rows:
            flags, form = rows[question]
            of = by_form(form, question, flags) if form else asked[question]
            found.append(replace(one, issues=frozenset(flags or ()), asked=of))
    return found


def _rows(rounds: Sequence[ReviewRound], stratum_of: dict[int, str]) -> list[_Row]:
    of_round = Assignment.objects.filter(round__in=rounds)
    keys = dict(AnswerKey.objects.filter(revision__in=of_round.values("revision")).values_list("revision_id", "key"))
    rows = (
        newest_reviews(*rounds)
        .order_by()
        .annotate(
            revision_id=F("assignment__revision"),
            exam=F("assignment__revision__question__exam__pseudonym"),
            patient=F("assignment__revision__question__exam__patient_pseudonym"),
            best=F("assignment__blind_answer__best"),
            meant=F("assignment__blind_answer__meant"),
        )
    )
    columns = ("form", "revision_id", "exam", "patient", "best", "meant", "flags", "grades", "verdict", "needs_image")
    asked = asked_by_forms()
    return [
        _Row(
            asked=asked(one.form, one.best, one.flags),
            question=one.revision_id,
            stratum=stratum_of.get(one.revision_id, ""),
            cluster=one.patient or f"exam {one.exam}",
            flags=frozenset(one.flags),
            grades=one.grades,
            verdict=one.verdict,
            needs_image=one.needs_image,
            relevant=one.relevant,
            category=one.category,
            best=one.best,
            meant=(one.meant if one.meant != "none" else "") if one.meant else one.best,
            key=keys[one.revision_id],
        )
        for one in rows.values_list(*columns, "relevant", "category", named=True)
    ]


def _clustered_ceiling(rows: Sequence[_Row]) -> ClusteredShare | None:
    clusters: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        clusters[row.cluster].append(int(row.best == row.key))
    return clustered_share(list(clusters.values())) if len(clusters) < len(rows) else None


def _share_of_questions(rows: Sequence[_Row], holds: Callable[[list[_Row]], bool]) -> Estimate:
    of_question: dict[int, list[_Row]] = defaultdict(list)
    for row in rows:
        of_question[row.question].append(row)
    return share(sum(holds(of_one) for of_one in of_question.values()), len(of_question))


def _settles(of_one: list[_Row]) -> bool:
    """Whether the reviews so far settle their question."""
    opinions = [Opinion(best=r.best, verdict=r.verdict, flags=r.flags, grades=r.grades) for r in of_one]
    return not reasons_against(opinions, of_one[0].key, n_wanted=len(of_one))


def _tally(name: str, words: type[Word], chosen: Sequence[str], *, is_asked: bool = True) -> Tally:
    counts = Counter(chosen)
    return Tally(name, sum(counts[word] for word in words), [(word, counts[word]) for word in words], is_asked)


def _grades(name: GradeName, given: Sequence[int | str | None], *, is_asked: bool) -> Grades:
    numbers = [grade for grade in given if isinstance(grade, int)]
    counts = Counter(numbers)
    return Grades(
        name=name,
        n=len(numbers),
        counts=[(grade, counts[grade]) for grade in (5, 4, 3, 2, 1)],
        median=median(numbers) if numbers else None,
        n_cannot_judge=sum(grade == CANNOT_JUDGE for grade in given),
        is_asked=is_asked or any(given),
    )
