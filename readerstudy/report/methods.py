"""The methods of a study in words, from its plan, its settings and its data; what is not known is named. Pure.

The planned size is that of the forecast that was frozen with the protocol."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from readerstudy.analysis.kernels.result import ALL_TASKS, DECLARED, Excluded, StoredAnalysis
from readerstudy.report.kernels.facts import ModelFacts, ReportedReaders, StudyFacts
from readerstudy.report.method_statistics import statistics_text
from readerstudy.results.kernels.stored import panel_names, task_label

WIDTH = 110
NOT_KNOWN = (
    "the approval of an ethics committee",
    "who funded the study, and interests",
    "where the images come from, and how they were acquired",
    "who wrote the questions, and with which tools, where the bank does not say so",
)
NO_FORECAST = "a calculation of the sample size, unless it is in the notes of the plan"

INDICATIONS = {
    None: "",
    True: " Before freezing it was stated that the indications of all cases had been read and that none gave an answer "
    "away.",
    False: " Whether the indications were read for answers that they give away is not known to the program.",
}


def methods_text(result: StoredAnalysis, facts: StudyFacts) -> str:
    """Paragraphs for the methods section of a paper, to be read and shortened by its authors."""
    parts = [f"{name}. {text}" for name, text in paragraphs_of(result, facts).items() if text]
    unknown = [*NOT_KNOWN, *([] if facts.forecast else [NO_FORECAST])]
    parts.append(f"Not known to the program, to be added by the authors: {'; '.join(unknown)}.")
    first = "SIMULATED DATA: readings and answers of this study were made up.\n\n" if facts.simulated else ""
    wrapped = (
        textwrap.fill(" ".join(part.split()), WIDTH, break_long_words=False, break_on_hyphens=False) for part in parts
    )
    return first + "\n\n".join(wrapped) + "\n"


def paragraphs_of(result: StoredAnalysis, facts: StudyFacts) -> dict[str, str]:
    """By their headings; empty where there is nothing to say."""
    return {
        "Design": _design(result, facts),
        "Cases": _cases(result, facts),
        "Sample size": sample_size_text(facts),
        "Readers": _readers(facts),
        "Reading": _reading(facts),
        "Models": _models(facts.models),
        "Reference standard": _reference(facts),
        "Statistical analysis": statistics_text(result, facts),
    }


def counted(n: int, one: str, many: str = "") -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{word} {n}" for word, n in counts.items())


def _design(result: StoredAnalysis, facts: StudyFacts) -> str:
    simulated = "simulated " if facts.simulated else ""
    kinds = [one["kind"] for one in result["raters"]]
    who = [counted(kinds.count("reader"), "reader"), counted(kinds.count("model"), "model")]
    text = [
        f"In this {simulated}multi-reader multi-case study (“{facts.name}”), {' and '.join(who)} answered "
        f"multiple-choice questions with four options about images; the answers of "
        f"{counted(result['questions']['n_scored'], 'question')} are scored.",
        _frozen(facts),
    ]
    if facts.looked_before_closing:
        text.append("Results were seen before the study was closed; the reasons are kept in the audit log.")
    return " ".join(text)


def _frozen(facts: StudyFacts) -> str:
    """What was read elsewhere may have been read long before it was frozen here."""
    if facts.frozen_at is None:
        return "The design was not frozen."
    day, hashed = facts.frozen_at.date().isoformat(), f"the protocol has the SHA-256 {facts.protocol_sha256}."
    if facts.flow.n_imported:
        return (
            f"Design and analysis plan were frozen in the program on {day}; readings of "
            f"{counted(facts.flow.n_imported, 'reader')} were made elsewhere, whether before or after that is not "
            f"known to the program; {hashed}"
        )
    return f"Design, orders and analysis plan were frozen on {day} before reading; {hashed}"


def _cases(result: StoredAnalysis, facts: StudyFacts) -> str:
    cases, asked = facts.cases, result["questions"]
    bank = f"the bank “{cases.bank}”"
    bank += f" ({cases.n_bank:,} questions when the study was frozen)" if cases.n_bank else ""
    if cases.n_pool is None:
        text = [f"The {counted(cases.n_main, 'case')} were listed by the coordinators from {bank}; nothing was drawn."]
    else:
        pool = "every question of the bank" if cases.pool_reason else "questions that every review accepts"
        quotas = f", with {counted(cases.n_quotas, 'quota')}" if cases.n_quotas else ""
        text = [
            f"From {bank}, {counted(cases.n_main, 'case')} were drawn at random (seed {cases.seed}) out of a pool of "
            f"{cases.n_pool:,} ({pool}), stratified by task and difficulty{quotas}."
        ]
    tasks = {task_label(name): result["panels"][name]["n"] for name in panel_names(result) if name != ALL_TASKS}
    whole = result["panels"][ALL_TASKS]
    text.append(f"Scored questions by task: {listed(tasks)}.")
    text.append(
        f"They belong to {counted(whole['n_clusters'], 'cluster')} (level: {result['settings']['cluster']})."
        if whole["n_clusters"] != whole["n"]
        else f"No two of them share a cluster (level: {result['settings']['cluster']})."
    )
    declared = asked.get("n_voided_declared", 0)
    text += [
        f"Voided in the original study, as declared by the coordinator with the import of the readings, and left out: "
        f"{counted(declared, 'case')}."
    ] * bool(declared)
    text += [
        f"Voided before unblinding and left out: {counted(asked['n_voided_before_unblinding'] - declared, 'case')}; "
        f"voided afterwards and kept in the primary result: {counted(asked['n_voided_after_unblinding'], 'case')}."
    ]
    text += [_why(result)] if asked["n_voided_before_unblinding"] + asked["n_voided_after_unblinding"] else []
    if cases.n_practice:
        text.append(f"Practice cases with feedback, read first and in no result: {cases.n_practice}.")
    if cases.n_sets > 1:
        text.append(f"The cases were split into {cases.n_sets} sets.")
    return " ".join(text)


def _why(result: StoredAnalysis) -> str:
    cases = [one for one in result["excluded"] if one["kind"] == "case"]
    reasons = (f"case {one['case']}{_declared(one)}: {one['reason'].rstrip('.')}" for one in cases)
    return f"Reasons: {'; '.join(reasons)}."


def _declared(one: Excluded) -> str:
    return " (declared)" if one.get("decided") == DECLARED else ""


def _readers(facts: StudyFacts) -> str:
    flow, reported = facts.flow, facts.readers
    came = []
    if flow.n_invited:
        came.append(f"{counted(flow.n_invited, 'invitation')} sent")
    if flow.n_enrolled:
        came.append(f"{counted(flow.n_enrolled, 'reader')} enrolled")
    if flow.n_imported:
        came.append(f"readings of {counted(flow.n_imported, 'reader')} made elsewhere and imported")
    gone = {
        "withdrew": flow.n_withdrawn,
        "were replaced": flow.n_replaced,
        "answered nothing": flow.n_without_answers,
    }
    left = ", ".join(f"{n} {what}" for what, n in gone.items() if n)
    text = [f"{flow.n_planned} planned; {', '.join(came) or 'none came'}; {flow.n_analysed} analysed."]
    text += [f"Not analysed: {left}."] if left else []
    return " ".join([*text, _experience(reported, flow.n_analysed)])


def _experience(reported: ReportedReaders, n_analysed: int) -> str:
    if not reported.n_reported:
        return "Training and experience of the analysed readers are not known to the program."
    text = [f"Training, as reported by the analysed readers (n = {n_analysed}): {listed(reported.training)}."]
    if reported.years:
        text.append(f"Years of reading chest radiographs: {_middle(reported.years)}.")
    if reported.films_per_week:
        text.append(f"Chest radiographs in a usual week: {_middle(reported.films_per_week)}.")
    text.append(f"Fellowship in chest imaging: {reported.n_chest_fellowship}.")
    text.append(f"Display: {listed(reported.displays)}.")
    text.append(f"Had seen questions or images of the bank before: {listed(reported.exposure)}.")
    return " ".join(text)


def _middle(values: Sequence[int]) -> str:
    return f"median {median(values):g} (range {min(values)} to {max(values)}, n = {len(values)})"


def _reading(facts: StudyFacts) -> str:
    if not facts.flow.n_enrolled:
        return "The readings were made elsewhere; how is not known to the program."
    rules = facts.rules
    models = ", answers of models" if facts.unaided else ""
    text = [
        "Readers read independently, each in an order of their own drawn before the study was opened"
        + (f" (rule {facts.order_rule}, seed {facts.cases.seed})" if facts.order_rule else "")
        + f"; keys, explanations{models} and answers of other readers were not shown.",
        f"Beside images and question the page showed: {facts.information}; aid: {facts.aid}."
        + INDICATIONS[facts.indications_read],
        f"Options were {'shuffled for each reader' if rules.shuffle_options else 'in the order of the bank'}.",
        f"Time limit per case: {rules.time_limit_s} s." if rules.time_limit_s else "There was no time limit.",
        "“Cannot tell” could be answered; a best guess was asked after it, outside the time."
        if rules.cannot_tell
        else "An option had to be chosen.",
        f"Pauses were {'possible' if rules.may_pause else 'not possible'}"
        + (f"; a break was offered every {rules.break_every} cases." if rules.break_every else "."),
    ]
    if facts.flow.n_imported:
        text.append("How the imported readings were made is not known to the program.")
    if rules.confidence:
        text.append("After the answer readers stated their chance of being right.")
    if rules.hidden_tools:
        text.append(f"Hidden tools of the viewer: {', '.join(rules.hidden_tools)}.")
    if facts.opened_at and facts.closed_at:
        text.append(f"Reading was open from {facts.opened_at.date()} to {facts.closed_at.date()}.")
    return " ".join(text)


def _models(models: Sequence[ModelFacts]) -> str:
    return " ".join(_model(one) for one in models)


def _model(one: ModelFacts) -> str:
    known: Iterable[tuple[str, str]] = (
        ("date of the version", one.dated_on),
        ("decoding", one.decoding),
        ("link", one.link),
    )
    notes = "; ".join(f"{name}: {text.strip().rstrip('.') or 'not known'}" for name, text in known)
    named = (
        f"represents it as the plan says ({one.by_plan})"
        if one.by_plan
        else "was made the main run before anybody had seen a result"
        if one.named_before_unblinding
        else f"was imported on {one.imported_on} and made the main run on {one.named_on}, after results had been "
        "seen: this model is post hoc"
    )
    return (
        f"{one.entry}: {notes}; prompt: {'in data/models.csv' if one.prompt else 'not known'}; run {one.run_number} of "
        f"{one.n_runs} {named}; options taken by rule {one.extraction}, "
        f"{one.n_failed} of {one.n_read} answers without one, {one.n_missing} missing."
    )


def _reference(facts: StudyFacts) -> str:
    seen = "whether readers elsewhere saw it is not known" if facts.flow.n_imported else "readers did not see it"
    return (
        f"The reference standard is the key of each question as it stood when the study was frozen; {seen}. How the "
        "key was set is not known to the program beyond the reviews of the bank."
    )


def sample_size_text(facts: StudyFacts) -> str:
    readers, cases = counted(facts.flow.n_planned, "reader"), counted(facts.cases.n_main, "case")
    planned = f"Planned: {readers}, {cases}, each read once by a reader."
    if not facts.forecast:
        return f"{planned} How these numbers were chosen is not known to the program."
    assumed, inferences = facts.forecast["assumptions"], facts.forecast["inferences"]
    text = [planned, _who(facts.forecast), _assumed(assumed)]
    if facts.flow.n_imported:
        text.append("Readings came from files, so that they may have been there when this was forecast.")
    text += [_expected(one, assumed, facts.forecast["margin"]) for one in inferences]
    text += _kappas(facts.forecast)
    if why := facts.forecast["nothing_because"]:
        text.append(f"No power was forecast: {why}.")
    if inferences:
        text.append("Power is that of a two-sided t test at 5 % (non-central t; Hillis, Obuchowski, Berbaum 2011).")
    return " ".join(text)


def _who(forecast: Mapping[str, Any]) -> str:
    """Defaults that nobody changed are named as such: who froze the design took them."""
    assumed = forecast["assumptions"]
    who, day = assumed["made_by"] or "somebody on the command line", assumed["made_at"][:10]
    if forecast["are_defaults"]:
        return f"The forecast in the frozen protocol keeps the program's default assumptions (by {who}, {day})."
    source = f"; the four figures were taken from {assumed['taken_from']}" if assumed["taken_from"] else ""
    return f"The assumptions of the forecast in the frozen protocol were made by {who} on {day}{source}."


def _assumed(assumed: Mapping[str, Any]) -> str:
    model, readers = _percent(assumed["discordant_model_reader"]), _percent(assumed["discordant_readers"])
    effect = assumed["design_effect"]
    return (
        f"Assumed: a model and a reader are not both right or both wrong on {model} of the cases, two readers on "
        f"{readers}; a true difference of {_points(assumed['delta'])}; a standard deviation between accuracies of "
        f"readers of {_points(assumed['sd_reader'])}"
        + (f"; a design effect of shared patients of {effect:g}." if effect > 1 else ".")
    )


def _expected(one: Mapping[str, Any], assumed: Mapping[str, Any], margin: float | None) -> str:
    models = assumed["models"]
    text = [
        f"By {one['inference']} the 95 % interval of a difference was expected to be ± {_points(one['half_width'])}, "
        f"and the power {_whole(one['power'])}"
    ]
    if models > 1:
        text.append(f", at the first step of Holm over {models} models {_whole(one['power_first_step'])}")
    if margin and one["power_margin"] is not None:
        text.append(
            f"; to show non-inferiority at {_points(margin)} where the true difference is "
            f"{_points(assumed['delta_for_margin'])}: {_whole(one['power_margin'])}"
        )
        text.append(f", at the first step {_whole(one['power_margin_first_step'])}" if models > 1 else "")
    readers, cases, most = one["readers_needed"], one["cases_needed"], _whole(one["power_at_most"])
    more = counted(readers, "reader") if readers else "more than 100 readers"
    other = counted(cases, "case") if cases else f"no number of cases (at most {most})"
    needed = f"a power of {_whole(assumed['target'])} for that difference needs {more} for these cases"
    return f"{''.join(text)}; {needed}, or {other} for these readers."


def _kappas(forecast: Mapping[str, Any]) -> list[str]:
    pairs = {"two readers": forecast.get("kappa_readers"), "model and reader": forecast.get("kappa_model_reader")}
    sentences = [f"of {who} {one['value']:.2f} ± {one['half_width']:.2f}" for who, one in pairs.items() if one]
    return [f"Expected Cohen’s kappa with its 95 % interval: {', '.join(sentences)}."] if sentences else []


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def _points(share: float) -> str:
    return f"{100 * share:.3g} percentage points"


def _whole(share: float) -> str:
    return "above 99 %" if share > 0.995 else f"{100 * share:.0f} %"
