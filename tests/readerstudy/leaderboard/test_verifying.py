"""One byte of a row, a page or a prediction is found, and named."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import AnswerKey
from readerstudy.design.kernels.documents import sha256_of
from readerstudy.leaderboard import verifying
from readerstudy.leaderboard.public_board import publish
from readerstudy.leaderboard.verifying import verify
from readerstudy.models import Benchmark, EditionResult, PublishedNumber, Submission
from tests.readerstudy.leaderboard.published import make_published, name_again, scored

pytestmark = pytest.mark.django_db

AT = datetime(2027, 6, 3, 12, tzinfo=UTC)


@pytest.fixture
def benchmark() -> Benchmark:
    return make_published(n=320)


def test_nothing_is_found_where_nothing_changed(benchmark: Benchmark, tmp_path: Path) -> None:
    publish(benchmark, tmp_path / "board", at=AT)
    assert verify(benchmark, tmp_path / "board", at=AT) == []


def test_a_changed_row_of_the_ledger(benchmark: Benchmark) -> None:
    row = PublishedNumber.objects.get(what="all", submission__team__name="Team Two")
    assert row.submission is not None
    PublishedNumber.objects.filter(pk=row.pk).update(value={**row.value, "value": row.value["value"] + 0.1})
    assert verify(benchmark, at=AT) == [
        f"edition 1 on version 1: row {row.pk} of the ledger (all of {row.submission.public_id}) "
        "is not what was published"
    ]


def test_a_row_of_the_ledger_that_is_gone(benchmark: Benchmark) -> None:
    PublishedNumber.objects.filter(what="band", submission__team__name="Team Two").delete()
    (found,) = verify(benchmark, at=AT)
    assert "no row for band" in found


def test_a_changed_result_also_with_its_hash(benchmark: Benchmark) -> None:
    row = EditionResult.objects.get()
    text = row.result.replace('"value":50.0', '"value":59.9', 1)
    assert text != row.result
    EditionResult.objects.update(result=text)
    found = verify(benchmark, at=AT)
    assert any("not that of its hash" in one for one in found)
    EditionResult.objects.update(result_sha256=sha256_of(text))
    (found_then,) = verify(benchmark, at=AT)
    assert "is not what its answers give" in found_then


def test_a_changed_prediction(benchmark: Benchmark) -> None:
    one = Submission.objects.get(team__name="Team One")
    Submission.objects.filter(pk=one.pk).update(answers="A" + one.answers[1:-1] + "D")
    found = verify(benchmark, at=AT)
    assert f"edition 1 on version 1: submission {one.public_id}: its answers are not those of its hash" in found
    assert any(f"entry {one.public_id} is not what its answers give" in each for each in found)


@pytest.mark.parametrize("answers", ["A", "É" * 320])
def test_a_prediction_that_cannot_be_read_is_named(benchmark: Benchmark, answers: str) -> None:
    Submission.objects.filter(team__name="Team One").update(answers=answers)
    assert any("cannot be computed again" in one for one in verify(benchmark, at=AT))


def test_a_changed_key(benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    AnswerKey.objects.filter(pk=AnswerKey.objects.order_by("pk")[7].pk).update(key="D")
    monkeypatch.setattr(verifying, "commitment_holds", lambda version: False)
    found = verify(benchmark, at=AT)
    assert found[0] == "version 1: the keys are not those of the commitment"
    assert len(found) > 1


@pytest.mark.parametrize("name", ["index.html", "board.csv", "board.svg", "editions/1/index.html", "SHA256SUMS"])
def test_a_changed_file(benchmark: Benchmark, tmp_path: Path, name: str) -> None:
    publish(benchmark, tmp_path / "board", at=AT)
    path = tmp_path / "board" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert verify(benchmark, tmp_path / "board", at=AT) == [f"{name}: the file is not what is written today"]


def test_a_missing_and_a_foreign_file(benchmark: Benchmark, tmp_path: Path) -> None:
    publish(benchmark, tmp_path / "board", at=AT)
    (tmp_path / "board" / "by-name.html").unlink()
    (tmp_path / "board" / "tracker.js").write_text("x")
    assert verify(benchmark, tmp_path / "board", at=AT) == [
        "by-name.html: the file is missing",
        "tracker.js: the file does not belong to the board",
    ]
    assert verify(benchmark, tmp_path / "none", at=AT) == [f"{tmp_path / 'none'}: there is no such folder"]


def test_what_happens_after_an_edition_changes_no_number_of_it() -> None:
    benchmark = make_published(n=320, n_editions=2)
    Submission.objects.filter(team__name="Team Two").update(withdrawn_at=AT, withdrawn_because="Mistake")
    second = benchmark.editions.get(number=2)
    name_again(second, list(Submission.objects.filter(withdrawn_at=None)))
    scored(second)
    assert verify(benchmark, at=AT) == []


def test_the_commands(benchmark: Benchmark, settings: Any, tmp_path: Path) -> None:
    settings.HOME = tmp_path
    said = StringIO()
    call_command("publish_leaderboard", "Private test", output=tmp_path / "board", stdout=said)
    call_command("verify_leaderboard", "private-test", folder=tmp_path / "board", stdout=said)
    assert "files of the board" in said.getvalue()
    assert "byte by byte" in said.getvalue()
    call_command("verify_leaderboard", "private-test", stdout=said)
    with pytest.raises(CommandError) as refused:
        call_command("publish_leaderboard", "Private test", output=tmp_path / "board", stdout=said)
    assert refused.value.returncode == 2
    (tmp_path / "board" / "index.html").write_text("another")
    with pytest.raises(CommandError, match="1 found") as differs:
        call_command("verify_leaderboard", "private-test", folder=tmp_path / "board", stdout=said)
    assert differs.value.returncode == 1
    with pytest.raises(CommandError):
        call_command("verify_leaderboard", "none", stdout=said)
