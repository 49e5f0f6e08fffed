"""The statistical analysis in words, from the stored plan and settings. Pure."""

from __future__ import annotations

from readerstudy.report.facts import StudyFacts
from readerstudy.results.stored import ALL_TASKS, INFERENCES, Json, planned_pairs

FAILED_IN_ACCURACY = {"wrong": "counted as wrong", "exclude": "left out of accuracy"}
REASONS = {
    "no_such_rater": "no rater of this name",
    "several_raters": "several raters of this name",
    "one_rater": "one and the same rater",
}
FAILED_IN_AGREEMENT = {"no_rating": "were no rating in agreement", "own_category": "were an option of their own"}


def statistics_text(result: Json, facts: StudyFacts) -> str:
    settings, plan, whole = result["settings"], result["plan"], result["panels"][ALL_TASKS]
    drawn = "clusters" if whole["unit"] == "cluster" else "questions"
    margin = plan["margin"]
    accuracy = settings["accuracy"].replace("wilson", "95 % intervals by Wilson")
    rule = settings.get("accuracy_best_guess", "").replace("wilson", "95 % intervals by Wilson")
    guessed = f"Accuracy with best guesses: {rule}. " if rule else ""
    text = [
        f"Accuracy: {accuracy}. {guessed}Declined, timed-out and late answers counted as wrong; options saved but "
        f"not confirmed at the limit counted as chosen; missing answers did not count. Failed extractions were "
        f"{FAILED_IN_ACCURACY[settings['failed_in_accuracy']]} and "
        f"{FAILED_IN_AGREEMENT[settings['failed_in_agreement']]}.",
        f"The plan names as primary comparison: {plan['primary'].rstrip('.')}; inference: {plan['inference']}; "
        f"multiplicity: {plan['family'].rstrip('.')}; "
        + (f"margin {100 * margin:g} percentage points." if margin else "no margin."),
        "It is the comparison computed here." if plan["is_planned"] else
        "It is another comparison than the one computed here, so that every test is post hoc.",
        f"Each model minus the mean of the readers was analysed as multi-reader multi-case data "
        f"({INFERENCES[settings['inference']]}; t with degrees of freedom after Hillis 2007), questions with a missing "
        f"answer left out; both other inferences are reported beside it. Tests by task are another, exploratory "
        f"family; {_pairs(result)}",
        f"Agreement: {settings['agreement']}; Cohen’s kappa beside Brennan-Prediger, percent agreement and the "
        f"agreement of independent raters of the same accuracies; within readers, models and all raters Fleiss’, "
        f"Conger’s and Light’s kappa, Gwet’s AC1, Brennan-Prediger and Krippendorff’s alpha. Its 95 % intervals are "
        f"{settings['interval']} ({settings['draws']:,} draws of {drawn}, seed {settings['seed']}), raters fixed.",
        f"Differences of pairs have {settings['difference'].capitalize()} intervals. Small n: {settings['small_n']}.",
    ]  # fmt: skip
    if whole["unit"] == "cluster":
        text.append(
            "The multi-reader multi-case analysis and the intervals by Wilson and Tango take questions as "
            "independent; since clusters hold several questions, t intervals with a cluster-robust error are "
            "reported beside those of accuracies and of differences of pairs."
        )
    if result["time"]["all"]["median"]["n"]:
        text.append(f"Time per case: {result['time']['rule']}; geometric means with t intervals on logs.")
    if plan["notes"]:
        text.append(f"Notes of the plan: {plan['notes'].strip().rstrip('.')}.")
    versions = ", ".join(f"{name} {version}" for name, version in facts.software.items())
    return " ".join([*text, f"Computed with: {versions}."])


def _pairs(result: Json) -> str:
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
            "cluster (Obuchowski 1998) and a t interval by cluster stand beside it, not adjusted."
        )
    nobody = [
        f"{one['first']} with {one['second']} ({REASONS[one['p']['reason']]})" for one in family if not one["table"]
    ]
    text += [f"Not compared: {'; '.join(nobody)}."] if nobody else []
    return " ".join(text)
