"""The tables of the report of a round in full precision, and what it says in words, from stored facts alone."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from annotation.case.kernels.display import in_words
from annotation.enums import PAPER_FORM, GradeName, RoundSteps
from annotation.exports.report_files import lines_of_files
from annotation.exports.reviews import reviewer_pseudonym
from annotation.models import Assignment, ReviewRound, Settlement
from annotation.outcomes.agreement import AgreementRow, DifficultyTable, RoundAgreement
from annotation.outcomes.outcome_groups import COUNTED_ISSUES, PAPER_ISSUES, GroupBy, all_group_outcomes
from annotation.outcomes.round_figures import explained, leading_interval, not_asked_sentence
from annotation.review.kernels.form_design import GRADES
from annotation.review.outcomes import Outcomes, flags_asked_by_forms, newest_reviews
from annotation.review.reviewer_progress import RoundTimes
from annotation.review.viewing import newest_checks
from annotation.site.sentences import WIDTH
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.issues import CountingRule, IssueRate, Leading
from annotation.tables.kernels.table import REAL, TEXT, WHOLE, YES_NO, Cell, Column, Table

SIMULATED = Column("simulated", YES_NO, "Whether the round was made up for a demonstration: the same in every row.")
OF_N = (Column("count", WHOLE, "How many of n; empty for n = 0."), Column("n", WHOLE, "Of how many."))
WILSON = (
    Column("share", REAL, "count / n; empty for n = 0."),
    Column("low", REAL, "Lower limit, 95 %, by Wilson."),
    Column("high", REAL, "Upper limit."),
    Column("reason", TEXT, "Why there is no share."),
    Column("cautions", TEXT, "What to know about it, joined by |; not_asked: no form of these reviews asked it."),
)
LIMITS = (
    Column("value", REAL, "The statistic; empty where it is undefined."),
    Column("low", REAL, "Lower limit, 95 %; empty: none."),
    Column("high", REAL, "Upper limit."),
)
CLUSTERED = (
    Column("cluster_low", REAL, "Lower limit that allows for patients or exams with several; empty: no such."),
    Column("cluster_high", REAL, "Upper limit of the same."),
)
LEADS = Column("leads", TEXT, "Which interval is printed.", "; ".join(f"{one.value}: {one.label}" for one in Leading))
BANK_MIX = (
    Column("bank_share", REAL, "The share with each stratum of the sample weighted by its size in the bank."),
    Column("bank_low", REAL, "Lower limit of the same, 95 %; empty: undefined, or all of it was reviewed."),
    Column("bank_high", REAL, "Upper limit."),
    Column("bank_cautions", TEXT, "Why there is no weighted share or no limit, joined by |."),
)
RULE = Column("rule", TEXT, "When a question counts.", ", ".join(f"{one.value}: {one.label}" for one in CountingRule))
ISSUE = Column("issue", TEXT, "any, an outcome of the ReXVQA paper (paper_), or a flag of the form (flag_).")


@dataclass(frozen=True)
class RoundNumbers:
    """Everything that the tables hold, computed once."""

    review_round: ReviewRound
    by_rule: dict[CountingRule, Outcomes]
    agreement: RoundAgreement
    difficulty: DifficultyTable | None
    times: RoundTimes
    n_reviewers: int  # who submitted a review

    @property
    def outcomes(self) -> Outcomes:
        return self.by_rule[CountingRule.ANY]


def review_sheets(numbers: RoundNumbers) -> list[Table]:
    """In the order of the README; each row ends with whether the round is simulated."""
    made = (_outcomes, _groups, _shares, _choices, _grades, _agreement, _difficulty, _times)
    sheets = [sheet for make in made if (sheet := make(numbers)).rows]
    simulated = numbers.review_round.simulated
    return [
        replace(one, columns=(*one.columns, SIMULATED), rows=[[*row, simulated] for row in one.rows]) for one in sheets
    ]


def _of_n(one: Estimate) -> list[Cell]:
    return [one.count, one.n, one.value, one.low, one.high, one.reason or "", "|".join(one.flags)]


def _rates(outcomes: Outcomes) -> Iterator[tuple[str, IssueRate]]:
    yield "any", outcomes.any_issue
    yield from ((f"paper_{row.issue.value}", row.rate) for row in outcomes.paper)
    yield from ((f"flag_{row.issue.value}", row.rate) for row in outcomes.flags)


def _outcomes(numbers: RoundNumbers) -> Table:
    flags = Column("flags", TEXT, "The flags that count, joined by |; one of them is enough.")
    rows: list[list[Cell]] = []
    for rule, outcomes in numbers.by_rule.items():
        for name, rate in _rates(outcomes):
            issue = COUNTED_ISSUES[name]
            clustered = rate.clustered.estimate if rate.clustered else None
            limits = [clustered.low, clustered.high] if clustered else [None, None]
            counted = "|".join(flag.value for flag in issue.flags)
            mix = rate.bank_mix
            more = [rate.leading.value, mix.value, mix.low, mix.high, "|".join(filter(None, [mix.reason, *mix.flags]))]
            rows.append([rule.value, name, issue.label, counted, *_of_n(rate.share), *limits, *more])
    label = Column("label", TEXT, "The issue in words.")
    columns = (RULE, ISSUE, label, flags, *OF_N, *WILSON, *CLUSTERED, LEADS, *BANK_MIX)
    return Table("outcomes", "how many questions have each issue, by every rule of counting", columns, rows)


def _groups(numbers: RoundNumbers) -> Table:
    rows: list[list[Cell]] = []
    issues = [COUNTED_ISSUES[name] for name in ("any", *PAPER_ISSUES)]
    found = all_group_outcomes([numbers.review_round], list(GroupBy), issues, CountingRule.ANY)
    for by, of_issue in found.items():
        for name, groups in of_issue.items():
            for one in groups:
                value = reviewer_pseudonym(int(one.value)) if by is GroupBy.REVIEWER else one.value
                rows.append([by.value, value, name, one.n_reviews, *_of_n(one.share)])
    rows.sort(key=lambda row: [str(cell) for cell in row[:3]])
    columns = (
        Column("by", TEXT, "What the questions are taken apart by.", ", ".join(GroupBy.values())),
        Column("group", TEXT, "As in data/reviews.csv; of imports their random id, as in data/questions.csv."),
        ISSUE,
        Column("reviews", WHOLE, "Reviews of the questions of the group; of a reviewer their own."),
        *OF_N,
        *WILSON,
    )
    about = "the same by task, category, stated difficulty, reviewer and import; any reviewer is enough"
    return Table("outcomes_by", about, columns, rows)


def _shares(numbers: RoundNumbers) -> Table:
    found, over, blind = numbers.outcomes, "reviewed questions", "blind answers"
    levels = numbers.difficulty.ceiling if numbers.difficulty else []
    clustered = found.ceiling_clustered.estimate if found.ceiling_clustered else None
    limits: list[Cell] = [clustered.low, clustered.high] if clustered else [None, None]
    rows: list[list[Cell]] = [
        ["expert_ceiling", blind, *_of_n(found.ceiling), *limits],
        *([f"key_where_{level.value}", blind, *_of_n(one), None, None] for level, one in levels),
    ]
    others = {"accepted": found.accepted, "settled": found.settled, "category_corrected": found.category_corrected}
    meant = {"expert_ceiling_meant": found.ceiling_meant, "settled_meant": found.settled_meant}
    told = [(name, one) for name, one in (others | meant).items() if one is not None]
    rows += [[name, blind if "ceiling" in name else over, *_of_n(one), None, None] for name, one in told]
    meaning = (
        "expert_ceiling: the blind answer is the key; key_where_: the same among answers with this judged difficulty; "
        "accepted: by every reviewer; settled: without adjudication, by the reviews there are; _meant: sensitivity, "
        "reported input errors as they were meant; category_corrected: by at least one reviewer."
    )
    columns = (Column("name", TEXT, meaning), Column("over", TEXT, "What n counts."), *OF_N, *WILSON, *CLUSTERED)
    return Table("shares", "experts' ceiling, accepted, settled, corrected categories", columns, rows)


def _choices(numbers: RoundNumbers) -> Table:
    rows: list[list[Cell]] = [
        [tally.name, word.value, count if tally.n else None, tally.n]
        for tally in (numbers.outcomes.verdicts, *numbers.outcomes.degrees)
        for word, count in tally.counts
    ]
    columns = (Column("field", TEXT, "Column of data/reviews.csv."), Column("value", TEXT, "What was chosen."), *OF_N)
    return Table("choices", "verdicts and choices, counted over reviews", columns, rows)


def _grades(numbers: RoundNumbers) -> Table:
    rows: list[list[Cell]] = []
    for one in numbers.outcomes.grades:
        counts = dict(one.counts)
        given = [counts[grade] if one.is_asked else None for grade in GRADES]
        rows.append([one.name.value, *given, one.n, one.median, one.n_cannot_judge if one.is_asked else None])
    columns = (
        Column("grade", TEXT, "Which grade; without counts: not asked in this round.", ", ".join(GradeName.values())),
        *(Column(f"n_{grade}", WHOLE, f"Reviews that gave {grade}.") for grade in GRADES),
        Column("n", WHOLE, "Reviews that gave a grade."),
        Column("median", REAL, "Median grade."),
        Column("n_cannot_judge", WHOLE, "Reviews that could not judge."),
    )
    return Table("grades", "how often each grade was given", columns, rows)


def _agreement(numbers: RoundNumbers) -> Table:
    found: list[tuple[str, str, int, int, int, str, Estimate]] = []
    for table in numbers.agreement.tables:
        for row in table.rows:
            found += [(*_head(table.scale.value, row), name, one) for name, one in row.found.results.items()]
    rows: list[list[Cell]] = [
        [field, scale, name, one.value, one.low, one.high, n, pairs, cannot, one.reason or "", "|".join(one.flags)]
        for field, scale, n, pairs, cannot, name, one in found
    ]
    columns = (
        Column("field", TEXT, "Column of data/reviews.csv."),
        Column("scale", TEXT, "grades: in an order; choice: in none; flag: set or not."),
        Column("statistic", TEXT, "Names as in the literature: cohen_kappa_quadratic is weighted by squared distance."),
        *LIMITS,
        Column("n_questions", WHOLE, "Questions with two ratings or more."),
        Column("n_pairs", WHOLE, "Pairs of ratings of one question."),
        Column("n_cannot_judge", WHOLE, "Reviews without a rating for that reason."),
        Column("reason", TEXT, "Why there is no value."),
        Column("cautions", TEXT, "What is to be known about the value or its interval, joined by |."),
    )
    return Table("agreement", "how reviewers agree on each field of the form", columns, rows)


def _head(scale: str, row: AgreementRow) -> tuple[str, str, int, int, int]:
    return row.name, scale, row.found.n_questions, row.found.n_pairs, row.n_cannot_judge


def _difficulty(numbers: RoundNumbers) -> Table:
    columns = (
        Column("name", TEXT, "answers: a cell of the table; else a statistic of the whole table."),
        Column("stated", TEXT, "Difficulty that the bank states."),
        Column("judged", TEXT, "Difficulty judged before the key was shown."),
        *LIMITS,
        Column("n", WHOLE, "Blind answers to questions of stated difficulty."),
    )
    about, table = "difficulty as stated and as judged blind", numbers.difficulty
    if table is None:
        return Table("difficulty", about, columns, [])
    levels, n = [level.value for level, _row in table.counts], table.kappa.n
    rows: list[list[Cell]] = [
        ["answers", stated.value, judged, count, None, None, n]
        for stated, row in table.counts
        for judged, count in zip(levels, row, strict=True)
    ]
    named = {"cohen_kappa_quadratic": table.kappa, "same": table.same, "easier": table.easier, "harder": table.harder}
    rows += [[name, "", "", one.value, one.low, one.high, one.n] for name, one in named.items()]
    return Table("difficulty", about, columns, rows)


def _times(numbers: RoundNumbers) -> Table:
    times = numbers.times
    rows: list[list[Cell]] = [
        ["active_ms_median", times.active.value, times.active.low, times.active.high, times.active.n],
        ["without_time", times.n_undefined, None, None, numbers.outcomes.n_reviews],
        ["with_unreadable_image", times.n_unreadable, None, None, numbers.outcomes.n_reviews],
    ]
    rows += [[f"left_out_{flag.value}", n, None, None, numbers.outcomes.n_reviews] for flag, n in times.excluded]
    meaning = (
        "active_ms_median: of the reviews whose time counts, limits from order statistics; the rest counts reviews. A "
        "review may be left out for several reasons."
    )
    columns = (Column("name", TEXT, meaning), *LIMITS, Column("n", WHOLE, "Reviews."))
    return Table("times", "active time of a review, and what was left out of it", columns, rows)


# --- what the tables are computed from, beside the reviews ----------------------------------------------------------
QUESTION_COLUMNS = (
    Column("question", WHOLE, "Number of the question in its bank."),
    Column("revision", WHOLE, "Which wording was reviewed."),
    Column("cluster", WHOLE, "Patient, or exam where no patient is known: numbers of this file."),
    Column("import", TEXT, "Random id of the import that brought the wording."),
    SIMULATED,
)
SETTLEMENT_COLUMNS = (
    Column("question", WHOLE, "Number of the question in its bank."),
    Column("revision", WHOLE, "Which wording was settled."),
    Column("outcome", TEXT, "What the question came to be; disputed: an adjudicator has still to decide."),
    Column("rule", TEXT, "Version of the rule of settling."),
    Column("decision", TEXT, "What the adjudicator decided; empty: settled by the rule, or not decided."),
    Column("adjudicator_asked", TEXT, "Flags that the adjudicator was asked for, joined by |; empty: no own review."),
    Column("adjudicator_flags", TEXT, "Flags of the adjudicator's own review, before seeing the others, joined by |."),
    Column("against_all", YES_NO, "Whether no reviewer had this verdict."),
    SIMULATED,
)

REVIEWER_COLUMNS = (
    Column("reviewer", TEXT, "Pseudonym, as in data/reviews.csv."),
    Column("name", TEXT, "Name of the reviewer."),
    SIMULATED,
)


def reviewer_rows(review_round: ReviewRound) -> list[list[Cell]]:
    """Who submitted a review, by pseudonym."""
    people = newest_reviews(review_round).order_by().values_list("assignment__reviewer", "assignment__reviewer__name")
    found = sorted((reviewer_pseudonym(pk), name) for pk, name in people.distinct())
    return [[pseudonym, name, review_round.simulated] for pseudonym, name in found]


def question_rows(review_round: ReviewRound) -> list[list[Cell]]:
    """Of every reviewed wording, in the order in which they were stored: draws of a bootstrap follow it."""
    prefix = "revision__question__"
    names = ("number", "exam__pseudonym", "exam__patient_pseudonym")
    columns = (f"{prefix}{names[0]}", "revision__number", "revision__bank_import__public_id")
    reviewed = Assignment.objects.filter(round=review_round, reviews__isnull=False).order_by("revision").distinct()
    found = reviewed.values_list("revision", *columns, *(f"{prefix}{name}" for name in names[1:]))
    clusters = [patient or f"exam {exam}" for *_rest, exam, patient in found]
    numbers = {name: number for number, name in enumerate(sorted(set(clusters)), start=1)}
    return [
        [question, wording, numbers[cluster], brought, review_round.simulated]
        for (_pk, question, wording, brought, *_rest), cluster in zip(found, clusters, strict=True)
    ]


def settlement_rows(review_round: ReviewRound) -> list[list[Cell]]:
    rows = Settlement.objects.filter(round=review_round).select_related("revision__question")
    found: list[list[Cell]] = []
    by_form = flags_asked_by_forms()
    for one in rows.order_by("revision__question__number", "pk").prefetch_related("assignment__reviews"):
        reviews = [*one.assignment.reviews.all()] if one.assignment else []
        newest = max(reviews, key=lambda review: review.version, default=None)
        flags = "|".join(sorted(newest.flags)) if newest else ""
        asked = "|".join(sorted(by_form(newest.form, newest, newest.flags))) if newest else ""
        question, wording = one.revision.question.number, one.revision.number
        facts: list[Cell] = [str(one.outcome), one.rule, str(one.decision), asked, flags, one.against_all]
        found.append([question, wording, *facts, review_round.simulated])
    return found


MADE_UP = "SIMULATED DATA: the reviews of this round were made up."
NOT_KNOWN = "the training and experience of the reviewers, the approval of an ethics committee, funding and interests"
RULES = """
Numbers in CSV files have full precision; shares are from 0 to 1. Text in a cell that a spreadsheet could take for a
formula, or a program for a number, a moment, a truth value or nothing, has one apostrophe in front: take it away.

