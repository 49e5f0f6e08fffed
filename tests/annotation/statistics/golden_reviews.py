"""Outcomes of expert reviews against the paper and other software."""

from __future__ import annotations

from typing import Any

import numpy as np

from annotation.statistics.kernels import pairs
from annotation.statistics.kernels.intervals import share
from annotation.statistics.kernels.issues import CountingRule, Judged, JudgedQuestions
from annotation.statistics.kernels.reviewers import negative_agreement, positive_agreement
from tests.annotation.statistics.goldencases import Found, Golden

ISSUES = ("multiple_valid_answers", "comparison_content", "clinical_validity", "hallucinated")


def of_counts(given: Any) -> Found:
    shares = {issue: share(k, given["n_questions"]) for issue, k in given["issue_questions"].items()}
    return {
        "percent": {issue: 100 * (one.value or 0) for issue, one in shares.items()},
        "wilson_ci95": {issue: one.ci95 for issue, one in shares.items()},
    }


def of_records(given: Any) -> Found:
    records = given["records"]
    judged = [Judged(one["question"], "all", one["question"], frozenset(one["issues"])) for one in records]
    first, second = (
        {one["question"]: one["issues"] for one in records if one["reviewer"] == name} for name in ("E1", "E2")
    )
    frame = {"all": 1000}
    by_any = {issue: JudgedQuestions.of(judged).rate([issue], CountingRule.ANY, frame).share for issue in ISSUES}
    found: Found = {
        "questions_reviewed": by_any[ISSUES[0]].n,
        "questions_with_issue_any_reviewer": {issue: one.count for issue, one in by_any.items()},
        "percent_any_reviewer": {issue: 100 * (one.value or 0) for issue, one in by_any.items()},
        "wilson_ci95_any_reviewer": {issue: one.ci95 for issue, one in by_any.items()},
        "questions_with_any_issue": JudgedQuestions.of(judged).rate(ISSUES, CountingRule.ANY, frame).share.count,
        "both_reviewers_flagged": {
            issue: JudgedQuestions.of(judged).rate([issue], CountingRule.ALL, frame).share.count for issue in ISSUES
        },
    }
    for issue in ISSUES:
        table = np.zeros((2, 2), dtype=np.int64)
        for question in first.keys() & second.keys():
            table[int(issue not in first[question]), int(issue not in second[question])] += 1
        found["questions_seen_by_both"] = int(table.sum())
        found |= {
            f"{issue}: table": table.tolist(),
            f"{issue}: percent_agreement": pairs.percent_agreement(table),
            f"{issue}: cohen_kappa": pairs.cohen_kappa(table),
            f"{issue}: gwet_ac1": pairs.gwet_ac1(table),
            f"{issue}: brennan_prediger": pairs.brennan_prediger(table),
            f"{issue}: specific_agreement": {
                "positive": float(positive_agreement(table)),
                "negative": float(negative_agreement(table)),
            },
        }
    return found


GOLDEN = Golden(
    {"review_outcomes_paper": of_counts, "review_outcomes_two_reviewers": of_records},
    {"review": ".*", "review_records": ".*"},
)
