"""A benchmark released from a bank: what is in it, what is held back, and that it never changes."""

from __future__ import annotations

import hashlib
import json
import zipfile
from datetime import datetime
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from msgspec.structs import replace
from PIL import Image as Picture
from pyrage import decrypt, x25519
from pytest_django import Settings

from annotation.enums import ImageState, Split
from annotation.exports.release_files import HELD_BACK, ImageSize, contents_of, files_of, private_keys, zip_of
from annotation.exports.releases import (
    PackingParams,
    ReleaseWanted,
    ask_to_pack,
    pack_release,
    packed_file,
    plan_as_json,
    plan_release,
    release,
)
from annotation.imaging.kernels import text
from annotation.jobs.queueing import JobCancelled
from annotation.models import (
    AnswerKey,
    AuditEvent,
    Exam,
    Gate,
    Image,
    Job,
    Question,
    QuestionBank,
    Release,
    ReleasedQuestion,
    Revision,
    SeenKey,
    User,
)
from annotation.questionbank.bank_life import is_unused
from annotation.questionbank.editing import revise, wording_of
from annotation.questionbank.validity import set_gate
from annotation.tables.writing import ExportRefused, scratch_file
from tests.annotation.images.test_uploads import png
from tests.annotation.questionbank.files import make_record, run_import, write_file
from tests.commands import ends_with_2
from tests.conftest import NOON
from tests.jobs import result_of, worked
from tests.made_once import made_once
from tests.pages import markup
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

HALVES = {Split.TRAIN: 50, Split.VALID: 0, Split.TEST: 0, Split.PRIVATE: 50}
IDENTITY = x25519.Identity.generate()
PUBLIC_KEY = str(IDENTITY.to_public())
N = 8  # exams, of four patients and of one question each


@made_once
def make_chest(files: Path) -> QuestionBank:
    """With its images, whose files stay in the folder of images as long as the tests run."""
    records = {f"q{n}": make_record(n, exam=n, PatientID=f"REAL-{n % 4}") for n in range(1, N + 1)}
    run_import(write_file(files, records), bank="Chest")
    for n in range(1, N + 1):
        for number, name in enumerate(("pa", "lateral")):
            (files / f"{n}").mkdir(parents=True, exist_ok=True)
            (files / f"{n}" / f"{name}.png").write_bytes(png(10 * n + number))
    call_command("ingest_images", str(files), verbosity=0)
    bank = QuestionBank.objects.get()
    set_gate(bank, ["identifiers"], name="Release gate", actor=None, at=NOON)
    return bank


