"""A prompt version by version: why each was made, what reviewers flagged, and what trials measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from annotation.feedback.kernels.trial_states import TrialState
from annotation.feedback.prompt_flags import VersionFlags, prompt_flags
from annotation.feedback.prompt_trials import round_of, trial_state, trials_with_runs
from annotation.feedback.trial_results import TrialResult, trial_result
from annotation.models import PromptTrial, PromptVersion, ReviewRound, User


@dataclass(frozen=True)
class TrialStanding:
    """``result``: None until the round is closed."""

    trial: PromptTrial
    review_round: ReviewRound | None
    state: TrialState
    result: TrialResult | None

    def as_json(self) -> dict[str, Any]:
        trial = self.trial
        return {
            "trial": trial.public_id,
            "state": self.state.value,
            "pairs_planned": trial.n_planned,
            "assumed": {name: getattr(trial, name) for name in ("issue_rate", "difference", "power", "correlation")},
            **{
                name: {"run": run.public_id, "prompts": [str(run.bullets_batch.prompt), str(run.questions_prompt)]}
                for name, run in (("first", trial.first_run), ("second", trial.second_run))
            },
            "seed": trial.first_run.seed,
            "sample": trial.sample.slug if trial.sample else None,
            "round": self.review_round.slug if self.review_round else None,
        }


def standing_of(trial: PromptTrial) -> TrialStanding:
    review_round = round_of(trial)
    state = trial_state(trial, review_round)
    result = trial_result(trial, review_round) if state == TrialState.CLOSED else None
    return TrialStanding(trial, review_round, state, result)


@dataclass
class StoryVersion:
    """``trials``: those in which it is the second version, or the first against a prompt of another name."""

    version: PromptVersion
    flags: VersionFlags
    trials: list[TrialStanding] = field(default_factory=list)


@dataclass(frozen=True)
class PromptStory:
    versions: list[StoryVersion]  # the newest first
    n_hidden: int  # rounds that this person may not know yet


def prompt_story(name: str, person: User | None) -> PromptStory:
    """``person`` as prompt_flags has them."""
    rows = PromptVersion.objects.filter(name=name).select_related("author").order_by("-number")
    versions = list(rows.defer("text", "instruction", "schema"))
    flags = prompt_flags(versions, person)
    story = {one.version.pk: StoryVersion(one.version, one) for one in flags.versions}
    of_prompt = Q(pk__in=())
    for run in ("first_run", "second_run"):
        for path in ("questions_prompt", "bullets_batch__prompt"):
            of_prompt |= Q(**{f"{run}__{path}__in": story})
    for trial in trials_with_runs().filter(of_prompt).order_by("created_at", "pk"):
        place = next(one for one in _prompts_of(trial) if one in story)
        story[place].trials.append(standing_of(trial))
    return PromptStory(list(story.values()), flags.n_hidden)


def _prompts_of(trial: PromptTrial) -> list[int]:
    """The second version before the first, and the prompt that differs before the one that does not."""
    first, second = trial.first_run, trial.second_run
    questions = [second.questions_prompt_id, first.questions_prompt_id]
    findings = [second.bullets_batch.prompt_id, first.bullets_batch.prompt_id]
    return [*questions, *findings] if questions[0] != questions[1] else [*findings, *questions]
