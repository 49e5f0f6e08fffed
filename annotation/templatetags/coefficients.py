"""How the agreement of reviewers looks on a page: shares in percent, coefficients with three decimals, and why not."""

from __future__ import annotations

from decimal import Decimal

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from annotation.enums import _ as marked
from annotation.statistics.kernels import estimate
from annotation.statistics.kernels.estimate import Estimate
from annotation.templatetags.estimates import interval, percent

register = template.Library()

MINUS = "\N{MINUS SIGN}"
HEADS = {
    "percent_agreement": marked("Agreement"),
    "cohen_kappa_quadratic": marked("Weighted kappa"),
    "krippendorff_alpha_ordinal": marked("Ordinal alpha"),
    "icc2_1": marked("ICC(2,1)"),
    "cohen_kappa": marked("Cohen’s kappa"),
    "fleiss_kappa": marked("Fleiss’ kappa"),
    "gwet_ac1": marked("Gwet’s AC1"),
    "brennan_prediger": marked("Brennan-Prediger"),
    "krippendorff_alpha_nominal": marked("Alpha"),
    "specific_agreement_positive": marked("On set"),
    "specific_agreement_negative": marked("On not set"),
}
SHARES = frozenset({"percent_agreement", "specific_agreement_positive", "specific_agreement_negative"})


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
