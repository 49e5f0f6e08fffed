"""Which questions have an issue, from what each reviewer flagged. The unit is the question, never the review."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import Struct

from annotation.enums import Flag, Word, _
from annotation.statistics.kernels.estimate import NOT_ASKED, WHOLE_BANK, Estimate
from annotation.statistics.kernels.intervals import (
    ClusteredShare,
    StratumCount,
    bank_mix_share,
    clustered_counts,
    share,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
# Section 3.3.3 prints 10.8, 6.7, 5 and 3.3 % of 120 questions of its first expert review; the counts follow from these.
_FIRST_REVIEW = {
    PaperOutcome.SEVERAL_VALID: 13,
    PaperOutcome.COMPARISON: 8,
    PaperOutcome.VALIDITY: 6,
    PaperOutcome.HALLUCINATED: 4,
}


def first_review_of_paper() -> list[tuple[PaperOutcome, Estimate]]:
    """With Wilson's intervals, which the paper does not print."""
    return [(outcome, share(k, 120)) for outcome, k in _FIRST_REVIEW.items()]


def later_errors_of_paper() -> Estimate:
    """Of the questions of its reader study, as its text says."""
    return share(2, 300)


class Judged(Struct, frozen=True):
    """What one reviewer flagged on one question. ``cluster`` is the patient, or the exam when no patient is known.

    ``asked`` are the issues that the reviewer's form asked for; None: every one.
    """

    question: Hashable
    stratum: str
    cluster: Hashable
    issues: frozenset[str]
    asked: frozenset[str] | None = None


class Leading(Word):
    """Which interval of an issue rate is printed where there is room for one: the first of these that can be."""

    WHOLE_BANK = "whole_bank", _("none: the whole bank was reviewed")
    CLUSTERED = "clustered", _("by patient or exam, since one holds more than one of the questions")
    WILSON = "wilson", _("by Wilson")


class IssueRate(Struct, frozen=True):
    """How often an issue occurs: over these questions, allowing for shared exams, and in the mix of the bank."""

    share: Estimate
    clustered: ClusteredShare | None  # None: no exam holds more than one of the questions
    bank_mix: Estimate
    is_of_whole_bank: bool = False

    @property
    def leading(self) -> Leading:
        if self.is_of_whole_bank:
            return Leading.WHOLE_BANK
        return Leading.CLUSTERED if self.clustered else Leading.WILSON

    @property
    def shown(self) -> Estimate:
        """The share with the one interval that leads."""
        if self.is_of_whole_bank:
            return replace(self.share, ci95=None, flags=(WHOLE_BANK,))
        if self.clustered is None:
            return self.share
        wide = self.clustered.estimate
        return replace(wide, flags=(*wide.flags, *self.share.flags))


class Seen(Struct, frozen=True):
    """How many questions are all of the bank, or all of the part that the sample was drawn from, by ``flag``."""

    n: int
    flag: str = WHOLE_BANK


