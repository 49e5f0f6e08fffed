from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.test import RequestFactory
from django.utils import timezone

from annotation.acts.files import resumable_response
from annotation.enums import ImageState
from annotation.imaging.kernels.picture_policies import QUARTER, STORED, policy_named
from annotation.ingest.serving import pictures_for
from annotation.jobs.queueing import job_under_way
from annotation.models import AnswerKey, AuditEvent, Exam, Image, Job, QuestionBank, Revision, User
from readerstudy.enums import BenchmarkState
from readerstudy.leaderboard.access import LeaderboardRefused
from readerstudy.leaderboard.benchmarks import PACK, current_version, make_version
from readerstudy.leaderboard.versions import ask_to_pack, pack_inputs, packed_inputs, take_inputs, write_inputs
from readerstudy.models import Benchmark
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.leaderboard.made import NOW, make_benchmark

pytestmark = pytest.mark.django_db


class Quiet:
    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    def report(self, done: int, total: int, message: str = "") -> None:
        self.seen.append((done, total))


@pytest.fixture
def board() -> Benchmark:
    return make_benchmark(make_questions(4))


def files_of(board: Benchmark) -> dict[str, bytes]:
    to = io.BytesIO()
    write_inputs(current_version(board), to)
    with zipfile.ZipFile(to) as archive:
        return {one.filename: archive.read(one) for one in archive.infolist()}


def pack(board: Benchmark) -> dict[str, Any]:
    return pack_inputs(Quiet(), {"benchmark": board.pk, "version": current_version(board).pk})


