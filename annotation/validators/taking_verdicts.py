"""From stored answers to verdicts: once a run is over each answer becomes a finding. Twice changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple, TypedDict

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.call_enums import BatchState, CallOutcome
from annotation.enums import FindingPlace
from annotation.generation.kernels.answer_forms import NotInForm, read_form
from annotation.generation.kernels.made_questions import sent_text
from annotation.jobs.handlers import JobKind, Progress, Result
from annotation.jobs.queueing import enqueue_once
from annotation.model_calls.attempts import answers_of
from annotation.model_calls.kernels.question_text import question_values
from annotation.models import AnswerKey, CallBatch, Finding, ModelCall, ValidatorRun
from annotation.quality.kernels.validity_parts import BIAS, RATING
from annotation.validators.counterpart_calls import CountsByChange, changed_stem, compared
from annotation.validators.kernels.validator_prompts import WrittenRating, WrittenVerdict, kept_reason, word_of


class TakingParams(TypedDict):
    run: int


KIND: JobKind[TakingParams] = JobKind("take_verdicts")
AT_ONCE = 500
UNREAD = "unread"
OVER = (BatchState.COMPLETE, BatchState.STOPPED)


# --- what is asked ---
def fill_calls(calls: Sequence[ModelCall]) -> Iterable[dict[str, str]]:
    """Key, explanation and report of each question; for one about bias the question or a counterpart, without them."""
    keys = AnswerKey.objects.select_related("report").defer("extra").in_bulk([call.revision_id for call in calls])
    return [_values_of(call, keys[call.revision_id or 0]) for call in calls]


def _values_of(call: ModelCall, truth: AnswerKey) -> dict[str, str]:
    assert call.revision is not None
    if (stem := changed_stem(call)) is not None:
        return question_values(stem, call.revision.options)
    report = sent_text(truth.report.findings, truth.report.impression) if truth.report else ""
    return {"key": truth.key, "explanation": truth.explanation, "report": report}


# --- what was answered ---
class TakenVerdict(NamedTuple):
    """``word``: UNREAD where the answer was refused, cut, or in another form."""

    call: ModelCall
    word: str
    reason: str = ""


def _verdicts_in(run: ValidatorRun, by_change: CountsByChange) -> Iterator[TakenVerdict]:
    """By number of the call. What is counted of bias is added to ``by_change``."""
    if run.validator == BIAS:
        yield from (TakenVerdict(*one) for one in compared(run, by_change))
        return
    form: type[WrittenVerdict] | type[WrittenRating] = WrittenRating if run.validator == RATING else WrittenVerdict
    for call, text in answers_of(run.batch):
        if call.outcome == CallOutcome.NOT_ASKED:
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
    by_change: CountsByChange = {}
    read = _verdicts_in(run, by_change)
    while some := list(islice(read, AT_ONCE)):
        counts.update(one.word for one in some)
        _store(run, [one for one in some if one.word != UNREAD], at)
    with transaction.atomic():
        run.refresh_from_db(from_queryset=ValidatorRun.objects.select_for_update(of=("self",)))
        if run.taken_at is None:
            run.taken_at, run.n_unread, run.found = at, counts[UNREAD], by_change
            run.save(update_fields=["taken_at", "n_unread", "found"])
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
