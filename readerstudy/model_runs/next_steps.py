"""What comes next with runs of models: the sentence of a run's own page, at home."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from django.db.models import Case, Exists, OuterRef, Q, When
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.call_enums import BatchState, PromptPurpose
from annotation.contributions import reads_in_bank
from annotation.generation.generation_progress import GenerationProgress
from annotation.model_calls.next_calls import CallTally, tallies
from annotation.models import CallBatch, GenerationRun, SampledQuestion, User, ValidatorRun
from annotation.people.open_work import SHOWN, NextStep, WorkItem, WorkSection, first_due
from annotation.questionbank.kernels.question_checks import PARTS
from annotation.site.permissions import is_coordinator
from annotation.validators.taking_verdicts import RunRow
from readerstudy.model_runs.following import RunProgress
from readerstudy.model_runs.planning import runs_seen_by
from readerstudy.model_runs.publishing import is_plain

LOOKED_AT = 3 * SHOWN  # batches of calls, of which those with something left are shown


def next_of_run(found: RunProgress) -> NextStep | None:
    """None once it was stopped, is published or handed in, and where it is complete and only compared."""
    state, run = found.state, found.run
    page = reverse("model-run", args=[run.batch.public_id])

    def step(label: str, *, is_due: bool = True) -> NextStep:
        return NextStep(label, found.sentence, page, about=str(run.entry), is_due=is_due)

    if state in (BatchState.TRYING, BatchState.RUNNING) or found.is_being_published:
        return step(_("Progress"), is_due=False)
    if state == BatchState.PLANNED:
        return step(_("Start") if found.tally.n_done else _("Ask the first questions"))
    if state == BatchState.PAUSED:
        return step(_("Resume"))
    if found.may_publish:
        return step(_("Publish its answers"))
    is_complete = state == BatchState.COMPLETE and is_plain(run)
    if is_complete and found.is_for_benchmark and not run.submissions.exists():
        return step(_("Hand it in"))
    return None


def next_of_generation(found: GenerationProgress) -> NextStep | None:
    """None once it was stopped, and where it made nothing; whether its questions are in a sample, the caller knows."""
    run, [*_before, (batch, _tally)] = found.run, found.calls
    about = _("Generated questions · %(bank)s") % {"bank": run.bank.name}
    if run.finished_at is not None and run.n_made:
        url = reverse("sample-new") + f"?bank={run.bank.slug}&written={run.public_id}"
        return NextStep(_("Draw a sample to review"), found.sentence, url, about=about, is_due=False)
    if run.finished_at is not None or batch.state == BatchState.STOPPED:
        return None
    page = reverse("generation-run", args=[run.bank.slug, run.public_id])
    return _go_on(found.sentence, page, about, is_at_work=found.is_at_work)


def next_of_check(row: RunRow) -> NextStep | None:
    """None once its verdicts are taken, or it was stopped."""
    run = row.run
    if run.taken_at is not None or run.batch.state == BatchState.STOPPED:
        return None
    page = reverse("bank-validators", args=[run.bank.slug]) + "#runs"
    about = f"{_(PARTS[run.validator].label)} · {run.bank.name}"
    return _go_on(row.sentence, page, about, is_at_work=row.is_at_work)


def _go_on(sentence: str, page: str, about: str, *, is_at_work: bool) -> NextStep:
    return NextStep(_("Progress") if is_at_work else _("Resume"), sentence, page, about=about, is_due=not is_at_work)


_Steps = Iterator[tuple[int, NextStep | None]]  # by the id of the batch of calls that goes on


def _answering(person: User, batches: Collection[int], counted: Mapping[int, CallTally]) -> _Steps:
    for run in runs_seen_by(person).filter(batch__in=batches):
        one = RunProgress(run)
        one.tally = counted[run.pk]
        yield run.pk, next_of_run(one)


def _writing(_person: User, batches: Collection[int], counted: Mapping[int, CallTally]) -> _Steps:
    drawn = SampledQuestion.objects.filter(revision__bank_import=OuterRef("bank_import"))
    runs = GenerationRun.objects.filter(Q(finished_at=None) | ~Exists(drawn))
    runs = runs.filter(Q(bullets_batch__in=batches, questions_batch=None) | Q(questions_batch__in=batches))
    for run in runs.select_related("bank", "bullets_batch", "questions_batch"):
        one, last = GenerationProgress(run), run.questions_batch or run.bullets_batch
        one.calls = [(last, counted[last.pk])]
        yield last.pk, next_of_generation(one)


def _checking(person: User, batches: Collection[int], counted: Mapping[int, CallTally]) -> _Steps:
    runs = list(ValidatorRun.objects.filter(batch__in=batches, taken_at=None).select_related("bank", "batch"))
    read = {bank for bank in {run.bank_id for run in runs} if reads_in_bank(person.pk, bank)}
    for run in runs:
        if run.bank_id not in read:
            yield run.batch_id, next_of_check(RunRow(run, counted[run.batch_id]))


_KINDS = (
    (_answering, {PromptPurpose.ANSWER}),
    (_writing, {PromptPurpose.BULLETS, PromptPurpose.QUESTIONS}),
    (_checking, {PromptPurpose.CHECK}),
)


def runs_looked_after(person: User, at: datetime) -> WorkSection | None:
    """The section of the home page of a coordinator of the site: runs with something left to do, those not over first.

    One query, and some for each kind of runs that there is.
    """
    if not is_coordinator(person):
        return None
    rows = CallBatch.objects.exclude(state=BatchState.STOPPED).filter(bank__archived_at=None, bank__deleted_at=None)
    is_over = Case(When(state=BatchState.COMPLETE, then=1), default=0)
    batches = list(rows.order_by(is_over, "-created_at", "-pk")[:LOOKED_AT])
    counted = tallies([one.pk for one in batches]) if batches else {}
    steps: dict[int, NextStep | None] = {}
    for of_kind, purposes in _KINDS:
        if own := [one.pk for one in batches if one.purpose in purposes]:
            steps |= of_kind(person, own, counted)
    found = [(one, step) for one in batches if (step := steps.get(one.pk))][:SHOWN]
    items = [
        WorkItem(
            step.about,
            step.url,
            counted[one.pk].n_done,
            one.n_calls,
            state=one.get_state_display(),
            tone="warn" if step.is_due else "",
        )
        for one, step in found
    ]
    first = first_due(step for _one, step in found)
    return WorkSection(_("Runs of models"), items, first, url=reverse("model-runs")) if items else None
