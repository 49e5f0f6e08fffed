"""How estimates and coefficients look on a page."""

from __future__ import annotations

from decimal import Decimal

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from annotation.enums import _ as marked
from annotation.statistics.kernels import estimate
from annotation.statistics.kernels.estimate import (
    FEW_CLUSTERS,
    NO_VARIATION,
    NOT_ASKED,
    SMALL_N,
    STRATUM_TOO_SMALL,
    WHOLE_BANK,
    WHOLE_FRAME,
    ZERO_TRIALS,
    Estimate,
)

register = template.Library()


@register.filter
def percent(share: Estimate | float | None) -> str:
    """83.84 %; n/a where it is not defined."""
    value = share.value if isinstance(share, Estimate) else share
    return _("n/a") if value is None else f"{_hundredths(value)}\N{NO-BREAK SPACE}%"


@register.filter
def interval(estimate: Estimate) -> str:
    """76.1 to 88.3 %, or nothing; where all was reviewed, that."""
    if WHOLE_BANK in estimate.flags:
        return _("the whole bank was reviewed")
    if WHOLE_FRAME in estimate.flags:
        return _("all that it was drawn from was reviewed")
    if estimate.ci95 is None:
        return _("n/a")
    low, high = estimate.ci95
    return _("%(low)s to %(high)s") % {"low": _hundredths(low), "high": _hundredths(high)} + "\N{NO-BREAK SPACE}%"


@register.filter
def duration(ms: float | None) -> str:
    """95 s as 1 min 35 s, below a minute 42.3 s; nothing is n/a."""
    if ms is None:
        return _("n/a")
    minutes, seconds = divmod(round(ms / 1000), 60)
    if minutes == 0 or ms < 60_000:
        return number_format(Decimal(f"{ms / 1000:.1f}"), decimal_pos=1) + f"\N{NO-BREAK SPACE}{_('s')}"
    return f"{minutes}\N{NO-BREAK SPACE}{_('min')} {seconds}\N{NO-BREAK SPACE}{_('s')}"


@register.filter
def of_all(part: int, whole: int) -> str:
    """12 of 40 as 30.00 %; nothing of nothing is n/a."""
    return percent(part / whole if whole else None)


@register.filter
def caution(estimate: Estimate) -> str:
    """Why a value is missing, or what to be careful about; empty when there is nothing to say."""
    if NOT_ASKED in estimate.flags:
        return _("not asked in this round")
    return {
        ZERO_TRIALS: _("nothing to count yet"),
        STRATUM_TOO_SMALL: _("fewer than 2 questions of a stratum are reviewed"),
        SMALL_N: _("small n"),
        FEW_CLUSTERS: _("no interval: fewer than 10 exams"),
        NO_VARIATION: _("no interval: exams do not differ"),
        WHOLE_BANK: "",  # said in place of the interval
        WHOLE_FRAME: "",
        "": "",
    }[estimate.reason or next(iter(estimate.flags), "")]


def _hundredths(value: float) -> str:
    return number_format(Decimal(f"{100 * value:.2f}"), decimal_pos=2)  # number_format alone cuts, it does not round


MINUS = "\N{MINUS SIGN}"
HEADS = {
    "percent_agreement": marked("Agreement"),
    "cohen_kappa_quadratic": marked("Weighted kappa"),
    "krippendorff_alpha_ordinal": marked("Ordinal alpha"),
    "percent_agreement_weighted": marked("Weighted agreement"),
    "gwet_ac2_quadratic": marked("Gwet’s AC2"),
    "icc2_1": marked("ICC(2,1)"),
    "cohen_kappa": marked("Cohen’s kappa"),
    "fleiss_kappa": marked("Fleiss’ kappa"),
    "gwet_ac1": marked("Gwet’s AC1"),
    "brennan_prediger": marked("Brennan-Prediger"),
    "krippendorff_alpha_nominal": marked("Alpha"),
    "specific_agreement_positive": marked("On set"),
    "specific_agreement_negative": marked("On not set"),
}
SHARES = frozenset(
    {"percent_agreement", "percent_agreement_weighted", "specific_agreement_positive", "specific_agreement_negative"}
)


@register.filter
def agreement_head(name: str) -> str:
    """The heading of the column of a statistic."""
    return _(HEADS[name])


@register.filter
def agreement_value(one: Estimate, name: str) -> str:
    """83.84 %, or 0.641."""
    if name in SHARES or one.value is None:
        return percent(one)
    return _thousandths(one.value)


@register.filter
def agreement_limits(one: Estimate, name: str) -> str:
    """76.10 to 88.30 %, or 0.617 to 0.664; that there are none."""
    if one.ci95 is None:
        return _("no interval")
    if name in SHARES:
        return interval(one)
    low, high = one.ci95
    return _("%(low)s to %(high)s") % {"low": _thousandths(low), "high": _thousandths(high)}


@register.filter
def why_undefined(one: Estimate, name: str) -> str:
    """Why there is no value."""
    nothing = _("everybody set it") if name == "specific_agreement_negative" else _("nobody set it")
    reasons = {
        estimate.NO_COMMON_QUESTIONS: _("no question that two of them judged"),
        estimate.EXPECTED_AGREEMENT_IS_ONE: _("all gave the same answer"),
        estimate.NO_VARIATION: _("all gave the same answer"),
        estimate.ZERO_TRIALS: nothing,
        estimate.ONE_RATER: _("one reviewer only"),
        estimate.TOO_FEW: _("not graded by all"),
        estimate.OUTSIDE_RANGE: _("outside its range"),
    }
    return _("not defined: %(why)s") % {"why": reasons[one.reason or estimate.ZERO_TRIALS]}


def _thousandths(value: float) -> str:
    text = number_format(Decimal(f"{value:.3f}"), decimal_pos=3)  # number_format alone cuts, it does not round
    return text.lstrip("-") if not Decimal(f"{value:.3f}") else text.replace("-", MINUS)
