"""How readers and models look in every figure of a study, and the legend under each figure in a paper: a text beside
the picture, since journals set it themselves. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from annotation.statistics.kernels.estimate import Value
from annotation.statistics.kernels.intervals import FEWEST_TRIALS
from annotation.tables.kernels.forms import BLUE, ORANGE, printed_percent
from readerstudy.analysis.kernels.labels import headings
from readerstudy.analysis.kernels.panel_result import MultiReaderValue
from readerstudy.analysis.kernels.result import ALL_TASKS, N_OPTIONS, READER, StoredAnalysis
from readerstudy.results.kernels.inferences import (
    CAUTIONS,
    WHY_NARROWER,
    WITH_MOVER,
    Planned,
    caution_words,
    counted,
    means_of_runs,
    planned_line,
    planned_rows,
    post_hoc_table,
    unit_words,
)
from readerstudy.results.kernels.stored import FEWEST_FOR_KAPPA, POST_HOC_MARK, is_made_after_readings, post_hoc_models

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DAGGER = "†"  # behind an n that is small
MADE_AFTER = "Plan made after the readings"
OWN = {  # how intervals of one reader are made
    "tango": "Tango",
    "cluster_t": "t by patient or exam",
    "question_t": "t over questions",
}
MARKS = "Readers: filled circles; models: open diamonds."
CI = "Bars: 95% CI by Wilson, which takes questions as independent."


def figure_legend(name: str, result: StoredAnalysis) -> str:
    """Title and notes of a figure as one paragraph. Raises KeyError for a figure that there is not."""
    title, notes = LEGENDS[name]
    sentences = [title, *notes(result), *_everywhere(result)]
    return " ".join(f"{one[0].upper()}{one[1:].removesuffix('.')}." for one in sentences if one)


def _everywhere(result: StoredAnalysis) -> Iterator[str]:
    yield from headings(result)
    if post_hoc_models(result):
        yield f"{POST_HOC_MARK} Post hoc: chosen or brought in after results had been seen"
    if result["simulated"]:
        yield "Simulated data"


def printed_limits(one: Value, *, signed: bool = False) -> str:
    """ "76.1, 88.3"; empty where there is no interval."""
    return ", ".join(printed_percent(limit, one["n"], signed=signed) for limit in one["ci95"] or ())


def is_small(accuracy: Value) -> bool:
    return accuracy["value"] is not None and accuracy["n"] < FEWEST_TRIALS


# --- one figure each ------------------------------------------------------------------------------
def _of_accuracy(result: StoredAnalysis) -> Iterator[str]:
    yield f"{MARKS} {CI} Numbers: percent correct (95% CI), and correct answers of the questions that count"
    mean = result["mrmc"]["readers"]
    if mean["value"] is not None:
        yield f"Dashed line: mean of the readers, {_mean_of_readers(mean)}"
    yield f"Dotted line: chance, {100 // N_OPTIONS}%"
    if any(is_small(one["accuracy"]) for one in result["panels"][ALL_TASKS]["raters"]):
        yield f"{DAGGER} n < {FEWEST_TRIALS}"


def _mean_of_readers(mean: MultiReaderValue) -> str:
    line = planned_line(mean)
    limits = f"95% CI: {printed_limits(mean)}" if mean["ci95"] else "no interval"
    asides = [line.aside, WITH_MOVER * line.is_by_mover, counted(mean), *map(caution_words, mean["flags"])]
    return (
        f"{printed_percent(mean['value'] or 0, mean['n'])}% ({'; '.join([limits, line.words, *filter(None, asides)])})"
    )


def _of_breakdown(result: StoredAnalysis) -> Iterator[str]:
    yield f"{MARKS} {CI} Dotted line: chance, {100 // N_OPTIONS}%"
    yield "n: questions; exploratory, no test was planned by task or category"
    yield f"Tasks and categories of fewer than {FEWEST_TRIALS} questions are not drawn"


def _of_planned(result: StoredAnalysis) -> Iterator[str]:
    rows, head = _rows(result), [MADE_AFTER] if is_made_after_readings(result) else []
    yield from head
    yield "Squares: accuracy of the model minus the mean of the readers; bars: 95% CI"
    if rows:
        line = rows[0].planned
        about = [line.words, line.aside, WITH_MOVER * line.is_by_mover]
        yield f"Inference of the plan: {'; '.join(filter(None, about))}"
        if any(map(adjusted_p, rows)):
            yield "P: two-sided, adjusted by Holm over the planned models; intervals are not adjusted"
        else:
            yield "Intervals are not adjusted for several models"
        if rows[0].row["margin"]:
            yield f"Dotted line: non-inferiority margin, {100 * rows[0].row['margin']:g} points"
    yield from _counts(result, rows)


def _of_inferences(result: StoredAnalysis) -> Iterator[str]:
    rows = _rows(result)
    if is_made_after_readings(result):
        yield MADE_AFTER
    readers = result["mrmc"]["readers"]
    unit = f" {unit_words(readers['unit'])}" if readers["by_cluster"] else ""
    by_mover = any(line.is_by_mover for one in rows for line in one.lines[:3])
    how = "by t, of random readers and random questions by MOVER" if by_mover else "by t"
    yield f"95% CIs {how}{unit}, not adjusted for several models"
    if rows and rows[0].by_reader:
        rules = dict.fromkeys(OWN[one.by_reader[0]["method"]] for one in rows)
        yield f"Each reader alone: {' or '.join(rules)}"
    yield from _counts(result, rows)
    yield WHY_NARROWER


def _counts(result: StoredAnalysis, rows: Sequence[Planned]) -> Iterator[str]:
    readers = result["mrmc"]["readers"]
    yield counted(readers)
    fewer = [(one.row["first"], n) for one in rows if (n := one.planned.value["n_questions"]) < readers["n_questions"]]
    if fewer:
        yield f"Over fewer questions: {', '.join(f'{name} {n}' for name, n in fewer)}"
    if any(one.n_runs for one in rows):
        yield means_of_runs(result)
    yield from _cautions(rows)


def adjusted_p(one: Planned) -> str:
    """As it is printed; empty where nothing is adjusted."""
    p_holm = one.row.get("p_holm")  # a post hoc model has none
    p = p_holm["value"] if p_holm else None
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _rows(result: StoredAnalysis) -> list[Planned]:
    late = post_hoc_table(result)
    return [*planned_rows(result), *(late.planned if late else [])]


def _cautions(rows: Sequence[Planned]) -> Iterator[str]:
    """Each flag of an inference once, with the models that it is about where it is not all."""
    about: dict[str, list[str]] = {}
    for one in rows:
        flags = [name for line in one.lines[:3] for name in line.value["flags"]]
        for name in dict.fromkeys(flags):
            about.setdefault(name, []).append(one.row["first"])
    for name, models in about.items():
        if name in CAUTIONS:
            yield caution_words(name) + ("" if len(models) == len(rows) else f" ({', '.join(models)})")


def _of_heatmap(result: StoredAnalysis) -> Iterator[str]:
    yield "Readers in bold and first, then models by accuracy; a gap parts the two"
    yield f"Hatched: undefined, or fewer than {FEWEST_FOR_KAPPA} questions answered by both"
    yield "Dotted frame: fewer than 30 questions or fewer than 5 disagreements"
    yield "Intervals of every pair are in the table of pairs"


def _of_time(result: StoredAnalysis) -> Iterator[str]:
    yield "A: seconds per case, log scale; box: quartiles; line: median; whiskers: 5th and 95th percentile (type 7)"
    yield "Diamond: geometric mean, whose 95% CI is in the table of times"
    yield "B: change of time per ten cases along the order with 95% CI; all readers: adjusted for reader and case"
    yield "Active time: hidden, paused and absent spans are taken out; cases cut at the limit are placed there"
    yield "Where the cut cases leave a value open it is n/a, or its whisker is not drawn"


def _of_calibration(result: StoredAnalysis) -> Iterator[str]:
    yield "Share correct of the answers with about this stated chance; size of a mark: answers"
    yield "Bars: 95% CI by Wilson, which takes answers as independent"
    yield "Dashed diagonal: as often correct as stated; below it overconfident"


Notes = Callable[[StoredAnalysis], Iterator[str]]
LEGENDS: dict[str, tuple[str, Notes]] = {
    "difference": ("Accuracy of each model minus the mean of the readers", _of_planned),
    "inferences": ("Accuracy of each model minus the mean of the readers, by three inferences", _of_inferences),
    "accuracy": ("Accuracy of readers and models over all questions", _of_accuracy),
    "accuracy-by-task": ("Accuracy of readers and models by task", _of_breakdown),
    "accuracy-by-category": ("Accuracy of readers and models by category of the questions", _of_breakdown),
    "agreement": ("Agreement of every pair of raters on the chosen option, Cohen’s kappa", _of_heatmap),
    "error-consistency": ("Agreement of every pair of raters on being right or wrong, Cohen’s kappa", _of_heatmap),
    "time": ("Time per case", _of_time),
    "calibration": ("Calibration of stated confidence", _of_calibration),
}


# --- How readers and models look in every figure of a study ---------------------------------------
READER_COLOUR, MODEL_COLOUR = BLUE, ORANGE


def marks_of(result: StoredAnalysis, names: Sequence[str]) -> list[str]:
    """The sign behind each name: a mark behind that of a model which nobody can have planned."""
    late = {one["name"] for one in post_hoc_models(result)}
    return [f" {POST_HOC_MARK}" if name in late else "" for name in names]


def mark(figure: Figure, result: StoredAnalysis, left_out: str = "") -> None:
    """What is true of the whole analysis, and what its names have ``left_out``, in the picture itself."""
    from annotation.tables.kernels.style import mark_simulated  # loads matplotlib: not at every start

    mark_simulated(figure, simulated=result["simulated"], left_out=left_out, also=headings(result))


def mark_of(kind: str) -> dict[str, Any]:
    """Marker and colour of a rater: readers filled circles, models open diamonds."""
    if kind == READER:
        return {"marker": "o", "color": READER_COLOUR, "markerfacecolor": READER_COLOUR}
    return {"marker": "D", "color": MODEL_COLOUR, "markerfacecolor": "white"}
