"""What the report of a round says in words, from stored facts alone: a paragraph for a paper, and its README."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from annotation.enums import PAPER_FORM, RoundSteps
from annotation.exports.report_files import lines_of_files
from annotation.models import ReviewRound
from annotation.outcomes.round_figures import not_asked_sentence
from annotation.tables.prose import WIDTH

if TYPE_CHECKING:
    from annotation.exports.review_tables import RoundNumbers

SIMULATED = "SIMULATED DATA: the reviews of this round were made up."
NOT_KNOWN = "the training and experience of the reviewers, the approval of an ethics committee, funding and interests"
RULES = """
Numbers in CSV files have full precision; shares are from 0 to 1. Text in a cell that a spreadsheet could take for a
formula has one apostrophe in front: take one leading apostrophe away.

What the form of a review did not ask has an empty cell in data/reviews.csv and is counted nowhere: n says how many were
asked, and a row of n 0 with the caution not_asked is no finding of zero.

tables/outcomes.csv counts questions, never reviews. Issues do not exclude each other. Limits by Wilson take questions
as independent; those beside them allow for patients or exams with several questions.

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
    return f"{SIMULATED}\n\n{text}\n" if one.simulated else f"{text}\n"


def _counted(n: int, one: str) -> str:
    return f"{n:,} {one if n == 1 else one + 's'}"


def _design(one: ReviewRound, numbers: RoundNumbers) -> str:
    plan, found = one.plan, numbers.outcomes
    spread = ", ".join(f"{_counted(n, 'question')} by {_counted(k, 'reviewer')}" for k, n in found.reviews_per_question)
    opened = f", opened on {one.opened_at:%Y-%m-%d}" if one.opened_at else ""
    completed = f" The reviews were final on {one.completed_at:%Y-%m-%d}." if one.completed_at else ""
    reviewers = numbers.n_reviewers
    return f"""Review round “{one.name}”{opened}. From {_counted(plan.n_frame, "question")} of the question bank
        “{plan.bank.name}” {_counted(found.n_questions, "question")} were drawn (rule {plan.rule}, seed {plan.seed},
        stratified by {plan.stratify_by}). {_counted(reviewers, "reviewer")} submitted
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
    repeated = (
        f""" {one.percent_repeated} % of each reviewer's questions were shown a second time, unannounced; these repeats
        are in no table."""
        if one.percent_repeated
        else ""
    )
    return f"""{first} They filled in {form}: grades from 1 (unusable) to 5 (nothing to change), whether the question
        needs the image and is clinically relevant, flags, and a verdict, as far as the form asks for them. No reviewer
        saw the answers of the others.{repeated}"""


def _statistics(numbers: RoundNumbers, facts: Mapping[str, Any]) -> str:
    rules = "; ".join(f"{rule.value}, when {rule.label}" for rule in numbers.by_rule)
    settling = f" Questions were settled by the rule {facts['settling_rule']}." if facts["settling_rule"] else ""
    agreement = numbers.agreement
    units = f"{agreement.n_clusters:,} patients or exams" if agreement.n_clusters else "questions"
    agreed = (
        f"""Agreement is of {_counted(agreement.n_questions, "question")} with two reviews or more, before any
        adjudication; its intervals are percentile bootstrap over {units} ({facts["draws"]:,} draws, PCG64, seed
        {facts["seed"]}), those of the ICC after Shrout and Fleiss."""
        if agreement.n_questions
        else "No question has two reviews, so that no agreement is given."
    )
    software = ", ".join(f"{name} {version}" for name, version in facts["software"].items())
    return f"""Outcomes are counted by question, with the 95% CI of Wilson. A question has an issue by the rule
        {rules}.{settling} {agreed} Medians of times have limits from order statistics; times by the rules
        {", ".join(facts["clock_rules"])}. Computed with {software}."""


def readme_text(numbers: RoundNumbers, facts: Mapping[str, Any], files: Mapping[str, str]) -> str:
    """``files``: what each file or folder is, by name, in the order to be listed."""
    one = numbers.review_round
    title = f"Report of the review round “{one.name}”"
    lines = [title, "=" * len(title), ""]
    if one.simulated:
        lines += [SIMULATED, ""]
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
