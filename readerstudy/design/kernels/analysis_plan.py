"""The analysis plan of a study: what is compared and how, which raters and runs it names, and what the program makes
of each choice. Pure.

Before a study is frozen nobody knows its raters: a name may be that of a model that is still to come, or the pseudonym
that a reader will get. Who is meant by it is found when the study is analysed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from annotation.enums import _
from readerstudy.design.kernels.assumptions import Assumptions, read_assumptions
from readerstudy.design.kernels.documents import DesignRefused, Document, Text, decode, within

EACH_READER, EACH_MODEL = "each reader", "each model"
GROUPS = (EACH_READER, EACH_MODEL)
BETWEEN = "|"
MOST_PAIRS = MOST_RUNS = 100
LONGEST_NAME = 301  # of a model: its name, a space, its version
MEAN_OF_RUNS = "mean of all runs"
ONE_RUN = re.compile(r"run ([1-9][0-9]{0,3})")
WHAT_DOES = f"“{MEAN_OF_RUNS}”, or “run 2” for the second"

Pair = tuple[str, str]
PlannedRun = tuple[str, str]  # name of a model; "mean of all runs", or "run" and its number


def folded(name: str) -> str:
    """What two ways of writing a name have in common: neither letters nor spaces tell raters apart."""
    return " ".join(name.split()).casefold()


def text_of(lines: Iterable[Pair]) -> str:
    """Pairs, or runs, one on each line, as ``pairs_of_text`` and ``runs_of_text`` read them."""
    return "\n".join(f" {BETWEEN} ".join(line) for line in lines)


def read_pairs(data: object) -> tuple[Pair, ...]:
    """Pairs from JSON: a list, each of two names. Refused with the number of the pair that cannot be."""
    if not isinstance(data, list | tuple):
        raise _bad_pairs('The pairs are a list, each of two names: [["Model A", "each reader"]].')
    if len(data) > MOST_PAIRS:
        raise _bad_pairs(f"A plan names {MOST_PAIRS} pairs at the most; these are {len(data)}.")
    pairs = tuple(_read_pair(one, number) for number, one in enumerate(data, 1))
    first_of: dict[frozenset[str], int] = {}
    for number, pair in enumerate(pairs, 1):
        first = first_of.setdefault(frozenset(map(folded, pair)), number)
        if first != number:
            raise _bad_pairs(f"Pair {number} is the same as pair {first}.")
    return pairs


def pairs_of_text(text: str) -> tuple[Pair, ...]:
    """One pair on each line that is not empty."""
    pairs = [line.split(BETWEEN) for line in text.splitlines() if line.strip()]
    for number, names in enumerate(pairs, 1):
        if len(names) != 2:
            raise _bad_pairs(f"Pair {number}: two names are expected on the line, with one {BETWEEN} between them.")
    return read_pairs(pairs)


def read_runs(data: object) -> tuple[PlannedRun, ...]:
    """Runs from JSON: a list, on each line a name and a run. Refused with the number of the line that cannot be."""
    if not isinstance(data, list | tuple):
        raise _bad_runs(f'The runs are a list, each of two texts: [["Model A", "{MEAN_OF_RUNS}"]].')
    return _read_runs(enumerate(data, 1))


def runs_of_text(text: str) -> tuple[PlannedRun, ...]:
    """One model on each line that is not empty."""
    lines = enumerate(text.splitlines(), 1)
    return _read_runs((number, line.split(BETWEEN)) for number, line in lines if line.strip())


def run_number(words: str) -> int | None:
    """None: the mean of all runs."""
    found = ONE_RUN.fullmatch(words)
    return int(found[1]) if found else None


def _bad_pairs(sentence: str) -> DesignRefused:
    return DesignRefused("bad_pairs", sentence)


def _bad_runs(sentence: str) -> DesignRefused:
    return DesignRefused("bad_runs", sentence)


def _two_texts(data: object) -> Sequence[str] | None:
    """Each with single spaces, empty for what is no text; None where these are not two."""
    if not isinstance(data, list | tuple) or len(data) != 2:
        return None
    return [" ".join(one.split()) if isinstance(one, str) else "" for one in data]


def _read_pair(data: object, number: int) -> Pair:
    names = _two_texts(data)
    if names is None:
        raise _bad_pairs(f"Pair {number}: two names are expected.")
    for name in names:
        if fault := _fault_of_name(name):
            raise _bad_pairs(f"Pair {number}: {fault}")
    first, second = (name.lower() if name.lower() in GROUPS else name for name in names)
    if folded(first) == folded(second) and first not in GROUPS:
        raise _bad_pairs(f"Pair {number} has the same name on both sides.")
    return first, second


def _read_runs(lines: Iterable[tuple[int, object]]) -> tuple[PlannedRun, ...]:
    found: list[PlannedRun] = []
    line_of: dict[str, int] = {}
    for number, line in lines:
        name, words = _read_run(line, number)
        first = line_of.setdefault(folded(name), number)
        if first != number:
            raise _bad_runs(f"Line {number}: “{name}” is on line {first} already. Keep one of the two.")
        found.append((name, words))
    if len(found) > MOST_RUNS:
        raise _bad_runs(f"A plan names the runs of {MOST_RUNS} models at the most; these are {len(found)}.")
    return tuple(found)


def _read_run(line: object, number: int) -> PlannedRun:
    texts = _two_texts(line)
    if texts is None:
        raise _bad_runs(f"Line {number}: write the name of a model, one {BETWEEN}, and {WHAT_DOES}.")
    name, words = texts
    if fault := _fault_of_name(name):
        raise _bad_runs(f"Line {number}: {fault}")
    if name.lower() in GROUPS:
        raise _bad_runs(f"Line {number}: name one model, not “{name}”.")
    if words.lower() != MEAN_OF_RUNS and not ONE_RUN.fullmatch(words.lower()):
        shown = f"“{words}” is no run" if words else "the run is missing"
        raise _bad_runs(f"Line {number}: {shown}. Write {WHAT_DOES}.")
    return name, words.lower()


def _fault_of_name(name: str) -> str:
    """Why no rater can be called so; empty where one can."""
    if not name:
        return "a name is a text that is not empty."
    if len(name) > LONGEST_NAME:
        return f"a name has {LONGEST_NAME} characters at the most."
    if BETWEEN in name or not name.isprintable():
        return f"a name has no {BETWEEN} and no sign that cannot be seen."
    return ""


# --- The analysis plan of a study: what is compared and how; its choices and what the -------------
RANDOM_BOTH = "random readers, random questions"
FIXED_READERS, FIXED_QUESTIONS = "fixed readers, random questions", "random readers, fixed questions"
INFERENCES = {  # that the program makes, in the words of a plan and as kernels name them
    FIXED_READERS: "fixed_readers_random_questions",
    RANDOM_BOTH: "random_readers_random_questions",
    FIXED_QUESTIONS: "random_readers_fixed_questions",
}
FEW_READERS = 5  # with fewer the population of readers is judged poorly
PRIMARY = "each model minus the mean of the readers, all tasks"
FAMILY = "Holm over the models"
LATE_ANSWERS = "counted wrong"
VOIDS = "left out when decided before unblinding, a sensitivity line afterwards"
MADE = {  # by the program, of the parts of a plan, in the words of a plan; of other words it makes the first
    "primary": (PRIMARY,),
    "inference": (RANDOM_BOTH, FIXED_READERS, FIXED_QUESTIONS),
    "family": (FAMILY,),
    "late_answers": (LATE_ANSWERS,),
    "voids": (VOIDS,),
}
Margin = Annotated[float, Meta(gt=0, lt=1)]


class AnalysisPlan(Document, frozen=True, kw_only=True):
    """What is compared, how, and what counts; part of the frozen protocol."""

    UNKNOWN: ClassVar[str] = _("There is no such rule.")
    WRONG_KIND: ClassVar[str] = _("This rule has another kind of value.")
    OUT_OF_RANGE: ClassVar[str] = _("A margin lies between 0 and 1.")

    primary: Text = PRIMARY
    inference: Text = RANDOM_BOTH  # of new drafts: ``proposed_inference``
    margin: Margin | None = None  # for non-inferiority
    margin_reason: Text = ""  # one line; plans from before it was asked for have none
    family: Text = FAMILY
    pairs: tuple[Pair, ...] = ()  # of raters, tested beside it: a family of their own
    runs: tuple[PlannedRun, ...] = ()  # which run represents a model; of others the main run
    late_answers: Text = LATE_ANSWERS
    voids: Text = VOIDS
    notes: Text = ""
    assumptions: Assumptions | None = None  # of the forecast; None: its defaults
    own_words: tuple[str, ...] = ()  # parts that were frozen in words by which the program cannot act

    def as_json(self) -> dict[str, Any]:
        """What came later is named only where it is there: a plan from before keeps its text and its hash."""
        values = {
            **asdict(self),
            "pairs": [list(pair) for pair in self.pairs],
            "runs": [list(run) for run in self.runs],
            "assumptions": self.assumptions.as_json() if self.assumptions else None,
            "own_words": list(self.own_words),
        }
        for later in ("pairs", "runs", "margin_reason", "assumptions", "own_words"):
            if not values[later]:
                del values[later]
        return values


# --- reading ------------------------------------------------------------------------------------------
def read_analysis(data: Mapping[str, Any]) -> AnalysisPlan:
    """An analysis plan from JSON. Refused with the part that cannot be so."""
    plan = decode({name: value for name, value in data.items() if name not in _READ_APART}, AnalysisPlan)
    for part in MADE:
        if not getattr(plan, part).strip():
            sentence = _("This cannot be empty: leave it out for the default.")
            raise DesignRefused("bad_value", sentence, field=part)
    if "\n" in plan.margin_reason.strip():
        raise DesignRefused("bad_value", _("The reason of the margin is one line."), field="margin_reason")
    apart = {}
    for name in _READ_APART.keys() & data.keys():
        with within(name):
            apart[name] = _READ_APART[name](data[name])
    return replace(plan, **apart)


def _read_assumptions(data: object) -> Assumptions | None:
    return data if data is None or isinstance(data, Assumptions) else read_assumptions(data)


def _read_own_words(data: object) -> tuple[str, ...]:
    if not isinstance(data, list | tuple) or set(data) - set(MADE):
        raise DesignRefused("bad_value", _("These are names of parts of the plan: leave them out."))
    return tuple(data)


_READ_APART: Mapping[str, Callable[[object], object]] = {
    "pairs": read_pairs,
    "runs": read_runs,
    "assumptions": _read_assumptions,
    "own_words": _read_own_words,
}


def readable_analysis(data: Mapping[str, Any]) -> AnalysisPlan | None:
    """None where it cannot be read: the problems of a draft name it."""
    try:
        return read_analysis(data)
    except DesignRefused:
        return None


def read_new_analysis(data: Mapping[str, Any], *, n_readers: int) -> AnalysisPlan:
    """The same for a plan that is still to be frozen: a margin has a reason, an inference not named is proposed."""
    plan = read_analysis({"inference": proposed_inference(n_readers), **data})
    check_margin_reason(plan)
    return plan


def check_margin_reason(plan: AnalysisPlan) -> None:
    """Refused where a margin has no reason. Studies that were frozen before may have none."""
    if plan.margin is not None and not plan.margin_reason.strip():
        sentence = _("Say in one line why a difference of this size does not matter, or leave out the margin.")
        raise DesignRefused("bad_value", sentence, field="margin_reason")


# --- choices ------------------------------------------------------------------------------------------
def known_choice(part: str, words: str) -> str:
    """What the program makes of a part that says these words, as plans name it; empty for words of one's own."""
    wanted = words.strip().rstrip(".").lower()
    return next((choice for choice in MADE[part] if choice.lower() == wanted), "")


