"""What tokens cost. Pure."""

from __future__ import annotations

from decimal import Decimal

MILLION = Decimal(1_000_000)
SMALLEST = Decimal("0.00000001")  # of a currency, as the columns of costs keep it


def cost_of(
    per_million_input: Decimal,
    per_million_cached: Decimal,
    per_million_output: Decimal,
    *,
    n_input: int,
    n_cached: int,
    n_output: int,
) -> Decimal:
    """In the currency of the price, to eight decimals. Cached tokens are among the input and cost their own price;
    more of them than input, as no endpoint should say, count as all of it.
    """
    n_cached = min(n_cached, n_input)
    cost = (n_input - n_cached) * per_million_input + n_cached * per_million_cached + n_output * per_million_output
    return (cost / MILLION).quantize(SMALLEST)