What the form of a review did not ask has an empty cell in data/reviews.csv and is counted nowhere: n says how many were
asked, and a row of n 0 with the caution not_asked is no finding of zero.

tables/outcomes.csv counts questions, never reviews. Issues do not exclude each other. Limits by Wilson take questions
as independent; those beside them allow for patients or exams with several questions, or weight to the mix of the bank.

By the rule adjudicated a question has an issue when its adjudicator flagged it before seeing the reviews; one that
settled by the rule has none, and those that still wait are not counted. All other tables are of the reviewers, before
any adjudication.

Reviewers appear under pseudonyms that are the same in every round of this site. data/reviews.csv holds keys and what
reviewers wrote: it is not for people who will review or read these questions.

recompute.py computes the headline numbers of the tables again from the files in data/, with public libraries alone.
"""


def methods_text(numbers: RoundNumbers, facts: Mapping[str, Any]) -> str:
    """To be read and shortened by its authors."""
    one = numbers.review_round
    parts = [
        _design(one, numbers),
        f"{_judged(one)} {not_asked_sentence(numbers.outcomes)}",
        _statistics(numbers, facts),
    ]
    parts.append(f"Not known to the program, to be added by the authors: {NOT_KNOWN}.")
    text = "\n\n".join(textwrap.fill(" ".join(part.split()), WIDTH, break_long_words=False) for part in parts)
    return f"{MADE_UP}\n\n{text}\n" if one.simulated else f"{text}\n"


def _counted(n: int, one: str) -> str:
    return f"{n:,} {one if n == 1 else one + 's'}"


def _design(one: ReviewRound, numbers: RoundNumbers) -> str:
    plan, found = one.plan, numbers.outcomes
    spread = ", ".join(f"{_counted(n, 'question')} by {_counted(k, 'reviewer')}" for k, n in found.reviews_per_question)
    opened = f", opened on {one.opened_at:%Y-%m-%d}" if one.opened_at else ""
    completed = f" The reviews were final on {one.completed_at:%Y-%m-%d}." if one.completed_at else ""
    return f"""Review round “{one.name}”{opened}. From {_counted(plan.n_frame, "question")} of the question bank
        “{plan.bank.name}” {_counted(found.n_questions, "question")} were drawn (rule {plan.rule}, seed {plan.seed},
        stratified by {plan.stratify_by}). {_counted(numbers.n_reviewers, "reviewer")} submitted
        {_counted(found.n_reviews, "review")} of {_counted(found.n_reviewed, "question")}: {spread}; the newest version
        of each review counts.{completed}"""


def _judged(one: ReviewRound) -> str:
    blind = one.steps == RoundSteps.FULL
    first = (
        """Reviewers saw images and question first and chose the best option, all options that they judged acceptable
        and the difficulty; key and explanation were shown after that, the report on request."""
        if blind
        else "Reviewers saw key and explanation from the beginning; no blind answer was asked."
    )
    form = f"the form {one.form}" if one.form else f"the form of the ReXVQA paper ({PAPER_FORM})"
    again = f"""{one.percent_repeated} % of each reviewer's questions were shown a second time, unannounced; these
        repeats are in no table."""
    repeated = f" {again}" if one.percent_repeated else ""
    return f"""{first}{explained(one)} They filled in {form}: grades from 1 (unusable) to 5 (nothing to change), whether
        the question needs the image and is clinically relevant, flags, and a verdict, as far as the form asks for them.
        No reviewer saw the answers of the others.{repeated}
        {in_words(newest_checks(one).values())}"""


def _statistics(numbers: RoundNumbers, facts: Mapping[str, Any]) -> str:
    rules = "; ".join(f"{rule.value}, when {rule.label}" for rule in numbers.by_rule)
    settling = f" Questions were settled by the rule {facts['settling_rule']}." if facts["settling_rule"] else ""
    agreement = numbers.agreement
    units = f"{agreement.n_clusters:,} patients or exams" if agreement.n_clusters else "questions"
    agreed = (
        f"""Agreement is of {_counted(agreement.n_questions, "question")} with two reviews or more, before any
        adjudication; CIs: percentile bootstrap over {units} ({facts["draws"]:,} draws, PCG64, seed {facts["seed"]});
        those of ICC (Shrout and Fleiss) and AC2 (t) take questions as independent; weighted agreement has none."""
        if agreement.n_questions
        else "No question has two reviews, so that no agreement is given."
    )
    software = ", ".join(f"{name} {version}" for name, version in facts["software"].items())
    return f"""Outcomes are counted by question. {leading_interval(numbers.outcomes)} A question has an issue by the
        rule {rules}.{settling} {agreed} Medians of times have limits from order statistics; times by the rules
        {", ".join(facts["clock_rules"])}. Computed with {software}."""


def readme_text(numbers: RoundNumbers, facts: Mapping[str, Any], files: Mapping[str, str]) -> str:
    """``files``: what each file or folder is, by name, in the order to be listed."""
    one = numbers.review_round
    title = f"Report of the review round “{one.name}”"
    lines = [title, "=" * len(title), ""]
    if one.simulated:
        lines += [MADE_UP, ""]
    card = {
        "Question bank": one.plan.bank.name,
        "State of the round": f"{one.state}{'' if facts['final'] else ': interim, reviews may still change'}",
        "Questions": f"{numbers.outcomes.n_reviewed:,} reviewed of {numbers.outcomes.n_questions:,}",
        "Reviews": f"{numbers.outcomes.n_reviews:,} by {numbers.n_reviewers:,} reviewers",
        "Rules of counting": ", ".join(rule.value for rule in numbers.by_rule),
        "Rule of settling": facts["settling_rule"],
        "Seed and draws": f"{facts['seed']}, {facts['draws']:,}",
        "Computed with": ", ".join(f"{name} {version}" for name, version in facts["software"].items()),
    }
    lines += [f"{name}: {fact}" for name, fact in card.items() if fact]
    lines += ["", "Files", "-----", *lines_of_files(files), "", "How to read them", "----------------"]
    for rule in RULES.strip().split("\n\n"):
        lines += [*textwrap.wrap(" ".join(rule.split()), WIDTH, break_long_words=False), ""]
    return "\n".join(lines).rstrip() + "\n"
