"""Sentences that compare with an earlier exam and sentences that do not, and what the rule makes of them."""

from __future__ import annotations

import re
from pathlib import Path

from annotation.demonstration.questions import all_questions
from annotation.enums import Flag
from annotation.questionbank.kernels.question_checks import prior_words
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share

HERE = Path(__file__).parent


def comparing() -> list[str]:
    return _lines(HERE / "comparisons.txt")


def clean() -> list[str]:
    """Our own, many with a word that comparisons have, and those of the demonstration."""
    texts = [*_lines(HERE / "clean_sentences.txt")]
    for one in all_questions():
        if one.fault != Flag.NEEDS_PRIOR:
            texts += [one.stem, *one.options, *re.split(r"(?<=[.;]) ", one.explanation)]
    return list(dict.fromkeys(texts))


def _lines(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def measured() -> dict[str, Estimate]:
    """Recall, precision and false alarms of the rule for comparisons."""
    found, alarms = sum(map(bool, map(prior_words, comparing()))), sum(map(bool, map(prior_words, clean())))
    return {
        "recall": share(found, len(comparing())),
        "precision": share(found, found + alarms),
        "false alarms": share(alarms, len(clean())),
    }
