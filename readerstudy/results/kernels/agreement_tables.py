"""Agreement from a stored analysis: of a panel as rows of cells, the numbers and colours of the heatmap; among readers
and with models, within groups, and of one pair. Pure.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from math import comb, floor
from typing import TYPE_CHECKING

from msgspec import Struct

from annotation.statistics.kernels.catalogue import Scale, ShownOn, Statistic, shown_at
from annotation.statistics.kernels.estimate import MergedValue, Value
from annotation.tables.kernels.forms import told_apart
from readerstudy.analysis.kernels.panel_result import PairEntry
from readerstudy.analysis.kernels.result import (
    ALL_TASKS,
    LETTERS,
    MODEL,
    N_OPTIONS,
    READER,
    ResultPart,
    StoredAnalysis,
    StoredSettings,
    value_named,
)
from readerstudy.results.kernels.stored import (
    FEWEST_FOR_KAPPA,
    is_dotted,
    kinds_of,
    order_of,
    pairs_of,
    shown_kappa,
    with_shown_kappas,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The one scale of agreement: from -0.2 to 1 in steps of 0.05, the same colours on the page and in the figure. From pale
# yellow over green to dark blue (YlGnBu of ColorBrewer): each step is darker than the one before, so that it reads in
# grey and without colour vision, and the range in which kappas lie spans several hues. The classes k0 to k23 of
# static/readerstudy/results.css hold the same colours; a test compares them.
LOWEST, HIGHEST = -0.2, 1.0
STEP = 0.05
N_STEPS = 24
ANCHORS = (  # at even distances from -0.2 to 1
    (255, 255, 229), (237, 248, 190), (199, 233, 180), (127, 205, 187), (65, 182, 196), (29, 145, 192), (34, 94, 168),
    (37, 52, 148), (8, 29, 88),
)  # fmt: skip
DARK_WORDS, LIGHT_WORDS = "#000000", "#ffffff"
LONGEST_LABEL = 11  # signs beside a map of a page


def step_of(value: float) -> int:
    """0 to 23; values below or above the scale take its ends. A value on an edge belongs to the upper step."""
    return min(max(floor((value - LOWEST) / STEP + 1e-9), 0), N_STEPS - 1)


def colour_of(step: int) -> str:
    """The middle of the step on straight lines from anchor to anchor; as #rrggbb."""
    place = (step + 0.5) / N_STEPS * (len(ANCHORS) - 1)
    low, high = ANCHORS[int(place)], ANCHORS[int(place) + 1]
    part = place % 1
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(low, high, strict=True))


def words_on(step: int) -> str:
    """Black or white, whichever has more contrast."""
    return DARK_WORDS if luminance(colour_of(step)) > 0.179 else LIGHT_WORDS  # where both have the same contrast


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb, as WCAG 2.2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


COLOURS: tuple[str, ...] = tuple(colour_of(step) for step in range(N_STEPS))


class Agree(StrEnum):
    """What counts as agreeing."""

    OPTION = "option"  # the same option
    RIGHT = "right"  # both right or both wrong


PAIRED = {frozenset({READER}): "readers", frozenset({READER, MODEL}): "mixed", frozenset({MODEL}): "models"}
MEANS = {  # of the pairs within and between groups: where a panel holds them
    Agree.OPTION: (
        ("readers", "readers", "mean_kappa_readers"),
        ("mixed", "all", "mean_kappa_reader_model"),
        ("models", "models", "light_kappa"),
    ),
    Agree.RIGHT: (
        ("readers", "readers", "mean_error_consistency_readers"),
        ("mixed", "all", "mean_error_consistency_reader_model"),
    ),
}


class Cell(Struct, frozen=True):
    """One pair of raters. ``row`` and ``column`` are places in the order of the analysis."""

    row: int
    column: int
    first: str  # of the row
    second: str
    entry: PairEntry
    shown: Value  # the kappa that the colour shows
    n_disagreed: int  # cases

    @property
    def css(self) -> str:
        """Classes of static/readerstudy/results.css: the step of the scale, hatched, or dotted: little is behind it;
        and whether a minus makes it longer."""
        value = self.shown["value"]
        colour = "undefined" if value is None else f"k{step_of(value)}"
        more = [" dotted" if is_dotted(self.shown) else "", " minus" if value is not None and value < 0 else ""]
        return colour + "".join(more)

    @property
    def statistics(self) -> list[tuple[Statistic, Value]]:
        """The statistics beside the kappa in the table of pairs."""
        return [(one, value) for one in beside_kappa() if (value := value_named(self.entry, one.name))]

    @property
    def has_enough(self) -> bool:
        """Whether there are questions enough for a kappa, or for saying that there is none."""
        return int(self.shown["n"]) >= FEWEST_FOR_KAPPA

    @property
    def anchor(self) -> str:
        """The same for both cells of a pair: the id of its row in the table without colour."""
        return f"pair-{min(self.row, self.column)}-{max(self.row, self.column)}"


