"""What a finished study tells the forecast of the next one: how often and how far its raters differed. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from statistics import mean, variance
from typing import Any

from readerstudy.analysis.kernels.panel_result import PairTable
from readerstudy.analysis.kernels.result import ALL_TASKS, MODEL, READER, StoredAnalysis, n_in
from readerstudy.results.kernels.stored import kinds_of, order_of, pairs_of, raters_of

DECIMALS = 4


@dataclass(frozen=True)
class PlanningFigures:
    """Of one model and the readers, over all tasks; named as in readerstudy.design.kernels.assumptions."""

    model: str
    discordant_model_reader: float
    discordant_readers: float
    delta: float
    sd_reader: float

    @property
    def figures(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "model"}


def planning_figures(result: StoredAnalysis) -> list[PlanningFigures]:
    """For each model; none for fewer than two readers, or where a pair has no question in common.

    The spread of readers is that of their accuracies without what questions add to it: s² - ψ/(2K) over 1 - 1/K, with ψ
    the share of questions on which two readers differ, never below 0.
    """
    panel, kinds = result["panels"][ALL_TASKS], kinds_of(result)
    readers = [name for name in order_of(result) if kinds[name] == READER]
    models = [name for name in order_of(result) if kinds[name] == MODEL]
    apart = {names: _apart(one["table"]) for names, one in pairs_of(panel).items() if one["table"]}

    def share(pairs: Iterable[tuple[str, str]]) -> float | None:
        found = [apart.get(frozenset(pair)) for pair in pairs]
        known = [one for one in found if one is not None]
        return mean(known) if known and len(known) == len(found) else None

    accuracies = [one for name in readers if (one := raters_of(panel)[name]["accuracy"]["value"]) is not None]
    among = share((one, other) for place, one in enumerate(readers) for other in readers[:place])
    if among is None or len(accuracies) < len(readers) or panel["n"] < 2:
        return []
    spread = (variance(accuracies) - among / (2 * panel["n"])) / (1 - 1 / panel["n"])
    sd, found = max(0.0, spread) ** 0.5, []
    for model in models:
        accuracy, differs = raters_of(panel)[model]["accuracy"]["value"], share((model, reader) for reader in readers)
        if accuracy is not None and differs is not None:
            figures = (differs, among, accuracy - mean(accuracies), sd)
            found.append(PlanningFigures(model, *(round(one, DECIMALS) for one in figures)))
    return found


def _apart(table: PairTable) -> float | None:
    """Share of questions that exactly one of the two has right."""
    n = n_in(table)
    return (table["first_only"] + table["second_only"]) / n if n else None
