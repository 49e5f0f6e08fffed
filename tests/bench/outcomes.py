"""Outcomes and agreement of a round of 10,000 reviews, beside pandas that counts the same rows; and their import.

5,000 questions, two reviewers on each, three questions to an exam. Our side makes every number of the page with its
interval; the baseline reads the same rows and makes shares, kappas and specific agreement without any interval. The
best of TIMES, since others may be at work.
"""

from __future__ import annotations

import io
import json
import random
import time
from collections.abc import Callable
from typing import Any

from annotation.review.kernels.form_design import PAPER
from tests.bench.measuring import in_test_database
from tests.bench.rows import Row

N_QUESTIONS = 5_000
TIMES = 3
GRADES = [name.value for name in PAPER.grades]
CHOICES = {"needs_image": ("yes", "partly", "no"), "relevant": ("yes", "partly", "no")}


def measure() -> list[Row]:
    """Rows for the table."""
    return in_test_database(_rows)


def _rows() -> list[Row]:
    from annotation.models import ReviewRound
    from annotation.outcomes.agreement import round_agreement
    from annotation.review.outcomes import round_outcomes

    made, seconds = _reviewed_round()
    fresh = ReviewRound.objects.select_related("plan").get(pk=made.pk)
    outcomes = _best(lambda: round_outcomes(fresh))
    agreement = _best(lambda: round_agreement(fresh))
    counted = _best(lambda: _counted_by_pandas(fresh))
    n = 2 * N_QUESTIONS
    return [
        Row(
            f"outcomes and agreement of {n:,} reviews", outcomes + agreement, "s", "1", "pandas, no intervals", counted
        ),
        Row("  outcomes alone", outcomes, "s"),
        Row("  agreement alone", agreement, "s"),
        Row(f"import of {n:,} reviews", seconds, "s"),
    ]


def _best(act: Callable[[], Any]) -> float:
    times = []
    for _turn in range(TIMES):
        begun = time.perf_counter()
        act()
        times.append(time.perf_counter() - begun)
    return min(times)


def _reviewed_round() -> tuple[Any, float]:
    """A round, and the seconds that the import of its reviews took."""
    from annotation.enums import RoundSteps
    from annotation.exports.review_import import import_reviews
    from annotation.models import Exam, Question, User
    from annotation.review.rounds import create_round, open_round
    from annotation.review.samples import draw_sample
    from tests.annotation.review.cases import NOON, images_are_there, make_bank, make_revisions

    bank = make_bank("Bench")
    make_revisions(bank, {number: {"difficulty": "easy"} for number in range(1, N_QUESTIONS + 1)})
    exams = dict(Exam.objects.values_list("questions__number", "pk"))
    questions = list(Question.objects.all())
    for question in questions:
        question.exam_id = exams[question.number - (question.number - 1) % 3]
    Question.objects.bulk_update(questions, ["exam"], batch_size=500)
    images_are_there(bank)
    people = [User.objects.create_user(f"{name}@example.org", None, name=name) for name in ("first", "second")]
    plan = draw_sample(bank, per_thousand=1000, actor=None, at=NOON)
    made = create_round(
        plan, name="Bench", reviewers=people, reviewers_per_question=2, steps=RoundSteps.FULL, actor=people[0], at=NOON
    )
    open_round(made, actor=people[0], at=NOON)
    content = _file([person.email for person in people])
    begun = time.perf_counter()
    told = import_reviews(made, name="bench.jsonl", content=content, actor=None, at=NOON)
    seconds = time.perf_counter() - begun
    if told.faults:
        raise RuntimeError(str(told.faults[:3]))
    return made, seconds


def _file(reviewers: list[str]) -> bytes:
    """What they say goes together as it does among people: a question is good, or it is not."""
    from annotation.review.kernels.form_design import CHOSEN

    chance = random.Random(7)
    text = io.StringIO()
    for number in range(1, N_QUESTIONS + 1):
        quality = chance.gauss(4.2, 0.8)
        for reviewer in reviewers:
            row: dict[str, Any] = {"question": number, "revision": 1, "reviewer": reviewer}
            row |= {f"grade_{name}": min(5, max(1, round(quality + chance.gauss(0, 0.6)))) for name in GRADES}
            row |= {name: chance.choice(words) for name, words in CHOICES.items()}
            row |= {f"flag_{flag.value}": quality < 3 and chance.random() < 0.3 for flag in CHOSEN}
            row |= {"verdict": "accept" if quality > 3.5 else chance.choice(("revise", "reject"))}
            row |= {"blind_best": chance.choice("BBBBBBBA"), "blind_difficulty": chance.choice(("easy", "medium"))}
            row["disagreement"] = "" if row["blind_best"] == "B" else "own_error"
            text.write(json.dumps(row) + "\n")
    return text.getvalue().encode()


def _counted_by_pandas(review_round: Any) -> dict[str, float]:
    """Shares of flagged questions, and of each field percent and kappa of the two reviewers."""
    import pandas as pd

    from annotation.enums import Flag
    from annotation.review.outcomes import newest_reviews

    columns = ("assignment__reviewer", "assignment__revision", "flags", "grades", "verdict", "needs_image", "relevant")
    answers = ("assignment__blind_answer__best", "assignment__blind_answer__difficulty")
    frame = pd.DataFrame(
        list(newest_reviews(review_round).values_list(*columns, *answers)), columns=[*columns, *answers]
    )
    frame = pd.concat([frame, pd.DataFrame(frame.pop("grades").tolist())], axis=1)
    for flag in Flag:
        frame[flag.value] = [flag.value in flags for flags in frame["flags"]]
    frame = frame.drop(columns="flags").set_index(["assignment__revision", "assignment__reviewer"])
    shares = frame[Flag.values()].groupby(level=0).any().mean()
    found = {f"any {name}": float(share) for name, share in shares.items()}
    for name in frame.columns:
        table = pd.crosstab(*(frame[name].unstack()[person] for person in frame.index.levels[1]), normalize=True)
        values = sorted(set(table.index) | set(table.columns))
        table = table.reindex(index=values, columns=values, fill_value=0.0)
        agreed = sum(table.loc[value, value] for value in values)
        expected = float((table.sum(axis=0) * table.sum(axis=1)).sum())
        found[name] = (agreed - expected) / (1 - expected) if expected < 1 else float("nan")
    return found
