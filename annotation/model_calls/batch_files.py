"""Calls without a network: requests as files for a server elsewhere, and the responses that come back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct, field

from annotation.audit.recording import record
from annotation.call_enums import NO_ANSWER, BatchState, Ending
from annotation.model_calls.attempts import Received, read_attempt, store_attempts
from annotation.model_calls.call_batches import BatchRefused, complete, lock_batch, permission_is_over
from annotation.model_calls.kernels.pacing import (
    AT_WORK,
    MOST_BYTES,
    MOST_REQUESTS,
    ResponseLine,
    read_line,
    request_line,
)
from annotation.model_calls.next_calls import open_calls
from annotation.model_calls.request_bodies import contents_of, pictures_of
from annotation.models import CallAttempt, CallBatch, ModelCall, User

AT_ONCE = 500  # calls
MOST_PROBLEMS = 100  # problems of one file


def custom_id(call: ModelCall, batch: CallBatch) -> str:
    """What a call is named in files: its run and its number."""
    return f"{batch.public_id}-{call.number}"


# --- out ---
def write_requests(batch: CallBatch, path: Path, *, actor: User | None, at: datetime) -> list[Path]:
    """Every call that has no answer yet, in a file of this name, and in further ones where it would be too large.

    Writing them is sending: it needs the permission. Raises BatchRefused, and FileExistsError for a file that is there.
    """
    check_not_at_work(batch)
    if over := permission_is_over(batch, at):
        raise BatchRefused("permission_over", over)
    files: list[Path] = []
    try:
        n_requests = _write(path, _lines(batch, at), files)
    except BaseException:
        for done in files:
            done.unlink(missing_ok=True)
        raise
    if not n_requests:
        raise BatchRefused("nothing_to_ask", _("Every call has an answer: there is nothing to write."))
    facts = {"requests": n_requests, "files": len(files), "permission": batch.permission.public_id}
    with transaction.atomic():
        record("calls.written", actor=actor, at=at, subject=batch, facts=facts)
    return files


def _lines(batch: CallBatch, at: datetime) -> Iterator[bytes]:
    for calls in _not_asked(batch):
        for call, pictures in zip(calls, pictures_of(batch, calls), strict=True):
            call.pictures = pictures.made(at=at)
        for call, content in zip(calls, contents_of(batch, calls), strict=True):
            request = content.request()
            call.request_sha256 = request.sha256
            yield request_line(custom_id(call, batch), request)
        ModelCall.objects.bulk_update(calls, ["pictures", "request_sha256"])


def _not_asked(batch: CallBatch) -> Iterator[list[ModelCall]]:
    last = 0
    while calls := list(open_calls(batch).filter(number__gt=last).order_by("number")[:AT_ONCE]):
        yield calls
        last = calls[-1].number


def _write(path: Path, lines: Iterable[bytes], files: list[Path]) -> int:
    """The number of lines. ``files`` names each file as soon as it is there."""
    n_written = n_lines = n_bytes = 0
    with ExitStack() as stack:
        for line in lines:
            if not n_lines or n_lines == MOST_REQUESTS or n_bytes + len(line) > MOST_BYTES:
                file = stack.enter_context(_numbered(path, len(files)).open("xb"))
                files.append(Path(file.name))
                n_lines = n_bytes = 0
            n_written, n_lines, n_bytes = n_written + 1, n_lines + 1, n_bytes + file.write(line)
    return n_written


def _numbered(path: Path, n_before: int) -> Path:
    return path if not n_before else path.with_name(f"{path.stem}-{n_before + 1}{path.suffix}")


# --- in ---
class ResponsesImported(Struct):
    """What a file of responses contained. One problem, and nothing of it is stored."""

    batch: CallBatch
    n_read: int = 0
    n_stored: int = 0
    n_there: int = 0  # that were stored before
    problems: list[dict[str, Any]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "run": self.batch.public_id,
            "state": self.batch.state,
            "read": self.n_read,
            "stored": self.n_stored,
            "unchanged": self.n_there,
            "errors": self.problems,
        }


def import_responses(
    batch: CallBatch, lines: Iterable[bytes], *, actor: User | None, at: datetime
) -> ResponsesImported:
    """Store the responses of a file, in whatever order and parts they come; a second time changes nothing.

    Lines that cannot be read, ids of no call of this batch, and two different responses to one call are problems.
    """
    if batch.state != BatchState.COMPLETE:  # there the file of the last answers may come once more
        check_not_at_work(batch)
    result = ResponsesImported(batch)
    found: dict[int, ResponseLine] = {}
    with transaction.atomic():
        lock_batch(batch)
        for row, line in enumerate(lines, start=1):
            if line.strip():
                result.n_read += 1
                _read(result, found, row, line)
        if not result.problems:
            _store(result, found, actor=actor, at=at)
    return result


def check_not_at_work(batch: CallBatch) -> None:
    """Raises BatchRefused while the site asks the endpoint itself."""
    if batch.state in AT_WORK:
        raise BatchRefused("at_work", _("These calls are asked right now: pause them first."))
    if batch.state in (BatchState.STOPPED, BatchState.COMPLETE):
        sentence = _("These calls are %(state)s: nothing can be asked or stored any more.")
        raise BatchRefused("over", sentence % {"state": batch.get_state_display()})


def _read(result: ResponsesImported, found: dict[int, ResponseLine], row: int, line: bytes) -> None:
    response = read_line(row, line)
    if isinstance(response, str):
        _problem(result, row, "", response)
        return
    name, dash, number = response.id.rpartition("-")
    if name != result.batch.public_id or not dash or not number.isdecimal() or len(number) > 9:
        _problem(result, row, response.id, _("The id names no call of this run."))
        return
    before = found.setdefault(int(number), response)
    if _content_of(before) != _content_of(response):
        sentence = _("Row %(row)d holds another response to the same call.") % {"row": before.row}
        _problem(result, row, response.id, sentence)


def _problem(result: ResponsesImported, row: int, name: str, sentence: str) -> None:
    if len(result.problems) < MOST_PROBLEMS:
        result.problems.append({"row": row, "id": name, "message": sentence})


def _store(result: ResponsesImported, found: dict[int, ResponseLine], *, actor: User | None, at: datetime) -> None:
    numbers = sorted(found)
    for start in range(0, len(numbers), AT_ONCE):
        some = numbers[start : start + AT_ONCE]
        calls = list(ModelCall.objects.filter(batch=result.batch, number__in=some).select_related("revision"))
        written = {call.number for call in calls if call.request_sha256}
        for number in sorted(set(some) - written):
            _problem(result, found[number].row, found[number].id, _("The id names no call that was written to a file."))
        if not result.problems:
            _store_some(result, calls, found)
    if result.problems:
        transaction.set_rollback(True)
        result.n_stored = result.n_there = 0
        return
    if result.batch.state == BatchState.COMPLETE:
        return
    facts = {"read": result.n_read, "stored": result.n_stored}
    record("calls.responses_imported", actor=actor, at=at, subject=result.batch, facts=facts)
    if not ModelCall.objects.filter(batch=result.batch, outcome__in=NO_ANSWER).exists():
        complete(result.batch, at=at)


def _store_some(result: ResponsesImported, calls: Sequence[ModelCall], found: dict[int, ResponseLine]) -> None:
    """Calls that have an answer already keep it."""
    known = _last_attempts(calls)
    fresh = [
        call for call in calls if call.outcome in NO_ANSWER and known.get(call.pk) != _content_of(found[call.number])
    ]
    result.n_there += len(calls) - len(fresh)
    result.n_stored += len(fresh)
    attempts = [read_attempt(result.batch, call, _received(call, found[call.number])) for call in fresh]
    for call in fresh:
        call.n_sent += 1
    store_attempts(attempts, fresh)
    ModelCall.objects.bulk_update(fresh, ["n_sent"])


Content = tuple[int | None, str, str]


def _content_of(line: ResponseLine) -> Content:
    return line.status, line.body.decode(), line.problem


def _last_attempts(calls: Iterable[ModelCall]) -> dict[int, Content]:
    """Of calls without an answer: what came for them last."""
    failed = [call.pk for call in calls if call.outcome in NO_ANSWER and call.n_attempts]
    rows = (
        CallAttempt.objects.filter(call__in=failed).order_by("number").values_list("call", "status", "body", "problem")
    )
    return {call: (status, body, problem) for call, status, body, problem in rows}


def _received(call: ModelCall, line: ResponseLine) -> Received:
    if line.status is None:
        ending = Ending.CONNECTION_FAILED
    else:
        ending = Ending.ANSWERED if 200 <= line.status < 300 else Ending.HTTP_ERROR
    return Received(call.request_sha256, ending, line.body, line.status, line.request_id, line.problem)
