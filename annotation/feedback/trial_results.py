"""What a trial found, once its round is closed; before that it is refused."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from annotation.enums import Flag
from annotation.feedback.kernels.trial_pairs import MeasuredDifference, measured, pairs_of
from annotation.feedback.kernels.trial_states import TrialAct
from annotation.feedback.prompt_trials import check_act, sampled_pairs, trial_state
from annotation.models import PromptTrial, ReviewRound
from annotation.review.asked import ASKED_BY, flags_asked_by_forms
from annotation.review.onlookers import QUESTION
from annotation.review.outcomes import newest_reviews
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share


@dataclass(frozen=True)
class TrialResult:
    """A question has an issue where one of its reviewers flags it. A pair counts where both are reviewed."""

    trial: PromptTrial
    review_round: ReviewRound
    n_drawn: int
    n_reviews: int  # of the pairs that count
    found: MeasuredDifference
    flags: list[tuple[Flag, Estimate, Estimate]]  # first, second

    @property
    def n_pairs(self) -> int:
        return self.found.first.n

    @property
    def n_left_out(self) -> int:
        return self.n_drawn - self.n_pairs

    @property
    def is_short(self) -> bool:
        """Fewer pairs than were planned: the power is below what was planned, too."""
        return self.n_pairs < self.trial.n_planned

    def as_json(self) -> dict[str, Any]:
        found = self.found
        return {
            "round": self.review_round.slug,
            "rule": "any",
            "pairs_planned": self.trial.n_planned,
            "pairs_drawn": self.n_drawn,
            "pairs_reviewed": self.n_pairs,
            "reviews": self.n_reviews,
            "clusters": found.n_clusters,
            "first": {"count": found.first.count, **found.first.as_json()},
            "second": {"count": found.second.count, **found.second.as_json()},
            "second_minus_first": {**found.difference.as_json(), "p": found.p},
            "flags": {
                flag.value: {"first": first.count, "second": second.count, "n": first.n}
                for flag, first, second in self.flags
            },
        }


def trial_result(trial: PromptTrial, review_round: ReviewRound | None) -> TrialResult:
    """``review_round``: as round_of has it. Raises FeedbackRefused (``not_closed``) until it is closed."""
    check_act(TrialAct.TELL, trial_state(trial, review_round))
    assert review_round is not None
    exam = f"assignment__{QUESTION}__exam"
    rows = newest_reviews(review_round).order_by()
    flagged: dict[int, set[str]] = {}
    cluster: dict[int, str] = {}
    n_reviews: dict[int, int] = {}
    asked: dict[int, set[str]] = defaultdict(set)
    columns = ("assignment__revision", f"{exam}__pseudonym", f"{exam}__patient_pseudonym")
    by_form = flags_asked_by_forms()
    for revision, name, patient, form, answered_at, flags in rows.values_list(*columns, *ASKED_BY):
        asked[revision] |= by_form(form, answered_at, flags)
        flagged.setdefault(revision, set()).update(flags)
        cluster[revision] = patient or f"exam {name}"
        n_reviews[revision] = n_reviews.get(revision, 0) + 1
    drawn = pairs_of(sampled_pairs(trial))
    pairs = [(a.revision, b.revision) for a, b in drawn if a.revision in flagged and b.revision in flagged]
    found = measured(
        [bool(flagged[first]) for first, _second in pairs],
        [bool(flagged[second]) for _first, second in pairs],
        [cluster[first] for first, _second in pairs],
    )

    def counted(flag: Flag, place: int) -> Estimate:
        both = [pair for pair in pairs if all(flag.value in asked[one] for one in pair)]
        return share(sum(flag.value in flagged[pair[place]] for pair in both), len(both), asked=not pairs or bool(both))

    return TrialResult(
        trial=trial,
        review_round=review_round,
        n_drawn=len(drawn),
        n_reviews=sum(n_reviews[one] for pair in pairs for one in pair),
        found=found,
        flags=[(flag, counted(flag, 0), counted(flag, 1)) for flag in Flag],
    )
