"""A ZIP of question files and images at the page that imports questions: recognised, previewed, taken in whole."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from annotation.enums import ImageState, Role, Split
from annotation.exports.bank_contents import BankForm
from annotation.exports.bank_export import BankChoice, export_bank_zip
from annotation.models import Image, Job, Question, QuestionBank, Revision, SeenKey, Upload
from tests.annotation.images.test_uploads import png
from tests.annotation.questionbank.files import NOON, make_record
from tests.annotation.questionbank.test_import_views import NEW
from tests.conftest import make_person
from tests.jobs import work

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


def zip_of(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def send(client: Client, content: bytes, bank: str = "Chest") -> Any:
    sent = SimpleUploadedFile("sent.zip", content, "application/zip")
    return client.post(NEW, {"file": sent, "bank": bank})


def checked(client: Client, content: bytes, bank: str = "Chest") -> tuple[str, Any]:
    """The address of the import, and its page once the check is done."""
    response = send(client, content, bank)
    assert response.status_code == 302, response.context["form"].errors
    address = str(response["Location"])
    work()
    return address, client.get(address)


def stored(client: Client, content: bytes, bank: str = "Chest") -> Any:
    return store(client, checked(client, content, bank)[0])


def store(client: Client, address: str) -> Any:
    client.post(address + "store/")
    work()
    work()  # the images, which come in after their questions
    return client.get(address)


def paper() -> bytes:
    """The folders of the paper, in a folder of their own."""
    records = {f"q{n}": make_record(n, exam=n, ImagePath=[f"../deid_png/{n}/pa.png"]) for n in (1, 2)}
    return zip_of(
        **{
            "release/metadata/train_vqa_data.json": json.dumps({"q1": records["q1"]}).encode(),
            "release/metadata/test_vqa_data.json": json.dumps({"q2": records["q2"]}).encode(),
            "release/metadata/train_metadata.csv": b"id,PatientAge\n1,58\n",
            "release/deid_png/1/pa.png": png(1),
            "release/deid_png/2/pa.png": png(2),
        }
    )


def test_the_paper_s_folders_come_in_with_their_splits_and_images_and_go_out_and_in_again(coordinator: Client) -> None:
    page = stored(coordinator, paper())
    assert page.context["result"]["read"] == 2
    splits = Question.objects.order_by("number").values_list("split", flat=True)
    assert list(splits) == [Split.TRAIN, Split.TEST]
    assert set(Image.objects.values_list("state", flat=True)).isdisjoint({ImageState.PENDING}), "images were not met"
    assert "the images of the ZIP come in" in page.content.decode()
    SeenKey.objects.all().delete()
    checked(coordinator, paper())
    assert SeenKey.objects.filter(person__name="Cora").count() == 2, "a preview of questions of the bank shows keys"
    Image.objects.update(state=ImageState.AVAILABLE)
    file = io.BytesIO()
    export_bank_zip(QuestionBank.objects.get(), BankChoice(BankForm.REXVQA, images="images"), file, actor=None, at=NOON)
    page = stored(coordinator, file.getvalue(), bank="Copy")
    assert page.context["result"]["read"] == 2
    states = list(Image.objects.filter(exam__bank__name="Copy").values_list("state", flat=True))
    assert (len(states), ImageState.PENDING in states) == (2, False)


def test_the_preview_shows_questions_whole_with_pictures_and_tasks_to_who_sent_the_file(
    coordinator: Client, client: Client
) -> None:
    address, page = checked(coordinator, paper())
    job = Job.objects.get(kind="check_questions")
    assert (job.progress_done, job.progress_total, job.message) == (2, 2, "Drawing the first images")
    assert [one.question.key for one in page.context["first"]] == ["q1", "q2"]
    assert [(task, n) for task, n in page.context["tasks"]] == [("Presence", 2)]
    picture = f"{address}pictures/{page.context['first'][0].pictures[0].name}.webp"
    answer = coordinator.get(picture)
    assert (answer["Content-Type"], answer["Cache-Control"]) == ("image/webp", "no-store")
    assert b"WEBP" in answer.content[:16]
    assert not Question.objects.exists(), "a preview stores nothing"
    client.force_login(make_person("Otto", Role.COORDINATOR))
    assert "first" not in client.get(address).context
    assert client.get(picture).status_code == 404


def test_what_file_and_bank_say_differently_is_shown_before_it_is_stored(coordinator: Client) -> None:
    stored(coordinator, paper())
    other = {"q1": make_record(7, exam=1, ImagePath=["../deid_png/1/pa.png"])}
    _address, page = checked(coordinator, zip_of(**{"metadata/train_vqa_data.json": json.dumps(other).encode()}))
    [one] = page.context["result"]["differing"]
    assert (one["key"], one["counts"]) == ("q1", "file")
    assert (one["bank"][0], one["file"][0]) == (
        "Is there a pleural effusion, number 1?",
        "Is there a pleural effusion, number 7?",
    )
    assert Revision.objects.filter(question__number=1).count() == 1


def test_a_table_with_other_columns_is_matched_as_by_itself(coordinator: Client) -> None:
    rows = b"nr,text,a,b,c,d,right,image\n1,Is there one?,yes,no,left,right,B,1/pa.png\n"
    response = send(coordinator, zip_of(**{"mine/table.csv": rows, "mine/1/pa.png": png(1)}))
    assert str(response["Location"]).endswith("/columns/")


def test_a_zip_without_questions_is_refused_and_nothing_is_kept(coordinator: Client) -> None:
    for members, told in (
        ({"a.png": b"x"}, "no table and no JSON file"),
        ({"a.json": b'{"x": {"y": 1}}'}, "It holds: a.json"),
        ({"a.csv": b"a,b\n1,2\n", "b.csv": b"c,d\n1,2\n"}, "It holds: a.csv, b.csv"),
        ({f"{n}.csv": b"a,b\n1,2\n" for n in range(21)}, "holds 21 tables"),
        ({"../q.json": b"{}"}, "leads out of it"),
    ):
        response = send(coordinator, zip_of(**members))
        assert response.status_code == 422
        assert told in str(response.context["form"].errors)
    assert not Upload.objects.exists()


def question_of(path: str, n: int = 1, key: str = "q1") -> bytes:
    return json.dumps({key: make_record(n, exam=n, ImagePath=[path])}).encode()


def test_a_path_on_the_server_and_the_command_take_the_same_zip(
    coordinator: Client, tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.SERVER_FOLDERS, settings.UPLOAD_MAX_BYTES = [tmp_path], 10
    file = tmp_path / "paper.zip"
    file.write_bytes(paper())
    settings.UPLOAD_MAX_BYTES = file.stat().st_size - 1
    address = str(coordinator.post(NEW, {"path": str(file), "bank": "By path"})["Location"])
    work()
    assert len(coordinator.get(address).context["first"][0].pictures) == 1
    store(coordinator, address)
    call_command("import_questions", str(file), bank="By command", dry_run=True)
    told = capsys.readouterr().out
    assert ("Presence" in told, "2 images" in told, Question.objects.count()) == (True, True, 2)
    call_command("import_questions", str(file), bank="By command")
    for bank in QuestionBank.objects.all():
        assert list(Question.objects.filter(bank=bank).order_by("number").values_list("split", flat=True)) == [
            *(Split.TRAIN, Split.TEST)
        ]
        assert Image.objects.filter(exam__bank=bank).exclude(state=ImageState.PENDING).count() == 2
    assert file.exists()


def checked_by_path(client: Client, file: Path, content: bytes, settings: Settings) -> str:
    settings.SERVER_FOLDERS = [file.parent]
    file.write_bytes(content)
    address = str(client.post(NEW, {"path": str(file), "bank": "By path"})["Location"])
    work()
    return address


@pytest.mark.parametrize("images", [{"one.png": png(1)}, {}])
def test_questions_stay_stored_where_their_zip_goes_away(
    coordinator: Client, tmp_path: Path, settings: Settings, images: dict[str, bytes]
) -> None:
    file = tmp_path / "gone.zip"
    address = checked_by_path(coordinator, file, zip_of(**{"q.json": question_of("one.png")}, **images), settings)
    file.unlink()
    coordinator.post(address + "store/")
    work()
    page = coordinator.get(address)
    assert (page.context["job"].state, Question.objects.count()) == ("succeeded", 1)
    assert ("The images of the ZIP did not come in. There is no file" in page.content.decode()) == bool(images)


def test_a_zip_that_is_another_than_was_checked_is_not_stored(
    coordinator: Client, tmp_path: Path, settings: Settings
) -> None:
    file = tmp_path / "swapped.zip"
    address = checked_by_path(coordinator, file, paper(), settings)
    file.write_bytes(zip_of(**{"q.json": question_of("one.png"), "one.png": png(3)}))
    coordinator.post(address + "store/")
    work()
    assert "Another file lies at this path than was checked." in coordinator.get(address).content.decode()
    assert not Question.objects.exists()


def test_a_zip_of_the_command_is_stored_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "two.zip"
    bad = json.dumps({"q2": make_record(2, exam=2, correct_answer="E")}).encode()
    file.write_bytes(zip_of(**{"a.json": question_of("a.png"), "b.json": bad}))
    with pytest.raises(CommandError, match="Nothing was stored"):
        call_command("import_questions", str(file), bank="Two")
    assert not Question.objects.exists()
    file.write_bytes(zip_of(**{"a.png": png(1)}))
    with pytest.raises(CommandError, match="no table and no JSON file"):
        call_command("import_questions", str(file), bank="Two")


def test_an_image_under_another_path_is_the_one_that_the_exam_has(coordinator: Client) -> None:
    stored(coordinator, paper())
    before = Image.objects.get(exam__questions__number=1)
    Image.objects.update(state=ImageState.AVAILABLE)
    other = zip_of(**{"q.json": question_of("again/one.png"), "again/one.png": png(1)})
    address, page = checked(coordinator, other)
    assert page.context["result"]["held"] == ["again/one.png"]
    store(coordinator, address)
    assert list(Image.objects.filter(exam=before.exam)) == [before]
    assert Image.objects.get(pk=before.pk).state == ImageState.AVAILABLE, "nobody looks at the same bytes twice"
    assert stored(coordinator, other).context["result"]["images"] == 0
    assert Image.objects.count() == 2


def test_an_image_that_came_in_alone_is_the_one_that_a_question_names(coordinator: Client) -> None:
    coordinator.post(reverse("upload-new"), {"files": [SimpleUploadedFile("x.png", png(1))]})
    work()
    alone = Image.objects.get()
    Image.objects.update(state=ImageState.AVAILABLE)
    stored(coordinator, zip_of(**{"q.json": question_of("one.png"), "one.png": png(1)}))
    assert Image.objects.get().pk == alone.pk
    assert Image.objects.get().exam == Question.objects.get().exam