# --- the file -------------------------------------------------------------------------------------
def test_it_holds_questions_images_and_hashes(board: Benchmark) -> None:
    files = files_of(board)
    questions = json.loads(files["questions.json"])
    rows = list(current_version(board).questions.select_related("revision"))
    assert list(questions) == [row.name for row in rows], "in the order of the version"
    for row in rows:
        one = questions[row.name]
        assert list(one) == ["question", "options", "images"]
        assert one["question"] == row.revision.stem
        assert one["options"] == [
            f"{letter}. {text}" for letter, text in zip("ABCD", row.revision.options, strict=True)
        ]
        assert len(one["images"]) == 2
        assert set(one["images"]) <= set(files)
    manifest = json.loads(files.pop("manifest.json"))
    assert (manifest["benchmark"], manifest["version"], manifest["n"]) == ("Private test", 1, 4)
    assert manifest["sha256"] == {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    assert b"version 1" in files["README.md"]


def test_images_are_the_pictures_that_models_get(board: Benchmark) -> None:
    files = files_of(board)
    first = current_version(board).questions.select_related("revision__question__exam")[0]
    (picture, _second) = pictures_for(
        first.revision.question.exam.images.order_by("position"), policy_named(QUARTER), {}, at=NOW
    )
    path = json.loads(files["questions.json"])[first.name]["images"][0]
    assert hashlib.sha256(files[path]).hexdigest() == picture.sha256


def test_a_bank_of_quarters_is_not_quartered_once_more(board: Benchmark) -> None:
    QuestionBank.objects.update(holds_quarters=True)
    board.bank.refresh_from_db()
    image = Image.objects.order_by("pk")[0]
    (picture,) = pictures_for([image], policy_named(STORED), {}, at=NOW)
    assert picture.sha256 in {hashlib.sha256(content).hexdigest() for content in files_of(board).values()}


def test_no_name_of_the_site_is_in_it(board: Benchmark) -> None:
    everything = b" ".join(name.encode() + content for name, content in files_of(board).items())
    known = [
        *Image.objects.values_list("public_id", flat=True),
        *Exam.objects.values_list("pseudonym", flat=True),
        *Revision.objects.values_list("question__public_id", flat=True),
        *AnswerKey.objects.values_list("explanation", flat=True),
        current_version(board).keys_salt,
        board.bank.name,
    ]
    assert [one for one in known if one and re.search(rf"\b{re.escape(one)}\b".encode(), everything)] == []


def test_questions_on_one_exam_share_its_images() -> None:
    bank = make_questions(3)
    exam = Exam.objects.order_by("pk")[0]
    Revision.objects.get(question__number=2).question.__class__.objects.filter(number=2).update(exam=exam)
    files = files_of(make_benchmark(bank))
    shown = [tuple(one["images"]) for one in json.loads(files["questions.json"]).values()]
    assert shown[0] == shown[1] != shown[2]
    assert sum(name.startswith("images/") for name in files) == 4


def test_images_of_the_prior_exam_say_so_and_those_left_out_do_not_come() -> None:
    bank = make_questions(2)
    first, second = Exam.objects.order_by("pk")
    Exam.objects.filter(pk=first.pk).update(prior=second)
    gone = first.images.order_by("position")[0]
    Revision.objects.filter(question__exam=first).update(images_left_out=[gone.public_id])
    one, other = json.loads(files_of(make_benchmark(bank))["questions.json"]).values()
    assert (len(one["images"]), one["prior_images"]) == (1, other["images"])
    assert "prior_images" not in other


def test_names_of_images_stay_in_the_next_version(board: Benchmark) -> None:
    before = files_of(board)
    kept = list(current_version(board).questions.values_list("name", "revision"))
    make_version(board, kept[1:], changes=[], actor=None, at=NOW)
    after = files_of(board)
    assert {name for name in after if name.startswith("images/")} < set(before)
    assert json.loads(after["manifest.json"])["version"] == 2


def test_names_of_images_are_others_on_another_leaderboard(board: Benchmark) -> None:
    version = current_version(board)
    before = {name for name in files_of(board) if name.startswith("images/")}
    type(version).objects.filter(pk=version.pk).update(keys_salt="2" * 64)
    assert not before & set(files_of(board))


# --- kept -----------------------------------------------------------------------------------------
def test_a_job_writes_it_once_and_it_is_taken(board: Benchmark, cora: User) -> None:
    with pytest.raises(LeaderboardRefused, match="not written yet"):
        take_inputs(board, actor=cora, at=NOW)
    assert ask_to_pack(board, actor=cora, at=NOW) == ask_to_pack(board, actor=cora, at=NOW)
    assert job_under_way(PACK, benchmark=board.pk) is not None
    progress = Quiet()
    result = pack_inputs(progress, Job.objects.get().params)
    assert result["images"] == 8
    assert progress.seen[-1] == (8, 8)
    taken = take_inputs(board, actor=cora, at=NOW)
    assert taken.stat().st_size == result["bytes"]
    first = taken.read_bytes()
    pack(board)
    assert taken.read_bytes() == first, "the same bytes every time"
    event = AuditEvent.objects.get(act="benchmark.inputs_taken")
    assert (event.actor, event.subject_id) == (cora, str(board.pk))


def test_it_is_written_again_once_an_image_is_withheld_or_the_version_is_another(board: Benchmark) -> None:
    pack(board)
    before = packed_inputs(board)
    assert before is not None
    Image.objects.filter(pk=Image.objects.order_by("pk")[0].pk).update(state=ImageState.QUARANTINED)
    assert packed_inputs(board) is None
    pack(board)
    assert not before.exists()
    kept = list(current_version(board).questions.values_list("name", "revision"))
    make_version(board, kept[1:], changes=[], actor=None, at=NOW)
    assert packed_inputs(board) is None
    pack(board)
    found = packed_inputs(board)
    assert found is not None
    assert list(found.parent.iterdir()) == [found]


@pytest.mark.parametrize("state", [BenchmarkState.DRAFT, BenchmarkState.CLOSED])
def test_drafts_and_closed_leaderboards_give_nothing(board: Benchmark, cora: User, state: str) -> None:
    pack(board)
    board.state = state
    for act in (take_inputs, ask_to_pack):
        with pytest.raises(LeaderboardRefused, match="taken from it"):
            act(board, actor=cora, at=timezone.now())


# --- a download that goes on ----------------------------------------------------------------------
TEXT = b"0123456789"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.zip"
    path.write_bytes(TEXT)
    return path


def take(file: Path, **headers: str) -> tuple[int, bytes, Any]:
    request = RequestFactory().get("/", headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = resumable_response(request, file, etag="tag", name="file.zip", content_type="application/zip")
    return answer.status_code, answer.getvalue(), answer


@pytest.mark.parametrize(
    ("asked", "status", "content", "told"),
    [
        ("bytes=4-", 206, TEXT[4:], "bytes 4-9/10"),
        ("bytes=2-5", 206, TEXT[2:6], "bytes 2-5/10"),
        ("bytes=9-99", 206, TEXT[9:], "bytes 9-9/10"),
        ("bytes=-3", 206, TEXT[-3:], "bytes 7-9/10"),
        *((whole, 200, TEXT, None) for whole in ("bytes=0-1,4-5", "lines=1-2", "bytes=-", "bytes=x-", "bytes=0-")),
        ("bytes=-10", 200, TEXT, None),
        *((outside, 416, b"", "bytes */10") for outside in ("bytes=10-", "bytes=99-", "bytes=-0")),
    ],
)
def test_a_part_of_a_file(file: Path, asked: str, status: int, content: bytes, told: str | None) -> None:
    for condition in ({}, {"if_range": '"tag"'}):
        found, body, answer = take(file, range=asked, **condition)
        assert (found, answer.get("Content-Range")) == (status, told)
        if status != 416:
            assert (body, answer["Content-Length"]) == (content, str(len(content)))


def test_a_whole_file_says_that_parts_can_be_had_and_begins_anew_once_it_changed(file: Path) -> None:
    for headers in ({}, {"range": "bytes=4-", "if_range": '"other"'}):
        status, content, answer = take(file, **headers)
        assert (status, content) == (200, TEXT)
        assert (answer["Accept-Ranges"], answer["ETag"], answer["Content-Length"]) == ("bytes", '"tag"', "10")
