"""What reporting guidelines ask for, beside what the program knows of a study. Pure."""

from __future__ import annotations

from annotation.tables.kernels.table import TEXT, YES_NO, Cell, Column
from readerstudy.analysis.kernels.result import ALL_TASKS, MODEL, READER, StoredAnalysis
from readerstudy.report.kernels.facts import StudyFacts
from readerstudy.report.kernels.guideline_items import ITEMS
from readerstudy.report.methods import counted, paragraphs_of
from readerstudy.results.kernels.stored import panel_names, task_label

NOT_KNOWN = "not known to the program"
COLUMNS = (
    Column(
        "guideline",
        TEXT,
        "Guideline and its year.",
        "GRRAS 2011, CLAIM 2024, STARD-AI 2025, STARD 2015, MI-CLEAR-LLM 2024, DECIDE-AI 2022",
    ),
    Column("item", TEXT, "Number of the item in the guideline."),
    Column("topic", TEXT, "What it asks for, in a few words of ours; the wording that counts is the guideline's."),
    Column("known", YES_NO, "Whether the program knows something that belongs there; it may not be all."),
    Column("fact", TEXT, "What it knows, or where in this report it is found."),
)


def checklist_rows(result: StoredAnalysis, facts: StudyFacts) -> list[list[Cell]]:
    known = facts_for_items(result, facts)
    return [
        [item.guideline, item.number, item.topic, item.fact in known, known.get(item.fact, NOT_KNOWN)] for item in ITEMS
    ]


def facts_for_items(result: StoredAnalysis, facts: StudyFacts) -> dict[str, str]:
    """By the names that guideline_items uses; what is not known has no entry."""
    text, kinds = paragraphs_of(result, facts), [one["kind"] for one in result["raters"]]
    asked, raters = result["questions"], result["panels"][ALL_TASKS]["raters"]
    counts = {name: sum(one[name] for one in raters) for name in ("n_missing", "n_failed", "n_declined")}
    mix = (f"{task_label(name)} {result['panels'][name]['n']}" for name in panel_names(result) if name != ALL_TASKS)
    known = {
        "measurement": "multiple-choice questions with four options about images",
        "size": text["Sample size"] + _notes(result),
        "cases": text["Cases"],
        "bank": f"bank “{facts.cases.bank}”" + (f", {facts.cases.n_bank:,} questions" if facts.cases.n_bank else ""),
        "statistics": text["Statistical analysis"],
        "reference": text["Reference standard"],
        "included": f"{counted(asked['n_scored'], 'question')} of {asked['n_cases']} scored, "
        f"{counted(kinds.count(READER), 'reader')} and {counted(kinds.count(MODEL), 'model')} analysed; flow.svg, "
        f"tables/excluded.csv",
        "mix": f"questions by task: {', '.join(mix)}; by difficulty: tables/difficulties.csv",
        "agreement": "tables/pairs, kappas_by_task, groups and mean_agreement, with 95 % intervals and n",
        "accuracy": "tables/accuracy, tables/categories, tables/difficulties, with 95 % intervals and n",
        "primary": f"as planned: {result['plan']['primary']}; inference: {result['plan']['inference']}",
        "missing": f"{counts['n_missing']} answers missing, not counted, by rater in tables/accuracy.csv; questions "
        "with a missing answer are left out of the comparison with the mean of the readers",
        "indeterminate": f"{counted(counts['n_declined'], 'answer')} “cannot tell”, "
        f"{counted(counts['n_failed'], 'failed extraction')}; rules in methods.txt",
        "categories": "four options, A to D; one is the key",
        "crosstab": "right and wrong of every pair of raters: tables/pairs.csv; answers beside keys: data/ratings.csv",
        "failures": "questions that everybody missed: tables/cases.csv; fairness was not analysed",
        "sensitivity": "tables/variants, and the sensitivity analyses of tables/time",
        "software": ", ".join(f"{name} {version}" for name, version in facts.software.items()),
        "detailed": "data/ with codebooks, analysis.json, recompute.py",
        "protocol": f"protocol.json, SHA-256 {facts.protocol_sha256}",
        "audit": "answers are stored unchanged; views, exports and changes are in the audit log of the program",
    }
    if facts.models:
        known |= {"models": text["Models"], "attempts": _attempts(facts)}
    if any(one.prompt for one in facts.models):
        n_prompts = sum(bool(one.prompt) for one in facts.models)
        known["prompts"] = f"of {n_prompts} of {counted(len(facts.models), 'model')}: data/models.csv"
    if result["tables"]["positions"] and facts.flow.n_enrolled:
        known["learning"] = "accuracy by place in the order: tables/positions; times by place: tables/time"
    known |= {"experience": text["Readers"]} if facts.readers.n_reported else {}
    if facts.flow.n_enrolled:
        known |= {"reading": text["Reading"], "independence": text["Reading"]}
        if facts.unaided:
            known["users"] = (
                "readers read without any answer of a model, so that nobody followed or overruled one; how far they "
                "agree with models: tables/pairs"
            )
    if facts.opened_at and facts.closed_at:
        known["dates"] = f"read from {facts.opened_at.date()} to {facts.closed_at.date()}; of the images: {NOT_KNOWN}"
    return known


def _attempts(facts: StudyFacts) -> str:
    """One line for each model: its runs on this study, and the settings as they were entered."""
    return "; ".join(
        f"{one.entry}: {counted(one.n_runs, 'run')}, run {one.run_number} analysed, decoding "
        f"{one.decoding.strip().rstrip('.') or NOT_KNOWN}"
        for one in facts.models
    )


def _notes(result: StoredAnalysis) -> str:
    notes = result["plan"]["notes"].strip()
    return f" Notes of the plan: {notes}" if notes else ""
