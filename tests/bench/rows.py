"""A measured figure beside its goal and its baseline, and the table of all of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tests.processes import postgres_url, temporary_database


@dataclass(frozen=True)
class Row:
    """One line of the table. ``ratio`` is baseline over value for times, value over baseline for rates."""

    name: str
    value: float
    unit: str
    goal: str = ""
    baseline_name: str = ""
    baseline: float | None = None

    @property
    def ratio(self) -> float | None:
        if not self.baseline or not self.value:
            return None
        return self.value / self.baseline if self.unit.endswith("/s") else self.baseline / self.value


def on_both_databases(measured: Callable[[str, str], list[Row]], database: str) -> list[Row]:
    """Rows for SQLite, and for PostgreSQL when one answers. ``measured`` gets a name and an address (empty: SQLite)."""
    rows = measured("SQLite", "")
    server = postgres_url()
    if server is None:
        print("No PostgreSQL answers: nothing was measured there.")
        return rows
    with temporary_database(server, database) as url:
        return rows + measured("PostgreSQL", url)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` (0 to 1) of the values lie, nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def p50_and_p95(
    name: str, values: Sequence[float], goals: tuple[str, str], beside: str = "", others: Sequence[float] = ()
) -> list[Row]:
    """Milliseconds, each beside the same share of others."""
    rows = []
    for word, share, goal in (("p50", 0.50, goals[0]), ("p95", 0.95, goals[1])):
        base = percentile(others, share) if others else None
        rows.append(Row(f"{name}, {word}", percentile(values, share), "ms", goal, beside, base))
    return rows


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


def as_table(rows: Sequence[Row]) -> str:
    """Aligned text: name, value, goal, baseline, ratio (above 1 is better than the baseline)."""
    head = ("measured", "value", "goal", "baseline in this run", "times better")
    lines = [head]
    for row in rows:
        baseline = f"{row.baseline:,.1f} {row.unit} ({row.baseline_name})" if row.baseline is not None else ""
        ratio = f"{row.ratio:.1f}" if row.ratio is not None else ""
        lines.append((row.name, f"{row.value:,.1f} {row.unit}", row.goal, baseline, ratio))
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
