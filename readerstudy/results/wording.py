"""The words of a stored analysis as people read them: reasons, cautions and rules."""

from __future__ import annotations

from django.utils.translation import gettext as _

from readerstudy.results.stored import INFERENCES, Json


def caution(one: Json) -> str:
    """Why there is no value, or what to be careful about; empty when there is nothing to say."""
    words = [_reason(one["reason"])] if one["reason"] else []
    return ", ".join(words + [flag(name) for name in one["flags"] if name != one["reason"]])


def _reason(code: str) -> str:
    return {
        "no_common_questions": _("no question that both answered"),
        "expected_agreement_is_one": _("undefined: both always gave the same answer"),
        "no_variation": _("undefined: only one answer was ever given"),
        "one_rater": _("undefined: one rater only"),
        "zero_trials": _("nothing to count"),
        "no_such_rater": _("no rater of this analysis has this name"),
        "several_raters": _("several raters have this name"),
        "hidden": _("not shown: too few questions"),
        "stratum_too_small": _("fewer than 2 questions of a task or stratum"),
    }.get(code, code)


def flag(code: str) -> str:
    return {
        "small_n": _("small n"),
        "constant_rater": _("one rater always gave the same answer"),
        "unstable_bootstrap": _("too many draws without a value"),
        "few_clusters": _("fewer than 10 patients or exams"),
        "no_variation": _("patients or exams do not differ"),
        "few_readers": _("fewer than 5 readers: the population of readers is poorly known"),
        "post_hoc": _("post hoc"),
        "clusters_ignored": _("takes questions of one patient or exam as independent"),
        "stratum_too_small": _("fewer than 2 questions of a task or stratum"),
    }.get(code, code)


def method(name: str) -> str:
    """How an interval was made, or a value that has none."""
    return {
        "wilson": _("Wilson"),
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
    }.get(name) or _(INFERENCES.get(name, name))


def coefficient(name: str) -> str:
    """Of a group of raters."""
    return {
        "fleiss_kappa": _("Fleiss’ kappa"),
        "conger_kappa": _("Conger’s kappa"),
        "gwet_ac1": _("Gwet’s AC1"),
        "brennan_prediger": _("Brennan-Prediger"),
        "krippendorff_alpha_nominal": _("Krippendorff’s alpha, nominal"),
        "light_kappa": _("Light’s kappa"),
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