class Row(Struct, frozen=True):
    name: str
    label: str  # as it is written beside the map
    is_reader: bool
    begins_models: bool  # the first model below readers: with a gap between the two
    cells: list[Cell | None]  # None on the diagonal


class HeatMap(Struct, frozen=True):
    panel: str
    n: int
    rows: list[Row]
    left_out: str  # by the labels, once
    gap: int | None  # the column of the first model, set apart from those of the readers
    means: list[
        tuple[str, int, Value]
    ]  # over so many pairs, of the kappas among readers, of readers with models, among models


def heatmap(result: StoredAnalysis, panel: str, agree: Agree) -> HeatMap:
    """Readers first, then models by accuracy; every pair twice, as in the figure."""
    names, kinds = order_of(result), kinds_of(result)
    entries = {pair: with_shown_kappas(entry) for pair, entry in pairs_of(result["panels"][panel]).items()}

    def cell(row: int, column: int) -> Cell | None:
        if row == column:
            return None
        entry = entries[frozenset((names[row], names[column]))]
        n_disagreed = _n_disagreed(entry, agree)
        return Cell(row, column, names[row], names[column], entry, kappa_of(entry, agree), n_disagreed)

    places = range(len(names))
    gap = gap_before(result)
    labels, left_out = told_apart(names, LONGEST_LABEL)
    rows = [
        Row(names[row], labels[row], kinds[names[row]] == READER, row == gap, [cell(row, column) for column in places])
        for row in places
    ]
    return HeatMap(panel, result["panels"][panel]["n"], rows, left_out, gap, group_means(result, panel, agree))


def beside_kappa() -> list[Statistic]:
    """The further columns of the table of pairs: shares, then coefficients, what is free of accuracy first."""
    found = [one for one in shown_at(ShownOn.PAIRS) if one.name != "cohen_kappa"]
    coefficients = [one for one in found if one.scale is Scale.COEFFICIENT]
    return [*(one for one in found if one not in coefficients), *reversed(coefficients)]


def kappa_of(entry: PairEntry, agree: Agree) -> Value:
    return entry["cohen_kappa"] if agree is Agree.OPTION else entry["error_consistency"]


def gap_before(result: StoredAnalysis) -> int | None:
    """The place of the first model behind a reader."""
    kinds = [kinds_of(result)[name] for name in order_of(result)]
    return (kinds.index(MODEL) or None) if MODEL in kinds else None


def group_means(result: StoredAnalysis, panel: str, agree: Agree) -> list[tuple[str, int, Value]]:
    """Mean kappa over so many pairs of each group that the analysis holds; what has no pair is left out."""
    groups, pairs = result["panels"][panel]["groups"], result["panels"][panel]["pairs"]
    n_pairs = Counter(PAIRED[frozenset(one["kinds"])] for one in pairs if kappa_of(one, agree)["n"])
    of = {"readers": groups["readers"], "models": groups["models"], "all": groups["all"]}
    found = [(name, value_named(of[group], key)) for name, group, key in MEANS[agree]]
    means = [(name, shown_kappa(one)) for name, one in found if one]
    return [(name, n_pairs[name], one) for name, one in means if one["value"] is not None]


def _n_disagreed(entry: PairEntry, agree: Agree) -> int:
    if agree == Agree.RIGHT:
        return int(entry["table"]["first_only"] + entry["table"]["second_only"])
    same = entry["percent_agreement"]
    return 0 if same["value"] is None else round((1 - same["value"]) * same["n"])


def pairs_once(rows: list[Row]) -> list[Cell]:
    """Each pair once, by rows: the table without colour."""
    return [cell for row in rows for cell in row.cells if cell is not None and cell.row < cell.column]


# --- Tables of agreement from a stored analysis: among readers and with models, within ------------
class MeasureRow(Struct, frozen=True):
    """Means of one measure over pairs of raters, on shared draws."""

    measure: Statistic
    difference: Value  # the first less the second of the other two
    readers: Value
    mixed: Value


class ReaderAgreement(Struct, frozen=True):
    """Whether readers agree more with each other than with models; what is free of accuracy comes first."""

    rows: list[MeasureRow]
    n_pairs_readers: int
    n_pairs_reader_model: int
    leaves_out: bool  # pairs that share no assigned question


