"""What an exported bank holds: its questions with all that their records need, their file, and the images of exams.

The site keeps no file as it came: it keeps the de-identified pixels at full depth, without loss. They are written as
PNG of 16 bit, or of 8 where they have no more, bones white; the ending of the path stays, as the questions name it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from django.db.models import Count, QuerySet
from django.utils.translation import gettext
from msgspec import Struct, field
from msgspec.json import decode
from msgspec.json import encode as encoded
from msgspec.structs import replace

from annotation.enums import IdentifierKind, ImportKind, ImportState, QuestionState, Word, _
from annotation.exports.kernels.data_card import EditStep
from annotation.exports.kernels.question_records import (
    ExamNames,
    RecordWording,
    StoredQuestion,
    cells_of,
    columns_of,
    is_column,
    is_given_back,
    line_of,
    text_of,
    usual_record,
)
from annotation.ingest import storage
from annotation.models import (
    AnswerKey,
    BankImport,
    Edit,
    Gate,
    Question,
    QuestionBank,
    Rendition,
    Report,
    Revision,
    Settlement,
    SourceIdentifier,
)
from annotation.questionbank.editing import labels_of_exam
from annotation.questionbank.kernels.column_matching import FIELD
from annotation.questionbank.kernels.entries import STATE
from annotation.questionbank.kernels.examfields import IMAGE_LISTS, TABLE_LISTS, ExamReader
from annotation.questionbank.kernels.question_checks import PartState
from annotation.questionbank.kernels.records import parsed, read_source
from annotation.questionbank.priors import images_at, keys_of_questions, roots_of
from annotation.questionbank.validity import gate_is, gate_of
from annotation.tables.writing import (
    Column,
    ExportRefused,
    Format,
    Kind,
    check_format,
    descriptions,
    formats_here,
    scratch_file,
    write_table,
)

AT_ONCE = 1_000
Record = tuple[StoredQuestion, dict[str, Any]]  # with its usual record


class QuestionRow(NamedTuple):
    """A question, as WordingRow is a revision."""

    pk: int
    public_id: str
    number: int
    exam_id: int
    state: str
    split: str


class BankQuestion(Struct, frozen=True):
    """One question of the export and the edits since its file; ``stored`` is what is to be written."""

    question: QuestionRow
    stored: StoredQuestion
    steps: tuple[EditStep, ...]


def gate_to_export_by(bank: QuestionBank) -> Gate:
    """Raises ExportRefused (``no_gate``)."""
    if (gate := gate_of(bank)) is None:
        sentence = gettext("“%(bank)s” has no gate: say on its page “Validity” what its questions have to pass.")
        raise ExportRefused("no_gate", sentence % {"bank": bank.name}, status=422)
    return gate


class WordingRow(NamedTuple):
    """A revision with its key, by the names of the columns of AnswerKey: plain values, no objects of models."""

    revision_id: int
    revision__question_id: int
    revision__bank_import_id: int
    revision__content_sha256: str
    revision__images_left_out: list[str] | None
    report_id: int | None
    extra: str
    revision__stem: str
    revision__options: list[str]
    key: str
    explanation: str
    revision__task: str
    revision__category: str
    revision__subcategory: str
    revision__question_class: str
    revision__difficulty: str

    @property
    def wording(self) -> RecordWording:
        return RecordWording(self.revision__stem, tuple(self.revision__options), *self[9:])


class BankContents:
    """Reads one bank; ``states`` chooses questions, ``latest`` the newest wording or that of the file.

    ``only_valid``: those that pass the gate of the bank. Raises ExportRefused (``no_gate``).
    """

    def __init__(
        self, bank: QuestionBank, states: Collection[QuestionState], *, latest: bool, only_valid: bool = False
    ) -> None:
        self.bank, self.gate = bank, gate_to_export_by(bank) if only_valid else None
        self._states = states
        self._latest = latest

    @cached_property
    def imports(self) -> list[BankImport]:
        """Published, of files and of generated questions, the oldest first."""
        published = BankImport.objects.filter(bank=self.bank, state=ImportState.PUBLISHED)
        rows = published.exclude(kind=ImportKind.EDITS)
        return list(rows.order_by("finished_at", "pk"))

    def chosen(self) -> QuerySet[Question]:
        """Questions that a published import brought, and that are in one of the states."""
        return self._passing(self._brought().filter(state__in=self._states)).distinct()

    def by_state(self) -> dict[str, int]:
        """How many questions a published import brought, by state."""
        counted = self._brought().order_by().values("state").annotate(n=Count("pk", distinct=True))
        return dict(counted.values_list("state", "n"))

    def _passing(self, questions: QuerySet[Question]) -> QuerySet[Question]:
        if self.gate is None:
            return questions
        current = Revision.objects.in_bank(self.bank).current()
        passing = current.filter(gate_is(self.bank, self.gate.parts, PartState.PASS))
        return questions.filter(pk__in=passing.order_by().values("question"))

    def _brought(self) -> QuerySet[Question]:
        return Question.objects.filter(bank=self.bank, revisions__bank_import__in=self.imports)

    def questions(self) -> Iterator[BankQuestion]:
        """One after the other, by number; memory holds AT_ONCE of them and the names of their exams."""
        names, last = self._names, 0
        rows = self._passing(Question.objects.filter(bank=self.bank, state__in=self._states)).order_by("number")
        values = rows.values_list(*QuestionRow._fields)
        while chunk := [*map(QuestionRow._make, values.filter(number__gt=last)[:AT_ONCE])]:
            last = chunk[-1].number
            yield from self._of_chunk(chunk, names)

    def _of_chunk(self, chunk: Sequence[QuestionRow], names: dict[int, ExamNames]) -> Iterator[BankQuestion]:
        ids = [question.pk for question in chunk]
        rows = self._rows(ids)
        reports = Report.objects.in_bulk({row.report_id for listed in rows.values() for row in listed} - {None})
        edited = [row.revision_id for listed in rows.values() if len(listed) > 1 for row in listed]
        edits = Edit.objects.select_related("settlement__round").in_bulk(edited)
        settled = Settlement.objects.filter(revision__in=edited).order_by("pk")
        rounds = dict(settled.values_list("revision", "round__name"))  # the newest of each
        own_ids = keys_of_questions(self.bank.pk, ids)
        for question in chunk:
            if listed := rows.get(question.pk):
                exam = names.get(question.exam_id, ExamNames())
                own_id = own_ids.get(question.pk, question.public_id)
                report = reports.get(listed[0].report_id or 0)
                yield self._question(question, own_id, exam, listed, report, edits, rounds)

    def _rows(self, ids: Sequence[int]) -> dict[int, list[WordingRow]]:
        """By question: the revision of the newest file, and those written since."""
        found: dict[int, list[WordingRow]] = defaultdict(list)
        asked = {"revision__question__in": ids, "revision__bank_import__state": ImportState.PUBLISHED}
        rows = AnswerKey.objects.filter(**asked).order_by("revision__question", "revision__number")
        for row in map(WordingRow._make, rows.values_list(*WordingRow._fields)):
            if row.revision__bank_import_id in self._layouts:
                found[row.revision__question_id].clear()
            found[row.revision__question_id].append(row)
        return found

    def _question(
        self,
        question: QuestionRow,
        key: str,
        exam: ExamNames,
        rows: Sequence[WordingRow],
        report: Report | None,
        edits: dict[int, Edit],
        rounds: dict[int, str],
    ) -> BankQuestion:
        base, *later = rows
        imported = base.wording
        steps = tuple(
            _step(one, edits.get(one.revision_id), rounds.get(before.revision_id, ""))
            for before, one in zip(rows, later, strict=False)
        )
        extra = parsed(base.extra)
        texts = (report.indication, report.comparison, report.findings, report.impression) if report else ("",) * 4
        written = steps[-1].wording if steps and self._latest else imported
        source = read_source(extra, self._layouts.get(base.revision__bank_import_id, ()))
        state = str(question.state) if self._latest else ""  # it is of the newest wording
        stored = StoredQuestion(
            *(key, imported, written, exam, texts, extra, source, base.revision__content_sha256, state, question.split)
        )
        found = BankQuestion(question, stored, steps)
        return self._with_left_out(found, rows) if any(one.revision__images_left_out for one in rows) else found

    def _with_left_out(self, one: BankQuestion, rows: Sequence[WordingRow]) -> BankQuestion:
        """The same with the images that each of its wordings leaves out, in the order of the record."""
        exam, paths = one.question.exam_id, dict(zip(one.stored.placed_paths(), one.stored.paths(), strict=True))
        found = images_at({(exam, path) for path in paths}, self._roots)
        named = {found[exam, path]: own for path, own in paths.items() if (exam, path) in found}
        labels = labels_of_exam(exam)
        named |= {
            public_id: f"{label}, which the file does not name"
            for public_id, label in labels.items()
            if public_id not in named
        }
        imported, *later = [
            tuple(name for public_id, name in named.items() if public_id in (row.revision__images_left_out or ()))
            for row in rows
        ]
        steps = tuple(
            step._replace(wording=step.wording._replace(left_out=left_out))
            for step, left_out in zip(one.steps, later, strict=True)
        )
        base = one.stored.imported._replace(left_out=imported)
        written = steps[-1].wording if steps and self._latest else base
        return BankQuestion(one.question, replace(one.stored, imported=base, written=written), steps)

    @cached_property
    def _layouts(self) -> dict[int, Sequence[Sequence[str]]]:
        return {one.pk: one.result.get("layouts", ()) for one in self.imports}

    @cached_property
    def _roots(self) -> set[str]:
        return roots_of(self.bank.pk, "")

    @cached_property
    def _names(self) -> dict[int, ExamNames]:
        """One walk over the names of the bank: no index leads from an exam to them. Of a name the first row counts."""
        exams = set(self.chosen().order_by().values_list("exam_id", flat=True))
        rows = SourceIdentifier.objects.filter(bank=self.bank).exclude(kind=IdentifierKind.QUESTION_KEY).order_by("pk")
        values = rows.values_list("exam_id", "kind", "value", "numbers").iterator(chunk_size=10_000)
        found: dict[int, list[tuple[str, str, dict[str, str]]]] = defaultdict(list)
        for exam_id, kind, value, numbers in values:
            if exam_id in exams and exam_id is not None:
                found[exam_id].append((kind, value, numbers or {}))
        return {exam_id: _names_of(listed) for exam_id, listed in found.items()}


def _names_of(rows: Iterable[tuple[str, str, dict[str, str]]]) -> ExamNames:
    by_kind: dict[str, list[tuple[str, dict[str, str]]]] = defaultdict(list)
    for kind, value, numbers in rows:
        by_kind[kind].append((value, numbers))
    key, numbers = next(iter(by_kind[IdentifierKind.EXAM_KEY]), ("", {}))
    study_uid = next((value for value, _none in by_kind[IdentifierKind.STUDY_UID]), "")
    prior = by_kind[IdentifierKind.PRIOR_EXAM][-1][0] if by_kind[IdentifierKind.PRIOR_EXAM] else ""
    paths = tuple(dict.fromkeys(value for value, _none in by_kind[IdentifierKind.IMAGE_PATH]))
    return ExamNames(key, numbers.get("patient", ""), numbers.get("accession", ""), study_uid, paths, prior)


def _step(row: WordingRow, edit: Edit | None, settled_in: str) -> EditStep:
    """``settled_in``: the round that last settled the wording before, where the edit names none."""
    prompted_by = edit.settlement.round.name if edit and edit.settlement else settled_in
    return EditStep(row.wording, edit.reason if edit else "", prompted_by)


def png_of(rendition: Rendition, *, is_quarter: bool = False) -> bytes:
    """An image of full depth without loss, bones white; or 8 bit, as it first appears, at a quarter of its sides."""
    from annotation.imaging.kernels import rendering as stored  # loads Pillow: not at every start
    from annotation.imaging.kernels.picture_policies import QUARTER, picture_of, policy_named

    payload = stored.payload_of(storage.load(rendition.name), rendition.width, rendition.height)
    display = rendition.image.display or {}
    if is_quarter:
        return picture_of(payload, display, policy_named(QUARTER))[0]
    return stored.png_of(payload, bits=rendition.bits, is_inverted=bool(display.get("invert")))


class BankForm(Word):
    """The forms of a bank; each of them comes in again."""

    REXVQA = "rexvqa", _("ReXVQA: one JSON object")
    CSV = "csv", "CSV"
    XLSX = "xlsx", "XLSX"
    JSONL = "jsonl", "JSON Lines"
    PARQUET = "parquet", "Parquet"

    @property
    def file_name(self) -> str:
        return f"questions.{'json' if self == BankForm.REXVQA else self.value}"


class QuestionsWritten(Struct):
    sha256: str = ""
    n_not_given_back: int = 0  # unchanged questions whose record differs from that of their file
    left_out: list[str] = field(default_factory=list)


def forms_here() -> tuple[BankForm, ...]:
    """The forms that this installation can write."""
    return tuple(form for form in BankForm if form != BankForm.PARQUET or Format.PARQUET in formats_here())


def check_form(form: BankForm) -> None:
    """Raises ExportRefused."""
    if form == BankForm.PARQUET:
        check_format(Format.PARQUET)


def write_questions(
    contents: BankContents, questions: Iterable[BankQuestion], form: BankForm, folder: Path
) -> QuestionsWritten:
    """Write the file of this form into the folder. The questions are gone through once."""
    done = QuestionsWritten()
    is_table = form not in (BankForm.REXVQA, BankForm.JSONL)
    records = _checked((one.stored for one in questions), TABLE_LISTS if is_table else IMAGE_LISTS, done)
    path = folder / form.file_name
    with path.open("w+b") as file:
        if form == BankForm.REXVQA:
            _write_object(file, records)
        elif form == BankForm.JSONL:
            file.writelines(line_of(*one).encode() + b"\n" for one in records)
        else:
            _write_table(file, records, contents, form, done)
        file.flush()
        file.seek(0)
        done.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return done


def _checked(stored: Iterable[StoredQuestion], lists: Sequence[str], done: QuestionsWritten) -> Iterator[Record]:
    readers: dict[str, ExamReader] = {}
    for one in stored:
        usual = usual_record(one, lists)
        done.n_not_given_back += not is_given_back(one, usual, readers)
        yield one, usual


def _write_object(file: BinaryIO, records: Iterable[Record]) -> None:
    before = b"{"
    for one in records:
        file.write(before + text_of(*one))
        before = b","
    file.write(b"{}" if before == b"{" else b"\n}\n")


def _write_table(
    file: BinaryIO, records: Iterable[Record], contents: BankContents, form: BankForm, done: QuestionsWritten
) -> None:
    """Rows wait in a file until all columns are known."""
    names = {STATE}
    with scratch_file() as waiting:
        for one in records:
            cells = cells_of(*one)
            names.update(cells)
            waiting.write(encoded(cells) + b"\n")
        columns = columns_of(names)
        done.left_out = sorted(name for name in names if not is_column(name) and name != "options")
        asked = [Column(name, Kind.TEXT, FIELD[name].label if name in FIELD else "") for name in columns]
        for file_name, content in descriptions(contents.bank.slug, {"questions": asked}).items():
            (Path(file.name).parent / file_name).write_bytes(content)
        waiting.seek(0)
        rows = ([cells.get(name, "") for name in columns] for cells in map(decode, waiting))
        write_table(file, asked, rows, Format(form.value), is_marked=True)
