"""One byte of a row, a page or a prediction is found, and named."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.models import AnswerKey
from readerstudy.design.kernels.documents import sha256_of
from readerstudy.leaderboard import edition_scoring
from readerstudy.leaderboard.edition_scoring import verify
from readerstudy.leaderboard.public_board import publish
from readerstudy.models import Benchmark, EditionResult, PublishedNumber, Submission
from tests.readerstudy.leaderboard.made import make_published, name_again, scored

pytestmark = pytest.mark.django_db

AT = datetime(2027, 6, 3, 12, tzinfo=UTC)


@pytest.fixture
def benchmark() -> Benchmark:
    return make_published(n=320)


def _a_number() -> list[str]:
    row = PublishedNumber.objects.select_related("submission").get(what="all", submission__team__name="Team Two")
    PublishedNumber.objects.filter(pk=row.pk).update(value={**row.value, "value": row.value["value"] + 0.1})
    of = row.submission.public_id if row.submission else ""
    return [f"edition 1 on version 1: row {row.pk} of the ledger (all of {of}) is not what was published"]


def _a_number_that_is_gone() -> list[str]:
    PublishedNumber.objects.filter(what="band", submission__team__name="Team Two").delete()
    return ["no row for band"]


def _a_result() -> list[str]:
    row = EditionResult.objects.get()
    text = row.result.replace('"value":50.0', '"value":59.9', 1)
    assert text != row.result
    EditionResult.objects.update(result=text)
    return ["not that of its hash", "is not what its answers give"]


def _a_result_with_its_hash() -> list[str]:
    _a_result()
    EditionResult.objects.update(result_sha256=sha256_of(EditionResult.objects.get().result))
    return ["is not what its answers give"]


def _a_prediction() -> list[str]:
    one = Submission.objects.get(team__name="Team One")
    Submission.objects.filter(pk=one.pk).update(answers="A" + one.answers[1:-1] + "D")
    return [
        f"edition 1 on version 1: submission {one.public_id}: its answers are not those of its hash",
        f"entry {one.public_id} is not what its answers give",
    ]


def _no_letters(answers: str) -> Callable[[], list[str]]:
    def change() -> list[str]:
        Submission.objects.filter(team__name="Team One").update(answers=answers)
        return ["its answers are not those of its hash", "cannot be computed again"]

    return change


CHANGED = (_a_number, _a_number_that_is_gone, _a_result, _a_result_with_its_hash, _a_prediction)


@pytest.mark.parametrize("change", [*CHANGED, _no_letters("A"), _no_letters("É" * 320)])
def test_a_changed_row_is_found(benchmark: Benchmark, change: Callable[[], list[str]]) -> None:
    says = change()
    found = verify(benchmark, at=AT)
    assert len(found) == len(says) or change is _a_prediction, "and what follows from it"
    for sentence in says:
        assert any(sentence in one for one in found), found


def test_a_changed_key(benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    AnswerKey.objects.filter(pk=AnswerKey.objects.order_by("pk")[7].pk).update(key="D")
    monkeypatch.setattr(edition_scoring, "commitment_holds", lambda version: False)
    found = verify(benchmark, at=AT)
    assert found[0] == "version 1: the keys are not those of the commitment"
    assert len(found) > 1


def test_a_changed_a_missing_and_a_foreign_file(benchmark: Benchmark, tmp_path: Path) -> None:
    folder = tmp_path / "board"
    publish(benchmark, folder, at=AT)
    assert verify(benchmark, folder, at=AT) == []
    changed = ["SHA256SUMS", "board.csv", "board.svg", "editions/1/index.html", "index.html"]
    for name in changed:
        content = bytearray((folder / name).read_bytes())
        content[len(content) // 2] ^= 1
        (folder / name).write_bytes(content)
    (folder / "by-name.html").unlink()
    (folder / "tracker.js").write_text("x")
    assert sorted(verify(benchmark, folder, at=AT)) == sorted(
        [
            *(f"{name}: the file is not what is written today" for name in changed),
            "by-name.html: the file is missing",
            "tracker.js: the file does not belong to the board",
        ]
    )
    assert verify(benchmark, tmp_path / "none", at=AT) == [f"{tmp_path / 'none'}: there is no such folder"]


def test_what_happens_after_an_edition_changes_no_number_of_it() -> None:
    benchmark = make_published(n=320, n_editions=2)
    Submission.objects.filter(team__name="Team Two").update(withdrawn_at=AT, withdrawn_because="Mistake")
    second = benchmark.editions.get(number=2)
    name_again(second, list(Submission.objects.filter(withdrawn_at=None)))
    scored(second)
    assert verify(benchmark, at=AT) == []


def test_the_commands(benchmark: Benchmark, tmp_path: Path) -> None:
    said = StringIO()
    folder = tmp_path / "board"
    call_command("publish_leaderboard", "Private test", output=folder, stdout=said)
    call_command("verify_leaderboard", "private-test", folder=folder, stdout=said)
    assert "files of the board" in said.getvalue()
    assert "byte by byte" in said.getvalue()
    call_command("verify_leaderboard", "private-test", stdout=said)
    with pytest.raises(CommandError) as refused:
        call_command("publish_leaderboard", "Private test", output=folder, stdout=said)
    assert refused.value.returncode == 2
    (folder / "index.html").write_text("another")
    with pytest.raises(CommandError, match="1 found") as differs:
        call_command("verify_leaderboard", "private-test", folder=folder, stdout=said)
    assert differs.value.returncode == 1
    with pytest.raises(CommandError):
        call_command("verify_leaderboard", "none", stdout=said)