def known_inference(words: str) -> str:
    return known_choice("inference", words)


def with_choices(plan: AnalysisPlan) -> AnalysisPlan:
    """The plan as it is frozen: choices as the program names them, and which parts are in words of its own."""
    known = {part: known_choice(part, getattr(plan, part)) for part in MADE}
    chosen: dict[str, Any] = {part: choice for part, choice in known.items() if choice}
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
    names_it = plan["primary"] == PRIMARY and str(plan["inference"]).strip().lower() in INFERENCES
    return names_it and not plan.get("own_words")


JUDGED = ("primary", "inference")  # of plans that were frozen before every part was a choice
PARTS = {
    "primary": _("Primary comparison"),
    "inference": _("Inference"),
    "family": _("Family of tests"),
    "late_answers": _("Scoring of late answers"),
    "voids": _("Excluded cases"),
}
LABELS = {
    FIXED_READERS: _("These readers (fixed readers, random questions)"),
    RANDOM_BOTH: _("Readers like these (random readers, random questions)"),
    FIXED_QUESTIONS: _("Readers like these, these questions only (random readers, fixed questions)"),
    PRIMARY: _("Each model minus the mean of the readers, all tasks"),
    FAMILY: _("Holm over the models"),
    LATE_ANSWERS: _("Counted wrong"),
    VOIDS: _("Left out before unblinding, a sensitivity analysis afterwards"),
}
MEANINGS = {
    FIXED_READERS: _(
        "The result is about the readers of this study and about questions like these. It says nothing about other "
        "readers."
    ),
    RANDOM_BOTH: _("The result is about readers like these and questions like these."),
    FIXED_QUESTIONS: _(
        "The result is about readers like these on exactly these questions. It says nothing about other questions."
    ),
    PRIMARY: _(
        "The difference in accuracy between each model and the mean of the readers over all tasks: one test for each "
        "model."
    ),
    FAMILY: _(
        "The primary comparisons of all models are one family, adjusted by Holm. Tests by task are an exploratory "
        "family of their own."
    ),
    LATE_ANSWERS: _(
        "An answer given after the time limit counts as incorrect; what was chosen in time and not submitted counts as "
        "chosen."
    ),
    VOIDS: _(
        "A case that is excluded before anybody has seen a result counts nowhere. One that is excluded later stays in "
        "the primary result, and a sensitivity analysis leaves it out."
    ),
}
OTHER = _(
    "The program does not know this inference. It will compute random readers, random questions, and mark every test "
    "as post hoc."
)


class PartRead(Struct, frozen=True):
    """A part of a plan as the program reads it."""

    label: str
    words: str  # in the words of the choice, or of the plan
    meaning: str  # what the program does
    is_made: bool  # False: it does that instead, and every test is post hoc


def parts_read(plan: AnalysisPlan) -> dict[str, PartRead]:
    """Every part that the program acts on, by its name."""
    return {part: _read(part, getattr(plan, part), part not in plan.own_words) for part in MADE}


def _read(part: str, words: str, is_choice: bool) -> PartRead:
    known = known_choice(part, words)
    meaning = MEANINGS[known or MADE[part][0]] if part != "inference" else MEANINGS.get(known_inference(words), OTHER)
    return PartRead(PARTS[part], LABELS.get(known, words), meaning, is_choice and (bool(known) or part not in JUDGED))
