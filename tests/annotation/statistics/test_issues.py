"""Rates of issues by question: the paper's outcomes, and two reviewers as worked out elsewhere."""

from __future__ import annotations

import csv
from pathlib import Path

from annotation.enums import Flag
from annotation.statistics.kernels.issues import (
    PAPER_FLAGS,
    CountingRule,
    Judged,
    JudgedQuestions,
    Leading,
    PaperOutcome,
    Seen,
    counts,
)

PAPER = {
    PaperOutcome.SEVERAL_VALID: 13,
    PaperOutcome.COMPARISON: 8,
    PaperOutcome.VALIDITY: 6,
    PaperOutcome.HALLUCINATED: 4,
}


def paper_reviews() -> list[Judged]:
    """120 questions, one reviewer each, flagged as often as the paper says; the flags overlap on some questions."""
    flags: list[set[str]] = [set() for _ in range(120)]
    for start, (outcome, n) in zip((0, 10, 40, 60), PAPER.items(), strict=True):
        for question in range(start, start + n):
            flags[question].add(PAPER_FLAGS[outcome][0].value)
    return [Judged(number, "all", number, frozenset(said)) for number, said in enumerate(flags)]


def test_the_outcomes_of_the_paper_come_out_as_printed(shared_data: Path) -> None:
    """Expert review of ReXVQA: 10.8, 6.7, 5 and 3.3 % of 120 questions (arXiv 2506.04353, section 3.3.3)."""
    with (shared_data.parent / "paper/expert_review_outcomes.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["stage"] == "initial expert review"]
    for outcome, printed, row in zip(PAPER, ("10.8", "6.7", "5.0", "3.3"), rows, strict=True):
        found = JudgedQuestions.of(paper_reviews()).rate(PAPER_FLAGS[outcome], CountingRule.ANY, {"all": 1200}).share
        assert (found.count, found.n) == (int(row["count"]), int(row["n"])) == (PAPER[outcome], 120)
        assert f"{100 * (found.value or 0):.1f}" == printed


def test_counting_rules() -> None:
    rules = (CountingRule.ANY, CountingRule.MAJORITY, CountingRule.ALL)
    for flagged, expected in (
        ([True, False], [True, False, False]),
        ([True, True], [True, True, True]),
        ([True, True, False], [True, True, False]),
        ([False, False], [False, False, False]),
    ):
        assert [counts(flagged, rule) for rule in rules] == expected, flagged
    assert [counts([flagged], CountingRule.ADJUDICATED) for flagged in (True, False)] == [True, False]


def test_two_flags_of_one_outcome_make_a_reviewer_count_once() -> None:
    reviews = [Judged(1, "all", 1, frozenset({Flag.UNSOUND, Flag.KEY_WRONG})), Judged(1, "all", 1, frozenset())]
    found = JudgedQuestions.of(reviews).rate(PAPER_FLAGS[PaperOutcome.VALIDITY], CountingRule.MAJORITY, {"all": 10})
    assert (found.share.count, found.share.n) == (0, 1)


def test_clusters_are_allowed_for_only_where_questions_share_an_exam() -> None:
    apart = [Judged(n, "all", n, frozenset()) for n in range(20)]
    shared = [Judged(n, "all", n // 2, frozenset({"other"} if n < 4 else ())) for n in range(20)]
    assert JudgedQuestions.of(apart).rate(["other"], CountingRule.ANY, {"all": 20}).clustered is None
    found = JudgedQuestions.of(shared).rate(["other"], CountingRule.ANY, {"all": 20}).clustered
    assert found is not None
    assert found.n_clusters == 10
    assert (found.design_effect or 0) > 1


def test_every_flag_counts_for_at_most_one_outcome_of_the_paper() -> None:
    mapped = [flag for flags in PAPER_FLAGS.values() for flag in flags]
    assert len(mapped) == len(set(mapped))
    assert set(Flag) - set(mapped) == {Flag.GIVES_AWAY, Flag.IDENTIFIES, Flag.OTHER}


def twos(n: int, flagged: int = 0) -> JudgedQuestions:
    """So many questions, two on each exam; one flag on each of the first ones."""
    return JudgedQuestions.of(
        [Judged(one, "all", one // 2, frozenset({"a"} if one < flagged else ())) for one in range(n)]
    )


def test_one_interval_leads() -> None:
    """By exam where one holds several of the questions, else Wilson; none where the whole bank was reviewed."""
    shared = twos(40, flagged=5).rate(["a"], CountingRule.ANY, {"all": 400}, Seen(400))
    assert shared.clustered is not None
    assert (shared.leading, shared.shown.ci95) == (Leading.CLUSTERED, shared.clustered.estimate.ci95)
    assert shared.shown.ci95 not in (None, shared.share.ci95)
    alone = JudgedQuestions.of(paper_reviews()).rate(["several_valid"], CountingRule.ANY, {"all": 1200}, Seen(1200))
    assert (alone.leading, alone.shown) == (Leading.WILSON, alone.share)
    assert alone.bank_mix.ci95 is not None


def test_of_a_whole_bank_there_is_no_interval_not_one_without_width() -> None:
    for flagged in (0, 5):
        whole = twos(120, flagged).rate(["a"], CountingRule.ANY, {"all": 120}, Seen(120))
        assert (whole.leading, whole.shown.ci95, whole.bank_mix.ci95) == (Leading.WHOLE_BANK, None, None)
        assert (whole.shown.value, whole.shown.flags, whole.bank_mix.flags) == (flagged / 120, *[("whole_bank",)] * 2)
        assert whole.share.ci95 is not None, "it stands in the table of the report"
    assert twos(120).rate(["a"], CountingRule.ALL, {"all": 120}, Seen(120)).leading is Leading.WILSON, "nobody counts"
    part = twos(40).rate(["a"], CountingRule.ANY, {"all": 40}, Seen(40, "whole_frame"))
    assert (part.leading, part.bank_mix.ci95, part.bank_mix.flags) == (Leading.CLUSTERED, None, ("whole_frame",))
