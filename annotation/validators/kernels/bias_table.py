"""How often a model answers another option once a word of the stem is changed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share
from annotation.validators.kernels.counterparts import CHANGES, ChangedWord


@dataclass(frozen=True)
class ChangeRow:
    """``different``: of the questions in which both answers name an option, how many name another one.

    ``lost``: right as it is and wrong with the change; ``gained``: the reverse.
    """

    change: ChangedWord
    n_asked: int
    different: Estimate
    lost: int
    gained: int


def counted(change: str, answers: Mapping[str, str], key: str, counts: dict[str, int]) -> None:
    """Add one question to the counts of a change; ``answers``: the option by change, empty where none was read."""
    plain, other = answers[ChangedWord.NONE], answers[change]
    counts["asked"] = counts.get("asked", 0) + 1
    if plain and other:
        counts["read"] = counts.get("read", 0) + 1
        counts["different"] = counts.get("different", 0) + (plain != other)
        counts["lost"] = counts.get("lost", 0) + (plain == key != other)
        counts["gained"] = counts.get("gained", 0) + (plain != key == other)


def bias_table(found: Mapping[str, Mapping[str, int]]) -> list[ChangeRow]:
    """The question asked again first: what differs there differs by chance."""
    rows = []
    for change in (ChangedWord.AGAIN, *CHANGES):
        counts = found.get(change.value, {})
        different = share(counts.get("different", 0), counts.get("read", 0))
        rows.append(
            ChangeRow(change, counts.get("asked", 0), different, counts.get("lost", 0), counts.get("gained", 0))
        )
    return rows
