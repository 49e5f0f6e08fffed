"""The methods of a study in words, from its plan, its settings and its data; what is not known is named. And what
methods, flow diagram and checklists say of a study beside its analysis: plain values.

The sentences and their conditions are in templates/readerstudy/report/methods.txt. The planned size is that of the
forecast that was frozen with the protocol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from annotation.site.sentences import filled, prose
from readerstudy.analysis.kernels.labels import ANSWERED_NOTHING, CAME_LATE, REPLACED, WITHDRAWN, headings
from readerstudy.analysis.kernels.result import (
    ALL_TASKS,
    BY_CLUSTER,
    DECLARED,
    FIXED,
    FIXED_QUESTIONS,
    RANDOM,
    StoredAnalysis,
)
from readerstudy.design.kernels.documents import Rules
from readerstudy.results.kernels.agreement_tables import reader_agreement
from readerstudy.results.kernels.inferences import planned_line
from readerstudy.results.kernels.stored import (
    calibrations,
    expert_ceiling,
    has_times,
    left_models,
    panel_names,
    planned_pairs,
    post_hoc_models,
    runs_in_mean,
    task_label,
)


@dataclass(frozen=True, kw_only=True)
class CaseFacts:
    """Where the cases come from. None: not known."""

    bank: str
    n_bank: int | None  # questions of the bank when the study was frozen
    n_pool: int | None  # those from which a draw could take; None for a list of cases
    pool_reason: str  # why every question was a candidate; empty: the accepted ones
    n_quotas: int
    n_main: int
    n_practice: int
    n_sets: int
    seed: int  # of the draw and of the orders


@dataclass(frozen=True, kw_only=True)
class ReaderFlow:
    """How many readers came how far."""

    n_planned: int
    n_invited: int  # links that were sent; 0 where readings were imported
    n_enrolled: int  # with an account
    n_imported: int  # readings made elsewhere
    n_withdrawn: int
    n_replaced: int
    n_without_answers: int
    n_analysed: int


@dataclass(frozen=True, kw_only=True)
class ReportedReaders:
    """What the analysed readers reported of themselves."""

    training: Mapping[str, int]  # in words; "not reported" among them
    years: Sequence[int]
    films_per_week: Sequence[int]
    n_chest_fellowship: int
    exposure: Mapping[str, int]
    n_reported: int
    conditions: str  # of reading, in sentences


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """One model of the analysis, and its main run of predictions."""

    name: str  # in the analysis
    entry: str  # name and version of the entry
    dated_on: str
    prompt: str
    decoding: str
    link: str
    run: str
    run_number: int
    n_runs: int  # on this study, withdrawn ones left out
    imported_on: str
    named_on: str
    named_before_unblinding: bool
    by_plan: str  # how the plan names what represents the model: "run 2"; empty: it does not, or it was not there
    extraction: str
    duplicates: str
    n_read: int
    n_failed: int
    n_missing: int


@dataclass(frozen=True, kw_only=True)
class StudyFacts:
    name: str
    simulated: bool
    protocol_sha256: str
    information: str  # what the arm shows beside images and question, in words
    indications_read: bool | None  # stated before freezing; None where the arm shows no indication
    aid: str
    unaided: bool
    rules: Rules
    n_orders: int
    order_rule: str
    balance: Sequence[str]  # of the orders of the analysed readers
    frozen_at: datetime | None
    opened_at: datetime | None
    closed_at: datetime | None
    looked_before_closing: bool
    cases: CaseFacts
    flow: ReaderFlow
    readers: ReportedReaders
    models: Sequence[ModelFacts]
    software: Mapping[str, Any]  # that computed the analysis
    forecast: Mapping[str, Any] | None = None  # as the protocol keeps it; None where it was frozen before there was one


# --- The methods of a study in words, from its plan, its settings and its data; what is -----------
NOT_KNOWN = (
    "the approval of an ethics committee",
    "who funded the study, and interests",
    "where the images come from, and how they were acquired",
    "who wrote the questions, and with which tools, where the bank does not say so",
)
NO_FORECAST = "a calculation of the sample size, unless it is in the notes of the plan"
HEADINGS = (  # of the parts of the template
    *("Design", "Cases", "Sample size", "Readers", "Reading", "Models", "Reference standard", "Statistical analysis"),
)
WHY_OUT = (CAME_LATE, WITHDRAWN, REPLACED, ANSWERED_NOTHING)  # readers of whom other sentences tell
REASONS = {
    "no_such_rater": "no rater of this name",
    "several_raters": "several raters of this name",
    "one_rater": "one and the same rater",
}


def methods_text(result: StoredAnalysis, facts: StudyFacts) -> str:
    """Paragraphs for the methods section of a paper, to be read and shortened by its authors."""
    parts = [f"{name}. {text}" for name, text in paragraphs_of(result, facts).items() if text]
    unknown = [*NOT_KNOWN, *([] if facts.forecast else [NO_FORECAST])]
    parts.append(f"Not known to the program, to be added by the authors: {'; '.join(unknown)}.")
    first = "SIMULATED DATA: readings and answers of this study were made up.\n\n" if facts.simulated else ""
    first += "".join(f"{one.upper()}.\n\n" for one in headings(result))
    return first + "\n\n".join(map(filled, parts)) + "\n"


def paragraphs_of(result: StoredAnalysis, facts: StudyFacts) -> dict[str, str]:
    """By their headings; empty where there is nothing to say."""
    known = {"facts": facts, "result": result, **_of_study(result, facts), **_of_statistics(result)}
    return dict(zip(HEADINGS, prose("readerstudy/report/methods.txt", **known), strict=True))


def counted(n: int, one: str) -> str:
    return f"{n} {one if n == 1 else one + 's'}"


def _of_study(result: StoredAnalysis, facts: StudyFacts) -> dict[str, Any]:
    kinds, asked = [one["kind"] for one in result["raters"]], result["questions"]
    declared = asked.get("n_voided_declared", 0)
    days = {"frozen_on": facts.frozen_at, "opened_on": facts.opened_at, "closed_on": facts.closed_at}
    voided = [one for one in result["excluded"] if one["kind"] == "case"]
    return {
        **{name: at.date().isoformat() if at else "" for name, at in days.items()},
        "flow": facts.flow,
        "cases": facts.cases,
        "rules": facts.rules,
        "asked": asked,
        "n_readers": kinds.count("reader"),
        "n_models": kinds.count("model"),
        "n_declared": declared,
        "n_before": asked["n_voided_before_unblinding"] - declared,
        "tasks": [(task_label(name), result["panels"][name]["n"]) for name in panel_names(result)[1:]],
        "voided": [(one["case"], one.get("decided") == DECLARED, one["reason"].rstrip(".")) for one in voided],
        **_flow(facts.flow),
    }


def _flow(flow: ReaderFlow) -> dict[str, list[str]]:
    """Who came, and who is not analysed."""
    came = [
        (flow.n_invited, f"{counted(flow.n_invited, 'invitation')} sent"),
        (flow.n_enrolled, f"{counted(flow.n_enrolled, 'reader')} enrolled"),
        (flow.n_imported, f"readings of {counted(flow.n_imported, 'reader')} made elsewhere and imported"),
    ]
    gone = [
        (flow.n_withdrawn, f"{flow.n_withdrawn} withdrew"),
        (flow.n_replaced, f"{flow.n_replaced} were replaced"),
        (flow.n_without_answers, f"{flow.n_without_answers} answered nothing"),
    ]
    return {"came_in": [words for n, words in came if n], "gone": [words for n, words in gone if n]}


def _of_statistics(result: StoredAnalysis) -> dict[str, Any]:
    settings, whole, family = result["settings"], result["panels"][ALL_TASKS], planned_pairs(result)
    mixes = [one["accuracy_bank_mix"] for one in whole["raters"] if "accuracy_bank_mix" in one]
    line = planned_line(result["mrmc"]["readers"])
    return {
        "settings": settings,
        "plan": result["plan"],
        "whole": whole,
        "seed": str(settings["seed"]),
        "accuracy_rule": settings["accuracy"].replace("wilson", "95 % intervals by Wilson"),
        "guess_rule": settings.get("accuracy_best_guess", "").replace("wilson", "95 % intervals by Wilson"),
        "has_mix": bool(mixes),
        "merged": [task_label(one) for one in sorted({task for mix in mixes for task in mix.get("merged_tasks", ())})],
        "readers_mean": result["mrmc"]["readers"],
        "freedom": "" if line.is_by_mover else _freedom(line.inference, line.unit),
        "runs_in_mean": runs_in_mean(result),
        "missed": [one for one in result["raters"] if one.get("planned_run_met") is False],
        "post_hoc": post_hoc_models(result),
        "left": left_models(result),
        "not_counted": [one for one in result["excluded"] if one["kind"] == "reader" and one["reason"] not in WHY_OUT],
        "came_late": [one["reader"] for one in result["excluded"] if one["reason"] == CAME_LATE],
        "family": family,
        "family_has_clusters": any("difference_cluster" in one for one in family),
        "n_tests": sum(one["p"]["value"] is not None for one in family),
        "not_compared": [(one, REASONS[one["p"]["reason"] or ""]) for one in family if not one["table"]],
        "means": reader_agreement(result),
        "is_clustered": whole["unit"] == "cluster",
        "has_times": has_times(result),
        "stated": _listed([one["kind"] for one in calibrations(result)]),
        "experts": expert_ceiling(whole),
    }


def _freedom(inference: str, unit: str) -> str:
    """The degrees of freedom of an inference, in words."""
    units = "patients or exams" if unit == BY_CLUSTER else "questions"
    return {
        RANDOM: "degrees of freedom after Hillis 2007",
        FIXED: f"as many degrees of freedom as {units}, less one",
        FIXED_QUESTIONS: "as many degrees of freedom as readers, less one",
    }[inference]


def _listed(kinds: Sequence[str]) -> str:
    """3 readers, 1 model."""
    return ", ".join(counted(kinds.count(kind), kind) for kind in dict.fromkeys(kinds))
