from __future__ import annotations

from decimal import Decimal

import pytest

from annotation.endpoints.kernels.token_costs import cost_of

PRICE = (Decimal("2.50"), Decimal("0.25"), Decimal(10))


@pytest.mark.parametrize(
    ("n_input", "n_cached", "n_output", "cost"),
    [
        (1_000_000, 0, 0, "2.5"),
        (1_000_000, 1_000_000, 0, "0.25"),
        (1_000_000, 400_000, 50_000, "2.1"),  # 0.6 x 2.50 + 0.4 x 0.25 + 0.05 x 10
        (1, 0, 1, "0.0000125"),
        (100, 200, 0, "0.000025"),
        (0, 0, 0, "0"),
    ],
)
def test_a_cost(n_input: int, n_cached: int, n_output: int, cost: str) -> None:
    assert cost_of(*PRICE, n_input=n_input, n_cached=n_cached, n_output=n_output) == Decimal(cost)


def test_it_fits_the_columns_of_costs() -> None:
    cost = cost_of(Decimal("0.0001"), Decimal(0), Decimal(0), n_input=1, n_cached=0, n_output=0)
    assert cost.as_tuple().exponent == -8
