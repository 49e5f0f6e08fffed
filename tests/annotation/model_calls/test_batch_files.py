"""Calls without a network: what vllm run-batch would read, and its answers in any order, twice and in parts."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.call_enums import BatchState, CallOutcome
from annotation.model_calls import batch_files
from annotation.model_calls.asking import ask_endpoint
from annotation.model_calls.batch_files import import_responses, write_requests
from annotation.model_calls.call_batches import BatchRefused
from annotation.models import AuditEvent, CallAttempt, CallBatch
from tests.annotation.endpoints.simulated_models import chat_answer
from tests.annotation.model_calls.simulated_calls import ENDPOINT, NOON, asked_server, make_batch
from tests.annotation.review.cases import make_bank
from tests.commands import ends_with_2
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch() -> CallBatch:
    return make_batch(6, state=BatchState.PLANNED)


def written(batch: CallBatch, folder: Path) -> list[dict[str, Any]]:
    (file,) = write_requests(batch, folder / "requests.jsonl", actor=None, at=NOON)
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def response(line: dict[str, Any]) -> bytes:
    """As vllm run-batch answers a line."""
    body = chat_answer(line["body"], seed=1)
    answer = {"status_code": 200, "request_id": "req-1", "body": body}
    return json.dumps({"id": "x", "custom_id": line["custom_id"], "response": answer, "error": None}).encode() + b"\n"


def outcomes(batch: CallBatch) -> list[tuple[str, str, int]]:
    return list(batch.calls.order_by("number").values_list("outcome", "option", "n_attempts"))


def test_the_bodies_in_the_file_are_those_of_the_wire(batch: CallBatch, tmp_path: Path) -> None:
    write_requests(batch, tmp_path / "requests.jsonl", actor=None, at=NOON)
    for line, call in zip((tmp_path / "requests.jsonl").read_bytes().splitlines(), batch.calls.all(), strict=True):
        _head, _mark, body = line.partition(b',"body":')
        assert hashlib.sha256(body[:-1]).hexdigest() == call.request_sha256
        asked = json.loads(line)
        assert (asked["custom_id"], asked["url"]) == (f"{batch.public_id}-{call.number}", "/v1/chat/completions")
    assert AuditEvent.objects.get(act="calls.written").facts["requests"] == 6


def test_files_are_parted_where_they_would_be_too_large(
    batch: CallBatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_files, "MOST_REQUESTS", 4)
    files = write_requests(batch, tmp_path / "r.jsonl", actor=None, at=NOON)
    assert [(file.name, len(file.read_bytes().splitlines())) for file in files] == [("r.jsonl", 4), ("r-2.jsonl", 2)]
    with pytest.raises(FileExistsError):
        write_requests(batch, tmp_path / "r.jsonl", actor=None, at=NOON)
    assert len(files[0].read_bytes().splitlines()) == 4
    monkeypatch.setattr(batch_files, "MOST_REQUESTS", 50_000)
    monkeypatch.setattr(batch_files, "MOST_BYTES", 1)
    assert len(write_requests(batch, tmp_path / "s.jsonl", actor=None, at=NOON)) == 6


def test_responses_come_in_any_order_in_parts_and_twice(batch: CallBatch, tmp_path: Path) -> None:
    lines = [response(line) for line in reversed(written(batch, tmp_path))]
    first = import_responses(batch, lines[:4], actor=None, at=NOON)
    assert (first.n_read, first.n_stored, batch.state) == (4, 4, BatchState.PLANNED)
    again = import_responses(batch, lines[:4], actor=None, at=NOON)
    assert (again.n_stored, again.n_there) == (0, 4)
    import_responses(batch, [*lines[3:], b"\n", lines[5]], actor=None, at=NOON)
    assert batch.state == BatchState.COMPLETE
    assert {outcome for outcome, _option, _n in outcomes(batch)} == {CallOutcome.ANSWERED}
    n_events = AuditEvent.objects.count()
    last = import_responses(batch, lines, actor=None, at=NOON)
    assert (last.n_stored, last.n_there, last.problems) == (0, 6, [])
    assert (CallAttempt.objects.count(), AuditEvent.objects.count()) == (6, n_events)


@pytest.mark.django_db(transaction=True)
@pytest.mark.logs("calls.responses_imported")
def test_answers_from_a_file_are_those_over_the_wire(batch: CallBatch, tmp_path: Path) -> None:
    import_responses(batch, [response(line) for line in written(batch, tmp_path)], actor=None, at=NOON)
    wired = make_batch(6, bank=make_bank("Other"), prompt=batch.prompt)
    with asked_server():
        ask_endpoint(ENDPOINT, clock=lambda: NOON)
    assert outcomes(wired) == outcomes(batch)


def test_an_error_is_no_answer_and_the_same_one_again_changes_nothing(batch: CallBatch, tmp_path: Path) -> None:
    name = written(batch, tmp_path)[0]["custom_id"]
    failed = json.dumps({"custom_id": name, "response": None, "error": {"message": "too\nlong"}}).encode()
    for n_stored in (1, 0):
        assert import_responses(batch, [failed], actor=None, at=NOON).n_stored == n_stored
    attempt = CallAttempt.objects.get()
    assert (attempt.problem, attempt.outcome) == ("too long", CallOutcome.NOT_ASKED)


def test_one_wrong_line_and_nothing_is_stored(batch: CallBatch, tmp_path: Path) -> None:
    asked = written(batch, tmp_path)
    good = response(asked[0])
    other = response(asked[0] | {"body": asked[1]["body"]})
    foreign = good.replace(batch.public_id.encode(), b"another-run")
    unknown = good.replace(b'-1"', b'-99"')
    cases = {
        (good, b"{broken"): "no response in the batch form",
        (good, other): "Row 1 holds another response",
        (good, foreign): "names no call of this run",
        (good, unknown): "names no call that was written",
        (good, good.replace(b"Explanation", b"\\u0000")): "",
        (b'{"custom_id":"x-1","response":{"status_code":200,"body":"\xff"}}',): "UTF-8",
    }
    for lines, sentence in cases.items():
        result = import_responses(batch, lines, actor=None, at=NOON)
        assert result.n_stored == 0, lines
        if sentence:
            assert sentence in result.problems[0]["message"]
    assert not CallAttempt.objects.exists()


def test_calls_at_work_or_over_are_left_alone(batch: CallBatch, tmp_path: Path) -> None:
    for state, sentence in ((BatchState.RUNNING, "pause them first"), (BatchState.STOPPED, "stopped")):
        batch.state = state
        batch.save()
        with pytest.raises(BatchRefused, match=sentence):
            import_responses(batch, [], actor=None, at=NOON)
        with pytest.raises(BatchRefused, match=sentence):
            write_requests(batch, tmp_path / "r.jsonl", actor=None, at=NOON)


def test_writing_requests_is_sending_and_needs_the_permission(batch: CallBatch, tmp_path: Path) -> None:
    batch.permission.withdrawn_at = NOON
    batch.permission.save()
    with refuses(BatchRefused, "permission_over"):
        write_requests(batch, tmp_path / "r.jsonl", actor=None, at=NOON)
    assert not list(tmp_path.iterdir())


def test_the_commands(batch: CallBatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch.permission.expires_at = NOON.replace(year=2100)
    batch.permission.save()
    requests, responses = tmp_path / "requests.jsonl", tmp_path / "responses.jsonl"
    call_command("export_model_requests", batch.public_id, output=str(requests))
    assert capsys.readouterr().out.strip() == str(requests)
    asked = [json.loads(line) for line in requests.read_bytes().splitlines()]
    responses.write_bytes(b"".join(map(response, asked)))
    call_command("import_model_responses", str(responses), run=batch.public_id)
    assert json.loads(capsys.readouterr().out)["stored"] == 6
    call_command("show_call", f"{batch.public_id}-3")
    shown = capsys.readouterr().out
    told = AuditEvent.objects.get(act="call.shown")
    assert (told.subject_id, told.facts) == (batch.public_id, {"number": 3})
    assert f"call {batch.public_id}-3: answered" in shown
    assert json.loads(shown.split("\n")[2]) == asked[2]["body"]
    for arguments in (["show_call", "nothing"], ["show_call", "x-1"], ["export_model_requests", "x", "--output", "y"]):
        with ends_with_2("There is no"):
            call_command(*arguments)
