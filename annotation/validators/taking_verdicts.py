"""Verdicts of validators: taken from answers, and as people read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple, TypedDict

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from annotation.audit.recording import record
from annotation.call_enums import NO_ANSWER, BatchState
from annotation.enums import FindingPlace, JobQueue, KeySource
from annotation.generation.kernels.answer_forms import NotInForm, read_form, sent_text
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue_once
from annotation.model_calls.attempts import answers_of
from annotation.model_calls.call_batches import act_named, acts_now, rest_in_words
from annotation.model_calls.next_calls import CallTally, tallies
from annotation.model_calls.versions import stored_version
from annotation.models import (
    AnswerKey,
    CallBatch,
    Finding,
    ModelCall,
    PromptVersion,
    Question,
    QuestionBank,
    Revision,
    User,
    ValidatorRun,
)
from annotation.questionbank.answers import note_seen_keys
from annotation.questionbank.kernels.question_checks import PARTS, RATING
from annotation.review.onlookers import withheld_questions
from annotation.validators.kernels.validator_prompts import PROMPTS, WrittenRating, WrittenVerdict, kept_reason, word_of


class TakingParams(TypedDict):
    run: int


KIND: JobKind[TakingParams] = JobKind("take_verdicts", JobQueue.MODELS)
AT_ONCE = 500
UNREAD = "unread"
OVER = (BatchState.COMPLETE, BatchState.STOPPED)


# --- what is asked ---
def fill_calls(calls: Sequence[ModelCall]) -> Iterable[dict[str, str]]:
    """Key, explanation and report of each question."""
    keys = AnswerKey.objects.select_related("report").defer("extra").in_bulk([call.revision_id for call in calls])
    return [_values_of(keys[call.revision_id or 0]) for call in calls]


def _values_of(truth: AnswerKey) -> dict[str, str]:
    report = sent_text(truth.report.findings, truth.report.impression) if truth.report else ""
    return {"key": truth.key, "explanation": truth.explanation, "report": report}


# --- what was answered ---
class TakenVerdict(NamedTuple):
    """``word``: UNREAD where the answer was refused, cut, or in another form."""

    call: ModelCall
    word: str
    reason: str = ""


def _verdicts_in(run: ValidatorRun) -> Iterator[TakenVerdict]:
    """By number of the call."""
    form: type[WrittenVerdict] | type[WrittenRating] = WrittenRating if run.validator == RATING else WrittenVerdict
    for call, text in answers_of(run.batch):
        if call.outcome in NO_ANSWER:
            continue
        try:
            written = None if text is None else read_form(text, form)
        except NotInForm:
            written = None
        yield TakenVerdict(call, word_of(written), kept_reason(written)) if written else TakenVerdict(call, UNREAD)


def take_verdicts(run: ValidatorRun, *, at: datetime) -> ValidatorRun:
    """Store what a run says that is over, also one that a person stopped: then of the calls that were answered.

    The verdicts of the same validator from before stay, and count no more.
    """
    run.refresh_from_db()
    if run.taken_at is not None or run.batch.state not in OVER:
        return run
    counts: Counter[str] = Counter()
    read = _verdicts_in(run)
    while some := list(islice(read, AT_ONCE)):
        counts.update(one.word for one in some)
        _store(run, [one for one in some if one.word != UNREAD], at)
    with transaction.atomic():
        run.refresh_from_db(from_queryset=ValidatorRun.objects.select_for_update(of=("self",)))
        if run.taken_at is None:
            run.taken_at, run.n_unread = at, counts[UNREAD]
            run.save(update_fields=["taken_at", "n_unread"])
            facts = {"check": run.validator, **counts}
            record("validator.verdicts_taken", actor=None, at=at, subject=run, facts=facts)
    return run


@transaction.atomic
def _store(run: ValidatorRun, read: Sequence[TakenVerdict], at: datetime) -> None:
    taken = set(Finding.objects.filter(call__in=[one.call for one in read]).values_list("call", flat=True))
    fresh = [one for one in read if one.call.pk not in taken]
    revisions = [one.call.revision_id for one in fresh]
    before = Finding.objects.filter(revision__in=revisions, rule=run.validator, superseded_at=None).exclude(call=None)
    before.update(superseded_at=at)
    Finding.objects.bulk_create(
        Finding(
            bank=run.bank,
            revision_id=one.call.revision_id or 0,
            rule=run.validator,
            rule_version=run.batch.prompt.number,
            place=FindingPlace.QUESTION,
            detail=one.reason,
            call=one.call,
            verdict=one.word,
            found_at=at,
        )
        for one in fresh
    )


# --- by itself, once the last answer is there ---
def take_later(batch: CallBatch, at: datetime) -> None:
    """Called in the transaction that completes or stops a batch of calls, whatever it is for."""
    run = ValidatorRun.objects.filter(batch=batch).select_related("bank").first()
    if run is not None:
        title = _("Verdicts of %(check)s on “%(bank)s”") % {"check": run.validator, "bank": run.bank.name}
        enqueue_once(KIND, title[:200], TakingParams(run=run.pk), about="run", actor=run.created_by, at=at)


def run_taking(progress: Progress, params: TakingParams) -> Result:
    """The job."""
    run = ValidatorRun.objects.select_related("bank", "batch__prompt").get(pk=params["run"])
    progress.report(0, 1)
    take_verdicts(run, at=timezone.now())
    progress.report(1, 1)
    return {"run": run.public_id, "unread": run.n_unread}


MOST_LISTED = 20


class RunRow(Struct, frozen=True):
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
        if batch.state == BatchState.RUNNING:
            facts = {"done": self.tally.n_done, "all": batch.n_calls}
            return _("The model is asked: %(done)d of %(all)d questions.") % facts
        return rest_in_words(batch, self.tally)


def runs_of(bank: QuestionBank, validator: str = "") -> list[RunRow]:
    """The newest first; of all validators where none is named. Two queries."""
    runs = ValidatorRun.objects.filter(bank=bank, **({"validator": validator} if validator else {}))
    return run_rows(list(runs.select_related("batch__prompt", "batch__price", "created_by")[:MOST_LISTED]))


def run_rows(runs: Sequence[ValidatorRun]) -> list[RunRow]:
    """One query more."""
    found = tallies([run.batch_id for run in runs])
    return [RunRow(run, found[run.batch_id]) for run in runs]


def act_on_run(run: ValidatorRun, act: str, *, actor: User | None, at: datetime) -> None:
    """Pause, resume, end or stop it; the verdicts of a stopped run are taken. Raises BatchRefused."""
    with transaction.atomic():
        act_named(run.batch, act, actor=actor, at=at)
        if act == "stop":
            take_later(run.batch, at)


def asked_with(validator: str) -> PromptVersion | None:
    """Our prompt of this validator as it is now; None before it was needed first."""
    return stored_version(PROMPTS[validator])


def failing(bank: QuestionBank, validator: str, person: User) -> QuerySet[Finding]:
    """What speaks against current questions in this part, by number, without what the person reviews.

    Verdicts "fail", and of bias what a classifier found.
    """
    current = Revision.objects.in_bank(bank).current().exclude(question__in=withheld_questions(person))
    found = Finding.objects.open().filter(bank=bank, rule__in=PARTS[validator].rules)
    found = found.filter(revision__in=current.order_by().values("pk"))
    return found.select_related("revision__question", "call__batch__prompt").order_by(
        F("revision__question__number"), "pk"
    )


def note_read(shown: Sequence[Finding], *, person: User, at: datetime) -> None:
    """A reason may tell the key: whoever reads it cannot judge the question blind any more."""
    if shown:
        questions = Question.objects.filter(pk__in=[one.revision.question_id for one in shown])
        note_seen_keys(person, questions, source=KeySource.RAW_ANSWERS, subject=shown[0].bank, at=at)
