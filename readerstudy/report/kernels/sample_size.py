"""The planned size of a study in words: the forecast that was frozen with the protocol. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from readerstudy.report.kernels.facts import StudyFacts


def sample_size_text(facts: StudyFacts) -> str:
    readers, cases = _several(facts.flow.n_planned, "reader"), _several(facts.cases.n_main, "case")
    planned = f"Planned: {readers}, {cases}, each read once by a reader."
    if not facts.forecast:
        return f"{planned} How these numbers were chosen is not known to the program."
    assumed, inferences = facts.forecast["assumptions"], facts.forecast["inferences"]
    text = [planned, _who(facts.forecast), _assumed(assumed)]
    if facts.flow.n_imported:
        text.append("Readings came from files, so that they may have been there when this was forecast.")
    text += [_expected(one, assumed, facts.forecast["margin"]) for one in inferences]
    text += _kappas(facts.forecast)
    if why := facts.forecast["nothing_because"]:
        text.append(f"No power was forecast: {why}.")
    if inferences:
        text.append("Power is that of a two-sided t test at 5 % (non-central t; Hillis, Obuchowski, Berbaum 2011).")
    return " ".join(text)


def _who(forecast: Mapping[str, Any]) -> str:
    """Defaults that nobody changed are said to be such: who froze the design took them."""
    assumed = forecast["assumptions"]
    who, day = assumed["made_by"] or "somebody on the command line", assumed["made_at"][:10]
    if forecast["are_defaults"]:
        return f"The forecast in the frozen protocol keeps the program's default assumptions (by {who}, {day})."
    source = f"; the four figures were taken from {assumed['taken_from']}" if assumed["taken_from"] else ""
    return f"The assumptions of the forecast in the frozen protocol were made by {who} on {day}{source}."


def _assumed(assumed: Mapping[str, Any]) -> str:
    model, readers = _percent(assumed["discordant_model_reader"]), _percent(assumed["discordant_readers"])
    effect = assumed["design_effect"]
    return (
        f"Assumed: a model and a reader are not both right or both wrong on {model} of the cases, two readers on "
        f"{readers}; a true difference of {_points(assumed['delta'])}; a standard deviation between accuracies of "
        f"readers of {_points(assumed['sd_reader'])}"
        + (f"; a design effect of shared patients of {effect:g}." if effect > 1 else ".")
    )


def _expected(one: Mapping[str, Any], assumed: Mapping[str, Any], margin: float | None) -> str:
    models = assumed["models"]
    text = [
        f"By {one['inference']} the 95 % interval of a difference was expected to be ± {_points(one['half_width'])}, "
        f"and the power {_whole(one['power'])}"
    ]
    if models > 1:
        text.append(f", at the first step of Holm over {models} models {_whole(one['power_first_step'])}")
    if margin and one["power_margin"] is not None:
        text.append(
            f"; to show non-inferiority at {_points(margin)} where the true difference is "
            f"{_points(assumed['delta_for_margin'])}: {_whole(one['power_margin'])}"
        )
        text.append(f", at the first step {_whole(one['power_margin_first_step'])}" if models > 1 else "")
    readers, cases, most = one["readers_needed"], one["cases_needed"], _whole(one["power_at_most"])
    more = _several(readers, "reader") if readers else "more than 100 readers"
    other = _several(cases, "case") if cases else f"no number of cases (at most {most})"
    needed = f"a power of {_whole(assumed['target'])} for that difference needs {more} for these cases"
    return f"{''.join(text)}; {needed}, or {other} for these readers."


def _kappas(forecast: Mapping[str, Any]) -> list[str]:
    pairs = {"two readers": forecast.get("kappa_readers"), "model and reader": forecast.get("kappa_model_reader")}
    said = [f"of {who} {one['value']:.2f} ± {one['half_width']:.2f}" for who, one in pairs.items() if one]
    return [f"Expected Cohen’s kappa with its 95 % interval: {', '.join(said)}."] if said else []


def _several(n: int, one: str) -> str:
    return f"{n:,} {one}{'' if n == 1 else 's'}"


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def _points(share: float) -> str:
    return f"{100 * share:.3g} percentage points"


def _whole(share: float) -> str:
    return "above 99 %" if share > 0.995 else f"{100 * share:.0f} %"
