"""Whether a stored analysis still says what the tables say."""

from __future__ import annotations

from collections.abc import Sequence

from readerstudy.analysis.kernels.computing import RULE
from readerstudy.analysis.marking import gathered, kept_inputs
from readerstudy.models import Analysis, ReaderStudy


def inputs_now(study: ReaderStudy) -> str:
    """The hash of what an analysis would read now. All of it is read only where something was stored since it was."""
    return kept_inputs(study) or gathered(study)[1]


def has_earlier_rule(analysis: Analysis) -> bool:
    """Whether this program would compute other numbers from the same inputs."""
    return bool(analysis.software.get("rule") != RULE)


def is_stale(analysis: Analysis) -> bool:
    """True when an answer, a voiding, a prediction or a rater has changed since, or the rule of the program."""
    return has_earlier_rule(analysis) or inputs_now(analysis.study) != analysis.inputs_sha256


def stale_among(study: ReaderStudy, analyses: Sequence[Analysis]) -> set[int]:
    """The ids of the stale ones of a study; nothing is read where there is none."""
    if not analyses:
        return set()
    now = inputs_now(study)
    return {one.pk for one in analyses if has_earlier_rule(one) or one.inputs_sha256 != now}
