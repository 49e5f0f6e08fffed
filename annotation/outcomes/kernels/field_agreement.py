"""Agreement of reviewers on each field of the form: grades, choices and flags, all on the same draws. Pure.

Two reviewers: the coefficients of their table. More, or others on other questions: those of any number of ratings for
each question; specific agreement is then over all pairs of ratings of a question [1]_, which for two reviewers is the
same number.

References
----------
.. [1] H. C. W. de Vet, R. E. Dikmans, I. Eekhout, J. Clin. Epidemiol. 83 (2017) 85-89.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from annotation.enums import Word
from annotation.statistics.kernels import groups, pairs
from annotation.statistics.kernels.bootstrap import Bootstrapped, Units, generator, percentile_intervals, resampled_each
from annotation.statistics.kernels.estimate import (
    CLUSTERS_IGNORED,
    EXPECTED_AGREEMENT_IS_ONE,
    NO_COMMON_QUESTIONS,
    NO_VARIATION,
    ZERO_TRIALS,
    Estimate,
    undefined,
)
from annotation.statistics.kernels.group_intervals import agreement_result
from annotation.statistics.kernels.groups import ORDINAL, RatingSums, columns_by_size, krippendorff_alpha, rating_counts
from annotation.statistics.kernels.pair_tables import Codes
from annotation.statistics.kernels.reviewers import (
    PANEL,
    intraclass_correlations,
    negative_agreement,
    positive_agreement,
    quadratic_weights,
    weighted_agreement,
)

FAMILY = "fields"  # of draws: every field shares them
PERCENT, BRENNAN_PREDIGER = "percent_agreement", "brennan_prediger"
POSITIVE, NEGATIVE = "specific_agreement_positive", "specific_agreement_negative"
ALPHA, ORDINAL_ALPHA, ICC = "krippendorff_alpha_nominal", "krippendorff_alpha_ordinal", "icc2_1"
PERCENT_WEIGHTED, AC2 = "percent_agreement_weighted", "gwet_ac2_quadratic"
KAPPA, FLEISS, WEIGHTED, AC1 = "cohen_kappa", "fleiss_kappa", "cohen_kappa_quadratic", "gwet_ac1"
REASONS = {ALPHA: NO_VARIATION, ORDINAL_ALPHA: NO_VARIATION, POSITIVE: ZERO_TRIALS, NEGATIVE: ZERO_TRIALS}
NOT_OF_MARGINS = frozenset({PERCENT, BRENNAN_PREDIGER, POSITIVE, NEGATIVE})

Values = NDArray[np.float64]
Columns = NDArray[Any]  # flags or whole numbers, shape (columns, questions)


class FieldScale(Word):
    """What the values of a field are to each other."""

    GRADES = "grades"  # in an order
    CHOICE = "choice"  # in none
    FLAG = "flag"  # set (code 0) or not (code 1)


@dataclass(frozen=True)
class FieldRatings:
    """``codes``: shape (reviewers, questions), 0 to ``n_values`` - 1 in the order of the scale; negative: no rating."""

    scale: FieldScale
    codes: Codes
    n_values: int

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many chose each value, shape (questions, values)."""
        return rating_counts(self.codes, self.n_values)

    @cached_property
    def is_paired(self) -> NDArray[np.bool_]:
        return np.asarray(self.counts.sum(axis=1) > 1)


@dataclass(frozen=True)
class FieldAgreement:
    """``n_questions`` have two ratings or more; ``n_pairs`` are the pairs of ratings of one question."""

    n_questions: int
    n_pairs: int
    results: Mapping[str, Estimate]


