"""What each statistic is called, what it means, how it is shown, how its interval is made, and where it appears. Pure.

Pages, figures, codebooks, printed tables and docs/analysis.md read it. A statistic of pairs that is computed
(``pair_intervals``) and declared (``readerstudy.analysis.kernels.panel_result``) needs a line here to be shown.
"""

from __future__ import annotations

from enum import Enum, Flag, auto

from msgspec import Struct

from annotation.enums import _
from annotation.statistics.kernels import estimate


class Scale(Enum):
    """In what a value is, and so how it is rounded."""

    SHARE = "share, 0 to 1"  # shown in percent
    POINTS = "difference of shares"  # shown in percentage points with a sign
    COEFFICIENT = "coefficient"  # at most 1; three decimals
    P = "p value"
    TEST = "test statistic"
    SECONDS = "seconds"
    CHANGE = "percent"
    PLAIN = "number"


class ShownOn(Flag):
    """Where a statistic is shown beside analysis.json and the tables of the report, which hold all of them."""

    NOWHERE = 0
    PAIR = auto()  # the page of one pair
    PAIRS = auto()  # the table of all pairs, on the page
    PRINTED_PAIRS = auto()
    GROUPS = auto()  # agreement within groups, on the page and in print
    HEATMAP = auto()
    MEANS = auto()  # of readers with each other and with models


class Statistic(Struct, frozen=True):
    """One named statistic; ``about`` is the entry of the JSON that holds it."""

    name: str
    about: str  # rater, run, panel, pair, group, means, time, calibration
    label: str  # on pages and in print
    meaning: str  # in codebooks
    scale: Scale
    interval: str = ""  # how its 95 % interval is made; empty: it has none
    flags: tuple[str, ...] = ()  # cautions that it can carry beside small_n and post_hoc
    shown: ShownOn = ShownOn.NOWHERE
    head: str = ""  # over a narrow column; empty: the label


BY_BOOTSTRAP = "percentile bootstrap"
BY_WILSON = "Wilson; by cluster percentile bootstrap"
BY_WILSON_CLUSTERS = "Wilson with an effective number of questions, t"
DRAWN = (
    estimate.FEW_DISAGREEMENTS, estimate.NO_VARIATION, estimate.UNSTABLE_BOOTSTRAP, estimate.FEW_CLUSTERS,
)  # fmt: skip
OF_MARGINS = (*DRAWN, estimate.CONSTANT_RATER)
OF_GROUP = (estimate.NO_VARIATION, estimate.UNSTABLE_BOOTSTRAP, estimate.FEW_CLUSTERS)
IGNORED = (estimate.CLUSTERS_IGNORED,)
CENSORED = (estimate.CENSORED,)
ON_PAIRS = ShownOn.PAIR | ShownOn.PAIRS | ShownOn.PRINTED_PAIRS

