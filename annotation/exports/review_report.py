"""The report of a review round as a folder, and packed: tables, figures, methods, the reviews and a script that
computes the tables again. The same reviews give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Q
from django.utils import translation
from django.utils.translation import gettext as _

from annotation import VERSION
from annotation.audit.recording import record
from annotation.case.kernels.durations import CLOCK_RULES, EXCLUDING
from annotation.enums import FINAL_STATES, KeySource
from annotation.exports.bank_export import whole_folder
from annotation.exports.report_files import (
    SUMS,
    Content,
    Tell,
    WrittenFile,
    begun_folder,
    csv_contents,
    listed_files,
    script_content,
    table_contents,
    write_contents,
    zip_folder,
)
from annotation.exports.review_tables import (
    QUESTION_COLUMNS,
    REVIEWER_COLUMNS,
    SETTLEMENT_COLUMNS,
    RoundNumbers,
    methods_text,
    question_rows,
    readme_text,
    review_sheets,
    reviewer_rows,
    settlement_rows,
)
from annotation.exports.reviews import columns_of_reviews, review_rows
from annotation.models import Question, Review, ReviewRound, Settlement, User
from annotation.outcomes.agreement import DRAWS, difficulty_table, judged_difficulties, round_agreement
from annotation.outcomes.round_figures import (
    RoundFigure,
    flow_file,
    flow_legend,
    grades_file,
    grades_legend,
    outcomes_file,
    outcomes_legend,
    state_flow,
)
from annotation.questionbank.answers import note_seen_keys
from annotation.review.outcomes import newest_reviews, outcomes_of_round, rules_of
from annotation.review.reviewer_progress import round_times
from annotation.tables.kernels.forms import FigureForm, Width
from annotation.tables.kernels.table import Table
from annotation.tables.writing import ExportRefused

FACTS = "report.json"


@dataclass(frozen=True)
class ReviewReport:
    files: list[WrittenFile]
    n_reviews: int
    sums_sha256: str  # of the list of sums


def write_review_report(
    review_round: ReviewRound, folder: Path, *, actor: User | None, at: datetime, with_names: bool = False
) -> ReviewReport:
    """Write the folder, and note who took it; ``actor`` is None on the command line.

    Reviewers appear under pseudonyms; ``with_names`` adds a table that says whose each is. Raises ExportRefused where
    nothing is reviewed yet, and for a folder that holds something.
    """
    with whole_folder(folder) as part:
        done = _write(review_round, part, with_names=with_names)
        note_report_taken(review_round, done, actor=actor, at=at)
    return done


def pack_review_report(review_round: ReviewRound, packed: Path, tell: Tell | None = None) -> ReviewReport:
    """The same folder as one ZIP file; nobody has taken it by that. Raises ExportRefused."""
    with begun_folder("review-report", state_of_report(review_round)) as place:
        done = _write(review_round, place, tell, goes_on=True)
        zip_folder(place, packed, f"{review_round.slug}-report")
    return done


def _write(
    review_round: ReviewRound,
    folder: Path,
    tell: Tell | None = None,
    *,
    with_names: bool = False,
    goes_on: bool = False,
) -> ReviewReport:
    with translation.override("en"):  # the same words wherever they are made
        numbers, facts = _numbers(review_round), _facts(review_round)
        written = write_contents(folder, _contents(numbers, facts, with_names=with_names), tell, goes_on=goes_on)
    [sums] = [one for one in written if one.name == SUMS]
    return ReviewReport(written, numbers.outcomes.n_reviews, sums.sha256)


@transaction.atomic
def note_report_taken(review_round: ReviewRound, done: ReviewReport, *, actor: User | None, at: datetime) -> None:
    """Whoever takes a report has seen the keys of what was reviewed."""
    if actor is not None:
        read = Question.objects.filter(revisions__in=newest_reviews(review_round).values("assignment__revision"))
        note_seen_keys(actor, read, source=KeySource.ROUND_EXPORT, subject=review_round, at=at)
    noted = {"files": len(done.files), "reviews": done.n_reviews, "sums_sha256": done.sums_sha256}
    record("round.report_taken", actor=actor, at=at, subject=review_round, facts=noted)


def state_of_report(review_round: ReviewRound) -> str:
    """A digest that is another one once the report of the round would be another; in a few queries."""
    one = review_round
    reviews = Review.objects.filter(Q(assignment__round=one) | Q(assignment__round__adjudicates=one))
    reports = Count("assignment__report_opened_at")  # reviewers may open one after their review
    decided = Settlement.objects.filter(round=one).aggregate(Count("pk"), Count("decided_at"), Max("decided_at"))
    facts = [_facts(one), one.name, one.plan.bank.name, one.opened_at, one.completed_at, state_flow([one])]
    facts += [reviews.aggregate(Count("pk"), Max("pk"), reports=reports), decided]
    return hashlib.sha256(json.dumps(facts, default=str, sort_keys=True).encode()).hexdigest()


def check_has_reviews(review_round: ReviewRound) -> None:
    """Raises ExportRefused where nothing is reviewed yet."""
    if not newest_reviews(review_round).exists():
        sentence = _("No review of %s is submitted yet: there is nothing to report.") % review_round
        raise ExportRefused("no_reviews", sentence, status=422)


def _numbers(review_round: ReviewRound) -> RoundNumbers:
    check_has_reviews(review_round)
    return RoundNumbers(
        review_round,
        outcomes_of_round(review_round, rules_of(review_round)),
        round_agreement(review_round),
        difficulty_table(judged_difficulties([review_round]), seed=abs(review_round.seed)),
        round_times(review_round),
        newest_reviews(review_round).order_by().values("assignment__reviewer").distinct().count(),
    )


def _facts(review_round: ReviewRound) -> dict[str, Any]:
    """What nobody can compute from the reviews: the script takes it from here."""
    rules = Settlement.objects.filter(round=review_round).order_by().values_list("rule", flat=True).distinct()
    return {
        "round": review_round.slug,
        "bank": review_round.plan.bank.slug,
        "simulated": review_round.simulated,
        "state": str(review_round.state),
        "final": review_round.state in FINAL_STATES,
        "seed": abs(review_round.seed),
        "draws": DRAWS,
        "rules": [rule.value for rule in rules_of(review_round)],
        "settling_rule": ", ".join(sorted(rules)),
        "clock_rules": list(CLOCK_RULES),
        "times_left_out": sorted(flag.value for flag in EXCLUDING),
        "software": {
            "program": VERSION,
            "python": platform.python_version(),
            "numpy": version("numpy"),
            "scipy": version("scipy"),
        },
    }


def _contents(numbers: RoundNumbers, facts: dict[str, Any], *, with_names: bool) -> list[Content]:
    """The README first; it says what all of them are."""
    found = [*_texts(numbers, facts), *table_contents(review_sheets(numbers)), *_figures(numbers), *_data(numbers)]
    found += _names(numbers.review_round) if with_names else ()
    found.append(script_content())
    text = readme_text(numbers, facts, listed_files(found))
    return [Content("README.txt", "what each file is, and how to read it", text.encode), *found]


def _texts(numbers: RoundNumbers, facts: dict[str, Any]) -> Iterator[Content]:
    text = methods_text(numbers, facts)
    yield Content("methods.txt", "a methods section written from stored facts", text.encode)
    written = json.dumps(facts, ensure_ascii=False, indent=1) + "\n"
    yield Content(FACTS, "rules, seed, draws and versions", written.encode)


def _figures(numbers: RoundNumbers) -> Iterator[Content]:
    rounds = [numbers.review_round]
    for rule, outcomes in numbers.by_rule.items():
        about, legend = "how many questions have each issue, with 95% CI", outcomes_legend(rounds, outcomes)
        drawn = partial(outcomes_file, rounds, outcomes)
        yield from _figure(RoundFigure.OUTCOMES, drawn, f"outcomes-{rule.value}", about, legend)
        about, legend = f"{about}, in the mix of the bank", outcomes_legend(rounds, outcomes, of_bank=True)
        drawn = partial(outcomes_file, rounds, outcomes, of_bank=True)
        yield from _figure(RoundFigure.BANK_MIX, drawn, f"bank-mix-{rule.value}", about, legend)
    flow = state_flow(rounds)
    about = "what became of the questions: sample, review, changes, state"
    yield from _figure(RoundFigure.FLOW, partial(flow_file, rounds, flow), "flow", about, flow_legend(rounds, flow))
    about, legend = "how often each grade was given", grades_legend(rounds, numbers.outcomes)
    yield from _figure(RoundFigure.GRADES, partial(grades_file, rounds, numbers.outcomes), "grades", about, legend)


def _figure(
    figure: RoundFigure, draw: Callable[[FigureForm, Width], bytes], name: str, about: str, legend: str
) -> Iterator[Content]:
    """In every form, and its legend."""
    listed = f"figures/{figure.value}*"
    for form in FigureForm:
        yield Content(f"figures/{name}.{form}", about, partial(draw, form, Width.TWO), listed)
    yield Content(f"figures/{name}.txt", about, f"{legend}\n".encode, listed)


def _data(numbers: RoundNumbers) -> Iterator[Content]:
    one = numbers.review_round
    about = "a row per reviewer and question: what every number is computed from"
    yield from csv_contents(Table("reviews", about, columns_of_reviews(one, source_ids=False), review_rows(one)))
    about = "the reviewed questions: patient or exam as a number, and import"
    yield from csv_contents(Table("questions", about, QUESTION_COLUMNS, question_rows(one)))
    if rows := settlement_rows(one):
        about = "what the round decided about each question"
        yield from csv_contents(Table("settlements", about, SETTLEMENT_COLUMNS, rows))


def _names(review_round: ReviewRound) -> Iterator[Content]:
    about = "WHOSE EACH PSEUDONYM IS: take this file out before the report leaves the house"
    yield from csv_contents(Table("reviewers", about, REVIEWER_COLUMNS, reviewer_rows(review_round)))