def field_agreement(fields: Sequence[FieldRatings], units: Units, *, seed: int, draws: int) -> list[FieldAgreement]:
    """Agreement on every field with percentile intervals over questions, or over patients or exams.

    ``percent_agreement`` and, by scale: grades ``cohen_kappa_quadratic`` (two reviewers),
    ``krippendorff_alpha_ordinal``, ``percent_agreement_weighted``, ``gwet_ac2_quadratic`` (which says more than the
    other two where grades pile up) and ``icc2_1``; choices and flags ``cohen_kappa`` (two reviewers) or
    ``fleiss_kappa``, ``gwet_ac1`` and ``brennan_prediger``; choices also ``krippendorff_alpha_nominal``, flags
    ``specific_agreement_positive`` and ``specific_agreement_negative``. Of two
    reviewers without clusters the percent has Wilson's interval, and ``brennan_prediger`` its image.
    """
    sums: list[_Sums] = [_OfTwo(one) if len(one.codes) == 2 else _OfMore(one) for one in fields]
    parts = [one.parts() for one in sums]
    counted = units.counts([part for of_field in parts for part in of_field])
    drawn = iter(resampled_each(counted, generator(seed, PANEL, FAMILY), draws) if counted else [])
    return [
        _result(one, of_field, [next(drawn) for _part in of_field], units)
        for one, of_field in zip(sums, parts, strict=True)
    ]


class _Sums(Protocol):
    """What a field adds up over questions, and its statistics from these sums."""

    @property
    def ratings(self) -> FieldRatings: ...

    def parts(self) -> list[Columns]: ...

    def values(self, sums: Sequence[NDArray[Any]]) -> dict[str, Values]: ...

    def estimate(self, name: str, value: float, interval: Bootstrapped, units: Units) -> Estimate: ...