def reader_agreement(result: ResultPart) -> ReaderAgreement:
    """Over all tasks. An analysis by an earlier rule holds the kappas alone, and leaves no pair out."""
    groups = result["panels"][ALL_TASKS]["groups"]
    readers, whole = groups["readers"], groups["all"]
    rows = []
    for measure in shown_at(ShownOn.MEANS):
        found = (
            value_named(whole, f"mean_{measure.name}_difference"),
            value_named(readers, f"mean_{measure.name}_readers"),
            value_named(whole, f"mean_{measure.name}_reader_model"),
        )
        if found[0] and found[1] and found[2]:
            rows.append(MeasureRow(measure, found[0], found[1], found[2]))
    all_pairs = comb(readers["n_raters"], 2), readers["n_raters"] * groups["models"]["n_raters"]
    used = whole.get("n_pairs_readers", all_pairs[0]), whole.get("n_pairs_reader_model", all_pairs[1])
    return ReaderAgreement(rows, *used, leaves_out=used != all_pairs)


# --- one pair --------------------------------------------------------------------------------------
NOT_COUNTED = " ."  # of another set, missing
FAILED = "x"


class Disagreement(Struct, frozen=True):
    """One case in the answers of an analysis. Signs as docs/analysis.md explains them."""

    place: int  # in the columns of ``items``
    case: int  # number in the study
    case_id: str
    key: str
    first: str
    second: str


def disagreements(result: StoredAnalysis, panel: str, first: str, second: str, agree: Agree) -> list[Disagreement]:
    """The counted cases of the panel on which the two differ, in the order of their numbers.

    By option: both gave one, and not the same. By right and wrong: one is right and the other is not, failed,
    declined and late answers being wrong.
    """
    items, settings = result["items"], result["settings"]
    answers = items["answers"][first], items["answers"][second]
    found = []
    for place, key in enumerate(items["key"]):
        if items["voided"][place] == "before" or panel not in (ALL_TASKS, items["task"][place]):
            continue
        signs = answers[0][place], answers[1][place]
        if agree == Agree.OPTION:
            differ = _rated(signs, settings) and signs[0] != signs[1]
        else:
            differ = _counted(signs, settings) and (signs[0] == key) != (signs[1] == key)
        if differ:
            found.append(Disagreement(place, items["case"][place], items["case_id"][place], key, *signs))
    return found


def _rated(signs: tuple[str, str], settings: StoredSettings) -> bool:
    options = LETTERS + (FAILED if settings["failed_in_agreement"] == "own_category" else "")
    return all(sign in options for sign in signs)


def _counted(signs: tuple[str, str], settings: StoredSettings) -> bool:
    left_out = NOT_COUNTED + (FAILED if settings["failed_in_accuracy"] == "exclude" else "")
    return not any(sign in left_out for sign in signs)


def bank_mix_of_pair(result: StoredAnalysis, first: str, second: str) -> MergedValue | None:
    """Over the scored cases of all tasks, with seed and draws of the analysis.

    None where the cases were listed and not drawn, or one of them is in no stratum of the draw by now.
    """
    import numpy as np  # not at every start

    from annotation.statistics.kernels.pair_intervals import bank_mix_kappa

    items, strata = result["items"], result.get("strata") or []
    place = {(one["task"], one["difficulty"]): number for number, one in enumerate(strata)}
    scored = [number for number, voided in enumerate(items["voided"]) if voided != "before"]
    cells = [(items["task"][number], items["difficulty"][number]) for number in scored]
    if not place or not place.keys() >= set(cells):
        return None
    settings = result["settings"]
    own_category = settings["failed_in_agreement"] == "own_category"
    codes = LETTERS + FAILED if own_category else LETTERS
    kappa, merged = bank_mix_kappa(
        _codes(items["answers"][first], scored, codes),
        _codes(items["answers"][second], scored, codes),
        np.array([place[cell] for cell in cells], dtype=np.int64),
        np.array([one["n_pool"] for one in strata], dtype=np.int64),
        [one["task"] for one in strata],
        N_OPTIONS + own_category,
        seed=settings["seed"],
        panel=ALL_TASKS,
        draws=settings["draws"],
    )
    return {**kappa.as_json(), "merged_tasks": list(merged)}


def _codes(signs: str, places: list[int], codes: str) -> NDArray[np.int64]:
    """Places in ``codes``; -1 for every other sign, which is no rating."""
    import numpy as np

    return np.array([codes.find(signs[place]) for place in places], dtype=np.int64)
