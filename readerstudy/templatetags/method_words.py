"""How plain values stand in the sentences of a methods section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from django import template

from readerstudy.results.kernels import inferences

register = template.Library()
register.filter("planned_line", inferences.planned_line)


@register.filter
def hundredfold(share: float, form: str) -> str:
    """A share in percent or points, in a form of Python: ".3g"."""
    return f"{100 * share:{form}}"


@register.filter
def as_power(share: float) -> str:
    return "above 99 %" if share > 0.995 else f"{100 * share:.0f} %"


@register.filter
def no_stop(text: str | None) -> str:
    """A text of a person, to which the sentence adds its own full stop."""
    return (text or "").strip().rstrip(".")


@register.filter
def or_unknown(text: str) -> str:
    return no_stop(text) or "not known"


@register.filter
def listed(counts: Mapping[str, int]) -> str:
    """radiologist 3, resident 1."""
    return ", ".join(f"{word} {n}" for word, n in counts.items())


@register.filter
def middle(values: Sequence[int]) -> str:
    return f"median {median(values):g} (range {min(values)} to {max(values)}, n = {len(values)})"
