"""What flags, reasons and methods of values are called on pages, and how codebooks explain them. Pure."""

from __future__ import annotations

from msgspec import Struct

from annotation.enums import _
from annotation.statistics.kernels import estimate


class Caution(Struct, frozen=True):
    """A flag or a reason: as pages say it, and as codebooks explain it."""

    label: str
    meaning: str


FLAGS: dict[str, Caution] = {
    estimate.SMALL_N: Caution(_("small n"), "accuracy below 10, agreement below 30"),
    estimate.FEW_CLUSTERS: Caution(
        _("fewer than 10 patients or exams"), "fewer than 10 patients or exams, without an interval"
    ),
    estimate.NO_VARIATION: Caution(_("nothing varies, so there is no interval"), "nothing varies, without an interval"),
    estimate.UNSTABLE_BOOTSTRAP: Caution(
        _("too many draws without a value"), "more than 5 % of the draws have no value, without an interval"
    ),
    estimate.FEW_DISAGREEMENTS: Caution(
        _("fewer than 5 disagreements: the interval may be too narrow"),
        "fewer than 5 of the n questions, the interval may be too narrow",
    ),
    estimate.FEW_READERS: Caution(
        _("fewer than 5 readers: between-reader variance is imprecise"),
        "fewer than 5, between-reader variance is imprecise",
    ),
    estimate.FEW_COMMON_ERRORS: Caution(
        _("fewer than 5 questions wrong for both, so there is no interval"),
        "fewer than 5 questions are wrong for both (of a mean: of one of its pairs), without an interval",
    ),
    estimate.FEW_ERRORS: Caution(
        _("fewer than 5 right or fewer than 5 wrong, so there is no interval"),
        "fewer than 5 answers are right or fewer than 5 wrong, without an interval",
    ),
    "as_fixed_readers": Caution(
        _("readers do not differ: as for these readers"),
        "readers do not differ, the limits are those of these readers",
    ),
    estimate.CONSTANT_RATER: Caution(
        _("one rater always gave the same answer"), "one rater always gave the same answer"
    ),
    estimate.STRATUM_TOO_SMALL: Caution(
        _("too few questions of a task or stratum"), "too few questions of a task or stratum for an interval"
    ),
    estimate.STRATA_MERGED: Caution(
        _("difficulties of a task taken together"), "difficulties of a task taken together"
    ),
    estimate.READERS_DROPPED: Caution(
        _("a planned reader has no answer in it"), "a planned reader has no answer in it"
    ),
    estimate.QUESTIONS_DROPPED: Caution(
        _("more than 5 % of the questions have no answer in it"),
        "more than 5 % of the scored questions have no answer in it",
    ),
    estimate.ANSWERS_MISSING: Caution(
        _("more than 5 % of the assigned answers are missing"), "more than 5 % of the assigned answers are missing"
    ),
    estimate.CENSORED: Caution(_("some times ended at the limit"), "some times ended at the limit"),
    estimate.CLUSTERS_IGNORED: Caution(
        _("takes questions of one patient or exam as independent"),
        "takes questions of one patient or exam as independent",
    ),
    estimate.POST_HOC: Caution(_("post hoc"), "not named by the plan before unblinding"),
    estimate.SETTINGS_DIFFER: Caution(
        _("sensitivity analysis"), "settings other than the plan's: a sensitivity analysis"
    ),
    estimate.SEEN_BEFORE: Caution(
        _("made after its readings were seen"), "made after a result over the same readings had been seen"
    ),
}
REASONS: dict[str, Caution] = {
    estimate.NO_COMMON_QUESTIONS: Caution(_("no question that both answered"), "no question that both answered"),
    estimate.EXPECTED_AGREEMENT_IS_ONE: Caution(
        _("undefined: both always gave the same answer"), "both always gave the same answer"
    ),
    estimate.NO_VARIATION: Caution(_("undefined: only one answer was ever given"), "nothing varies"),
    estimate.ONE_RATER: Caution(_("undefined: fewer than two raters"), "nobody to compare with"),
    estimate.ZERO_TRIALS: Caution(_("nothing to count"), "nothing to count"),
    estimate.STRATUM_TOO_SMALL: Caution(
        _("too few questions of a task or stratum"), "too few questions of a task or stratum"
    ),
    estimate.FEW_CLUSTERS: Caution(_("fewer than 10 patients or exams"), "fewer than 10 patients or exams"),
    estimate.TOO_FEW: Caution(_("too few for this statistic"), "n is below what the statistic needs"),
    estimate.OUTSIDE_RANGE: Caution(
        _("undefined: outside the range of this statistic"), "not a value that it can have"
    ),
    estimate.CENSORED: Caution(
        _("times that ended at the limit leave it open"), "times that ended at the limit leave it open"
    ),
    estimate.INCONSISTENT_ASSUMPTIONS: Caution(
        _("the assumptions contradict each other"), "the assumptions contradict each other"
    ),
    estimate.POST_HOC: Caution(_("not adjusted: post hoc"), "chosen after results were seen"),
    estimate.SETTINGS_DIFFER: Caution(_("not adjusted: a sensitivity analysis"), "of a sensitivity analysis"),
    "no_such_rater": Caution(_("no rater of this analysis has this name"), "the plan names nobody of the raters"),
    "several_raters": Caution(_("several raters have this name"), "the plan names more than one of the raters"),
}
METHODS: dict[str, str] = {
    "wilson": _("Wilson"),
    "wilson_image": _("Wilson, of the percent agreement"),
    "fleiss_cohen_everitt_1969": _("large-sample error"),
    "clopper_pearson": _("Clopper and Pearson"),
    "cluster_t": _("by patient or exam, t"),
    "cluster_wilson": _("by patient or exam, Wilson with an effective number of questions"),
    "task_mean_wilson": _("plain mean over tasks"),
    "bank_mix_wilson": _("weighted to the mix of the bank"),
    "bootstrap_questions": _("percentile bootstrap over questions"),
    "bootstrap_clusters": _("percentile bootstrap over patients or exams"),
    "bootstrap_in_strata": _("percentile bootstrap over questions within each stratum"),
    "tango": _("Tango"),
    "newcombe": _("Newcombe"),
    "mcnemar_exact": _("exact McNemar test"),
    "mcnemar_midp": _("mid-p McNemar test"),
    "mcnemar_chi2": _("McNemar test"),
    "cochran_q": _("Cochran’s Q"),
    "spearman": _("rank correlation"),
    "obuchowski_1998": _("McNemar test by patient or exam, Obuchowski 1998"),
    "type_7": _("quartiles, type 7"),
    "t_on_logs": _("t on log seconds"),
    "least_squares_t": _("least squares on log seconds, t"),
    "mean_cluster_t": _("mean, t with a cluster-robust error"),
    "mean_mover": _("limits of both means combined (MOVER)"),
    "gwet_linearised_t": _("t with Gwet’s linearised error"),
    "mean": _("mean, without an interval"),
    "question_t": _("t over questions"),
    "mean_of_runs": _("mean over the runs"),
    "sd_of_runs": _("standard deviation over the runs"),
}


def explained(cautions: dict[str, Caution]) -> str:
    """For a codebook: "code: meaning; code: meaning"."""
    return "; ".join(f"{code}: {one.meaning}" for code, one in cautions.items())
