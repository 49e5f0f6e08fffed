"""What the flow diagram of a study shows: numbers of cases, readers and models, from analysis and facts. Pure."""

from __future__ import annotations

from collections import Counter

from readerstudy.analysis.kernels.result import ALL_TASKS, DECLARED, MODEL, READER, StoredAnalysis, plain
from readerstudy.figures.kernels.flow import Box, Flow
from readerstudy.report.kernels.facts import StudyFacts
from readerstudy.report.methods import counted
from readerstudy.results.kernels.stored import post_hoc_models

MOST_REASONS, LONGEST_REASON = 6, 60
STATES = {
    "n_answered": "answered",
    "n_unconfirmed": "unconfirmed",
    "n_declined": "declined",
    "n_timed_out": "time ended",
    "n_late": "late",
    "n_failed": "no option extracted",
    "n_missing": "missing",
}


def flow_of(result: StoredAnalysis, facts: StudyFacts) -> Flow:
    columns = [("Cases", _cases(result, facts)), ("Readers", _readers(result, facts))]
    if facts.models:
        columns.append(("Models", _models(result)))
    kinds = [one["kind"] for one in result["raters"]]
    who = f"{counted(kinds.count(READER), 'reader')}, {counted(kinds.count(MODEL), 'model')}"
    return Flow(columns, f"Analysed: {counted(result['panels'][ALL_TASKS]['n'], 'question')}, {who}")


def _cases(result: StoredAnalysis, facts: StudyFacts) -> list[Box]:
    cases, asked = facts.cases, result["questions"]
    boxes = []
    if cases.n_bank is not None:
        boxes.append(Box(f"Question bank: {cases.n_bank:,}"))
    if cases.n_pool is not None:
        pool = "all questions were candidates" if cases.pool_reason else "accepted by every review"
        boxes.append(Box(f"Pool of the draw: {cases.n_pool:,} ({pool})"))
    how = "Drawn" if cases.n_pool is not None else "Listed"
    boxes.append(Box(f"{how} for the study: {asked['n_cases']}", _voided(result)))
    scored = f"Scored: {asked['n_scored']}"
    if asked["n_voided_after_unblinding"]:
        scored += f" (of these voided after unblinding, kept: {asked['n_voided_after_unblinding']})"
    return [*boxes, Box(scored)]


def _voided(result: StoredAnalysis) -> list[str]:
    """How many cases are left out of everything and why, those of an older study first."""
    declared = result["questions"].get("n_voided_declared", 0)
    here = result["questions"]["n_voided_before_unblinding"] - declared
    lines = [f"Voided in the original study, as declared: {declared}", *_reasons(result, DECLARED)] if declared else []
    return [*lines, *([f"Voided before unblinding: {here}", *_reasons(result, "before_unblinding")] if here else [])]


def _reasons(result: StoredAnalysis, decided: str) -> list[str]:
    """The most frequent reasons with their number; the others as one line."""
    counts = Counter(one["reason"].strip() for one in result["excluded"] if one.get("decided") == decided)
    shown = counts.most_common(MOST_REASONS)
    lines = [f"{_short(reason.rstrip('.'))}: {n}" for reason, n in shown]
    rest = counts.total() - sum(n for _, n in shown)
    return [*lines, f"Other reasons: {rest}"] if rest else lines


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"


def _readers(result: StoredAnalysis, facts: StudyFacts) -> list[Box]:
    flow = facts.flow
    boxes = [Box(f"Invited: {flow.n_invited}")] if flow.n_invited else []
    came = [f"Enrolled: {flow.n_enrolled}"] if flow.n_enrolled or not flow.n_imported else []
    came += [f"Read elsewhere, imported: {flow.n_imported}"] if flow.n_imported else []
    gone = {"Withdrawn": flow.n_withdrawn, "Replaced": flow.n_replaced, "Without an answer": flow.n_without_answers}
    boxes.append(Box("; ".join(came), [f"{what}: {n}" for what, n in gone.items() if n]))
    return [*boxes, Box(f"Analysed: {flow.n_analysed}; {_answers(result, READER)}")]


def _models(result: StoredAnalysis) -> list[Box]:
    n = sum(one["kind"] == MODEL for one in result["raters"])
    late = [f"Named after results were seen: {len(found)}"] if (found := post_hoc_models(result)) else []
    return [Box(f"With a named run: {n}", late), Box(f"Analysed: {n}; {_answers(result, MODEL)}")]


def _answers(result: StoredAnalysis, kind: str) -> str:
    raters = [plain(one) for one in result["panels"][ALL_TASKS]["raters"] if one["kind"] == kind]
    counts = {word: sum(one[name] for one in raters) for name, word in STATES.items()}
    return ", ".join(f"{n:,} {word}" for word, n in counts.items() if n) or "no answer"
