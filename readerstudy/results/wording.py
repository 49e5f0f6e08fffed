"""The words of a stored analysis as people read them: reasons, cautions and rules."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _

from readerstudy.results.kernels.inferences import CAUTIONS
from readerstudy.results.kernels.stored import Json, is_made_after_readings


def caution(one: Json) -> str:
    """Why there is no value, or what to be careful about; empty when there is nothing to say."""
    words = [_reason(one["reason"], one["method"])] if one["reason"] else []
    return ", ".join(words + [flag(name, one["method"]) for name in one["flags"] if name != one["reason"]])


def plan_kind(result: Json) -> str:
    """What the comparison with the readers is, and what stands over it wherever it is shown."""
    if result["plan"].get("late_readers"):
        return _("Post hoc comparison, since readings were imported after results had been seen")
    if not result["plan"]["is_planned"]:
        return _("Post hoc comparison, since the plan names another one")
    return _("Plan made after the readings") if is_made_after_readings(result) else _("Planned comparison")


def came(model: Json) -> str:
    """When the run of a post hoc model came in and was named; ``model`` as ``raters`` has it."""
    imported, named = model["imported_at"][:10], model["named_at"][:10]
    if model.get("planned_run_met") is False:
        return _("the plan names %(run)s, which was not there") % {"run": model["planned_run"]}
    if model.get("was_planned"):
        return _("run imported on %(imported)s, model renamed after results were seen") % {"imported": imported}
    if named in ("", imported):
        return _("run imported on %(imported)s") % {"imported": imported}
    return _("run imported on %(imported)s, named on %(named)s") % {"imported": imported, "named": named}


COMPARISONS = ("by_question", "by_cluster", "t test")  # how the methods of multi-reader analyses begin
DRAWN = "bootstrap"  # how the methods of agreement begin whose limits are drawn


def _reason(code: str, method: str) -> str:
    """In words that fit the statistic, which ``method`` tells apart."""
    if method.startswith(COMPARISONS):
        found = {
            "no_variation": _("nothing differs between the raters or the questions"),
            "no_common_questions": _("no question that a reader and the model answered"),
            "one_rater": _("fewer than two readers"),
        }.get(code)
        if found:
            return found
    if code == "no_variation" and not method.startswith(DRAWN):
        return _("nothing differs between the raters or the questions")
    return {
        "no_common_questions": _("no question that both answered"),
        "expected_agreement_is_one": _("undefined: both always gave the same answer"),
        "no_variation": _("undefined: only one answer was ever given"),
        "one_rater": _("undefined: one rater only"),
        "zero_trials": _("nothing to count"),
        "no_such_rater": _("no rater of this analysis has this name"),
        "several_raters": _("several raters have this name"),
        "hidden": _("not shown: too few questions"),
        "stratum_too_small": _("too few questions of a task or stratum"),
        "few_clusters": _("fewer than 10 patients or exams"),
        "too_few": _("too few for this statistic"),
        "earlier_rule": _("not computed by the rule of this analysis"),
        "outside_range": _("undefined: outside the range of this statistic"),
        "censored": _("times that ended at the limit leave it open"),
        "inconsistent_assumptions": _("the assumptions contradict each other"),
    }.get(code, code)


def flag(code: str, method: str = "") -> str:
    if code == "no_variation" and method.startswith(DRAWN):
        return _("everything or nothing agrees, so there is no interval")
    if code == "few_disagreements" and method.startswith("wilson"):
        return _("fewer than 5 disagreements")
    if code in CAUTIONS:
        return _(CAUTIONS[code])
    return {
        "constant_rater": _("one rater always gave the same answer"),
        "unstable_bootstrap": _("too many draws without a value"),
        "few_disagreements": _("fewer than 5 disagreements: the interval may be too narrow"),
        "strata_merged": _("difficulties of a task taken together"),
        "censored": _("some times ended at the limit"),
        "post_hoc": _("post hoc"),
        "clusters_ignored": _("takes questions of one patient or exam as independent"),
        "stratum_too_small": _("too few questions of a task or stratum"),
    }.get(code, code)


def method(name: str) -> str:
    """How an interval was made, or a value that has none."""
    return {
        "wilson": _("Wilson"),
        "wilson_image": _("Wilson, of the percent agreement"),
        "fleiss_cohen_everitt_1969": _("large-sample error"),
        "clopper_pearson": _("Clopper and Pearson"),
        "cluster_t": _("by patient or exam, t"),
        "task_mean_wilson": _("plain mean over tasks"),
        "bank_mix_wilson": _("weighted to the mix of the bank"),
        "bootstrap_questions": _("percentile bootstrap over questions"),
        "bootstrap_clusters": _("percentile bootstrap over patients or exams"),
        "bootstrap_in_strata": _("percentile bootstrap over questions within each stratum"),
        "tango": _("Tango"),
        "newcombe": _("Newcombe"),
        "mcnemar_exact": _("exact McNemar test"),
        "mcnemar_midp": _("mid-p McNemar test"),
        "obuchowski_1998": _("McNemar test by patient or exam, Obuchowski 1998"),
        "type_7": _("quartiles, type 7"),
        "t_on_logs": _("t on log seconds"),
        "least_squares_t": _("least squares on log seconds, t"),
        "mean_cluster_t": _("mean, t with a cluster-robust error"),
        "mean": _("mean, without an interval"),
        "question_t": _("t over questions"),
        "mean_of_runs": _("mean over the runs"),
        "sd_of_runs": _("standard deviation over the runs"),
    }.get(name, name)


def methods(names: Iterable[str]) -> str:
    """Each of them once."""
    return _(" or ").join(dict.fromkeys(map(method, names)))


def coefficient(name: str) -> str:
    """Of a group of raters."""
    return {
        "percent_agreement": _("Same option, mean over pairs"),
        "fleiss_kappa": _("Fleiss’ kappa"),
        "brennan_prediger": _("Brennan-Prediger"),
    }[name]


def measure(name: str) -> str:
    """Of how much two raters agree."""
    return {
        "excess": _("Excess agreement, points"),
        "error_consistency": _("Error consistency"),
        "kappa": _("Cohen’s kappa, same option"),
    }[name]


def sign(said: str) -> str:
    """What stands for an answer without a counted option, see docs/analysis.md."""
    words = {
        "x": _("failed extraction"),
        "?": _("declined"),
        "t": _("time ended"),
        ".": _("missing"),
        " ": _("not in the set of this reader"),
    }
    return words.get(said) or _("too late: %(option)s") % {"option": said.upper()}


NAMES = {"wilson": "Wilson", "mcnemar exact": "exact McNemar test", "holm": "Holm"}


def sentence(rule: str) -> str:
    """A rule of the settings, which are stored in small letters, as a sentence."""
    for stored, shown in NAMES.items():
        rule = rule.replace(stored, shown)
    return f"{rule[:1].upper()}{rule[1:]}."
