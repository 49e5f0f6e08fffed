"""What a study of these cases and readers will be able to show, under stated assumptions. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from annotation.enums import Task
from annotation.statistics.kernels.estimate import FEW_READERS, ZERO_TRIALS, Estimate, undefined
from annotation.statistics.kernels.intervals import wilson
from annotation.statistics.kernels.planning import (
    ALPHA,
    Components,
    Reading,
    cases_needed,
    expected_width,
    half_width,
    half_width_by_mover,
    kappa_half_width,
    power_at_margin,
    reader_vs_model_power,
    readers_needed,
    smallest_difference,
)
from readerstudy.design.kernels.analysis_plan import (
    FIXED_READERS,
    INFERENCES,
    RANDOM_BOTH,
    AnalysisPlan,
    known_inference,
)
from readerstudy.design.kernels.assumptions import Assumptions
from readerstudy.design.kernels.drawing import CellCount

RANDOM_CASES = 200  # of which the page says how few rare questions they hold
RARE = (Task.GEOMETRIC, Task.LOCATION)
FEWEST_READERS = 5  # below it both inferences are shown side by side
N_OPTIONS = 4
DIGITS = 6  # of what the protocol keeps, so that every machine writes the same


@dataclass(frozen=True)
class ExpectedInterval:
    """Wilson's 95 % interval where exactly the assumed share is right, and the mean width over what can happen.

    ``task`` empty: all of them together. Both are missing without a case.
    """

    task: str
    estimate: Estimate
    width: float | None

    @property
    def half_width(self) -> float | None:
        return None if self.width is None else self.width / 2

    @property
    def label(self) -> str:
        return Task(self.task).label if self.task else ""


@dataclass(frozen=True, kw_only=True)
class InferenceForecast:
    """A model against the mean of the readers, by one inference. What cannot be reached is None."""

    inference: str  # in the words of a plan
    is_named: bool  # by the plan
    se: float
    df: float
    half_width: float
    half_width_mover: float | None = None  # of fewer than five random readers, whose limits are by it; flagged
    flags: tuple[str, ...] = ()
    power: float
    power_first_step: float  # of Holm over the models
    power_margin: float | None  # to show that the model is not inferior; None without a margin
    power_margin_first_step: float | None
    readers_needed: int | None
    cases_needed: int | None
    power_at_most: float  # whatever the number of cases, with these readers


@dataclass(frozen=True)
class ExpectedKappa:
    value: float
    half_width: float


@dataclass(frozen=True, kw_only=True)
class Forecast:
    assumed: Assumptions
    n: int  # cases of one reader
    n_cases: int  # of all sets together
    n_readers: int
    n_sets: int
    margin: float | None
    overall: ExpectedInterval
    tasks: list[ExpectedInterval]
    least_difference: float | None  # of two raters by McNemar's test; None: no difference can be found
    components: Components | None
    inferences: list[InferenceForecast]  # the one that the plan names comes first; empty: ``nothing_because`` says why
    nothing_because: str
    kappa_readers: ExpectedKappa | None  # None where accuracies and discordance do not fit together
    kappa_model_reader: ExpectedKappa | None

    def as_json(self) -> dict[str, Any]:
        """What the protocol keeps: nothing of tasks or keys."""
        return {
            "n_readers": self.n_readers,
            "n_cases": self.n_cases,
            "n_sets": self.n_sets,
            "margin": self.margin,
            "components": _rounded(self.components),
            "inferences": [_rounded(one) for one in self.inferences],
            "nothing_because": self.nothing_because,
            "kappa_readers": _rounded(self.kappa_readers),
            "kappa_model_reader": _rounded(self.kappa_model_reader),
        }


def forecast(
    cells: Sequence[CellCount], *, sets: Sequence[Iterable[int]], n_readers: int, plan: AnalysisPlan
) -> Forecast:
    """``cells`` are those of one reader's set, ``sets`` the numbers of the cases of each.

    Numbers beside tasks are of one reader; a model against the readers is over all sets, with the readers dealt
    out evenly.
    """
    assumed = plan.assumptions or Assumptions()
    n_of: dict[str, int] = dict.fromkeys(Task.values(), 0)
    for cell in cells:
        n_of[cell.task] += cell.n_drawn
    n, dealt = sum(n_of.values()), Dealt.of(sets)
    found, why = assumed.components(), _nothing_because(assumed, n_readers, dealt)
    inferences = [] if why or found is None else _inferences(found, dealt, n_readers, plan, assumed)
    accuracy, model = assumed.accuracy, assumed.accuracy + assumed.delta
    return Forecast(
        assumed=assumed,
        n=n,
        n_cases=dealt.n_cases,
        n_readers=n_readers,
        n_sets=dealt.n_sets,
        margin=plan.margin,
        overall=_expected("", n, accuracy),
        tasks=[_expected(task, n_task, accuracy) for task, n_task in n_of.items()],
        least_difference=smallest_difference(n, assumed.discordant_model_reader),
        components=found,
        inferences=inferences,
        nothing_because=why,
        kappa_readers=_kappa(accuracy, accuracy, assumed.discordant_readers, n),
        kappa_model_reader=_kappa(model, accuracy, assumed.discordant_model_reader, n),
    )


@dataclass(frozen=True)
class Dealt:
    """How many cases are in which of the sets. The readers are dealt out evenly to these."""

    n_sets: int
    n_in: Mapping[frozenset[int], int]  # places of the sets that hold a case -> cases

    @classmethod
    def of(cls, sets: Sequence[Iterable[int]]) -> Dealt:
        places: dict[int, list[int]] = {}
        for place, cases in enumerate(sets):
            for case in cases:
                places.setdefault(case, []).append(place)
        return cls(len(sets), Counter(map(frozenset, places.values())))

    @property
    def n_cases(self) -> int:
        return sum(self.n_in.values())

    def mean_inverse_readers(self, n_readers: int) -> float | None:
        """Mean over the cases of one over the readers of a case; None where a set has nobody."""
        if n_readers < self.n_sets:
            return None
        least, more = divmod(n_readers, self.n_sets)
        total = sum(n / sum(least + (place < more) for place in within) for within, n in self.n_in.items())
        return total / self.n_cases


def _nothing_because(assumed: Assumptions, n_readers: int, dealt: Dealt) -> str:
    if assumed.components() is None:
        return "the assumptions contradict each other"
    if dealt.n_cases < 2:
        return "needs two cases or more"
    if n_readers < dealt.n_sets:
        return "needs at least one reader for each set"
    if assumed.components() == Components(0.0, 0.0, 0.0):
        return "under these assumptions nothing varies"
    return ""


def _inferences(
    found: Components, dealt: Dealt, n_readers: int, plan: AnalysisPlan, assumed: Assumptions
) -> list[InferenceForecast]:
    named = known_inference(plan.inference)
    wanted = [FIXED_READERS, RANDOM_BOTH] if n_readers < FEWEST_READERS else [RANDOM_BOTH]
    ordered = dict.fromkeys([*([named] if named else []), *wanted])
    possible = [FIXED_READERS] if n_readers < 2 else ordered
    reading = Reading(
        readers=n_readers,
        cases=dealt.n_cases,
        inverse_readers=dealt.mean_inverse_readers(n_readers),
        design_effect=assumed.design_effect,
    )
    return [_by_inference(found, reading, dealt, one, one == named, plan.margin, assumed) for one in possible]


def _by_inference(
    found: Components,
    reading: Reading,
    dealt: Dealt,
    words: str,
    is_named: bool,
    margin: float | None,
    assumed: Assumptions,
) -> InferenceForecast:
    inference, delta, first_step = INFERENCES[words], assumed.delta, ALPHA / assumed.models
    whole = reader_vs_model_power(found, reading, delta=delta, inference=inference)
    few = inference == INFERENCES[RANDOM_BOTH] and reading.readers < FEWEST_READERS

    def at_margin(alpha: float) -> float | None:
        return None if margin is None else power_at_margin(whole.se, whole.df, assumed.delta_for_margin, margin, alpha)

    needed, at_most = cases_needed(found, reading, delta=delta, target=assumed.target, inference=inference)
    return InferenceForecast(
        inference=words,
        is_named=is_named,
        se=whole.se,
        df=whole.df,
        half_width=half_width(whole.se, whole.df),
        half_width_mover=half_width_by_mover(found, reading) if few else None,
        flags=(FEW_READERS,) if few else (),
        power=whole.power,
        power_first_step=reader_vs_model_power(
            found, reading, delta=delta, alpha=first_step, inference=inference
        ).power,
        power_margin=at_margin(ALPHA),
        power_margin_first_step=at_margin(first_step),
        readers_needed=readers_needed(
            found,
            reading,
            delta=delta,
            target=assumed.target,
            inverse_of=dealt.mean_inverse_readers,
            inference=inference,
        ),
        cases_needed=needed,
        power_at_most=at_most,
    )


def _kappa(first: float, second: float, discordant: float, n: int) -> ExpectedKappa | None:
    found = kappa_half_width(first, second, discordant, n, N_OPTIONS)
    return None if found is None else ExpectedKappa(*found)


def _expected(task: str, n: int, accuracy: float) -> ExpectedInterval:
    if n == 0:
        return ExpectedInterval(task, undefined(ZERO_TRIALS, n=0, method="wilson"), None)
    estimate = Estimate(accuracy, wilson(accuracy * n, n), n, "wilson")
    return ExpectedInterval(task, estimate, expected_width(accuracy, n))


def _rounded(part: Any) -> dict[str, Any] | None:
    """Infinite degrees of freedom have no place in JSON: None."""
    if part is None:
        return None
    values = asdict(part)
    for name, value in values.items():
        if isinstance(value, float):
            values[name] = round(value, DIGITS) if value != float("inf") else None
    return values


def rare_in_random(n_by_task: Mapping[str, int], n: int = RANDOM_CASES) -> list[tuple[Task, float]]:
    """How many questions of the rare tasks ``n`` random ones of a bank hold on average."""
    total = sum(n_by_task.values())
    return [(task, n * n_by_task.get(task, 0) / total if total else 0.0) for task in RARE]
