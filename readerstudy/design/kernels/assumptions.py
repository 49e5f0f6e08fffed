"""What a forecast assumes of readers, model and cases: plain values, checked, read from JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import ceil, floor, isfinite, sqrt
from typing import Any

from annotation.statistics.kernels.planning import Components, components

LONGEST = 300
FIGURES = ("discordant_model_reader", "discordant_readers", "delta", "sd_reader")  # those that a finished study gives


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """Shares from 0 to 1. The defaults of the four figures are near what the study of the paper shows."""

    accuracy: float = 0.75  # of a reader
    discordant_model_reader: float = 0.30  # of the cases: a model and a reader are not both right or both wrong
    discordant_readers: float = 0.20  # the same of two readers
    delta: float = 0.10  # true difference, model minus the mean of the readers
    sd_reader: float = 0.055  # standard deviation between the accuracies of readers
    models: int = 1  # compared with the readers, one family of tests
    design_effect: float = 1.0  # of cases that share patients or exams
    delta_for_margin: float = 0.0  # true difference at which the model is to be shown not inferior
    target: float = 0.80  # power to reach
    taken_from: str = ""  # the finished study that gave the four figures
    made_by: str = ""
    made_at: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def components(self) -> Components | None:
        return components(**{name: getattr(self, name) for name in FIGURES})


RANGES = {
    "accuracy": (0.05, 0.99),
    "discordant_model_reader": (0.0, 1.0),
    "discordant_readers": (0.0, 1.0),
    "delta": (-1.0, 1.0),
    "sd_reader": (0.0, 0.5),
    "models": (1, 1000),
    "design_effect": (1.0, 50.0),
    "delta_for_margin": (-1.0, 1.0),
    "target": (0.5, 0.99),
}


class AssumptionsRefused(ValueError):
    """An assumption cannot be, or not beside the others; ``field`` names it, the sentence says what would do."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


def read_assumptions(data: object) -> Assumptions:
    """From JSON; what is not named keeps its default. Raises AssumptionsRefused."""
    if not isinstance(data, Mapping):
        raise AssumptionsRefused("", "An object with named values is expected.")
    known = {field.name for field in fields(Assumptions)}
    for name, value in data.items():
        if name not in known:
            raise AssumptionsRefused(str(name), f"There is no such assumption. Known: {', '.join(sorted(known))}.")
        _check_value(name, value)
    assumed = Assumptions(**data)
    if contradiction := contradiction_in(assumed):
        raise contradiction
    return assumed


def _check_value(name: str, value: object) -> None:
    if name not in RANGES:
        if not isinstance(value, str) or len(value) > LONGEST or any(not sign.isprintable() for sign in value):
            raise AssumptionsRefused(name, f"One line of text of at most {LONGEST} characters is expected.")
        return
    least, most = RANGES[name]
    is_number = isinstance(value, int) or (isinstance(value, float) and name != "models")
    if isinstance(value, bool) or not is_number or not isfinite(value) or not least <= value <= most:  # type: ignore[arg-type, operator]
        kind = "whole number" if name == "models" else "number"
        raise AssumptionsRefused(name, f"A {kind} from {least:g} to {most:g} is expected.")


def contradiction_in(assumed: Assumptions) -> AssumptionsRefused | None:
    """Which figure to change where the four cannot all be true, and to what; None where they can."""
    if assumed.components() is not None:
        return None
    with_model, readers, delta = assumed.discordant_model_reader, assumed.discordant_readers, abs(assumed.delta)
    if assumed.sd_reader**2 > readers / 2:
        return AssumptionsRefused(
            "sd_reader",
            f"Readers whose accuracies spread by {_points(assumed.sd_reader)} points differ on more than "
            f"{_percent(readers)} of the cases. Assume a spread of at most {_at_most(sqrt(readers / 2))} points, or "
            f"that two readers differ on at least {_at_least(2 * assumed.sd_reader**2)} %.",
        )
    if with_model < delta:
        return AssumptionsRefused(
            "discordant_model_reader",
            f"A model that is {_points(delta)} points apart from the readers differs from a reader on more than "
            f"{_percent(with_model)} of the cases. Assume at least {_at_least(delta)} %, or a smaller difference.",
        )
    least, most = readers / 2 + delta**2, 2 * (with_model - delta**2)
    instead = [f"at least {_at_least(least)} % for model and reader"] if least <= 1 else []
    instead += [f"at most {_at_most(most)} % for two readers"] if most >= 2 * assumed.sd_reader**2 else []
    return AssumptionsRefused(
        "discordant_model_reader",
        f"If two readers differ on {_percent(readers)} of the cases, a model that is {_points(delta)} points apart "
        f"differs from a reader on more than {_percent(with_model)}. Assume "
        f"{', or '.join(instead) or 'a smaller difference'}.",
    )


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def _points(share: float) -> str:
    return f"{100 * share:.3g}"


def _at_least(share: float) -> str:
    """In hundredths of a percent, rounded so that what is said does."""
    return f"{ceil(1e4 * share - 1e-6) / 100:g}"


def _at_most(share: float) -> str:
    return f"{floor(1e4 * share + 1e-6) / 100:g}"
