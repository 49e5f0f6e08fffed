"""All checks of one question. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from annotation.quality.kernels import option_checks as options
from annotation.quality.kernels import wording_checks as wording
from annotation.quality.kernels.rules import MIN_EXPLANATION, CheckedQuestion, Flaw
from annotation.quality.kernels.words import ReadQuestion, read_question

CHECKS: tuple[Callable[[ReadQuestion], Iterator[Flaw]], ...] = (
    options.check_same_text,
    options.check_overlap,
    options.check_length,
    options.check_absolute_terms,
    options.check_all_of_the_above,
    options.check_kinds,
    wording.check_negative_stem,
    wording.check_prior,
    wording.check_key_in_stem,
    wording.check_report,
    wording.check_identifiers,
)


def check(question: CheckedQuestion, min_explanation: int = MIN_EXPLANATION) -> list[Flaw]:
    """What the rules find, in their order; at most one for each rule and place."""
    read = read_question(question)
    found = [one for rule in CHECKS for one in rule(read)]
    return [*found, *wording.check_explanation(read, min_explanation)]