def _result(sums: _Sums, parts: Sequence[Columns], drawn: Sequence[Values], units: Units) -> FieldAgreement:
    ratings = sums.ratings
    rated = ratings.counts.sum(axis=1)
    n = int(ratings.is_paired.sum())
    values = sums.values([part.sum(axis=1) for part in parts])
    n_clusters = len(np.unique(units.number[ratings.is_paired])) if units.clustered else None
    replicates = np.stack(list(sums.values(drawn).values()), axis=1)
    intervals = percentile_intervals(replicates, n, n_clusters)
    results = {
        name: sums.estimate(name, float(value), interval, units)
        for (name, value), interval in zip(values.items(), intervals, strict=True)
    }
    if ratings.scale is FieldScale.GRADES:
        weighted = weighted_agreement(ratings.codes, quadratic_weights(ratings.n_values), clustered=units.clustered)
        results |= {PERCENT_WEIGHTED: weighted.percent_agreement_weighted, AC2: weighted.gwet_ac2}
        results[ICC] = _icc(ratings, units)
    return FieldAgreement(n, int((rated * (rated - 1) // 2).sum()), results)


def _icc(ratings: FieldRatings, units: Units) -> Estimate:
    """Of the questions that all reviewers graded; its interval takes them as independent."""
    graded = np.where(ratings.codes >= 0, ratings.codes, np.nan).astype(np.float64).T
    found = intraclass_correlations(graded)[ICC]
    return replace(found, flags=(*found.flags, CLUSTERS_IGNORED)) if units.clustered and found.ci95 else found


@dataclass(frozen=True)
class _OfTwo:
    ratings: FieldRatings

    @property
    def _cells(self) -> NDArray[np.int64]:
        first, second = self.ratings.codes
        return np.where((first >= 0) & (second >= 0), first * self.ratings.n_values + second, -1)

    @cached_property
    def table(self) -> NDArray[np.int64]:
        q = self.ratings.n_values
        return np.bincount(self._cells[self.ratings.is_paired], minlength=q * q).reshape(q, q)

    def parts(self) -> list[Columns]:
        return [np.asarray(self._cells == np.arange(self.ratings.n_values**2)[:, np.newaxis])]

    def values(self, sums: Sequence[NDArray[Any]]) -> dict[str, Values]:
        q = self.ratings.n_values
        tables = sums[0].reshape(*sums[0].shape[:-1], q, q)
        both_ways = (tables + np.swapaxes(tables, -1, -2)).astype(np.float64)  # Krippendorff's coincidences of two
        percent = {PERCENT: pairs.percent_agreement(tables)}
        if self.ratings.scale is FieldScale.GRADES:
            kappa = pairs.cohen_kappa(tables, quadratic_weights(q))
            return {**percent, WEIGHTED: kappa, ORDINAL_ALPHA: krippendorff_alpha(both_ways, ORDINAL)}
        nominal = {
            **percent,
            KAPPA: pairs.cohen_kappa(tables),
            AC1: pairs.gwet_ac1(tables),
            BRENNAN_PREDIGER: pairs.brennan_prediger(tables),
        }
        if self.ratings.scale is FieldScale.CHOICE:
            return {**nominal, ALPHA: krippendorff_alpha(both_ways)}
        return {**nominal, POSITIVE: positive_agreement(tables), NEGATIVE: negative_agreement(tables)}

    def estimate(self, name: str, value: float, interval: Bootstrapped, units: Units) -> Estimate:
        if not units.clustered and name == PERCENT:
            return pairs.percent_agreement_result(self.table)
        if not units.clustered and name == BRENNAN_PREDIGER:
            return pairs.brennan_prediger_result(self.table)
        return pairs.result_of(
            value,
            self.table,
            ci95=interval.ci95,
            method=units.method,
            flags=interval.flags,
            of_margins=name not in NOT_OF_MARGINS,
            reason=REASONS.get(name, EXPECTED_AGREEMENT_IS_ONE),
        )


NOMINAL_OF_MORE: dict[str, Callable[[RatingSums], Values]] = {
    FLEISS: groups.fleiss_kappa,
    AC1: groups.gwet_ac1,
    BRENNAN_PREDIGER: groups.brennan_prediger,
}


@dataclass(frozen=True)
class _OfMore:
    ratings: FieldRatings

    @cached_property
    def _by_size(self) -> dict[int, NDArray[np.int64]]:
        return columns_by_size(self.ratings.counts)

    @cached_property
    def _whole(self) -> int:
        return groups.common_denominator(self.ratings.counts)

    def parts(self) -> list[Columns]:
        scale = self.ratings.scale
        return [
            *self._by_size.values(),
            *([self._coincidences()] if scale is FieldScale.GRADES else []),
            *([self._pairs_of_ratings()] if scale is FieldScale.FLAG else []),
        ]

    def _coincidences(self) -> Columns:
        """Krippendorff's, as whole numbers: they add up exactly."""
        found = np.rint(groups.coincidences(self.ratings.counts) * self._whole).astype(np.int64)
        return found.reshape(len(found), -1).T

    def _pairs_of_ratings(self) -> Columns:
        """Ordered pairs of ratings of a question: both set, one and one, one and one, neither."""
        counts = self.ratings.counts
        ordered = counts[:, :, np.newaxis] * counts[:, np.newaxis, :]
        diagonal = np.arange(counts.shape[1])
        ordered[:, diagonal, diagonal] -= counts
        return ordered.reshape(len(ordered), -1).T

    def values(self, sums: Sequence[NDArray[Any]]) -> dict[str, Values]:
        q, scale, n_sizes = self.ratings.n_values, self.ratings.scale, len(self._by_size)
        nobody = np.zeros((0, q), dtype=np.int64)  # nothing about single reviewers is needed
        rated = RatingSums(dict(zip(self._by_size, sums[:n_sizes], strict=True)), nobody)
        percent = {PERCENT: groups.percent_agreement(rated)}
        table = sums[-1].reshape(*sums[-1].shape[:-1], q, q) if scale is not FieldScale.CHOICE else None
        if scale is FieldScale.GRADES and table is not None:
            return {**percent, ORDINAL_ALPHA: krippendorff_alpha(table / self._whole, ORDINAL)}
        nominal = {**percent, **{name: coefficient(rated) for name, coefficient in NOMINAL_OF_MORE.items()}}
        if table is None:
            return {**nominal, ALPHA: groups.krippendorff_alpha_nominal(rated)}
        return {**nominal, POSITIVE: positive_agreement(table), NEGATIVE: negative_agreement(table)}

    def estimate(self, name: str, value: float, interval: Bootstrapped, units: Units) -> Estimate:
        n = int(self.ratings.is_paired.sum())
        if n == 0:
            return undefined(NO_COMMON_QUESTIONS, n=0, method=units.method)
        return agreement_result(value, interval, n, units.method, REASONS.get(name, EXPECTED_AGREEMENT_IS_ONE))
