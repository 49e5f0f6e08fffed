"""Which questions have an issue, from what each reviewer flagged. The unit is the question, never the review."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from annotation.enums import Flag, Word, _
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import ClusteredShare, StratumCount, bank_mix_share, clustered_share, share


class CountingRule(Word):
    """When a question counts as having an issue."""

    ANY = "any", _("at least one of its reviewers flags it")
    MAJORITY = "majority", _("more than half of its reviewers flag it")
    ALL = "all", _("all of its reviewers flag it; only questions with two reviews or more")
    ADJUDICATED = (
        "adjudicated",
        _("its adjudicator flags it, before seeing the reviews; one that was settled without adjudication has none"),
    )


class PaperOutcome(Word):
    """The outcomes of the expert review of ReXVQA (arXiv 2506.04353), in its order and words."""

    SEVERAL_VALID = "several_valid", _("Multiple valid answers")
    COMPARISON = "comparison", _("Unnecessary comparison-related content")
    VALIDITY = "validity", _("Needs improvement to ensure clinical validity")
    HALLUCINATED = "hallucinated", _("Hallucinated information about findings not in the report")
    MISALIGNED = "misaligned", _("Content and radiograph do not match")


# Which flags of the form mean which outcome of the paper; the rest have no counterpart there.
PAPER_FLAGS: dict[PaperOutcome, tuple[Flag, ...]] = {
    PaperOutcome.SEVERAL_VALID: (Flag.SEVERAL_VALID,),
    PaperOutcome.COMPARISON: (Flag.NEEDS_PRIOR,),
    PaperOutcome.VALIDITY: (Flag.UNSOUND, Flag.KEY_WRONG, Flag.NO_VALID_OPTION),
    PaperOutcome.HALLUCINATED: (Flag.HALLUCINATED,),
    PaperOutcome.MISALIGNED: (Flag.NOT_VISIBLE, Flag.OTHER_EXAM),
}


@dataclass(frozen=True)
class Judged:
    """What one reviewer flagged on one question. ``cluster`` is the patient, or the exam when no patient is known."""

    question: Hashable
    stratum: str
    cluster: Hashable
    issues: frozenset[str]


@dataclass(frozen=True)
class IssueRate:
    """How often an issue occurs: over these questions, allowing for shared exams, and in the mix of the bank."""

    share: Estimate
    clustered: ClusteredShare | None  # None: no exam holds more than one of the questions
    bank_mix: Estimate


def issue_rate(
    reviews: Iterable[Judged], issues: Collection[str], rule: CountingRule, frame: Mapping[str, int]
) -> IssueRate:
    """Rate of questions in which one of ``issues`` occurs, over the questions reviewed.

    A reviewer flags the question when one of the issues is among theirs. ``frame`` holds the size of each stratum
    in the bank. By the rule ``all`` only questions with two reviews or more are counted, above and below the line. By
    the rule ``adjudicated`` each question comes with what was decided about it alone, and those that wait do not come.
    """
    of_question: dict[Hashable, list[Judged]] = defaultdict(list)
    for review in reviews:
        of_question[review.question].append(review)
    wanted = frozenset(issues)
    outcome = {
        question: (judged[0], counts([bool(one.issues & wanted) for one in judged], rule))
        for question, judged in of_question.items()
        if rule is not CountingRule.ALL or len(judged) > 1
    }
    results = list(outcome.values())
    return IssueRate(
        share=share(sum(present for _first, present in results), len(results)),
        clustered=_clustered(results),
        bank_mix=bank_mix_share(_by_stratum(results, frame)).estimate,
    )


def counts(flagged: Sequence[bool], rule: CountingRule) -> bool:
    """Whether the question has the issue, given who flagged it."""
    if rule in (CountingRule.ANY, CountingRule.ADJUDICATED):
        return any(flagged)
    if rule is CountingRule.MAJORITY:
        return 2 * sum(flagged) > len(flagged)
    return all(flagged)


def _clustered(results: Sequence[tuple[Judged, bool]]) -> ClusteredShare | None:
    clusters: dict[Hashable, list[int]] = defaultdict(list)
    for first, present in results:
        clusters[first.cluster].append(int(present))
    if len(clusters) == len(results):
        return None
    return clustered_share(list(clusters.values()))


def _by_stratum(results: Sequence[tuple[Judged, bool]], frame: Mapping[str, int]) -> dict[str, StratumCount]:
    n: dict[str, int] = defaultdict(int)
    k: dict[str, int] = defaultdict(int)
    for first, present in results:
        n[first.stratum] += 1
        k[first.stratum] += present
    return {name: StratumCount(size, n[name], k[name]) for name, size in frame.items()}
