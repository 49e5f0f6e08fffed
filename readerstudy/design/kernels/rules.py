"""The rules of a study and its analysis plan: plain values with their defaults, checked, read from JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from typing import Any, get_type_hints

from annotation.enums import LEAST_WINDOW, MOST_WINDOW, ViewerTool
from readerstudy.design.kernels.assumptions import Assumptions, AssumptionsRefused, read_assumptions
from readerstudy.design.kernels.planned_pairs import Pair, PairsRefused, read_pairs
from readerstudy.design.kernels.planned_runs import PlannedRun, RunsRefused, read_runs
from readerstudy.enums import Block

CHANCES = (25, 40, 60, 80, 95)  # percent; what a reader can say about the chance of being right
LEAST_READY, MOST_READY = 2, 10
ALWAYS_SAID = ("primary", "inference", "family", "late_answers", "voids")  # of an analysis plan
RANDOM_BOTH = "random readers, random questions"
FIXED_READERS, FIXED_QUESTIONS = "fixed readers, random questions", "random readers, fixed questions"
INFERENCES = {  # that the program makes, in the words of a plan and as kernels name them
    FIXED_READERS: "fixed_readers_random_questions",
    RANDOM_BOTH: "random_readers_random_questions",
    FIXED_QUESTIONS: "random_readers_fixed_questions",
}
FEW_READERS = 5  # with fewer the population of readers is judged poorly
GRACE_MS = 2_000  # over the limit, on the client's monotonic clock


def _(text: str) -> str:
    """Mark a sentence for translation; pages translate it where it is shown."""
    return text


class RulesRefused(ValueError):
    """A rule has a value that it cannot have; ``field`` names it, the sentence says what would do."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How a study is read. The defaults are those of docs/reader-studies.md."""

    time_limit_s: int | None = None  # per case; None: no limit and no clock on screen
    shuffle_options: bool = False  # "none of the above" and references to letters stay in place
    confidence: bool = False  # asked by key after the commit
    slips: bool = True  # a slip can be reported until the next commit
    cannot_tell: bool = False  # a best guess is asked after it
    n_ready: int = 2  # cases that a reader's page may hold ahead, of their own order
    break_every: int | None = None  # cases, after which the page offers a break
    may_pause: bool = True
    practice_pass: int | None = None  # right answers needed in the practice block; None: it need not be passed
    show_results: bool = False  # own results on the last page
    several_per_patient: bool = False
    hidden_tools: tuple[str, ...] = ()  # annotation.enums.ViewerTool values
    least_width: int | None = None  # of the browser window, CSS pixels
    least_height: int | None = None
    reader_names: bool = False  # coordinators read names on results pages and in figures, else pseudonyms

    def as_json(self) -> dict[str, Any]:
        """Names of readers are told only where they show: a plan from before that rule keeps its text and its hash."""
        values = {**asdict(self), "hidden_tools": list(self.hidden_tools)}
        if not self.reader_names:
            del values["reader_names"]
        return values

    @property
    def asks_after_the_answer(self) -> bool:
        """Whether the next case waits for what a reader says about the answer before it."""
        return self.confidence or self.cannot_tell

    def has_break_before(self, block: str, position: int) -> bool:
        """Whether a break is offered before this place: after every so many cases of the main block."""
        done = position - 1
        return self.break_every is not None and block == Block.MAIN and done > 0 and done % self.break_every == 0


@dataclass(frozen=True, kw_only=True)
class AnalysisPlan:
    """What is compared, how, and what counts; part of the frozen protocol."""

    primary: str = "each model minus the mean of the readers, all tasks"
    inference: str = RANDOM_BOTH  # of new drafts: ``proposed_inference``
    margin: float | None = None  # for non-inferiority
    margin_reason: str = ""  # one line; plans from before it was asked for have none
    family: str = "Holm over the models"
    pairs: tuple[Pair, ...] = ()  # of raters, tested beside it: a family of their own
    runs: tuple[PlannedRun, ...] = ()  # which run stands for a model; of others the one named for the figures
    late_answers: str = "counted wrong"
    voids: str = "left out when decided before unblinding, a sensitivity line afterwards"
    notes: str = ""
    assumptions: Assumptions | None = None  # of the forecast; None: its defaults
    own_words: tuple[str, ...] = ()  # parts that were frozen in words by which the program cannot act

    def as_json(self) -> dict[str, Any]:
        """What came later is named only where it is there: a plan from before keeps its text and its hash."""
        values = {
            **asdict(self),
            "pairs": [list(pair) for pair in self.pairs],
            "runs": [list(run) for run in self.runs],
            "own_words": list(self.own_words),
        }
        for later in ("pairs", "runs", "margin_reason", "assumptions", "own_words"):
            if not values[later]:
                del values[later]
        return values


MADE = {  # by the program, of the parts of a plan, in the words of a plan; of other words it makes the first
    "primary": (AnalysisPlan.primary,),
    "inference": tuple(sorted(INFERENCES, key=RANDOM_BOTH.__ne__)),
    "family": (AnalysisPlan.family,),
    "late_answers": (AnalysisPlan.late_answers,),
    "voids": (AnalysisPlan.voids,),
}


def known_choice(part: str, words: str) -> str:
    """What the program makes of a part that says these words, as plans name it; empty for words of one's own."""
    wanted = words.strip().rstrip(".").lower()
    return next((choice for choice in MADE[part] if choice.lower() == wanted), "")


def known_inference(words: str) -> str:
    return known_choice("inference", words)


def with_choices(plan: AnalysisPlan) -> AnalysisPlan:
    """The plan as it is frozen: choices as the program names them, and which parts are in words of its own."""
    known: dict[str, Any] = {part: known_choice(part, getattr(plan, part)) for part in MADE}
    chosen = {part: choice for part, choice in known.items() if choice}
    return replace(plan, **chosen, own_words=tuple(part for part in MADE if part not in chosen))


