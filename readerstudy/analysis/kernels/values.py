"""Values of an analysis as plain mappings. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.statistics.kernels.comparing import ChiSquare
from annotation.statistics.kernels.results import NO_COMMON_QUESTIONS, POST_HOC, Result, undefined


def with_fractions(results: Mapping[str, Result], fractions: Mapping[str, float | None]) -> dict[str, dict[str, Any]]:
    """Each result with the share of bootstrap draws in which it was undefined."""
    return {name: one.as_json() | {"bootstrap_undefined_fraction": fractions[name]} for name, one in results.items()}


def p_value(p: float, n: int, method: str, flags: tuple[str, ...] = (POST_HOC,)) -> Result:
    return Result(p, None, n, method, flags) if n else undefined(NO_COMMON_QUESTIONS, n=0, method=method, flags=flags)


def chi_square(test: ChiSquare, method: str, flags: tuple[str, ...] = (POST_HOC,)) -> dict[str, Any]:
    """A test statistic as any other value, with its degrees of freedom and its p."""
    return {
        "value": test.chi2,
        "ci95": None,
        "n": test.n,
        "method": method,
        "flags": list(flags),
        "reason": test.reason,
        "df": test.df,
        "p": test.p,
    }
