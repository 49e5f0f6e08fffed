"""A prompt version after version: the paper's criteria and issues, what rules rejected, what a question cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal

from msgspec import Struct

from annotation.enums import Word
from annotation.generation.generation_progress import GenerationProgress
from annotation.model_calls.next_calls import tallies
from annotation.models import CallBatch, GenerationRun, PromptVersion
from annotation.outcomes.prompt_flags import PromptFlags, flag_rate, runs_by_version
from annotation.review.kernels.form_design import CRITERIA
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share
from annotation.statistics.kernels.issues import PAPER_FLAGS, first_review_of_paper
from annotation.tables.kernels.table import Cell, Column, Kind

# What is measured, each with what counts as it: grades below GOOD_GRADE, and the issues of the paper's first review.
MEASURED: dict[Word, tuple[Word, ...]] = {
    **{name: (name,) for name in CRITERIA},
    **{outcome: PAPER_FLAGS[outcome] for outcome, _share in first_review_of_paper()},
}
_SHARE = {"n": Kind.WHOLE, "count": Kind.WHOLE, "low": Kind.REAL, "high": Kind.REAL}
_MEANINGS = {
    **{word.value: f"{word.label}: questions with it by at least one reviewer, 95 % interval." for word in MEASURED},
    "rejected": "Questions that a rule refused, of all that the model wrote, 95 % interval (Wilson).",
}
COLUMNS = [
    Column("version", Kind.WHOLE, "Number of the version."),
    Column("reason", Kind.TEXT, "Why it was made."),
    Column("reviews", Kind.WHOLE, "Reviews of questions in the wording of the model."),
    Column("accepted", Kind.WHOLE, "Questions of the version that are accepted now."),
    Column("cost", Kind.REAL, "Of all calls of its runs; empty: a price was not stated, or in several currencies."),
    Column("currency", Kind.TEXT, "ISO 4217."),
    *(Column(f"{name}_{what}", kind, text) for name, text in _MEANINGS.items() for what, kind in _SHARE.items()),
]


class VersionLine(Struct, frozen=True):
    """``measured`` in the order of MEASURED; ``cost`` None: a price was not stated, or in several currencies."""

    version: PromptVersion
    n_reviews: int
    n_accepted: int
    measured: list[Estimate]
    rejected: Estimate  # of what the model wrote
    cost: Decimal | None  # of all calls of its runs
    currency: str

    @property
    def cost_each(self) -> Decimal | None:
        """Of a question that was made; None without any, or without a price."""
        return self._cost_of(self.rejected.n - (self.rejected.count or 0))

    @property
    def cost_accepted(self) -> Decimal | None:
        """Of a question that experts accepted; None without any, or without a price."""
        return self._cost_of(self.n_accepted)

    def _cost_of(self, n: int) -> Decimal | None:
        return self.cost / n if self.cost is not None and n else None


def prompt_line(flags: PromptFlags) -> list[VersionLine]:
    """In the order of the versions; four queries."""
    runs: dict[int, list[GenerationRun]] = defaultdict(list)
    for version, run in runs_by_version([one.version for one in flags.versions]):
        runs[version].append(run)
    everything = [pk for own in runs.values() for pk in _batches(own)]
    batches = CallBatch.objects.select_related("price").in_bulk(everything)
    spent = tallies(batches.keys())
    lines = []
    for one in flags.versions:
        own = runs[one.version.pk]
        n_made, n_rejected = sum(run.n_made for run in own), sum(GenerationProgress(run).n_not_made for run in own)
        asked = [batches[pk] for pk in _batches(own)]
        currencies = {batch.price.currency if batch.price else "" for batch in asked}
        currency = currencies.pop() if len(currencies) == 1 else ""
        measured = [flag_rate(one.questions, *issues).shown for issues in MEASURED.values()]
        cost = sum((spent[batch.pk].cost for batch in asked), Decimal(0)) if currency else None
        rejected = share(n_rejected, n_made + n_rejected)
        lines.append(VersionLine(one.version, one.n_reviews, one.n_accepted, measured, rejected, cost, currency))
    return lines


def _batches(runs: list[GenerationRun]) -> list[int]:
    return [pk for run in runs for pk in (run.bullets_batch_id, run.questions_batch_id) if pk is not None]


def rows_of(lines: list[VersionLine]) -> Iterator[list[Cell]]:
    """As COLUMNS."""
    for one in lines:
        cost = None if one.cost is None else float(one.cost)
        cells: list[Cell] = [
            *(one.version.number, one.version.reason, one.n_reviews, one.n_accepted, cost, one.currency)
        ]
        for estimate in (*one.measured, one.rejected):
            low, high = estimate.ci95 or (None, None)
            cells += [estimate.n, estimate.count, low, high]
        yield cells