def proposed_inference(n_readers: int) -> str:
    """Few readers tell little of others, so that the plan of such a study speaks of these readers."""
    return FIXED_READERS if n_readers < FEW_READERS else RANDOM_BOTH


def proposed_analysis(n_readers: int) -> AnalysisPlan:
    return AnalysisPlan(inference=proposed_inference(n_readers))


def is_made(plan: Mapping[str, Any]) -> bool:
    """Whether the program makes what a stored plan names.

    Plans that were frozen before every part was a choice are judged by their primary comparison and inference alone.
    """
    names_it = plan["primary"] == AnalysisPlan.primary and str(plan["inference"]).strip().lower() in INFERENCES
    return names_it and not plan.get("own_words")


def read_rules(data: Mapping[str, Any]) -> Rules:
    """Rules from JSON; what is not named keeps its default. Raises RulesRefused."""
    values = _known(Rules, data)
    tools = values.get("hidden_tools", ())
    if not isinstance(tools, list | tuple) or not all(isinstance(tool, str) for tool in tools):
        raise RulesRefused("hidden_tools", _("The hidden tools are a list of names."))
    if set(tools) - set(ViewerTool.values()):
        raise RulesRefused("hidden_tools", _("The images have no tool of this name."))
    rules = Rules(**{**values, "hidden_tools": tuple(tools)})
    _check(rules)
    return rules


def read_analysis(data: Mapping[str, Any]) -> AnalysisPlan:
    """An analysis plan from JSON. Raises RulesRefused."""
    values = _known(AnalysisPlan, data)
    empty = [name for name in ALWAYS_SAID if name in values and not values[name].strip()]
    if empty:
        raise RulesRefused(empty[0], _("This is said in every plan: leave it out for the default."))
    margin = values.get("margin")
    if margin is not None and not 0 < margin < 1:
        raise RulesRefused("margin", _("A margin lies between 0 and 1."))
    if "\n" in values.get("margin_reason", "").strip():
        raise RulesRefused("margin_reason", _("The reason of the margin is one line."))
    try:
        pairs = read_pairs(values.get("pairs", ()))
    except PairsRefused as refusal:
        raise RulesRefused("pairs", str(refusal)) from refusal
    try:
        runs = read_runs(values.get("runs", ()))
    except RunsRefused as refusal:
        raise RulesRefused("runs", str(refusal)) from refusal
    assumptions, own_words = _assumptions(values.get("assumptions")), values.get("own_words", ())
    if not isinstance(own_words, list | tuple) or set(own_words) - set(MADE):
        raise RulesRefused("own_words", _("These are names of parts of the plan: leave them out."))
    made = {"pairs": pairs, "runs": runs, "assumptions": assumptions, "own_words": tuple(own_words)}
    return AnalysisPlan(**{**values, **made})


def _assumptions(data: object) -> Assumptions | None:
    if data is None or isinstance(data, Assumptions):
        return data
    try:
        return read_assumptions(data)
    except AssumptionsRefused as refusal:
        raise RulesRefused(", ".join(filter(None, ("assumptions", refusal.field))), str(refusal)) from refusal


def read_new_analysis(data: Mapping[str, Any], *, n_readers: int) -> AnalysisPlan:
    """The same for a plan that is still to be frozen: a margin has a reason, an inference not named is proposed."""
    plan = read_analysis({"inference": proposed_inference(n_readers), **data})
    check_margin_reason(plan)
    return plan


def check_margin_reason(plan: AnalysisPlan) -> None:
    """Raises RulesRefused where a margin has no reason. Studies that were frozen before may have none."""
    if plan.margin is not None and not plan.margin_reason.strip():
        sentence = _("Say in one line why a difference of this size does not matter, or leave out the margin.")
        raise RulesRefused("margin_reason", sentence)


def _check(rules: Rules) -> None:
    if not LEAST_READY <= rules.n_ready <= MOST_READY:
        raise RulesRefused("n_ready", _("Two to ten cases can be ready."))
    bounds = {
        "time_limit_s": (5, 3600),
        "break_every": (1, 1000),
        "practice_pass": (1, 100),
        "least_width": (LEAST_WINDOW[0], MOST_WINDOW[0]),
        "least_height": (LEAST_WINDOW[1], MOST_WINDOW[1]),
    }
    for name, (least, most) in bounds.items():
        value = getattr(rules, name)
        if value is not None and not least <= value <= most:
            raise RulesRefused(name, _("This number is out of range."))
    if (rules.least_width is None) != (rules.least_height is None):
        raise RulesRefused("least_width", _("A smallest window has a width and a height."))


def _known(kind: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a dataclass, each of its type. Raises RulesRefused for an unknown name or another type."""
    hints = _hints(kind)
    for name, value in data.items():
        if name not in hints:
            raise RulesRefused(name, _("There is no such rule."))
        if not _fits(value, hints[name]):
            raise RulesRefused(name, _("This rule has another kind of value."))
    return dict(data)


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    """The type of each field, kept: every answer of a reader reads the rules several times."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _fits(value: object, hint: Any) -> bool:
    if hint is str:
        return is_text(value)
    if hint is bool:
        return isinstance(value, bool)
    if hint == int | None or hint is int:
        return (value is None and hint is not int) or (isinstance(value, int) and not isinstance(value, bool))
    if hint == float | None:
        return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    return True


def is_text(value: object) -> bool:
    """A text that every database can keep: without zero bytes, and without halves of characters."""
    return isinstance(value, str) and not any(sign == "\0" or "\ud800" <= sign <= "\udfff" for sign in value)