_RATERS = (
    Statistic("accuracy", "rater", _("Accuracy"), "right answers over questions", Scale.SHARE, "Wilson"),
    Statistic(
        "accuracy_clopper_pearson", "rater", _("Accuracy, exact interval"), "accuracy with another interval",
        Scale.SHARE, "Clopper and Pearson",
    ),
    Statistic(
        "accuracy_missing_wrong", "rater", _("Missing as wrong"), "with every missing answer wrong", Scale.SHARE,
        "Wilson",
    ),
    Statistic(
        "accuracy_missing_right", "rater", _("Missing as right"), "with every missing answer right", Scale.SHARE,
        "Wilson",
    ),
    Statistic(
        "accuracy_best_guess", "rater", _("With best guesses"),
        "with the best guess in place of “cannot tell”, in studies that ask for it", Scale.SHARE, "Wilson",
    ),
    Statistic(
        "accuracy_cluster", "rater", _("Accuracy, clustered"), "accuracy with another interval", Scale.SHARE,
        BY_WILSON_CLUSTERS, (estimate.FEW_CLUSTERS,),
    ),
    Statistic(
        "accuracy_task_mean", "rater", _("Mean of tasks"), "plain mean of the tasks", Scale.SHARE,
        "Wilson with an effective number of questions", (estimate.STRATUM_TOO_SMALL, *IGNORED),
    ),
    Statistic(
        "accuracy_bank_mix", "rater", _("Weighted to the bank"), "weighted to the mix of the bank", Scale.SHARE,
        "Wilson with an effective number of questions", (estimate.STRATA_MERGED, *IGNORED),
    ),
    Statistic("accuracy_of_runs", "run", _("Accuracy of a run"), "of one run of a model", Scale.SHARE, "Wilson"),
    Statistic("accuracy_run_mean", "run", _("Mean of runs"), "mean over the runs, n their number", Scale.SHARE),
    Statistic(
        "accuracy_run_sd", "run", _("SD of runs"),
        "standard deviation over the runs (runs minus one), n their number", Scale.POINTS,
    ),
    Statistic(
        "expert_ceiling", "panel", _("Experts’ ceiling"), "share of the blind answers of reviewers that are the key",
        Scale.SHARE, "Wilson",
    ),
    Statistic(
        "expert_ceiling_cluster", "panel", _("Experts’ ceiling, clustered"),
        "the same, its interval by patient or exam", Scale.SHARE, BY_WILSON_CLUSTERS, (estimate.FEW_CLUSTERS,),
    ),
)  # fmt: skip
_PAIRS = (
    Statistic(
        "cohen_kappa", "pair", _("Cohen’s kappa"), "agreement beyond chance, from how often each chose each option",
        Scale.COEFFICIENT, BY_BOOTSTRAP, OF_MARGINS, ShownOn.HEATMAP | ON_PAIRS,
    ),
    Statistic(
        "brennan_prediger", "pair", _("Brennan-Prediger"),
        "agreement beyond chance, each option as likely as the others", Scale.COEFFICIENT,
        "linear image of Wilson’s; by cluster percentile bootstrap", DRAWN, ON_PAIRS,
    ),
    Statistic(
        "gwet_ac1", "pair", _("Gwet’s AC1"), "agreement beyond chance, robust to unequal use of options",
        Scale.COEFFICIENT, BY_BOOTSTRAP, OF_MARGINS, ShownOn.PAIR,
    ),
    Statistic(
        "scott_pi", "pair", _("Scott’s pi"), "agreement beyond chance, from the options of both together",
        Scale.COEFFICIENT, BY_BOOTSTRAP, OF_MARGINS,
    ),
    Statistic(
        "percent_agreement", "pair", _("Same option"), "share with the same option", Scale.SHARE, BY_WILSON, DRAWN,
        ON_PAIRS,
    ),
    Statistic(
        "expected_agreement", "pair", _("Expected by chance"),
        "that by chance, from how often each option was chosen", Scale.SHARE, BY_BOOTSTRAP, OF_MARGINS,
        ShownOn.PAIR | ShownOn.PRINTED_PAIRS, head=_("Expected"),
    ),
    Statistic(
        "agreement_if_independent", "pair", _("If independent"),
        "share of the same option that two raters of these accuracies would have who err independently", Scale.SHARE,
        BY_BOOTSTRAP, OF_MARGINS, ShownOn.PAIR | ShownOn.PAIRS,
    ),
    Statistic(
        "excess_agreement", "pair", _("Excess, points"), "percent_agreement minus agreement_if_independent",
        Scale.POINTS, BY_BOOTSTRAP, (*OF_MARGINS, estimate.FEW_COMMON_ERRORS), ON_PAIRS,
    ),
    Statistic(
        "error_consistency", "pair", _("Error consistency"), "cohen_kappa of right and wrong", Scale.COEFFICIENT,
        BY_BOOTSTRAP, OF_MARGINS, ShownOn.HEATMAP | ON_PAIRS,
    ),
    Statistic(
        "phi", "pair", _("Phi of right and wrong"), "correlation of right (1) and wrong (0) of the two",
        Scale.COEFFICIENT, BY_BOOTSTRAP, DRAWN, ShownOn.PAIR,
    ),
    Statistic(
        "same_wrong_option", "pair", _("Same wrong option"), "share with the same wrong option where both are wrong",
        Scale.SHARE, "Wilson", (), ShownOn.PAIR,
    ),
    Statistic("cohen_kappa_se", "pair", _("Error of kappa"), "large-sample standard error of cohen_kappa", Scale.PLAIN),
    Statistic(
        "difference", "pair", _("Difference"), "share right of the first minus that of the second", Scale.POINTS,
        "Tango",
    ),
    Statistic(
        "difference_newcombe", "pair", _("Difference"), "the same with another interval", Scale.POINTS, "Newcombe",
    ),
    Statistic(
        "difference_cluster", "pair", _("Difference, clustered"), "the same, its interval by patient or exam",
        Scale.POINTS, "t with a cluster-robust error", (estimate.FEW_CLUSTERS, estimate.NO_VARIATION),
    ),
    Statistic("mcnemar_exact_p", "pair", _("Exact McNemar test"), "p of the exact McNemar test", Scale.P, "", IGNORED),
    Statistic("mcnemar_midp", "pair", _("Mid-p McNemar test"), "mid-p of the McNemar test", Scale.P),
    Statistic("mcnemar_chi2", "pair", _("McNemar test"), "test statistic of the McNemar test", Scale.TEST),
    Statistic(
        "cluster_mcnemar_chi2", "pair", _("McNemar test, clustered"),
        "test statistic by patient or exam, Obuchowski 1998", Scale.TEST,
    ),
)  # fmt: skip
_GROUPS = (
    Statistic(
        "percent_agreement", "group", _("Same option, mean over pairs"), "share with the same option, mean over pairs",
        Scale.SHARE, BY_BOOTSTRAP, OF_GROUP, ShownOn.GROUPS, head=_("Percent agreement"),
    ),
    Statistic(
        "fleiss_kappa", "group", _("Fleiss’ kappa"), "agreement beyond chance, from the options of all together",
        Scale.COEFFICIENT, BY_BOOTSTRAP, OF_GROUP, ShownOn.GROUPS,
    ),
    Statistic(
        "brennan_prediger", "group", _("Brennan-Prediger"),
        "agreement beyond chance, each option as likely as the others", Scale.COEFFICIENT, BY_BOOTSTRAP, OF_GROUP,
        ShownOn.GROUPS,
    ),
    Statistic(
        "gwet_ac1", "group", _("Gwet’s AC1"), "agreement beyond chance, robust to unequal use of options",
        Scale.COEFFICIENT, BY_BOOTSTRAP, OF_GROUP,
    ),
    Statistic(
        "conger_kappa", "group", _("Conger’s kappa"), "agreement beyond chance, from the options of each rater",
        Scale.COEFFICIENT, BY_BOOTSTRAP, OF_GROUP,
    ),
    Statistic(
        "krippendorff_alpha_nominal", "group", _("Krippendorff’s alpha"),
        "one minus observed over expected disagreement", Scale.COEFFICIENT, BY_BOOTSTRAP, OF_GROUP,
    ),
    Statistic(
        "light_kappa", "group", _("Light’s kappa"), "mean of cohen_kappa over all pairs of the group",
        Scale.COEFFICIENT, BY_BOOTSTRAP, OF_GROUP,
    ),
    Statistic("cochran_q", "group", _("Cochran’s Q"), "test statistic of equal shares right", Scale.TEST),
    Statistic(
        "excess", "means", _("Excess agreement, points"), "mean of excess_agreement over pairs that share a question",
        Scale.POINTS, BY_BOOTSTRAP, (*OF_GROUP, estimate.FEW_COMMON_ERRORS), ShownOn.MEANS,
    ),
    Statistic(
        "error_consistency", "means", _("Error consistency"),
        "mean of error_consistency over pairs that share a question", Scale.COEFFICIENT, BY_BOOTSTRAP, OF_GROUP,
        ShownOn.MEANS,
    ),
    Statistic(
        "kappa", "means", _("Cohen’s kappa, same option"), "mean of cohen_kappa over pairs that share a question",
        Scale.COEFFICIENT, BY_BOOTSTRAP, OF_GROUP, ShownOn.MEANS,
    ),
)  # fmt: skip
_TIMES = (
    Statistic("median", "time", _("Median"), "seconds", Scale.SECONDS),
    Statistic("q1", "time", _("First quartile"), "seconds", Scale.SECONDS),
    Statistic("q3", "time", _("Third quartile"), "seconds", Scale.SECONDS),
    Statistic("p5", "time", _("5th percentile"), "5th percentile, seconds", Scale.SECONDS),
    Statistic("p95", "time", _("95th percentile"), "95th percentile, seconds", Scale.SECONDS),
    Statistic("geometric_mean", "time", _("Geometric mean"), "seconds", Scale.SECONDS, "t on log seconds"),
    Statistic(
        "log_slope_per_position", "time", _("Log slope"),
        "change of the natural logarithm of seconds from one place in the order to the next", Scale.PLAIN,
        "least squares, t", CENSORED,
    ),
    Statistic(
        "pooled_log_slope_adjusted", "time", _("Log slope of all readers"),
        "the same of all readers, reader and case as fixed factors", Scale.PLAIN, "least squares, t", CENSORED,
    ),
    Statistic(
        "percent_per_ten", "time", _("Change per ten cases"), "that change in percent per ten places", Scale.CHANGE,
        "least squares, t", CENSORED,
    ),
    Statistic(
        "spearman_time_vs_position", "time", _("Rank correlation with the order"), "rank correlation, -1 to 1",
        Scale.COEFFICIENT, "", CENSORED,
    ),
)  # fmt: skip
_CALIBRATION = (
    Statistic(
        "brier_score", "calibration", _("Brier score"),
        "mean squared distance of the stated chance (0 to 1) from right (1) and wrong (0)", Scale.PLAIN,
        "t with a cluster-robust error", (estimate.FEW_CLUSTERS, estimate.NO_VARIATION, estimate.FEW_ERRORS),
    ),
    Statistic(
        "brier_reference", "calibration", _("Reference"), "that of always stating one's own share right", Scale.PLAIN
    ),
    Statistic("mean_stated", "calibration", _("Stated"), "mean stated chance", Scale.SHARE),
    Statistic("mean_right", "calibration", _("Right"), "share right", Scale.SHARE, "Wilson"),
    Statistic(
        "stated_minus_right", "calibration", _("Stated minus right"), "above 0 overconfident", Scale.POINTS,
        "limits of both means combined (MOVER)", (estimate.FEW_CLUSTERS,),
    ),
)  # fmt: skip

CATALOGUE: dict[tuple[str, str], Statistic] = {
    (one.about, one.name): one for one in (*_RATERS, *_PAIRS, *_GROUPS, *_TIMES, *_CALIBRATION)
}


def shown_at(place: ShownOn) -> list[Statistic]:
    """In the order in which they are shown."""
    return [one for one in CATALOGUE.values() if place in one.shown]


def meanings(*about: str) -> str:
    """What the names of these entries mean, for a codebook: "name: meaning; name: meaning"."""
    found = {one.name: one.meaning for one in CATALOGUE.values() if one.about in about}
    return "; ".join(f"{name}: {meaning}" for name, meaning in found.items())
