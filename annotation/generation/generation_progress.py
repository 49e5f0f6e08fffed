"""How far a run is, and what it made of what: for its page and for commands."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Count, Q
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.call_enums import BatchState
from annotation.generation.kernels.answer_forms import RULES
from annotation.generation.making import IMPORT
from annotation.model_calls.call_batches import acts_now, rest_in_words
from annotation.model_calls.next_calls import CallTally, tally
from annotation.models import (
    Bullet,
    CallBatch,
    GenerationReport,
    GenerationRun,
)

FROM_IMPORT = "The import of questions refused it: {code}."


class NotMade(Struct, frozen=True):
    """How often a rule rejected something."""

    rule: str
    version: int | None  # null: a check of the importer
    sentence: str
    n: int


@dataclass
class GenerationProgress:
    """Everything that is shown of one run, without a word of any report."""

    run: GenerationRun

    @cached_property
    def n_reports(self) -> int:
        return GenerationReport.objects.filter(run=self.run).count()

    @cached_property
    def _bullets(self) -> dict[str, int]:
        rows = Bullet.objects.filter(report__run=self.run).order_by()
        return rows.aggregate(found=Count("pk"), usable=Count("pk", filter=Q(fault="")))

    @property
    def n_bullets(self) -> int:
        return self._bullets["found"]

    @property
    def n_usable(self) -> int:
        return self._bullets["usable"]

    @cached_property
    def calls(self) -> list[tuple[CallBatch, CallTally]]:
        """Both steps, as far as they were planned."""
        batches = [self.run.bullets_batch, self.run.questions_batch]
        return [(one, tally(one)) for one in batches if one is not None]

    @property
    def not_made(self) -> list[NotMade]:
        """By rule, in the order in which the rules are asked."""
        counts = Counter((one["step"] == IMPORT, one["rule"], one.get("version", 1)) for one in self.run.not_made)
        order = list(RULES)
        found = sorted(counts.items(), key=lambda one: (one[0][0], order.index(one[0][1]) if not one[0][0] else 0))
        return [
            NotMade(code, None, FROM_IMPORT.format(code=code), n)
            if is_import
            else NotMade(code, version, _(RULES[code].sentence), n)
            for (is_import, code, version), n in found
        ]

    @property
    def n_not_made(self) -> int:
        """Questions that a model wrote and a rule kept out."""
        return sum(one["number"] > 0 and one["step"] != "bullets" for one in self.run.not_made)

    @property
    def is_at_work(self) -> bool:
        """Whether the page looks again by itself."""
        return self.run.finished_at is None and all(
            batch.state in (BatchState.RUNNING, BatchState.COMPLETE) for batch, _tally in self.calls
        )

    @property
    def acts(self) -> list[tuple[str, str]]:
        """What can be done with the calls that are asked at the moment, with the words of the button."""
        return acts_now(self.calls[-1][0]) if self.run.finished_at is None else []

    @property
    def sentence(self) -> str:
        """The state of the run, and what can be done."""
        if self.run.finished_at is not None:
            if self.run.n_made:
                return _("Finished. Its questions wait for review; no study takes one before a review accepts it.")
            return _("Finished. No question was made; the table says why.")
        batch, counted = self.calls[-1]
        facts = {"done": counted.n_done, "all": batch.n_calls}
        if batch.state == BatchState.COMPLETE:
            return _("All answers are there; a worker takes the next step.")
        if batch.state == BatchState.RUNNING:
            if self.run.questions_batch is None:
                return _("The model lists the findings of each report: %(done)d of %(all)d.") % facts
            return _("The model writes questions on the findings: %(done)d of %(all)d exams.") % facts
        if batch.state == BatchState.STOPPED:
            return _("Stopped for good after %(done)d of %(all)d calls. No question is made of the answers.") % facts
        return rest_in_words(batch, counted)
