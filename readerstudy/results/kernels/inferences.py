"""The inferences of a multi-reader analysis as lines, and the words beside them; each model minus the mean of the
readers, and the planned pairs. Pure.

Every page, figure and table that shows such an analysis takes its lines and its words from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from annotation.statistics.kernels.cautions import FLAGS
from annotation.statistics.kernels.estimate import Value
from readerstudy.analysis.kernels.panel_result import MultiReaderFigures, MultiReaderValue, ReaderDifference
from readerstudy.analysis.kernels.result import (
    BY_CLUSTER,
    BY_MOVER,
    BY_QUESTION,
    COMPLETE_ROWS,
    FIXED,
    FIXED_QUESTIONS,
    INFERENCES,
    MISSING_RIGHT,
    MISSING_WRONG,
    MOVER,
    OTHER_ANSWERS,
    RANDOM,
    Comparison,
    StoredAnalysis,
    StoredRater,
    inference_in,
    method_in,
    plain,
    unit_in,
)
from readerstudy.results.kernels.stored import (
    left_models,
    order_of,
    planned_comparisons,
    planned_pairs,
    post_hoc_comparisons,
    post_hoc_differences,
    post_hoc_models,
    runs_in_mean,
)

OF_DESIGN = frozenset({"small_n", "readers_dropped", "questions_dropped", "answers_missing", "post_hoc"})
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
COUNTED = frozenset({"readers_dropped", "questions_dropped", "answers_missing"})  # flags whose counts say more
WITH_MOVER = "limits by MOVER"
SHORT = {"few_readers": "fewer than 5 readers"}  # in rows; captions explain why
CAUTIONS = (  # in figures, too
    *("small_n", "few_readers", "as_fixed_readers", "few_clusters", "no_variation"),
    *("readers_dropped", "questions_dropped", "answers_missing"),
)
WHY_NARROWER = (
    "An interval for random readers and random questions can be narrower than one of the other two. Its estimate of "
    "the variance between readers can be zero or negative where readers differ no more than by chance; by t its "
    "degrees of freedom come from readers and questions, where an interval for these questions alone has one fewer "
    "than there are readers."
)


class LineValue(Value):
    """A value with what its interval was made of, and what it is over."""

    se: float | None
    df: float | None
    ci90: list[float] | None
    p: float | None
    n_readers: int
    n_readers_dropped: int
    n_questions: int
    n_questions_dropped: int
    n_cells: int
    n_missing: int


class Line(Struct, frozen=True):
    """One interval of a mean or of a difference."""

    inference: str
    unit: str
    sensitivity: str  # what makes it a sensitivity analysis: MOVER, COMPLETE_ROWS, the other unit; empty: an inference
    is_planned: bool
    value: LineValue

    @property
    def words(self) -> str:
        """ "these three readers, random questions, by question"."""
        what = {
            MOVER: "wider limits (MOVER)",
            COMPLETE_ROWS: "only questions that no reader missed",
            MISSING_WRONG: "missing answers as wrong",
            MISSING_RIGHT: "missing answers as right",
        }
        aside = {**what, self.unit: unit_words(self.unit)}.get(self.sensitivity)
        return ", ".join(filter(None, [inference_words(self.inference, self.value["n_readers"]), aside]))

    @property
    def is_by_mover(self) -> bool:
        """Of other readers judged from fewer than five, whose limits and p are not by t."""
        return BY_MOVER in self.value["method"]

    @property
    def has_own_value(self) -> bool:
        """Whether it is over other questions than the planned line."""
        return self.sensitivity in OTHER_ANSWERS

    @property
    def beside(self) -> str:
        """What the line does not say, and what to be careful about."""
        return "; ".join(filter(None, [self.aside, self.cautions]))

    @property
    def cautions(self) -> str:
        """What to be careful about, and what is left out, which is shown with the planned line."""
        about = [flag for flag in self.value["flags"] if self.is_planned or flag not in OF_DESIGN]
        flags = [SHORT.get(flag, caution_words(flag)) for flag in about if flag not in COUNTED]
        flags += [WITH_MOVER] * self.is_by_mover
        left = left_out(self.value) if self.is_planned or self.has_own_value else ""
        return "; ".join(filter(None, [*flags, left]))

    @property
    def aside(self) -> str:
        """What the line does not say; empty where there is nothing to add."""
        return "says nothing about other readers" if self.inference == FIXED else ""


def means_of_runs(result: StoredAnalysis) -> str:
    """The models whose mean of runs is compared with the readers; empty where none does."""
    return ", ".join(f"{name}: mean of {n} runs" for name, n in runs_in_mean(result).items())


def lines_of(found: MultiReaderValue) -> list[Line]:
    """The planned inference, the two others, then the sensitivity analyses of the planned one.

    ``found``: the mean of the readers, or a model minus it, as ``mrmc`` of the JSON holds it.
    """
    unit, planned = found["unit"], found["inference"]
    names = [planned, *(name for name in INFERENCES if name != planned)]
    return [*(_line(found, name, unit, is_planned=name == planned) for name in names), *_sensitivity(found)]


def planned_line(found: MultiReaderValue) -> Line:
    return lines_of(found)[0]


def _sensitivity(found: MultiReaderValue) -> Iterator[Line]:
    unit, planned = found["unit"], found["inference"]
    by_unit = unit_in(found, unit)
    few = "few_readers" in by_unit["random_readers_random_questions"]["flags"]
    if few and by_unit["mover_ci95"] is not None and "mover_ci90" not in by_unit:  # earlier rules had it beside t
        line = _line(found, RANDOM, unit, sensitivity=MOVER)
        method = line.value["method"].replace(RANDOM, MOVER)
        limits: LineValue = {
            **line.value,
            "ci95": by_unit["mover_ci95"],
            "method": method,
            "df": None,
            "ci90": None,
            "p": None,
        }
        yield Line(RANDOM, unit, MOVER, is_planned=False, value=limits)
    if found["by_cluster"] is not None:
        yield _line(found, planned, BY_QUESTION, sensitivity=BY_QUESTION)
    for name in OTHER_ANSWERS:
        if other := plain(found).get(name):
            yield _line(other, planned, unit, sensitivity=name)


def _of_plan(found: MultiReaderFigures) -> str:
    """The method by the plan, without what it says of runs."""
    return method_in(unit_in(found, found["unit"]), found["unit"], found["inference"])


def _line(
    found: MultiReaderFigures, inference: str, unit: str, *, sensitivity: str = "", is_planned: bool = False
) -> Line:
    by_unit = unit_in(found, unit)
    by = inference_in(by_unit, inference)
    flags = [*(flag for flag in found["flags"] if flag in OF_DESIGN), *by["flags"]]
    value: LineValue = {
        "value": found["value"],
        "ci95": by["ci95"],
        "n": found["n"],
        "method": f"{method_in(by_unit, unit, inference)}{found['method'].removeprefix(_of_plan(found))}",
        "flags": list(dict.fromkeys(flags)),
        "reason": found["reason"] or by["reason"],
        "se": by["se"],
        "df": by["df"],
        "ci90": by["ci90"],
        "p": by["p"],
        "n_readers": found["n_readers"],
        "n_readers_dropped": found["n_readers_dropped"],
        "n_questions": found["n_questions"],
        "n_questions_dropped": found["n_questions_dropped"],
        "n_cells": found["n_cells"],
        "n_missing": found["n_missing"],
    }
    return Line(inference, unit, sensitivity, is_planned, value)


# --- words ----------------------------------------------------------------------------------------
def caution_words(flag: str) -> str:
    """What to be careful about; empty for what is shown elsewhere."""
    return FLAGS[flag].label if flag in CAUTIONS else ""


def inference_words(inference: str, n_readers: int) -> str:
    """ "these three readers, random questions"."""
    return {
        RANDOM: "random readers, random questions",
        FIXED: f"{these_readers(n_readers)}, random questions",
        FIXED_QUESTIONS: "random readers, these questions",
    }[inference]


def these_readers(n_readers: int) -> str:
    """ "these three readers"."""
    number = NUMBERS[n_readers - 1] if 0 < n_readers <= len(NUMBERS) else str(n_readers)
    return "this one reader" if n_readers == 1 else f"these {number} readers"


def unit_words(unit: str) -> str:
    return "by patient or exam" if unit == BY_CLUSTER else "by question"


def counted(found: MultiReaderValue | LineValue) -> str:
    """ "3 readers, 198 questions, 590 answers; without an answer: 2 questions"."""
    readers, questions, cells = found["n_readers"], found["n_questions"], found["n_cells"]
    words = f"{_number(readers, 'reader')}, {_number(questions, 'question')}"
    if readers > 1 and cells == readers * questions:
        words += " that all of them answered"
    elif readers > 1:
        words += f", {_number(cells, 'answer')}"
    left = left_out(found)
    return f"{words}; {left}" if left else words


def left_out(found: MultiReaderValue | LineValue) -> str:
    """What has no cell, in words; empty where everything counts."""
    counts = {"question": found["n_questions_dropped"], "reader": found["n_readers_dropped"]}
    dropped = [_number(n, what) for what, n in counts.items() if n]
    words = [f"without an answer: {' and '.join(dropped)}"] if dropped else []
    if found["n_missing"]:
        words.append(f"{_number(found['n_missing'], 'assigned answer')} missing")
    return ", ".join(words)


def _number(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


# --- Each model minus the mean of the readers, and the planned pairs, as tables, figures ----------
class Planned(Struct, frozen=True):
    """One model minus the mean of the readers."""

    row: Comparison
    lines: list[Line]  # by the inference of the plan, by the two others, then the sensitivity analyses
    by_reader: list[ReaderDifference]  # minus each reader alone, in the order of the readers
    has_left: bool = False  # the run was taken out after results were seen; it was planned and stays
    n_runs: int = 0  # in the mean that represents the model; 0: one run does

    @property
    def planned(self) -> Line:
        return self.lines[0]

    @property
    def others(self) -> list[Line]:
        return self.lines[1:]


def planned_rows(result: StoredAnalysis) -> list[Planned]:
    return _by_inference(result, planned_comparisons(result))


def _by_inference(result: StoredAnalysis, comparisons: Sequence[Comparison]) -> list[Planned]:
    found = []
    left, runs = {one["name"] for one in left_models(result)}, runs_in_mean(result)
    for row in comparisons:
        model = result["mrmc"]["models"][row["first"]]
        first, *others = lines_of(model)
        planned = replace(first, value={**first.value, **row["difference"], "reason": first.value["reason"]})
        name, own = row["first"], model["difference_by_reader"]
        found.append(Planned(row, [planned, *others], own, name in left, runs.get(name, 0)))
    return found


class OtherLine(Struct, frozen=True):
    """An interval beside the planned one, and the words beside it that its column does not say."""

    line: Line
    beside: str


class OtherLines(Struct, frozen=True):
    """The lines beside the planned intervals: a column for each kind of line, a row for each model."""

    columns: list[tuple[str, str]]  # what the line is, and the words beside it in every row
    rows: list[tuple[Planned, list[OtherLine | None]]]


def other_lines(planned: Sequence[Planned]) -> OtherLines:
    """A column says once what all of its lines say; a model without such a line has none there."""
    kinds = list(dict.fromkeys(line.words for one in planned for line in one.others))
    asides = {kind: {line.beside for one in planned for line in one.others if line.words == kind} for kind in kinds}
    common = {kind: words.pop() if len(words) == 1 else "" for kind, words in asides.items()}
    rows = []
    for one in planned:
        own = {line.words: OtherLine(line, "" if common[line.words] else line.beside) for line in one.others}
        rows.append((one, [own.get(kind) for kind in kinds]))
    return OtherLines(list(common.items()), rows)


class PostHoc(Struct, frozen=True):
    """What came or was chosen after somebody had seen a result: in no family, with raw p."""

    rows: list[tuple[Planned, StoredRater]]  # model minus the mean of the readers, and the model as ``raters`` has it
    pairs: list[Comparison]  # that the plan names, with such a model

    @property
    def planned(self) -> list[Planned]:
        return [one for one, _model in self.rows]


def post_hoc_table(result: StoredAnalysis) -> PostHoc | None:
    """Nothing where every model was there and named before unblinding."""
    models = {one["name"]: one for one in post_hoc_models(result)}
    rows = _by_inference(result, post_hoc_differences(result))
    pairs = [one for one in post_hoc_comparisons(result) if "table" in one]
    return PostHoc([(one, models[one.row["first"]]) for one in rows], pairs) if models else None


class PlannedPairs(Struct, frozen=True):
    """The family of pairs that the plan names, one test for each."""

    rows: list[tuple[Comparison, tuple[int, int] | None]]  # with the places of the two in the order of raters
    n_tests: int  # over which p is adjusted

    @property
    def has_clusters(self) -> bool:
        return any("difference_cluster" in row for row, _places in self.rows)

    def of(self, first: str, second: str) -> Comparison | None:
        return next((row for row, _places in self.rows if {row["first"], row["second"]} == {first, second}), None)


def planned_pairs_table(result: StoredAnalysis) -> PlannedPairs | None:
    """Nothing where the plan names no pair."""
    found, place = planned_pairs(result), {name: row for row, name in enumerate(order_of(result))}
    rows = [(one, (place[one["first"]], place[one["second"]]) if one["table"] else None) for one in found]
    return PlannedPairs(rows, sum(one["p"]["value"] is not None for one in found)) if rows else None


class Claims(Struct, frozen=True):
    """What the margin of the plan lets one say of each model against the mean of the readers."""

    margin: float
    reason: str
    rows: list[Comparison]
    n_tests: int  # over which the p of non-inferiority, and that of equivalence, is adjusted


def claims_of(result: StoredAnalysis) -> Claims | None:
    """Nothing where the plan names no margin."""
    rows = [one for one in planned_comparisons(result) if one["noninferiority_p"]]
    margin = rows[0]["margin"] if rows else None
    if margin is None:
        return None
    tests = [test for one in rows if (test := one["noninferiority_p_holm"])]
    n_tests = sum(test["value"] is not None for test in tests)
    return Claims(margin, result["plan"].get("margin_reason", ""), rows, n_tests)
