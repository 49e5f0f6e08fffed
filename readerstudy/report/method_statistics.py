"""The statistical analysis in words, from the stored plan and settings. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.statistics.kernels.multireader import FEWEST_READERS
from readerstudy.analysis.kernels.panel_result import Panel
from readerstudy.analysis.kernels.result import (
    ALL_TASKS,
    BY_CLUSTER,
    FIXED,
    FIXED_QUESTIONS,
    RANDOM,
    StoredAnalysis,
    StoredPlan,
)
from readerstudy.report.kernels.facts import StudyFacts
from readerstudy.results.kernels.agreement_tables import reader_agreement
from readerstudy.results.kernels.inferences import counted, planned_line
from readerstudy.results.kernels.stored import (
    calibrations,
    expert_ceiling,
    is_made_after_readings,
    left_models,
    planned_pairs,
    post_hoc_models,
    runs_in_mean,
    task_label,
)
from readerstudy.results.wording import came, caution

FAILED_IN_ACCURACY = {"wrong": "counted as wrong", "exclude": "left out of accuracy"}
SHARED_DIFFICULTY = (
    "Raters who share nothing but the difficulty of questions have 7 to 13 points of excess and an error consistency "
    "of 0.27 to 0.45, one attractive distractor adds 3 to 4 points; excess is no proof of shared reasoning."
)
MADE_AFTER_READINGS = (
    "Plan made after the readings: all readings came from files, so that they may have been there when the plan was "
    "frozen in the program."
)
REASONS = {
    "no_such_rater": "no rater of this name",
    "several_raters": "several raters of this name",
    "one_rater": "one and the same rater",
}
FAILED_IN_AGREEMENT = {"no_rating": "were no rating in agreement", "own_category": "were an option of their own"}


def statistics_text(result: StoredAnalysis, facts: StudyFacts) -> str:
    settings, plan, whole = result["settings"], result["plan"], result["panels"][ALL_TASKS]
    margin = plan["margin"]
    accuracy = settings["accuracy"].replace("wilson", "95 % intervals by Wilson")
    rule = settings.get("accuracy_best_guess", "").replace("wilson", "95 % intervals by Wilson")
    guessed = f"Accuracy with best guesses: {rule}. " if rule else ""
    text = [
        *([MADE_AFTER_READINGS] if is_made_after_readings(result) else []),
        f"Accuracy: {accuracy}. {guessed}Declined, timed-out and late answers counted as wrong; options saved but "
        f"not confirmed at the limit counted as chosen; missing answers did not count. Failed extractions were "
        f"{FAILED_IN_ACCURACY[settings['failed_in_accuracy']]} and "
        f"{FAILED_IN_AGREEMENT[settings['failed_in_agreement']]}. {_means_of(whole)}",
        f"The plan names as primary comparison: {plan['primary'].rstrip('.')}; inference: {plan['inference']}; "
        f"multiplicity: {plan['family'].rstrip('.')}; "
        + (f"margin {100 * margin:g} percentage points{_reason(plan)}." if margin else "no margin."),
        _is_planned(plan),
        *_planned_runs(result),
        *_post_hoc(result),
        f"{_multi_reader(result)} Tests by task are another, exploratory family; {_pairs(result)}",
        _agreement(result),
        f"Differences of pairs have {settings['difference'].capitalize()} intervals. Small n: {settings['small_n']}.",
    ]  # fmt: skip
    if whole["unit"] == "cluster":
        text.append(
            "The intervals by Wilson (of the mean of tasks and of the mix of the bank, too) and Tango take questions "
            "as independent; since clusters hold several questions, t intervals with a cluster-robust error are "
            "reported beside those of accuracies and of differences of pairs."
        )
    if result["time"]["all"]["median"]["n"]:
        text.append(
            f"Time per case: {result['time']['rule']}; geometric means with t intervals on logs, none where a time "
            "ended at a limit; slopes, correlations and variances over the exact times, none where more than a "
            "tenth was cut."
        )
    stated = calibrations(result)
    if stated:
        who = listed_kinds([one["kind"] for one in stated])
        text.append(
            f"Stated chances of being right ({who}) were compared with being right by Brier’s score, beside that of "
            "always stating one’s own share right, and by the mean stated chance minus the share right, each with a t "
            f"interval{' and a cluster-robust error' if whole['unit'] == 'cluster' else ''}; answers without a stated "
            "chance were left out."
        )
    experts = expert_ceiling(whole)
    if experts:
        text.append(
            "Blind answers of reviewers to these questions, made in review rounds by people who were no readers, equal "
            f"the key in {100 * (experts[0]['value'] or 0):.2f} % (n = {experts[0]['n']} answers); the interval by "
            "Wilson takes them as independent, the one by cluster beside it does not."
        )
    if plan["notes"]:
        text.append(f"Notes of the plan: {plan['notes'].strip().rstrip('.')}.")
    versions = ", ".join(f"{name} {version}" for name, version in facts.software.items())
    return " ".join([*text, f"Computed with: {versions}."])


def listed_kinds(kinds: Sequence[str]) -> str:
    """3 readers, 1 model."""
    found = [(kinds.count(kind), kind) for kind in dict.fromkeys(kinds)]
    return ", ".join(f"{n} {kind}{'' if n == 1 else 's'}" for n, kind in found)


def _agreement(result: StoredAnalysis) -> str:
    settings, whole, means = result["settings"], result["panels"][ALL_TASKS], reader_agreement(result)
    drawn = "clusters" if whole["unit"] == "cluster" else "questions"
    wilson = "; those of percent agreement of a pair and of Brennan-Prediger, its linear image, are by Wilson"
    left_out = "; pairs that share no assigned question were left out" if means.leaves_out else ""
    return (
        f"Agreement: {settings['agreement']}; Cohen’s kappa beside Brennan-Prediger, percent agreement and the "
        f"agreement of independent raters of the same accuracies; within readers, models and all raters percent "
        f"agreement, Fleiss’ kappa and Brennan-Prediger (Conger’s and Light’s kappa, Gwet’s AC1 and Krippendorff’s "
        f"alpha in groups.csv) over the questions with two ratings or more. Failed extractions are never the same "
        f"wrong option. Whether readers agree more with each other than with models: mean excess over independent "
        f"raters of the same accuracies, mean error consistency and mean kappa over {means.n_pairs_readers} pairs of "
        f"readers minus those over {means.n_pairs_reader_model} pairs of a reader and a model, on shared "
        f"draws{left_out}. {SHARED_DIFFICULTY} 95 % intervals of agreement are {settings['interval']} "
        f"({settings['draws']:,} draws of {drawn}, seed {settings['seed']}), raters fixed"
        f"{wilson if drawn == 'questions' else ''}; none where two agree on all questions or on none, or no draw "
        "differs; fewer than five disagreements are flagged."
    )


def _freedom(inference: str, unit: str) -> str:
    """The degrees of freedom of an inference, in words."""
    units = "patients or exams" if unit == BY_CLUSTER else "questions"
    return {
        RANDOM: "degrees of freedom after Hillis 2007",
        FIXED: f"as many degrees of freedom as {units}, less one",
        FIXED_QUESTIONS: "as many degrees of freedom as readers, less one",
    }[inference]


def _means_of(whole: Panel) -> str:
    """The two weighted accuracies, and the tasks whose strata one of them took together."""
    interval = "95 % intervals by Wilson with the effective number of questions of shares shrunken to their mean"
    text = [
        f"The mean of tasks is the plain mean of their accuracies: {interval}, none where a task has fewer than five."
    ]
    mixes = [one["accuracy_bank_mix"] for one in whole["raters"] if "accuracy_bank_mix" in one]
    if mixes:
        text.append(
            "The mix of the bank weights the strata of the draw (task and difficulty) by their size in the bank."
        )
    merged = {task for one in mixes for task in one.get("merged_tasks", ())}
    if merged:
        names = ", ".join(task_label(task) for task in sorted(merged))
        text.append(f"Difficulties were taken together where fewer than two questions of one counted: {names}.")
    return " ".join(text)


def _is_planned(plan: StoredPlan) -> str:
    if late := plan.get("late_readers"):
        return (
            f"Readings of {', '.join(late)} were imported after results had been seen, so that every test is post hoc."
        )
    if plan["is_planned"]:
        return "It is the comparison computed here."
    return "It is another comparison than the one computed here, so that every test is post hoc."


def _planned_runs(result: StoredAnalysis) -> list[str]:
    """Which runs represent models by the plan, and what came of it."""
    plan, means, text = result["plan"], runs_in_mean(result), []
    if not plan.get("runs"):
        return []
    named = "; ".join(f"{model}: {run}" for model, run in plan["runs"])
    text.append(f"The plan names the runs that represent models: {named}.")
    if means:
        text.append(
            f"For {', '.join(f'{name} (mean of {n} runs)' for name, n in means.items())} right or wrong in the "
            "comparison with the readers is the share of these runs, question by question, that are right, of those "
            "that count; each reader’s own difference then has a t interval over questions or clusters. Accuracies, "
            "agreement and pairs are of one run."
        )
    missed = [
        f"{one['name']} ({one['planned_run']})" for one in result["raters"] if one.get("planned_run_met") is False
    ]
    if missed:
        text.append(f"The named run was not there, and another one is used, post hoc: {', '.join(missed)}.")
    nobody = [f"{model} ({run})" for model, run in plan.get("runs_of_nobody", [])]
    if nobody:
        text.append(f"No model of this analysis, or several, or one named above, has this name: {', '.join(nobody)}.")
    return text


def _post_hoc(result: StoredAnalysis) -> list[str]:
    """Which models nobody can have planned, and that no other number depends on them."""
    late = [f"{one['name']} ({came(one)})" for one in post_hoc_models(result)]
    left = [f"{one['name']} ({one['left_because'].rstrip('.')})" for one in left_models(result)]
    missed = any(one.get("planned_run_met") is False for one in post_hoc_models(result))
    text = []
    if late:
        text.append(
            "Post hoc, since they came in, were chosen or were renamed after somebody had seen a result"
            f"{', or are not the run that the plan names' if missed else ''}: {', '.join(late)}. They are in no "
            "planned comparison; their p values are not adjusted, and adjusting the others does not depend on them."
        )
    if left:
        text.append(f"Taken out after somebody had seen a result, and kept since they were planned: {', '.join(left)}.")
    return text


def _reason(plan: StoredPlan) -> str:
    reason = plan.get("margin_reason", "").strip().rstrip(".")
    return f" ({reason})" if reason else " (the plan gives no reason for it)"


def _multi_reader(result: StoredAnalysis) -> str:
    """How models were compared with the mean of the readers, and over what."""
    mean = result["mrmc"]["readers"]
    line, by_cluster, margin = planned_line(mean), mean["by_cluster"] is not None, result["plan"]["margin"]
    text = [
        "Each model minus the mean of the readers was analysed as multi-reader multi-case data by the U-statistic for "
        "complete and incomplete designs (Gallas et al. 2007; where complete, as Obuchowski and Rockette 1995), "
        f"every question counting once whoever read it. The inference of the plan: {line.words}"
        f"{f', which {line.aside}' if line.aside else ''}; t with {_freedom(line.inference, line.unit)}. Both other "
        "inferences are reported beside it with intervals only."
    ]
    if by_cluster:
        text.append(
            "Since patients or exams hold several questions, they are the unit of this analysis (Cameron, Gelbach and "
            "Miller 2011); the same by question is a sensitivity analysis."
        )
    if line.value["n_readers"] < FEWEST_READERS:
        text.append(
            "With fewer than five readers the step to other readers is imprecise: an interval that combines limits "
            "of each part of the variance (MOVER) is given beside it. The difference of each model from each reader "
            "alone is reported, too."
        )
    text.append(f"In the mean of the readers: {counted(mean)}{f' ({caution(mean)})' if caution(mean) else ''}.")
    if mean["complete_rows"] is not None:
        text.append("The same over questions that no reader missed is a sensitivity analysis.")
    if margin:
        text.append(
            f"Non-inferiority to the readers within {100 * margin:g} points was tested by a one-sided t test of the "
            "same inference, adjusted by Holm over the planned models as a family of its own and claimed at an "
            "adjusted p of 0.025 or less; equivalence by the 90 % interval."
        )
    return " ".join(text)


def _pairs(result: StoredAnalysis) -> str:
    """What the plan says of pairs, in its words, and what came of it."""
    family = planned_pairs(result)
    if not family:
        return "tests of pairs are post hoc."
    named = "; ".join(" with ".join(pair) for pair in result["plan"]["pairs"])
    n_tests = sum(one["p"]["value"] is not None for one in family)
    text = [
        f"the plan names these pairs over all tasks as a family of their own: {named}. They were compared by the exact "
        f"McNemar test, two-sided, adjusted by Holm (tests: {n_tests}), with the difference of the accuracies and its "
        "Tango interval. Tests of other pairs are post hoc."
    ]
    if any("difference_cluster" in one for one in family):
        text.append(
            "Since patients or exams share questions, which the exact test does not allow for, the McNemar test by "
            "cluster (Obuchowski 1998) and a t interval by cluster are given beside it, not adjusted."
        )
    nobody = [
        f"{one['first']} with {one['second']} ({REASONS[one['p']['reason'] or '']})"
        for one in family
        if not one["table"]
    ]
    text += [f"Not compared: {'; '.join(nobody)}."] if nobody else []
    return " ".join(text)
