"""Planning figures against R (Connor 1987, Wilson 1927, Hillis et al. 2011)."""

from __future__ import annotations

from math import ceil, isinf
from typing import Any

from annotation.statistics.kernels.estimate import INCONSISTENT_ASSUMPTIONS
from annotation.statistics.kernels.planning import (
    Components,
    Reading,
    cases_needed,
    components,
    half_width,
    mcnemar_questions,
    power_at_margin,
    reader_vs_model_power,
    readers_needed,
    standard_error,
)
from tests.annotation.statistics.goldencases import Found, Golden


def of_assumptions(given: Any) -> Found:
    needed = [mcnemar_questions(**each) for each in given["mcnemar"]]
    return {
        "mcnemar_questions_unrounded": needed,
        "mcnemar_questions": [None if isinf(n) else ceil(n) for n in needed],
        "reader_vs_model_power": [power_of(**each) for each in given["reader_vs_model"]],
    }


def power_of(*, readers: int, cases: int, delta: float, alpha: float, **variances: float) -> Found:
    found = Components(**{name.removeprefix("var_"): value for name, value in variances.items()})
    return vars(reader_vs_model_power(found, Reading(readers=readers, cases=cases), delta=delta, alpha=alpha))


def of_forecasts(given: Any) -> Found:
    return {
        f"item {place}: {name}": value
        for place, item in enumerate(given["items"])
        for name, value in of_forecast(item).items()
    }


def of_forecast(item: Any) -> Found:
    shares = ("discordant_model_reader", "discordant_readers", "delta", "sd_reader")
    found = components(**{name: item[name] for name in shares})
    if found is None:
        return {"components": None, "reason": INCONSISTENT_ASSUMPTIONS}
    sets = item.get("cases_by_readers") or [[item["cases"], item["readers"]]]
    n = sum(cases for cases, _readers in sets)
    reading = Reading(
        readers=item["readers"],
        cases=n,
        inverse_readers=sum(cases / readers for cases, readers in sets) / n,
        design_effect=item.get("design_effect", 1.0),
    )
    se, df = standard_error(found, reading)

    def power(alpha: float) -> float:
        return reader_vs_model_power(found, reading, delta=item["delta"], alpha=alpha).power

    def at_margin(alpha: float) -> float | None:
        margin = item.get("margin")
        return None if margin is None else power_at_margin(se, df, item["delta_for_margin"], margin, alpha)

    first_step = 0.05 / item["models"]
    needed, at_most = cases_needed(found, reading, delta=item["delta"], target=item["target"])
    return {
        "components": vars(found),
        "se": se,
        "df": df,
        "half_width": half_width(se, df),
        "power": power(0.05),
        "power_first_step": power(first_step),
        "power_margin": at_margin(0.05),
        "power_margin_first_step": at_margin(first_step),
        "readers_needed": readers_needed(found, reading, delta=item["delta"], target=item["target"]),
        "cases_needed": needed,
        "power_at_most": at_most,
    }


ASKED = "mcnemar_questions.*|reader_vs_model_power"
GOLDEN = Golden(
    {"planning": of_assumptions, "forecast": of_forecasts},
    {"planning": ASKED, "forecast": ".*"},
)