@pytest.fixture
def chest(
    db: None,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> QuestionBank:
    kept = tmp_path_factory.getbasetemp() / "chest"
    settings.MEDIA_ROOT, settings.TEMP_ROOT = kept / "media", tmp_path / "tmp"
    settings.TEMP_ROOT.mkdir()
    monkeypatch.setattr(text, "find_text", lambda *_given: [])
    return make_chest(kept / "files")


def wanted(bank: QuestionBank, name: str = "First", **changes: Any) -> ReleaseWanted:
    return ReleaseWanted(bank, name, **{"shares": HALVES, "seed": 1, **changes})


def records_of(made: Release) -> dict[str, dict[str, Any]]:
    files = dict(files_of(made))
    return {split: json.loads(files.get(f"metadata/{split}_vqa_data.json", b"{}")) for split in Split.values()}


def opened(keys: bytes) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(decrypt(keys, [IDENTITY]))
    return found


def test_every_question_that_passes_is_in_one_split_with_its_patient(chest: QuestionBank, noon: datetime) -> None:
    made = release(wanted(chest), actor=None, at=noon)
    records = records_of(made)
    assert {split: len(found) for split, found in records.items()} == {"train": 4, "valid": 0, "test": 0, "private": 4}
    patients = [{one["PatientID"] for one in found.values()} for found in records.values()]
    assert sum(map(len, patients)) == len(set.union(*patients)) == 4
    assert made.counts["train"] == {"questions": 4, "patients": 2}
    whole = b"".join(dict(files_of(made)).values())
    assert [known for known in (b"REAL-", b'"q1"', b"pa.png") if known in whole] == [], "nothing of the source leaves"


def test_the_private_split_holds_no_answer_and_its_keys_are_apart(chest: QuestionBank, noon: datetime) -> None:
    made = release(wanted(chest), actor=None, at=noon)
    records = records_of(made)
    assert all(set(HELD_BACK).isdisjoint(one) for one in records["private"].values())
    assert all({"correct_answer", "correct_answer_explanation"} <= set(one) for one in records["train"].values())
    written = private_keys(made, PUBLIC_KEY)
    keys = opened(written)
    for one in keys.values():
        assert str(one["correct_answer_explanation"]).encode() not in written
    assert set(keys) == set(records["private"])
    for name, one in keys.items():
        truth = AnswerKey.objects.get(revision__question__public_id=name[1:])
        assert (one["correct_answer"], one["correct_answer_explanation"]) == (truth.key, truth.explanation)
        assert one["category"] == truth.revision.category
    assert {len({**records["private"][name], **one}) for name, one in keys.items()} == set(
        map(len, records["train"].values())
    )


def test_why_a_private_question_was_changed_stays_here(chest: QuestionBank, noon: datetime, cora: User) -> None:
    made = release(wanted(chest), actor=None, at=noon)
    for one in ReleasedQuestion.objects.filter(release=made).select_related("revision__question"):
        question = one.revision.question
        wording = replace(wording_of(one.revision), stem=f"Which finding is seen, {question.number}?")
        revise(question, wording, "B was right, not A", based_on=1, actor=cora, at=noon)
    second = release(wanted(chest, "Second"), actor=None, at=noon)
    changes, records = json.loads(dict(files_of(second))["changes.json"]), records_of(second)
    told = {split: [changes[name][0].get("why") for name in records[split]] for split in ("train", "private")}
    assert told == {"train": ["B was right, not A"] * 4, "private": [None] * 4}


def test_it_is_the_same_whenever_it_is_written_and_says_when_it_cannot_be(chest: QuestionBank, noon: datetime) -> None:
    made = release(wanted(chest), actor=None, at=noon)
    first = dict(files_of(made))
    Question.objects.update(state="rejected")
    assert dict(files_of(made)) == first
    Image.objects.filter(pk=Image.objects.values("pk")[:1]).update(state=ImageState.QUARANTINED)
    with refuses(ExportRefused, "changed"):
        dict(files_of(made))


def test_the_order_in_which_a_database_gives_counts_changes_nothing(
    chest: QuestionBank, noon: datetime, client: Client, cora: User
) -> None:
    made = release(wanted(chest, shares={Split.TRAIN: 100}), actor=None, at=noon)
    made.left_out = {"b": 2, "a": 1}
    first = dict(contents_of(made))
    made.left_out, made.counts = {"a": 1, "b": 2}, dict(reversed(made.counts.items()))
    assert dict(contents_of(made)) == first
    made.save()
    client.force_login(cora)
    assert client.get(reverse("bank-releases", args=[chest.slug])).context["releases"][0][1] == [N, 0, 0, 0]


def test_read_back_it_gives_the_same_questions(chest: QuestionBank, tmp_path: Path) -> None:
    out = tmp_path / "out"
    call_command(
        "release_benchmark", bank="Chest", name="First", train=100, valid=0, test=0, private=0, seed=1,
        output=str(out), images="full", verbosity=0,
    )  # fmt: skip
    run_import(out / "metadata" / "train_vqa_data.json", bank="Again")
    call_command("ingest_images", str(out), bank="again", verbosity=0)
    columns = ("stem", "options", "task", "category")
    again = QuestionBank.objects.get(slug="again")
    ours, theirs = (
        sorted(map(str, Revision.objects.filter(bank=bank).values_list(*columns))) for bank in (chest, again)
    )
    assert ours == theirs
    waiting = Image.objects.filter(exam__bank=again).exclude(state=ImageState.AVAILABLE)
    assert (Image.objects.filter(exam__bank=again).count(), waiting.count()) == (2 * N, 0)


def test_read_back_from_the_zip_with_images_records_and_pixels_are_the_same(
    chest: QuestionBank, noon: datetime, tmp_path: Path
) -> None:
    def unpacked(bank: QuestionBank) -> Path:
        made = release(wanted(bank, shares={**dict.fromkeys(Split, 0), Split.TRAIN: 100}), actor=None, at=noon)
        with scratch_file() as file:
            assert zip_of(made, file, images="full") == 2 * N
            with zipfile.ZipFile(file) as archive:
                archive.extractall(tmp_path / bank.slug)
        return tmp_path / bank.slug

    def records(folder: Path) -> list[str]:
        """Without what is drawn anew in every bank; images by their content."""
        found = json.loads((folder / "metadata" / "train_vqa_data.json").read_bytes())
        for one in found.values():
            for name in ("study_id", "PatientID"):
                del one[name]
            paths = [folder / "metadata" / path for path in one["ImagePath"]]
            one["ImagePath"] = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
        return sorted(json.dumps(one, sort_keys=True) for one in found.values())

    out = unpacked(chest)
    run_import(out / "metadata" / "train_vqa_data.json", bank="Again")
    call_command("ingest_images", str(out), bank="again", verbosity=0)
    again = QuestionBank.objects.get(slug="again")
    set_gate(again, ["identifiers"], name="Release gate", actor=None, at=noon)
    assert records(unpacked(again)) == records(out)


def test_with_images_a_job_writes_the_same_files_as_the_command(
    chest: QuestionBank, client: Client, cora: User, noon: datetime, tmp_path: Path, settings: Settings
) -> None:
    settings.HOME = tmp_path / "home"
    made = release(wanted(chest), actor=None, at=noon)
    client.force_login(cora)

    def address(what: str) -> str:
        return reverse("bank-release-file", args=[chest.slug, made.public_id, what])

    assert client.post(address("packed"), {"images": "quarter"}).status_code == 409
    assert client.post(address("pack"), {"images": "huge"}).status_code == 422
    asked = client.post(address("pack"), {"images": "quarter"})
    job = Job.objects.get()
    assert asked["Location"] == reverse("job", args=[job.public_id])
    assert result_of(job)["images"] == 2 * N
    assert (job.state, job.progress_done) == ("succeeded", 2 * N)
    page = markup(client.get(reverse("bank-releases", args=[chest.slug])))
    assert "With images (ZIP" in page
    assert all(f'name="images" value="{size}"' in page for size in ImageSize), "each can be asked for"
    assert not SeenKey.objects.exists()
    content = b"".join(client.post(address("packed"), {"images": "quarter"}))
    assert SeenKey.objects.filter(person=cora).count() == N
    out = tmp_path / "out"
    call_command("release_benchmark", bank="Chest", name="First", again=True, output=str(out), images="quarter")
    with zipfile.ZipFile(BytesIO(content)) as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    assert packed == {str(one.relative_to(out)): one.read_bytes() for one in out.rglob("*") if one.is_file()}
    private = json.loads(packed["metadata/private_vqa_data.json"])
    assert all(set(HELD_BACK).isdisjoint(one) for one in private.values())
    assert all(known not in b"".join(packed.values()) for known in (b"REAL-", b"pa.png"))


def test_where_an_image_was_withheld_since_the_written_file_is_not_given(
    chest: QuestionBank, noon: datetime, cora: User, tmp_path: Path, settings: Settings
) -> None:
    settings.HOME = tmp_path / "home"
    made = release(wanted(chest), actor=None, at=noon)
    for size in ImageSize:
        worked(ask_to_pack(made, size, actor=cora, at=noon))
    assert packed_file(made, ImageSize.QUARTER).is_file()
    assert len(list((tmp_path / "home" / "releases").iterdir())) == 1, "one size is kept"
    Image.objects.filter(pk=Image.objects.values("pk")[:1]).update(state=ImageState.QUARANTINED)
    with refuses(ExportRefused, "not_packed"):
        packed_file(made, ImageSize.QUARTER)


def test_a_cancelled_job_leaves_no_file(
    chest: QuestionBank, noon: datetime, cora: User, tmp_path: Path, settings: Settings
) -> None:
    settings.HOME = tmp_path / "home"

    class Stopped:
        def report(self, done: int, total: int, message: str = "") -> None:
            raise JobCancelled

    made = release(wanted(chest), actor=None, at=noon)
    with pytest.raises(JobCancelled):
        pack_release(Stopped(), PackingParams(bank=chest.pk, release=made.pk, images="full"))
    assert list((tmp_path / "home" / "releases").iterdir()) == []


def test_a_later_release_moves_nobody_and_says_what_changed(chest: QuestionBank, noon: datetime) -> None:
    first = release(wanted(chest), actor=None, at=noon)
    Question.objects.filter(number=1).update(state="withdrawn")
    plan = plan_release(wanted(chest, "Second", seed=99, shares=dict.fromkeys(Split, 25)))
    before = dict(ReleasedQuestion.objects.filter(release=first).values_list("revision", "split"))
    assert all(before[pk] == split for pk, split in plan.splits.items())
    assert (plan.n_before["same"], plan.n_before["gone"], plan.n_before["new"]) == (N - 1, 1, 0)
    assert (plan.n_kept, plan_as_json(plan)["patients_who_keep_their_split"]) == (4, 4)


def test_what_cannot_be_released(chest: QuestionBank, noon: datetime) -> None:
    def refusal(**changes: Any) -> str:
        with pytest.raises(ExportRefused) as refused:
            release(wanted(chest, **{"name": "Second", **changes}), actor=None, at=noon)
        return refused.value.code

    release(wanted(chest), actor=None, at=noon)
    assert refusal(shares={Split.TRAIN: 90}) == "shares"
    assert refusal(shares={Split.TRAIN: 110, Split.VALID: -10}) == "shares"
    assert (refusal(name="n" * 101), refusal(name=" "), refusal(name="First")) == ("no_name", "no_name", "name_taken")
    assert (refusal(seed=2**31), refusal(seed=-1)) == ("seed", "seed")
    assert refusal(gate="Another") == "other_gate"
    for gate, code in (([], "no_gate"), (["c1"], "identifiers"), (["identifiers", "c1"], "nothing_passes")):
        set_gate(chest, gate, actor=None, at=noon)
        assert refusal() == code, "only by a gate that looks for identifiers"
    assert Release.objects.count() == 1


def test_what_lost_an_image_is_left_out_and_a_patient_who_is_unknown_counts_alone(chest: QuestionBank) -> None:
    exam = Exam.objects.order_by("pk")[0]
    Image.objects.filter(exam=exam).update(state=ImageState.QUARANTINED)
    Exam.objects.filter(pk=Exam.objects.order_by("-pk").values("pk")[:1]).update(patient_pseudonym="")
    plan = plan_release(wanted(chest))
    assert (sum(plan.left_out.values()), plan.n_alone, len(plan.splits)) == (1, 1, N - 1)


def test_images_are_a_quarter_or_whole(chest: QuestionBank, tmp_path: Path) -> None:
    call_command("release_benchmark", bank="Chest", name="First", train=50, valid=0, test=0, private=50, verbosity=0)
    sizes = []
    for size in ("full", "quarter"):
        out, keys = tmp_path / size, tmp_path / f"{size}.json"
        taken = {"again": True, "output": str(out), "images": size, "keys": str(keys), "public_key": PUBLIC_KEY}
        call_command("release_benchmark", bank="Chest", name="First", **taken, verbosity=0)
        paths = sorted(out.glob("images/*/*.png"))
        assert len(paths) == 2 * N
        with Picture.open(paths[0]) as picture:
            sizes.append(np.asarray(picture).shape[0])
        private = json.loads((out / "metadata" / "private_vqa_data.json").read_bytes())
        assert opened(keys.read_bytes()).keys() == private.keys()
    assert sizes[1] == -(-sizes[0] // 4)


def test_the_command_tells_before_it_does(chest: QuestionBank, tmp_path: Path) -> None:
    out = StringIO()
    gate = Gate.objects.filter(bank=chest)[0].name
    call_command("release_benchmark", bank="Chest", gate=gate, name="First", dry_run=True, stdout=out)
    told = json.loads(out.getvalue())
    assert sum(told["questions"].values()) == N
    assert not Release.objects.exists()
    inside = {"output": str(tmp_path / "o"), "keys": str(tmp_path / "o" / "k"), "public_key": PUBLIC_KEY}
    with pytest.raises(CommandError, match="outside of the folder"):
        call_command("release_benchmark", bank="Chest", name="x", **inside)
    with pytest.raises(CommandError, match="There is no release"):
        call_command("release_benchmark", bank="Chest", name="x", again=True)


def test_a_place_that_cannot_be_written_to_is_refused_before_anything_is_released(
    chest: QuestionBank, tmp_path: Path
) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "there").write_text("x")
    places = [
        {"output": str(full)},
        {"output": str(tmp_path / "no" / "folder")},
        {"output": str(tmp_path / "o"), "keys": str(tmp_path / "no" / "keys.json"), "public_key": PUBLIC_KEY},
        {"output": str(tmp_path / "o"), "keys": str(full / "there"), "public_key": PUBLIC_KEY},
        {"keys": str(tmp_path / "keys.json"), "public_key": PUBLIC_KEY},
        {"output": str(tmp_path / "o"), "keys": str(tmp_path / "keys.json")},
        {"output": str(tmp_path / "o"), "keys": str(tmp_path / "keys.json"), "public_key": PUBLIC_KEY[:-1]},
        {"images": "full"},
    ]
    for place in places:
        with ends_with_2():
            call_command("release_benchmark", bank="Chest", name="First", **place)
    assert not Release.objects.exists()
    assert [one.name for one in full.iterdir()] == ["there"]


def test_on_its_page_first_shown_then_released_then_taken(chest: QuestionBank, client: Client, cora: User) -> None:
    client.force_login(cora)
    address = reverse("bank-releases", args=[chest.slug])
    asked = {"name": "First", "train": 50, "valid": 0, "test": 0, "private": 50, "seed": 1}
    assert "What would be released" in markup(client.post(address, asked))
    assert not Release.objects.exists()
    assert "“First” is released" in markup(client.post(address, {**asked, "confirmed": "yes"}, follow=True))
    made = Release.objects.get()
    assert made.released_by == cora
    assert "add up to 100" in markup(client.post(address, {**asked, "name": "Second", "train": 60}))
    again = markup(client.post(address, {**asked, "name": "Second", "seed": 2}))
    assert "4 patients keep the split of an earlier release" in again
    assert f"Since “First”: {N} as they were, 0 reworded, 0 gone, 0 new." in again
    assert not SeenKey.objects.exists()
    got = client.post(reverse("bank-release-file", args=[chest.slug, made.public_id, "files"]))
    assert "first.zip" in got["Content-Disposition"]
    with zipfile.ZipFile(BytesIO(b"".join(got))) as archive:
        assert archive.namelist()[-1] == "SHA256SUMS"
    assert SeenKey.objects.filter(person=cora).count() == N
    address = reverse("bank-release-file", args=[chest.slug, made.public_id, "keys"])
    for bad in ("", "age1xyz", PUBLIC_KEY.upper()[:-1], "AGE-SECRET-KEY-1"):
        refused = client.post(address, {"public_key": bad}, headers={"referer": "http://testserver/banks/"})
        assert '<a class="button primary" href="http://testserver/banks/">Back' in markup(refused)
        assert refused.status_code == 422
        assert "leave this site encrypted alone" in markup(refused)
    keys = client.post(address, {"public_key": f" {PUBLIC_KEY}"})
    assert opened(b"".join(keys)) == opened(private_keys(made, PUBLIC_KEY))
    assert AuditEvent.objects.filter(act="release.taken", actor=cora).count() == 2
    assert not is_unused(chest)