class JudgedQuestions(Struct, frozen=True):
    """What reviewers flagged, by question: sorted once for the rates of many issues.

    ``flagged`` holds the issues of each reviewer, ``asked`` beside it what each was asked for, ``cluster`` and
    ``stratum`` the number of each question's own.
    """

    flagged: list[list[frozenset[str]]]
    asked: list[list[frozenset[str] | None]]
    forms: frozenset[frozenset[str] | None]  # whatever anybody was asked for
    ever: list[frozenset[str]]  # flagged by anybody
    cluster: NDArray[np.int64]
    stratum: NDArray[np.int64]
    strata: list[str]

    @classmethod
    def of(cls, reviews: Iterable[Judged]) -> JudgedQuestions:
        import numpy as np  # not at every start

        of_question: dict[Hashable, list[Judged]] = defaultdict(list)
        for review in reviews:
            of_question[review.question].append(review)
        clusters: dict[Hashable, int] = {}
        strata: dict[str, int] = {}
        firsts = [judged[0] for judged in of_question.values()]
        flagged = [[one.issues for one in judged] for judged in of_question.values()]
        asked = [[one.asked for one in judged] for judged in of_question.values()]
        return cls(
            flagged=flagged,
            asked=asked,
            forms=frozenset(form for forms in asked for form in forms),
            ever=[frozenset().union(*issues) for issues in flagged],
            cluster=np.array([clusters.setdefault(one.cluster, len(clusters)) for one in firsts], dtype=np.int64),
            stratum=np.array([strata.setdefault(one.stratum, len(strata)) for one in firsts], dtype=np.int64),
            strata=list(strata),
        )

    def rate(
        self, issues: Collection[str], rule: CountingRule, frame: Mapping[str, int], everything: Seen | None = None
    ) -> IssueRate:
        """Rate of questions in which one of ``issues`` occurs, over the questions that were asked for one and reviewed.

        A reviewer flags the question when one of the issues is among theirs; who was asked for none of them counts
        neither above nor below the line. ``frame`` holds the size of each stratum in the bank, ``everything`` how many
        questions would be all of it, None where that cannot be. By the rule ``all`` only questions with two reviews or
        more are counted, above and below the line. By the rule ``adjudicated`` each question comes with what was
        decided about it alone, and those that wait do not come.
        """
        import numpy as np

        wanted = frozenset(issues)
        unasked = {form for form in self.forms if form is not None and form.isdisjoint(wanted)}
        flagged = self.flagged
        if unasked:
            pairs = (zip(*of_one, strict=True) for of_one in zip(self.flagged, self.asked, strict=True))
            flagged = [[issues for issues, form in of_one if form not in unasked] for of_one in pairs]
        counted = np.array([len(one) > (rule is CountingRule.ALL) for one in flagged], dtype=np.bool_)
        present = np.array(
            [
                not ever.isdisjoint(wanted) and counts([not one.isdisjoint(wanted) for one in of_one], rule)
                for ever, of_one in zip(self.ever, flagged, strict=True)
            ],
            dtype=np.bool_,
        )
        present &= counted
        over = share(int(present.sum()), int(counted.sum()), asked=not self.forms or unasked != self.forms)
        mix = bank_mix_share(self._by_stratum(counted, present, frame)).estimate
        mix = replace(mix, flags=over.flags) if NOT_ASKED in over.flags else mix
        is_all = everything is not None and over.n == everything.n > 0
        if everything and is_all and mix.ci95:
            mix = replace(mix, ci95=None, flags=(everything.flag,))  # a width of zero is no interval
        return IssueRate(
            share=over,
            clustered=self._clustered(counted, present),
            bank_mix=mix,
            is_of_whole_bank=everything is not None and is_all and everything.flag == WHOLE_BANK,
        )

    def _clustered(self, counted: NDArray[np.bool_], present: NDArray[np.bool_]) -> ClusteredShare | None:
        """None where no cluster holds more than one of the questions."""
        import numpy as np

        trials = np.bincount(self.cluster[counted])
        successes = np.bincount(self.cluster[present], minlength=len(trials))
        return clustered_counts(successes[trials > 0], trials[trials > 0]) if (trials > 1).any() else None

    def _by_stratum(
        self, counted: NDArray[np.bool_], present: NDArray[np.bool_], frame: Mapping[str, int]
    ) -> dict[str, StratumCount]:
        import numpy as np

        n, k = (np.bincount(self.stratum[chosen], minlength=len(self.strata)) for chosen in (counted, present))
        of = {name: (int(n[place]), int(k[place])) for place, name in enumerate(self.strata)}
        return {name: StratumCount(size, *of.get(name, (0, 0))) for name, size in frame.items()}


def counts(flagged: Sequence[bool], rule: CountingRule) -> bool:
    """Whether the question has the issue, given who flagged it."""
    if rule in (CountingRule.ANY, CountingRule.ADJUDICATED):
        return any(flagged)
    if rule is CountingRule.MAJORITY:
        return 2 * sum(flagged) > len(flagged)
    return all(flagged)
