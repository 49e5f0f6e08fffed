"""Every choice that changes a number of an analysis, with its default; stored with the result. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from annotation.statistics.kernels.bootstrap import DRAWS

FEWEST_DRAWS, MOST_DRAWS = 100, 100_000
SWITCHES = {"failed_in_accuracy": ("wrong", "exclude"), "failed_in_agreement": ("no_rating", "own_category")}


class SettingsRefused(ValueError):
    """A setting has a value that it cannot have; the sentence says what would do."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The defaults are those of docs/analysis.md; ``seed`` is that of the study unless another is given."""

    seed: int
    draws: int = DRAWS
    failed_in_accuracy: str = "wrong"  # or left out: "exclude"
    failed_in_agreement: str = "no_rating"  # or a fifth option: "own_category"

    def __post_init__(self) -> None:
        if not FEWEST_DRAWS <= self.draws <= MOST_DRAWS:
            raise SettingsRefused(f"The number of bootstrap draws lies between {FEWEST_DRAWS} and {MOST_DRAWS:,}.")
        if self.seed < 0:
            raise SettingsRefused("The seed is 0 or more.")
        for name, known in SWITCHES.items():
            if getattr(self, name) not in known:
                raise SettingsRefused(f"{name} is one of: {', '.join(known)}.")

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def read_settings(data: Mapping[str, Any]) -> Settings:
    """Settings as they were stored."""
    return Settings(**data)
