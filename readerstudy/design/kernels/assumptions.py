"""What a forecast assumes of readers, model and cases: plain values, checked, read from JSON. Pure."""

from __future__ import annotations

from math import ceil, floor, sqrt
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta
from msgspec.structs import asdict

from readerstudy.design.kernels.documents import DesignRefused, Document, bounds_of, decode, expects

if TYPE_CHECKING:
    from annotation.statistics.kernels.planning import Components

FIGURES = ("discordant_model_reader", "discordant_readers", "delta", "sd_reader")  # those that a finished study gives
LINES = ("taken_from", "made_by", "made_at")
LONGEST = 300
ONE_LINE = f"One line of text of at most {LONGEST} characters is expected."
Line = Annotated[str, Meta(max_length=LONGEST, extra=expects(ONE_LINE))]
# A whole number stays one: what was frozen with it keeps its text.
Share = Annotated[float, Meta(ge=0, le=1)] | Annotated[int, Meta(ge=0, le=1)]
Difference = Annotated[float, Meta(ge=-1, le=1)] | Annotated[int, Meta(ge=-1, le=1)]
Spread = Annotated[float, Meta(ge=0, le=0.5)] | Annotated[int, Meta(ge=0, le=0)]
Effect = Annotated[float, Meta(ge=1, le=50)] | Annotated[int, Meta(ge=1, le=50)]


class Assumptions(Document, frozen=True, kw_only=True):
    """Shares from 0 to 1. The defaults of the four figures are near what the study of the paper shows."""

    accuracy: Annotated[float, Meta(ge=0.05, le=0.99)] = 0.75  # of a reader
    discordant_model_reader: Share = 0.30  # of the cases: a model and a reader are not both right or both wrong
    discordant_readers: Share = 0.20  # the same of two readers
    delta: Difference = 0.10  # true difference, model minus the mean of the readers
    sd_reader: Spread = 0.055  # standard deviation between the accuracies of readers
    models: Annotated[int, Meta(ge=1, le=1000)] = 1  # compared with the readers, one family of tests
    design_effect: Effect = 1.0  # of cases that share patients or exams
    delta_for_margin: Difference = 0.0  # true difference at which the model is to be shown not inferior
    target: Annotated[float, Meta(ge=0.5, le=0.99)] = 0.80  # power to reach
    taken_from: Line = ""  # the finished study that gave the four figures
    made_by: Line = ""
    made_at: Line = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def components(self) -> Components | None:
        from annotation.statistics.kernels.planning import components  # loads numpy: not at every start

        return components(**{name: getattr(self, name) for name in FIGURES})


Assumptions.UNKNOWN = f"There is no such assumption. Known: {', '.join(sorted(Assumptions.__struct_fields__))}."
RANGES = bounds_of(Assumptions)


def read_assumptions(data: object) -> Assumptions:
    """From JSON; what is not named keeps its default. Refused where a value cannot be, or not beside the others."""
    assumed = decode(data, Assumptions)
    for name in LINES:
        if not all(sign.isprintable() for sign in getattr(assumed, name)):
            raise DesignRefused("bad_value", ONE_LINE, field=name)
    if contradiction := contradiction_in(assumed):
        raise contradiction
    return assumed


def contradiction_in(assumed: Assumptions) -> DesignRefused | None:
    """Which figure to change where the four cannot all be true, and to what; None where they can."""
    if assumed.components() is not None:
        return None
    with_model, readers, delta = assumed.discordant_model_reader, assumed.discordant_readers, abs(assumed.delta)
    if assumed.sd_reader**2 > readers / 2:
        return DesignRefused(
            "contradiction",
            f"Readers whose accuracies spread by {_points(assumed.sd_reader)} points differ on more than "
            f"{_percent(readers)} of the cases. Assume a spread of at most {_at_most(sqrt(readers / 2))} points, or "
            f"that two readers differ on at least {_at_least(2 * assumed.sd_reader**2)} %.",
            field="sd_reader",
        )
    if with_model < delta:
        return DesignRefused(
            "contradiction",
            f"A model that is {_points(delta)} points apart from the readers differs from a reader on more than "
            f"{_percent(with_model)} of the cases. Assume at least {_at_least(delta)} %, or a smaller difference.",
            field="discordant_model_reader",
        )
    least, most = readers / 2 + delta**2, 2 * (with_model - delta**2)
    instead = [f"at least {_at_least(least)} % for model and reader"] if least <= 1 else []
    instead += [f"at most {_at_most(most)} % for two readers"] if most >= 2 * assumed.sd_reader**2 else []
    return DesignRefused(
        "contradiction",
        f"If two readers differ on {_percent(readers)} of the cases, a model that is {_points(delta)} points apart "
        f"differs from a reader on more than {_percent(with_model)}. Assume "
        f"{', or '.join(instead) or 'a smaller difference'}.",
        field="discordant_model_reader",
    )


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def _points(share: float) -> str:
    return f"{100 * share:.3g}"


def _at_least(share: float) -> str:
    """In hundredths of a percent, rounded up, so that the value as shown suffices."""
    return f"{ceil(1e4 * share - 1e-6) / 100:g}"


def _at_most(share: float) -> str:
    return f"{floor(1e4 * share + 1e-6) / 100:g}"
