from __future__ import annotations

import json
from collections.abc import Callable, Collection
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone

from annotation.audit.deleting import archive, bring_back, empty_bin, move_to_bin
from annotation.enums import IdentifierKind, ImageState, ImportState
from annotation.hashes import image_path_digest
from annotation.models import (
    AnswerKey,
    AuditEvent,
    BankImport,
    Exam,
    Image,
    Job,
    Question,
    QuestionBank,
    Report,
    Revision,
    SourceIdentifier,
    User,
)
from annotation.questionbank import bank_life, batches, importing
from annotation.questionbank.bank_life import delete_bank_job
from annotation.questionbank.kernels.entries import BankRefused
from annotation.questionbank.kernels.records import QuestionRecord
from tests.annotation.questionbank.files import NOON, make_record, run_import, write_file
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

STORED = (QuestionBank, BankImport, Question, Revision, AnswerKey, Exam, Report, Image, SourceIdentifier)


class Silent:
    def report(self, done: int, total: int, message: str = "") -> None: ...


def n_rows() -> dict[str, int]:
    return {model.__name__: model._default_manager.count() for model in STORED}


EMPTY = dict.fromkeys((model.__name__ for model in STORED), 0)


def ten_records(**changes: Any) -> dict[str, Any]:
    """Ten questions on five exams."""
    return {f"q{number}": make_record(number, exam=(number + 1) // 2, **changes) for number in range(1, 11)}


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three questions to a transaction."""
    monkeypatch.setitem(importing.BATCH_SIZES, connection.vendor, 3)


def test_a_file_becomes_questions_exams_and_pending_images_once_in_each_bank(
    tmp_path: Path, small_batches: None
) -> None:
    path = write_file(tmp_path, ten_records())
    counted = {"read": 10, "created": 10, "updated": 0, "unchanged": 0, "rejected": 0, "exams": 5, "images": 10}
    assert run_import(path).as_json() == {"bank": "Bank", **counted, "errors": []}
    assert list(Question.objects.order_by("number").values_list("number", flat=True)) == list(range(1, 11))
    revision = Revision.objects.current().get(question__number=1)
    assert revision.options == ["Yes, on the left", "No", "Yes, on the right", "On both sides"]
    answer = AnswerKey.objects.select_related("report").get(pk=revision.pk)
    assert answer.report is not None
    assert (answer.key, answer.report.findings) == ("B", "No effusion.")
    exam = revision.question.exam
    assert (exam.age_years, exam.sex, len(exam.pseudonym), len(exam.patient_pseudonym)) == (58, "F", 16, 16)
    views = exam.images.order_by("position").values_list("view_position", "state")
    assert list(views) == [("PA", ImageState.PENDING), ("lateral", ImageState.PENDING)]
    known = SourceIdentifier.objects.get(kind=IdentifierKind.IMAGE_PATH, value="1/pa.png")
    assert (known.root, known.exam_id) == (tmp_path.as_posix(), exam.pk)
    assert known.digest == image_path_digest(tmp_path.as_posix(), "1/pa.png")
    assert (Report.objects.count(), AuditEvent.objects.filter(act="bank.imported").count()) == (5, 1)
    names = [*Question.objects.values_list("public_id", flat=True), *Exam.objects.values_list("public_id", flat=True)]
    assert (len(set(names)), {len(name) for name in names}) == (15, {16})
    before = n_rows()
    again = {**counted, "created": 0, "unchanged": 10, "exams": 0, "images": 0}
    assert run_import(path).as_json() == {"bank": "Bank", **again, "errors": []}
    assert n_rows() == {**before, "BankImport": 2}
    assert run_import(path, bank="Another").as_json() == {"bank": "Another", **counted, "errors": []}
    assert sorted(Exam.objects.values_list("bank__name", flat=True)) == ["Another"] * 5 + ["Bank"] * 5


def test_nothing_that_names_a_patient_leaves_the_restricted_table(tmp_path: Path) -> None:
    run_import(write_file(tmp_path, {"q1": make_record()}))
    exam = Exam.objects.get()
    assert "patient" not in f"{exam.pseudonym}{exam.patient_pseudonym}{exam.public_id}"
    kinds = set(SourceIdentifier.objects.values_list("kind", flat=True))
    assert kinds == {"question_key", "exam_key", "study_uid", "image_path"}
    numbers = SourceIdentifier.objects.get(kind=IdentifierKind.EXAM_KEY).numbers
    assert numbers == {"patient": "patient-1", "accession": "accession-1"}


def test_a_changed_record_becomes_a_new_revision(tmp_path: Path) -> None:
    records = ten_records()
    path = write_file(tmp_path, records)
    run_import(path)
    old = Revision.objects.get(question__number=3)
    records["q3"] = make_record(3, exam=2, correct_answer="A", Findings="Effusion on the left.")
    result = run_import(write_file(tmp_path, records))
    assert (result.counts.updated, result.counts.unchanged, result.counts.exams) == (1, 9, 0)
    old.refresh_from_db()
    new = Revision.objects.current().get(question=old.question_id)
    assert (old.number, new.number, old.superseded_by_id) == (1, 2, new.bank_import_id)
    assert [AnswerKey.objects.get(pk=one.pk).key for one in (old, new)] == ["B", "A"]
    reports = [AnswerKey.objects.select_related("report").get(pk=one.pk).report for one in (old, new)]
    assert [report and report.findings for report in reports] == ["No effusion.", "Effusion on the left."]
    assert Revision.objects.current().count() == 10


def test_a_new_image_joins_the_exam_that_is_there(tmp_path: Path) -> None:
    run_import(write_file(tmp_path, {"q1": make_record()}))
    more = make_record(ImagePath=["1/pa.png", "1/lateral.png", "1/third.png"])
    result = run_import(write_file(tmp_path, {"q1": more}))
    assert (result.counts.updated, result.counts.exams, result.counts.images) == (1, 0, 1)
    assert Exam.objects.get().images.count() == 3


def test_a_changed_file_in_another_folder_names_the_same_images(tmp_path: Path) -> None:
    run_import(write_file(tmp_path / "old", ten_records()))
    changed = ten_records(category="Heart")
    result = run_import(write_file(tmp_path / "new", changed), dry_run=True)
    assert result.as_json() == run_import(write_file(tmp_path / "new", changed)).as_json()
    assert (result.counts.updated, result.counts.exams, result.counts.images) == (10, 0, 0)
    assert Image.objects.count() == 10


def test_questions_of_one_exam_that_name_different_images_add_none_twice(tmp_path: Path) -> None:
    """Exams were remembered by what their last record named: images that another record named came in once more."""
    lists = {"q1": ["1/pa.png", "1/lateral.png"], "q2": ["1/third.png"], "q3": ["1/pa.png"]}
    first = {key: make_record(ImagePath=paths) for key, paths in lists.items()}
    again = {key: make_record(ImagePath=paths, category="Heart") for key, paths in lists.items()}
    assert run_import(write_file(tmp_path / "old", first)).counts.images == 3
    result = run_import(write_file(tmp_path / "new", again))
    assert (result.counts.updated, result.counts.exams, result.counts.images) == (3, 0, 0)


def test_difficulties_from_a_side_file_survive_an_import_without_it(tmp_path: Path) -> None:
    path = write_file(tmp_path, ten_records())
    side_file = tmp_path / "difficulty.csv"
    side_file.write_text("id,difficulty\nq1,easy\nq2,HARD\n", encoding="utf-8")
    run_import(path, difficulties=side_file)
    known = dict(Revision.objects.exclude(difficulty="").values_list("question__number", "difficulty"))
    assert known == {1: "easy", 2: "hard"}
    assert run_import(path).counts.unchanged == 10
    changed = {**ten_records(), "q1": make_record(1, category="Heart")}
    run_import(write_file(tmp_path, changed))
    assert Revision.objects.current().get(question__number=1).difficulty == "easy"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id,level\nq1,easy\n", "line 1"),
        ("id,difficulty\nq1,brutal\n", "line 2"),
        ("id,difficulty\nq1,easy\nq1,hard\n", "two difficulties"),
        ('id,difficulty\nq1,"easy\n', "line"),
        ("id,difficulty\nq1\0,easy\n", "NUL"),
        ("id,difficulty\nq1\n", "cells"),
        ("", "line 1"),
    ],
)
def test_a_bad_side_file_stores_nothing(tmp_path: Path, text: str, told: str) -> None:
    side_file = tmp_path / "difficulty.csv"
    side_file.write_text(text, encoding="utf-8")
    with refuses(BankRefused, "difficulties", match=told):
        run_import(write_file(tmp_path, ten_records()), difficulties=side_file)
    assert n_rows() == EMPTY


TEN = json.dumps(ten_records())


@pytest.mark.parametrize(
    ("text", "skips", "told"),
    [
        pytest.param(
            json.dumps({**ten_records(), "bad": make_record(11, exam=9, correct_answer="E")}),
            False,
            (False, 11, 1, [("bad", "correct_answer", "key_outside_options")]),
            id="one refused record",
        ),
        pytest.param(TEN.replace('"q10"', '"q1"'), False, (False, 10, 1, [("q1", "", "duplicate_key")]), id="id twice"),
        pytest.param(TEN[:-40], True, (True, 9, 0, [("", "", "syntax")]), id="cut short, refused ones skipped"),
        pytest.param("{}", False, (False, 0, 0, [("", "", "schema")]), id="no question"),
        pytest.param("", False, (True, 0, 0, [("", "", "empty_file")]), id="nothing"),
        pytest.param("[]", False, (True, 0, 0, [("", "", "form")]), id="a list"),
    ],
)
def test_a_file_with_a_fault_stores_nothing(
    tmp_path: Path, small_batches: None, text: str, skips: bool, told: tuple[bool, int, int, list[tuple[str, ...]]]
) -> None:
    path = tmp_path / "questions.json"
    path.write_text(text, encoding="utf-8")
    result = run_import(path, skip_refused=skips)
    assert not result.stored
    assert (result.unreadable, result.read, result.rejected, [one[:3] for one in result.errors]) == told
    assert n_rows() == EMPTY


def test_the_rest_is_stored_when_asked(tmp_path: Path, small_batches: None) -> None:
    records = {"bad": make_record(0, exam=9, options=[]), **ten_records()}
    result = run_import(write_file(tmp_path / "metadata", records), skip_refused=True)
    assert result.stored
    assert (result.read, result.rejected, result.counts.created, result.counts.exams) == (11, 1, 10, 5)
    assert BankImport.objects.get().result["errors"][0]["key"] == "bad"
    assert SourceIdentifier.objects.filter(root=tmp_path.as_posix(), value="metadata/1/pa.png").exists()


def test_ids_that_nobody_can_tell_apart_are_named(tmp_path: Path) -> None:
    ids = ["caf\u00e9", "cafe\u0301", "a1", "a\u200b1", "Case-1", "case-1", "b2"]
    result = run_import(write_file(tmp_path, dict(zip(ids, ten_records().values(), strict=False))))
    assert result.look_alikes == ["cafe\\u0301", "a\\u200b1", "case-1"]
    assert result.as_json()["look_alikes"] == result.look_alikes
    assert (result.stored, result.read) == (True, 7)


def test_ids_that_look_like_those_of_the_bank_are_named(tmp_path: Path) -> None:
    first, *others = ten_records().values()
    run_import(write_file(tmp_path, {"Case-1": first, "caf\u00e92": others[0]}))
    again = {"case-1": others[1], "CASE-1": others[2], "CAFE\u03012": others[3], "b2": others[4]}
    path = write_file(tmp_path, again)
    alike = ["case-1", "CASE-1", "CAFE\\u03012"]
    assert sorted(run_import(path, dry_run=True).look_alikes) == sorted(alike)
    assert sorted(run_import(path).look_alikes) == sorted(alike)
    assert run_import(path).look_alikes == ["CASE-1"], "of ids that are there, the file alone says it"
    SourceIdentifier.objects.filter(kind=IdentifierKind.QUESTION_READ).delete()
    import_module("annotation.migrations.0015_as_read").keep_what_is_read(apps, None)
    assert run_import(write_file(tmp_path, {"\u200bCase-1": others[5]}), dry_run=True).look_alikes == ["\\u200bCase-1"]


def test_an_import_shows_in_one_step(tmp_path: Path, small_batches: None) -> None:
    seen: list[tuple[int, int]] = []
    current = Revision.objects.current()

    def watch(done: int, total: int) -> None:
        seen.append((current.count(), Revision.objects.count()))

    run_import(write_file(tmp_path, ten_records()), watch=watch)
    assert [visible for visible, _written in seen] == [0, 0, 0, 0]
    assert [written for _visible, written in seen] == [3, 6, 9, 10]
    assert current.count() == 10
    changed = {f"q{n}": make_record(n, exam=(n + 1) // 2, category="Heart") for n in range(1, 11)}
    before = set(current.values_list("pk", flat=True))
    seen_ids: list[set[int]] = []
    run_import(
        write_file(tmp_path, changed),
        watch=lambda done, total: seen_ids.append(set(current.values_list("pk", flat=True))),
    )
    assert all(ids == before for ids in seen_ids)
    assert set(current.values_list("category", flat=True)) == {"Heart"}


class Killed(BaseException):
    pass


def kill_after(n_batches: int) -> Callable[[int, int], None]:
    calls: list[int] = []

    def watch(done: int, total: int) -> None:
        calls.append(done)
        if len(calls) == n_batches:
            raise Killed

    return watch


def leave_behind(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """An import that a power cut ended after two batches: nothing cleans up behind it."""
    with monkeypatch.context() as patch:
        patch.setattr(importing, "sweep_import", lambda bank_import: None)
        with pytest.raises(Killed):
            run_import(path, watch=kill_after(2))


def test_an_import_that_is_stopped_cleans_up(tmp_path: Path, small_batches: None) -> None:
    with pytest.raises(Killed):
        run_import(write_file(tmp_path, ten_records()), watch=kill_after(2))
    assert n_rows() == EMPTY


def test_a_killed_import_is_swept_and_nothing_else(
    tmp_path: Path, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write_file(tmp_path / "first", ten_records())
    run_import(first)
    whole = n_rows()
    published = set(Revision.objects.current().values_list("pk", flat=True))
    changed = {f"q{n}": make_record(n, exam=n, Findings="New.", ImagePath=[f"{n}/new.png"]) for n in range(3, 14)}
    leave_behind(monkeypatch, write_file(tmp_path / "second", changed))
    assert Revision.objects.filter(superseded_by__isnull=False).count() == 6
    assert n_rows()["Image"] > whole["Image"]
    assert bank_life.sweep_imports(NOON + timedelta(seconds=30)) == 0
    assert bank_life.sweep_imports(NOON + timedelta(minutes=5)) == 1
    assert n_rows() == {**whole, "Report": n_rows()["Report"]}
    assert not Revision.objects.filter(superseded_by__isnull=False).exists()
    assert set(Revision.objects.current().values_list("pk", flat=True)) == published
    assert bank_life.sweep_imports(NOON + timedelta(minutes=5)) == 0
    assert run_import(first).counts.unchanged == 10


def test_one_sweep_at_a_time_takes_back_an_import(
    tmp_path: Path, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others pass it over, and no import into its bank begins, until the sweep has ended or has been killed."""
    path = write_file(tmp_path, ten_records())
    leave_behind(monkeypatch, path)
    seen: list[int] = []

    def see_and_die(_bank_import: BankImport) -> None:
        seen.extend(bank_life.sweep_imports(timezone.now() + timedelta(seconds=seconds)) for seconds in (0, 50))
        with refuses(BankRefused, "import_running"):
            run_import(path, clock=timezone.now)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(bank_life, "_sweep_exams", see_and_die)
        with pytest.raises(Killed):
            bank_life.sweep_imports(timezone.now())
    assert seen == [0, 0]
    assert bank_life.sweep_imports(timezone.now() + timedelta(minutes=2)) == 1
    assert n_rows() == EMPTY


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite lets one write at a time")
@pytest.mark.django_db(transaction=True)
def test_a_sweep_passes_over_what_another_is_deleting(
    tmp_path: Path, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long that takes: five once stood on one statement."""
    leave_behind(monkeypatch, write_file(tmp_path, ten_records()))
    delete, seen = bank_life._delete_rows, list[int]()

    def see(model: type[Model], **which: Collection[int]) -> None:
        def sweep() -> None:
            seen.append(bank_life.sweep_imports(timezone.now() + timedelta(minutes=5)))
            connection.close()

        other = Thread(target=sweep)
        other.start()
        other.join(20)
        delete(model, **which)

    monkeypatch.setattr(bank_life, "_delete_rows", see)
    assert bank_life.sweep_imports(timezone.now()) == 1
    assert set(seen) == {0}
    assert len(seen) > 5


def test_an_import_waits_for_the_one_before_and_sweeps_it_once_it_is_dead(
    tmp_path: Path, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_file(tmp_path, ten_records())
    leave_behind(monkeypatch, path)
    with refuses(BankRefused, "import_running", match="is running"):
        run_import(path)
    assert run_import(path, bank="Another").stored
    assert run_import(path, clock=lambda: NOON + timedelta(hours=1)).counts.created == 10
    assert BankImport.objects.get(bank__name="Bank").state == ImportState.PUBLISHED
    assert Question.objects.filter(bank__name="Bank").count() == 10


def ingest(root: Path, path: str, bank: QuestionBank | None = None) -> Image:
    """An image that came in before any question named it."""
    exam = Exam.objects.create(pseudonym="ingested", bank=bank)
    image = Image.objects.create(exam=exam, state=ImageState.AVAILABLE, view_position="unknown")
    SourceIdentifier.objects.create(
        digest=image_path_digest(root.as_posix(), path),
        kind=IdentifierKind.IMAGE_PATH,
        value=path,
        root=root.as_posix(),
        bank=bank,
        exam_id=exam.pk,
        image_id=image.pk,
    )
    return image


def test_an_image_that_comes_in_while_its_batch_is_read_is_attached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived: list[Image] = []
    match = batches.BatchStore.match

    def match_late(store: batches.BatchStore, questions: list[QuestionRecord]) -> batches.Match:
        arrived.append(ingest(tmp_path, "1/lateral.png"))
        return match(store, questions)

    monkeypatch.setattr(batches.BatchStore, "match", match_late)
    result = run_import(write_file(tmp_path, {"q1": make_record(), "q2": make_record(2)}))
    assert (result.counts.created, result.counts.exams, result.counts.images) == (2, 0, 1)
    assert list(Question.objects.order_by("number").values_list("number", flat=True)) == [1, 2]
    images = Question.objects.get(number=1).exam.images.order_by("position")
    assert [(image.position, image.state) for image in images] == [(0, "pending"), (1, "available")]
    assert images[1] == arrived[0]


def test_images_that_came_in_before_are_attached(tmp_path: Path) -> None:
    # The ingest knew the same files by another root.
    frontal, lateral = ingest(tmp_path / "1", "pa.png"), ingest(tmp_path / "1", "lateral.png")
    result = run_import(write_file(tmp_path, {"q1": make_record()}))
    assert (result.counts.exams, result.counts.images) == (0, 0)
    question = Question.objects.select_related("exam__bank").get()
    assert question.exam.bank is not None
    attached = list(question.exam.images.order_by("position").values_list("pk", "view_position", "state"))
    assert attached == [(frontal.pk, "PA", "available"), (lateral.pk, "lateral", "available")]
    assert run_import(write_file(tmp_path, {"q1": make_record()})).counts.unchanged == 1


def test_an_image_of_another_bank_is_never_attached(tmp_path: Path) -> None:
    other = QuestionBank.objects.create(name="Other", slug="other", created_at=NOON)
    theirs = ingest(tmp_path, "1/pa.png", other)
    run_import(write_file(tmp_path, {"q1": make_record()}))
    assert theirs not in Question.objects.get().exam.images.all()
    assert set(Question.objects.get().exam.images.values_list("state", flat=True)) == {"pending"}


def test_a_dry_run_tells_what_would_happen_and_stores_nothing(tmp_path: Path, small_batches: None) -> None:
    records = ten_records()
    dry = run_import(write_file(tmp_path, records), dry_run=True)
    assert n_rows() == EMPTY
    real = run_import(write_file(tmp_path, records))
    assert dry.as_json() == real.as_json()
    records["q1"] = make_record(1, category="Heart")
    records["q2"] = make_record(2, correct_answer=9)
    records["q11"] = make_record(11, exam=9)
    before = n_rows()
    result = run_import(write_file(tmp_path, records), dry_run=True)
    assert dict(result.rows) == {
        **{f"q{n}": "unchanged" for n in range(3, 11)},
        "q1": "updated",
        "q2": "refused",
        "q11": "created",
    }
    assert (result.counts.exams, result.counts.images, result.rejected) == (1, 2, 1)
    assert n_rows() == before


def test_texts_come_back_exactly(tmp_path: Path) -> None:
    hard = (
        'Tab\there, line\nbreak, return\r, \\backslash, \\n, "quotes", it\'s, 100 %s, \\N, é 放射 \U0001fac1 '
        "<script>alert(1)</script>"
    )
    told: dict[str, Any] = dict.fromkeys(
        ("question", "correct_answer_explanation", "Findings", "validation_code"), hard
    )
    record = make_record(**told, Comparison="\\.", options=["A. x\\", "B. %", "C. '", 'D. "\n'])
    run_import(write_file(tmp_path, {hard[:40]: record}))
    revision = Revision.objects.get()
    assert (revision.stem, revision.options) == (hard, ["x\\", "%", "'", '"\n'])
    answer = AnswerKey.objects.select_related("report").get(pk=revision.pk)
    assert answer.report is not None
    assert (answer.explanation, answer.report.findings, answer.report.comparison) == (hard, hard, "\\.")
    assert json.loads(answer.extra)["fields"] == {"validation_code": hard}
    assert SourceIdentifier.objects.get(kind="question_key").value == hard[:40]


def test_both_sample_files_come_in_whole(shared_data: Path) -> None:
    sample = run_import(shared_data / "rexvqa_sample.json", difficulties=shared_data / "rexvqa_sample_difficulty.csv")
    assert (sample.counts.created, sample.counts.exams, sample.counts.images) == (124, 40, 49)
    current = Revision.objects.current()
    assert sum(row.question.exam.images.count() == 2 for row in current.select_related("question__exam")) == 42
    assert not current.filter(difficulty="").exists()
    release = run_import(shared_data / "rexvqa_release_layout/metadata/test_vqa_data.json", bank="Release")
    assert (release.counts.created, release.counts.exams, release.counts.images) == (8, 3, 4)
    paths = SourceIdentifier.objects.filter(kind="image_path", bank__name="Release")
    assert {row.root for row in paths} == {(shared_data / "rexvqa_release_layout").resolve().as_posix()}
    assert all(Path(row.root, row.value).is_file() for row in paths)


def test_banks_are_archived_brought_back_and_deleted(tmp_path: Path, cora: User, ada: User) -> None:
    run_import(write_file(tmp_path, ten_records()))
    run_import(write_file(tmp_path, ten_records(category="Heart")))
    bank = QuestionBank.objects.get()
    archive(bank, actor=cora, at=NOON)
    assert bank.archived_at == NOON
    bring_back(bank, actor=cora, at=NOON)
    assert not QuestionBank.objects.filter(archived_at__isnull=False).exists()
    move_to_bin(bank, actor=ada, at=NOON)
    empty_bin(NOON + timedelta(days=30))
    delete_bank_job(Silent(), Job.objects.get(kind="delete_bank").params)
    Job.objects.all().delete()
    assert n_rows() == EMPTY
    assert AuditEvent.objects.filter(act="bank.deleted").count() == 1


def test_a_file_of_a_bank_in_the_bin_comes_in_anew_and_stays(tmp_path: Path, ada: User) -> None:
    path = write_file(tmp_path, ten_records())
    run_import(path)
    move_to_bin(QuestionBank.objects.get(), actor=ada, at=NOON)
    assert run_import(path).counts.created == 10
    assert Revision.objects.current().count() == 10
    empty_bin(NOON + timedelta(days=30))
    delete_bank_job(Silent(), Job.objects.get(kind="delete_bank").params)
    [bank] = QuestionBank.everywhere.all()
    assert Revision.objects.in_bank(bank).current().count() == Question.objects.count() == 10
    assert Image.objects.filter(exam__bank=bank).count() == Image.objects.count()


def test_a_bank_with_images_is_not_deleted(tmp_path: Path, ada: User) -> None:
    ingest(tmp_path, "1/pa.png")
    run_import(write_file(tmp_path, {"q1": make_record()}))
    with refuses(BankRefused, "in_use", match="Images have come in"):
        move_to_bin(QuestionBank.objects.get(), actor=ada, at=NOON)
    assert Question.objects.exists()


def test_slugs_are_free_and_never_the_address_of_the_import_page(tmp_path: Path) -> None:
    path = write_file(tmp_path, {"q1": make_record()})
    for name in ("Import", "Chest!", "Chest?", "放射"):
        run_import(path, bank=name)
    slugs = dict(QuestionBank.objects.values_list("name", "slug"))
    assert slugs == {"Import": "import-2", "Chest!": "chest", "Chest?": "chest-2", "放射": "bank"}


@pytest.mark.django_db(transaction=True)
def test_each_batch_is_a_transaction_of_its_own(tmp_path: Path, small_batches: None) -> None:
    in_transaction: list[bool] = []
    run_import(
        write_file(tmp_path, ten_records()), watch=lambda done, total: in_transaction.append(connection.in_atomic_block)
    )
    assert in_transaction == [False] * 4
    with connection.cursor() as cursor, transaction.atomic():
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA synchronous")
            assert cursor.fetchone() == (2,)
        else:
            cursor.execute("SHOW synchronous_commit")
            assert cursor.fetchone() == ("on",)


def test_the_number_of_queries_does_not_grow_with_the_batch(tmp_path: Path) -> None:
    from django.test.utils import CaptureQueriesContext

    counted = []
    for n_questions in (4, 40):
        records = {f"q{n}": make_record(n, exam=n) for n in range(n_questions)}
        with CaptureQueriesContext(connection) as queries:
            run_import(write_file(tmp_path, records), bank=f"Bank of {n_questions}")
        counted.append(len(queries))
    assert counted[0] == counted[1]
    assert min(importing.BATCH_SIZES.values()) >= 40


@pytest.mark.parametrize("size", [1, 2, 3])
def test_an_exam_that_two_batches_share_is_stored_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(importing, "BATCH_SIZES", {connection.vendor: size})
    records = {f"q{number}": make_record(number, exam=1 + number // 4) for number in range(9)}
    result = run_import(write_file(tmp_path, records))
    assert (result.counts.created, result.counts.exams, result.counts.images) == (9, 3, 6)
    assert run_import(write_file(tmp_path, records)).counts.unchanged == 9
    assert Report.objects.count() == 3
