"""What the page of one validator shows: how it is asked, how far its runs are, and which questions fail and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.call_enums import BatchState, PromptPurpose
from annotation.enums import KeySource
from annotation.model_calls.call_batches import act_named, acts_now
from annotation.model_calls.tallies import CallTally, tallies
from annotation.models import Finding, PromptVersion, Question, QuestionBank, Revision, User, ValidatorRun
from annotation.prompts.versions import stored_version
from annotation.quality.kernels.validity_parts import PartState
from annotation.questionbank.answers import note_seen_keys
from annotation.review.onlookers import withheld_questions
from annotation.validators.kernels.validator_prompts import PROMPTS
from annotation.validators.taking_verdicts import take_later

MOST_LISTED = 20


@dataclass(frozen=True)
class RunRow:
    """One run of a validator; ``verdicts`` once they are taken."""

    run: ValidatorRun
    tally: CallTally

    @property
    def is_at_work(self) -> bool:
        """Whether the page looks again by itself."""
        batch = self.run.batch
        is_taken = self.run.taken_at is not None
        return batch.state == BatchState.RUNNING or (batch.state == BatchState.COMPLETE and not is_taken)

    @property
    def acts(self) -> list[tuple[str, str]]:
        """What can be done with it now, with the words of the button."""
        return acts_now(self.run.batch)

    @property
    def sentence(self) -> str:
        batch = self.run.batch
        if batch.state == BatchState.COMPLETE:
            if self.run.taken_at is None:
                return _("All answers are there; a worker takes the verdicts.")
            if self.run.n_unread:
                return ngettext(
                    "Complete; %(n)d answer has no verdict.",
                    "Complete; %(n)d answers have no verdict.",
                    self.run.n_unread,
                ) % {"n": self.run.n_unread}
            return _("Complete.")
        if batch.state == BatchState.STOPPED:
            if self.run.taken_at is None:
                return _("Stopped for good.")
            return _("Stopped for good; the verdicts that came until then count.")
        return batch.paused_because or str(batch.get_state_display()).capitalize()


def runs_of(bank: QuestionBank, validator: str = "") -> list[RunRow]:
    """The newest first; of all validators where none is named. Two queries."""
    runs = ValidatorRun.objects.filter(bank=bank, **({"validator": validator} if validator else {}))
    return run_rows(list(runs.select_related("batch__prompt", "batch__price", "created_by")[:MOST_LISTED]))


def run_rows(runs: Sequence[ValidatorRun]) -> list[RunRow]:
    """One query more."""
    found = tallies([run.batch_id for run in runs])
    return [RunRow(run, found[run.batch_id]) for run in runs]


def act_on_run(run: ValidatorRun, act: str, *, actor: User | None, at: datetime) -> None:
    """Pause, resume or stop it; the verdicts of a stopped run are taken. Raises BatchRefused."""
    with transaction.atomic():
        act_named(run.batch, act, actor=actor, at=at)
        if act == "stop":
            take_later(run.batch, at)


def asked_with(validator: str) -> PromptVersion | None:
    """Our prompt of this validator as it is now; None before it was needed first."""
    return stored_version(PROMPTS[validator])


def prompts_to_check() -> QuerySet[PromptVersion]:
    """By name, the newest version of each first."""
    return PromptVersion.objects.filter(purpose=PromptPurpose.CHECK).order_by("name", "-number")


def failing(bank: QuestionBank, validator: str, person: User) -> QuerySet[Finding]:
    """The newest verdicts "fail" on current questions, by number, without what the person reviews."""
    current = Revision.objects.in_bank(bank).current().exclude(question__in=withheld_questions(person))
    found = Finding.objects.open().filter(bank=bank, rule=validator, verdict=PartState.FAIL.value)
    found = found.filter(revision__in=current.order_by().values("pk"))
    return found.select_related("revision__question", "call__batch__prompt").order_by(
        F("revision__question__number"), "pk"
    )


def note_read(shown: Sequence[Finding], *, person: User, at: datetime) -> None:
    """A reason may tell the key: whoever reads it cannot judge the question blind any more."""
    if shown:
        questions = Question.objects.filter(pk__in=[one.revision.question_id for one in shown])
        note_seen_keys(person, questions, source=KeySource.RAW_ANSWERS, subject=shown[0].bank, at=at)
