"""The predictions of a run, made again from the responses that are stored: nothing is sent, and nothing is stored.

By the rule of extraction by which they were published they must come out the same to the byte. Another rule says which
answers it would read otherwise; nothing is ever published by it, since a site reads all its predictions by one rule.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.call_enums import CallOutcome, Ending
from annotation.endpoints.kernels.completions import read_completion
from annotation.model_calls.attempts import read_answer
from annotation.model_calls.kernels.extraction import RULE, RULES
from annotation.models import CallAttempt, Revision, User
from annotation.questionbank.bulk import Row
from readerstudy.model_runs.asked_questions import RunningRefused
from readerstudy.model_runs.publishing import CHUNK, asked_wordings, check_complete, records_of
from readerstudy.models import ModelRun, Prediction, PredictionRun, PublishedRepeat
from readerstudy.predictions.importing import KEPT_COLUMNS, in_order, kept_row
from readerstudy.predictions.kernels.records import KeptRecords, match


@dataclass(frozen=True)
class ReadOtherwise:
    """An answer that counts as something else now; options are canonical, "" where none is named."""

    question: int  # its number in the bank
    order: int
    repeat: int
    stored_outcome: str
    stored_option: str
    outcome: str
    option: str


@dataclass(frozen=True)
class RepeatAgain:
    """The predictions of one repeat beside those that were published; ``questions``: those that differ, by number."""

    repeat: int
    run: str
    stored_sha256: str
    sha256: str
    questions: tuple[int, ...]

    @property
    def is_equal(self) -> bool:
        return self.stored_sha256 == self.sha256


@dataclass(frozen=True)
class Replay:
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
    """By the response that decided each call, which is the first with an answer of the model."""
    options = dict(Revision.objects.filter(pk__in=run.batch.calls.values("revision")).values_list("pk", "options"))
    attempts = CallAttempt.objects.filter(call__batch=run.batch_id).exclude(outcome=CallOutcome.NOT_ASKED)
    rows = attempts.order_by("call__number", "number").values_list(
        *("call__number", "call__revision_id", "call__revision__question__number", "call__rotation", "call__repeat"),
        *("call__outcome", "call__option", "ending", "body"),
    )
    last = 0
    for number, revision, question, rotation, repeat, *stored, ending, body in rows.iterator(chunk_size=CHUNK):
        if number == last:
            continue
        last = number
        completion = read_completion(body.encode())
        found = read_answer(Ending(ending), completion, options[revision], rotation, rule)
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
