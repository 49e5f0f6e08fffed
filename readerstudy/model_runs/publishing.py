"""The answers of a run become predictions of its model; and the same, made again from the stored responses.

Only a plain run is published: complete, with the images that its prompt names, or with all images of the exam. With
fewer images, blank ones or those of somebody else, and with the options in another order a model is asked something
else: that is compared with the plain run, and never represents the model in figures.

By the rule of extraction by which they were published they must come out the same to the byte. Another rule says which
answers it would read otherwise; only the rule of now publishes, an older run too when somebody has it read again, as a
run of its own beside it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, TypedDict

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct
from msgspec.structs import asdict

from annotation.audit.recording import record
from annotation.call_enums import NO_ANSWER, OF_SERVER, BatchState, CallOutcome, SentImages
from annotation.endpoints.kernels.completions import NOT_STORABLE, read_completion
from annotation.enums import JobQueue
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue_once
from annotation.model_calls.attempts import read_answer
from annotation.model_calls.kernels.extraction import RULE, RULES, answer_in, explanation_in
from annotation.models import CallAttempt, CallBatch, ModelCall, PromptVersion, Revision, User
from annotation.questionbank.bulk import Row
from readerstudy.enums import PredictionForm
from readerstudy.model_runs.asked_questions import RunningRefused
from readerstudy.models import ModelRun, Prediction, PredictionRun, PublishedRepeat
from readerstudy.predictions.entries import is_benchmarked
from readerstudy.predictions.importing import KEPT_COLUMNS, in_order, kept_row, store_answers
from readerstudy.predictions.kernels.records import KeptRecords, PredictionsRefused, ReadPredictions, Record, match
from readerstudy.predictions.listing import Target, TargetQuestions, questions_of, wordings_of


class PublishingParams(TypedDict):
    run: str


KIND: JobKind[PublishingParams] = JobKind("publish_model_run", JobQueue.MODELS)
PLAIN = (SentImages.ALL, SentImages.FIRST, SentImages.NONE)
WHOLE = (CallOutcome.ANSWERED, CallOutcome.FAILED, CallOutcome.TWO)  # an option may be taken from it
CHUNK = 2_000  # attempts in memory


class RunAnswers(Struct, frozen=True):
    """One repeat of a run, as importing knows a file. The hash is over the answers, in the order of the calls."""

    name: str
    sha256: str
    duplicates: str = ""


def is_plain(run: ModelRun) -> bool:
    """Whether its answers in the order of the bank are predictions of the model."""
    return asks_plainly(run.batch.prompt, run.batch.images)


def asks_plainly(prompt: PromptVersion, images: str) -> bool:
    """Whether a prompt with these images asks what its own images do, or what all images of the exam do."""
    return images in PLAIN and images in (prompt.images, SentImages.ALL)


def is_for_benchmark(run: ModelRun) -> bool:
    """Whether how the model does is told by the editions of a benchmark alone."""
    return run.study_id is None and is_benchmarked(run.batch.bank_id)


def target_of_run(run: ModelRun) -> Target:
    return Target(run.batch.bank, run.study)


def publish(run: ModelRun, *, actor: User | None, at: datetime) -> list[PredictionRun]:
    """The run of predictions of each repeat, made where it is not there yet; publishing again changes nothing.

    Raises RunningRefused while a call is not asked, and for a variant; PredictionsRefused where the model, the study or
    the bank takes no predictions any more.
    """
    with transaction.atomic():
        batch = CallBatch.objects.select_for_update(of=("self",)).select_related("prompt", "bank").get(pk=run.batch_id)
        run.batch = batch
        _check_publishable(run)
        return [_published(run, repeat, actor=actor, at=at) for repeat in range(batch.n_repeats)]


def _check_publishable(run: ModelRun) -> None:
    if not is_plain(run):
        sentence = _(
            "This run asks with other images than its prompt names, and not with all of them. It is compared with a "
            "plain run, and not published."
        )
        raise RunningRefused("variant", sentence)
    if is_for_benchmark(run):
        sentence = _("The questions of this bank are a benchmark: hand the run in for a team.")
        raise RunningRefused("benchmarked", sentence)
    check_complete(run, _("Nothing of it is published."))


def check_complete(run: ModelRun, unchanged: str) -> None:
    """Refused while a call has no answer of the model. ``unchanged``: what is not done with the run, as a sentence."""
    n_left = ModelCall.objects.filter(batch=run.batch_id, outcome=CallOutcome.NOT_ASKED).count()
    if n_left or run.batch.state != BatchState.COMPLETE:
        sentence = ngettext(
            "The run is not complete: %(n)d call has no answer of the model yet.",
            "The run is not complete: %(n)d calls have no answer of the model yet.",
            n_left,
        )
        raise RunningRefused("incomplete", f"{sentence % {'n': n_left}} {unchanged}")


def _published(run: ModelRun, repeat: int, *, actor: User | None, at: datetime) -> PredictionRun:
    before = PublishedRepeat.objects.select_related("run").filter(model_run=run, repeat=repeat).first()
    if before is not None:
        return before.run
    records, digest = KeptRecords(), hashlib.sha256(f"{run.batch.public_id} {repeat}\n".encode())
    for answer in records_of(run, repeat):
        records.add(answer)
        digest.update(json.dumps(answer, ensure_ascii=True).encode() + b"\n")
    source = RunAnswers(f"run-{run.batch.public_id}-{repeat + 1}", digest.hexdigest())
    read = ReadPredictions(PredictionForm.RUN, records, (), len(records))
    found = store_answers(run.entry, target_of_run(run), source, read, asked_wordings(run), actor=actor, at=at)
    assert found.run is not None
    PublishedRepeat.objects.create(model_run=run, repeat=repeat, run=found.run)
    return found.run


def records_of(run: ModelRun, repeat: int) -> Iterator[Record]:
    """The answer that decided each call, in the order of the bank. Its row is the number of the call.

    None where the endpoint refused the question, or its server broke the answer: that is missing, and never wrong.
    """
    answered = _attempts(run, repeat).exclude(outcome__in=OF_SERVER)
    columns = ("call__number", "call__revision_id", "call__outcome", "body")
    last = 0
    for number, revision, outcome, body in answered.values_list(*columns).iterator(chunk_size=CHUNK):
        if number != last:  # a later answer changes nothing
            last, completion = number, read_completion(body.encode())
            text = completion.text or completion.refusal
            explanation = NOT_STORABLE.sub("\ufffd", explanation_in(text))
            answer = NOT_STORABLE.sub("\ufffd", answer_in(text))
            yield Record(number, str(revision), answer, explanation, is_whole=outcome in WHOLE)


def _attempts(run: ModelRun, repeat: int) -> QuerySet[CallAttempt]:
    of_run = CallAttempt.objects.filter(call__batch=run.batch_id, call__rotation=0, call__repeat=repeat)
    return of_run.order_by("call__number", "number")


def asked_wordings(run: ModelRun) -> TargetQuestions:
    """Those that were asked, in the wording in which they were asked."""
    calls = ModelCall.objects.filter(batch=run.batch_id, rotation=0, repeat=0).order_by("number")
    by_id = wordings_of(calls, "revision__")
    return TargetQuestions(by_id, {str(one.revision_id): one for one in by_id.values()})


# --- an older run by the rule of now --------------------------------------------------------------
def read_again(run: PredictionRun, *, actor: User | None, at: datetime) -> PredictionRun:
    """The answers of a run read by the rule of now, as a run of its own; the old one stays what it is.

    Raises PredictionsRefused where it is by that rule, or its records listed options in an order that nothing keeps.
    """
    if run.rule == RULE:
        raise PredictionsRefused("same_rule", _("This run is read by %(rule)s already.") % {"rule": RULE})
    if run.report.get("other_order"):
        sentence = _("Records of this file list their options in another order: import the file again.")
        raise PredictionsRefused("other_order", sentence)
    records = KeptRecords()
    for one in _records_again(run):
        records.add(one)
    read = ReadPredictions(run.form, records, (), run.n_read)
    source = RunAnswers(run.file_name, run.file_sha256, run.duplicates)
    target = Target(run.bank, run.study)
    wordings = wordings_of(Revision.objects.filter(pk__in=run.predictions.values("revision")))
    by_name = {str(one.revision_id): one for one in wordings.values()}
    questions = TargetQuestions({**questions_of(target, set()).by_id, **wordings}, by_name)
    found = store_answers(run.entry, target, source, read, questions, read_from=run, actor=actor, at=at)
    assert found.run is not None
    return found.run


def _records_again(run: PredictionRun) -> Iterator[Record]:
    """As they were stored; of a run of this site from its responses, which say what was refused or cut."""
    made = PublishedRepeat.objects.select_related("model_run__batch").filter(run=run).first()
    if made is not None:
        yield from records_of(made.model_run, made.repeat)
        return
    columns = ("row", "revision_id", "raw", "explanation", "confidence")
    for row, revision, raw, explanation, confidence in run.predictions.order_by("row").values_list(*columns).iterator():
        yield Record(row, str(revision), raw, explanation, (), confidence)


def changed_letters(run: PredictionRun) -> list[tuple[int, str, str]]:
    """Of a run that was read again: the number of each question whose letter changed, the letter before and now."""
    if "read_from" not in run.report:
        return []
    before = PredictionRun.objects.get(public_id=run.report["read_from"])
    columns = ("revision_id", "revision__question__number", "option")
    was = {revision: option for revision, _number, option in before.predictions.values_list(*columns)}
    now = run.predictions.order_by("revision__question__number").values_list(*columns)
    return [(number, was.get(pk, ""), option) for pk, number, option in now if was.get(pk, "") != option]


# --- once the last answer is there ----------------------------------------------------------------
def publish_later(batch: CallBatch, at: datetime) -> None:
    """For the hook of the engine, in the transaction that stores the last answer: start a job that publishes the run.

    Nothing for calls that are not of a run, for variants, and on a benchmark.
    """
    run = ModelRun.objects.select_related("batch__prompt", "entry").filter(batch=batch).first()
    if run is not None and is_plain(run) and not is_for_benchmark(run):
        _enqueue(run, actor=batch.created_by, at=at)


def ask_to_publish(run: ModelRun, *, actor: User | None, at: datetime) -> None:
    """A job publishes a complete run that nobody has published yet, such as one that was no plain run by earlier rules.

    Raises RunningRefused as ``publish`` does. One that waits or runs already is enough.
    """
    _check_publishable(run)
    _enqueue(run, actor=actor, at=at)


def _enqueue(run: ModelRun, *, actor: User | None, at: datetime) -> None:
    title = _("Publish the answers of %(model)s") % {"model": run.entry}
    params = PublishingParams(run=run.batch.public_id)
    enqueue_once(KIND, title[:200], params, about="run", actor=actor, at=at)


def run_publishing(progress: Progress, params: PublishingParams) -> Result:
    """The handler. Run again after it was stopped, it publishes once."""
    run = ModelRun.objects.select_related("batch__created_by", "entry", "study").get(batch__public_id=params["run"])
    progress.report(0, run.batch.n_repeats)
    runs = publish(run, actor=run.batch.created_by, at=timezone.now())
    progress.report(len(runs), len(runs))
    return {"runs": [one.public_id for one in runs]}


class ReadOtherwise(Struct, frozen=True):
    """An answer that counts as something else now; options are canonical, "" where none is named."""

    question: int  # its number in the bank
    order: int
    repeat: int
    stored_outcome: str
    stored_option: str
    outcome: str
    option: str


class RepeatAgain(Struct, frozen=True):
    """The predictions of one repeat beside those that were published; ``questions``: those that differ, by number."""

    repeat: int
    run: str
    stored_sha256: str
    sha256: str
    questions: tuple[int, ...]

    @property
    def is_equal(self) -> bool:
        return self.stored_sha256 == self.sha256


class Replay(Struct, frozen=True):
    run: ModelRun
    rule: str
    n_calls: int
    otherwise: tuple[ReadOtherwise, ...]
    published: tuple[RepeatAgain, ...]  # none by another rule than theirs, and of a variant

    @property
    def is_equal(self) -> bool:
        return not self.otherwise and all(one.is_equal for one in self.published)

    def as_json(self) -> dict[str, Any]:
        return {
            "run": self.run.batch.public_id,
            "rule": self.rule,
            "calls": self.n_calls,
            "equal": self.is_equal,
            "read_otherwise": [asdict(one) for one in self.otherwise],
            "published": [{**asdict(one), "equal": one.is_equal} for one in self.published],
        }


@transaction.atomic
def show_replay(run: ModelRun, rule: str, *, actor: User | None, at: datetime) -> Replay:
    """The same for somebody who is shown which answers count otherwise. Raises what ``replay`` raises."""
    found = replay(run, rule)
    record("run.replayed", actor=actor, at=at, subject=run.batch, facts={"rule": found.rule, "equal": found.is_equal})
    return found


def replay(run: ModelRun, rule: str = "") -> Replay:
    """Read every response of a complete run again, by the rule of its predictions unless another one is named.

    Raises RunningRefused for a rule that there is not, and while a call has no answer of the model.
    """
    if rule and rule not in RULES:
        sentence = _("There is no rule of extraction “%(rule)s”; there are: %(known)s.")
        raise RunningRefused("no_rule", sentence % {"rule": rule, "known": ", ".join(RULES)}, status=422)
    check_complete(run, _("Nothing was read again."))
    repeats = list(PublishedRepeat.objects.filter(model_run=run).select_related("run").order_by("repeat"))
    own = repeats[0].run.rule if repeats else RULE
    again = rule or own
    otherwise = tuple(_read_otherwise(run, again))
    published = tuple(_again(run, one.repeat, one.run) for one in repeats) if again == own else ()
    return Replay(run, again, run.batch.n_calls, otherwise, published)


def _read_otherwise(run: ModelRun, rule: str) -> Iterator[ReadOtherwise]:
    """By the response that decided each call, which is the first with an answer of the model. What a rule of
    extraction has no part in, such as a refusal, counts as it did.
    """
    options = dict(Revision.objects.filter(pk__in=run.batch.calls.values("revision")).values_list("pk", "options"))
    attempts = CallAttempt.objects.filter(call__batch=run.batch_id).exclude(outcome__in=NO_ANSWER)
    rows = attempts.order_by("call__number", "number").values_list(
        *("call__number", "call__revision_id", "call__revision__question__number", "call__rotation", "call__repeat"),
        *("call__outcome", "call__option", "body"),
    )
    last = 0
    for number, revision, question, rotation, repeat, *stored, body in rows.iterator(chunk_size=CHUNK):
        if number == last:
            continue
        last = number
        if stored[0] not in WHOLE:
            continue
        found = read_answer(read_completion(body.encode()), options[revision], rotation, rule)
        if found != tuple(stored):
            yield ReadOtherwise(question, rotation + 1, repeat + 1, *map(str, stored), *map(str, found))


def _again(run: ModelRun, repeat: int, published: PredictionRun) -> RepeatAgain:
    records = KeptRecords()
    for kept in records_of(run, repeat):
        records.add(kept)
    wordings = asked_wordings(run)
    found = in_order(match(records, wordings.by_name, duplicates=published.duplicates))
    stored = Prediction.objects.filter(run=published).order_by("row").values_list(*KEPT_COLUMNS)
    sha256, lines = _as_bytes(kept_row(one, records) for one in found)
    stored_sha256, stored_lines = _as_bytes(stored.iterator(chunk_size=CHUNK))
    number_of = {one.revision_id: one.number for one in wordings.by_id.values()}
    differ = sorted({revision for revision, _line in lines ^ stored_lines}) if sha256 != stored_sha256 else []
    numbers = sorted(number_of.get(revision, 0) for revision in differ)
    return RepeatAgain(repeat + 1, published.public_id, stored_sha256, sha256, tuple(numbers))


def _as_bytes(rows: Iterator[Row]) -> tuple[str, set[tuple[int, bytes]]]:
    """Their hash, and the hash of each line with its revision."""
    whole, lines = hashlib.sha256(), set()
    for row in rows:
        line = json.dumps(row, ensure_ascii=True).encode() + b"\n"
        whole.update(line)
        lines.add((row[0], hashlib.sha256(line).digest()))
    return whole.hexdigest(), lines
