"""Reports that questions are written from, and where each question that a model wrote comes from."""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct, field

from annotation.enums import IdentifierKind, ImportKind
from annotation.files.kernels.strictjson import Entry, Fault
from annotation.generation.kernels.answer_forms import HISTORY, sent_text
from annotation.models import (
    AnswerKey,
    BankImport,
    Exam,
    GenerationReport,
    GenerationRun,
    Question,
    QuestionBank,
    Revision,
    SourceIdentifier,
)
from annotation.quality.kernels.identifiers import spot_identifiers
from annotation.questionbank.importing import locate
from annotation.questionbank.kernels.entries import read_entries
from annotation.questionbank.kernels.examfields import (
    EXAM_FIELDS,
    KEPT_FIELDS,
    NUMBER_FIELDS,
    REPORT_FIELDS,
    ExamReader,
    ExamRecord,
)
from annotation.questionbank.kernels.records import parsed
from annotation.refusals import Refused
from annotation.site.slugs import listed

AT_ONCE = 500
FINDINGS, IMPRESSION = REPORT_FIELDS.index("Findings"), REPORT_FIELDS.index("Impression")


class GenerationRefused(Refused):
    """Questions cannot be made from these reports."""


class FoundReport(Struct, frozen=True):
    """What is sent of a report, and where it is kept: with a question of the bank, or as fields of a file."""

    text: str
    answer_key: int | None = None
    record: str = ""


class FoundReports(Struct):
    """``refused``: exams that the identifier check left out, with the codes of its rules."""

    reports: list[FoundReport] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    images_root: str = ""
    file_name: str = ""
    file_sha256: str = ""


def identifiers_in(text: str) -> list[str]:
    """Codes of the rules that find something in it, each once."""
    return list(dict.fromkeys(one.identifier.code for one in spot_identifiers(text)))


# --- of the bank ---
def reports_of_bank(bank: QuestionBank, n_exams: int, *, seed: int) -> FoundReports:
    """So many exams with a report, in an order drawn by the seed; one whose report names somebody is passed over.

    Raises GenerationRefused (``no_reports``, ``too_few_reports``).
    """
    key_of = _keys_with_reports(bank)
    exams = sorted(key_of)
    random.Random(f"generation {seed}").shuffle(exams)  # noqa: S311 - a draw that can be repeated
    found = FoundReports(images_root=_images_root(key_of[exams[0]]) if exams else "")
    for exam_id, key in _with_keys(exams, key_of):
        if len(found.reports) == n_exams:
            break
        text = sent_text(key.report.findings, key.report.impression) if key.report else ""
        if not text:
            continue
        if rules := identifiers_in(text):
            found.refused.append({"exam": Exam.objects.get(pk=exam_id).pseudonym, "rules": rules})
        else:
            found.reports.append(FoundReport(text, answer_key=key.pk))
    _check_enough(bank, found, n_exams)
    return found


def _check_enough(bank: QuestionBank, found: FoundReports, n_exams: int) -> None:
    facts = {"bank": bank.name, "n": len(found.reports), "refused": len(found.refused), "wanted": n_exams}
    if not found.reports and not found.refused:
        sentence = _("“%(bank)s” holds no exam with a report. Give the reports in a file.")
        raise GenerationRefused("no_reports", sentence % facts, status=422, field="exams")
    if len(found.reports) < n_exams:
        sentence = _(
            "“%(bank)s” has %(n)d exams whose report may be sent, and %(wanted)d are asked for; the identifier check "
            "holds back %(refused)d. Ask for fewer."
        )
        raise GenerationRefused(
            "too_few_reports", sentence % facts, status=422, field="exams", identifiers=found.refused
        )


def _keys_with_reports(bank: QuestionBank) -> dict[int, int]:
    """By exam: the key of its first question that has a report."""
    current = Revision.objects.in_bank(bank).current().values("pk")
    rows = AnswerKey.objects.filter(revision__in=current, report__isnull=False).order_by("revision__question__number")
    found: dict[int, int] = {}
    for exam_id, key in rows.values_list("revision__question__exam_id", "pk").iterator(chunk_size=5000):
        found.setdefault(exam_id, key)
    return found


def _with_keys(exams: Sequence[int], key_of: dict[int, int]) -> Iterator[tuple[int, AnswerKey]]:
    for start in range(0, len(exams), AT_ONCE):
        some = exams[start : start + AT_ONCE]
        keys = AnswerKey.objects.select_related("report").defer("extra").in_bulk([key_of[one] for one in some])
        yield from ((one, keys[key_of[one]]) for one in some)


def _images_root(key: int) -> str:
    brought_by = BankImport.objects.exclude(result={}).filter(bank__questions__revisions=key)
    root: str = next((one.result["images_root"] for one in brought_by if "images_root" in one.result), "")
    return root


# --- of a file ---
def reports_of_file(path: Path) -> FoundReports:
    """The reports of a file in the form of a question file, of which only the fields of the exam are read.

    Raises GenerationRefused with everything that is wrong, by row: fields that the import of questions would refuse,
    an exam that comes twice or has no report, and a report with an identifier. BankRefused for a file that is none.
    """
    with path.open("rb") as stream:
        found, problems = _read_file(path, stream)
        stream.seek(0)
        found.file_sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    if problems:
        sentence = _("%(file)s cannot be used: %(problems)s.") % {"file": path.name, "problems": listed(problems)}
        raise GenerationRefused("bad_reports", sentence, status=422, field="reports", problems=problems)
    if not found.reports:
        sentence = _("%(file)s holds no report.") % {"file": path.name}
        raise GenerationRefused("no_reports", sentence, status=422, field="reports")
    return found


def _read_file(path: Path, stream: BinaryIO) -> tuple[FoundReports, list[str]]:
    source = locate(path)
    found = FoundReports(images_root=source.root, file_name=path.name)
    reader, problems, seen = ExamReader(source.folder), list[str](), set[str]()
    for row, entry in enumerate(read_entries(stream), start=1):
        report, faults = _read_entry(entry, reader, seen)
        problems += [_("row %(row)d: %(why)s") % {"row": row, "why": fault.rstrip(".")} for fault in faults]
        if report is not None and not faults:
            found.reports.append(report)
    return found, problems


def _read_entry(entry: Entry, reader: ExamReader, seen: set[str]) -> tuple[FoundReport | None, list[str]]:
    value: dict[str, Any] = entry.value if isinstance(entry.value, dict) else {}
    exam, faults = reader.read(value)
    all_faults: list[Fault] = [*entry.faults, *faults]
    if all_faults or exam is None:
        return None, [fault.message for fault in all_faults]
    text = sent_text(exam.report[FINDINGS], exam.report[IMPRESSION])
    if exam.key in seen:
        return None, [_("The exam comes twice.")]
    seen.add(exam.key)
    if not text:
        return None, [_("There is neither “Findings” nor “Impression”.")]
    if rules := identifiers_in(text):
        return None, [_("the report holds what looks like an identifier (%(rules)s)") % {"rules": ", ".join(rules)}]
    return FoundReport(text, record=_record_of(value, exam)), []


def _record_of(value: dict[str, Any], exam: ExamRecord) -> str:
    """The fields of the exam as they came, with paths from the root of the images."""
    fields = {name: value[name] for name in EXAM_FIELDS if name in value}
    fields["ImagePath"] = [image.path for image in exam.images]
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


# --- of a run ---
def text_of(report: GenerationReport) -> str:
    """What is sent of a stored report, with its key and the report of that loaded."""
    if report.record:
        fields = json.loads(report.record)
        return sent_text(fields.get("Findings") or "", fields.get("Impression") or "")
    key = report.answer_key
    assert key is not None
    assert key.report is not None
    return sent_text(key.report.findings, key.report.impression)


def exam_fields_of(run: GenerationRun, reports: Sequence[GenerationReport]) -> dict[int, dict[str, Any]]:
    """By id of the report: the fields that a question file says of its exam, from the file or from the bank."""
    found = {one.pk: json.loads(one.record) for one in reports if one.record}
    keys = {one.pk: one.answer_key for one in reports if one.answer_key is not None}
    names = _names_of_exams(run, {key.report.exam_id for key in keys.values() if key.report})
    for pk, key in keys.items():
        report = key.report
        assert report is not None
        texts = (report.indication, report.comparison, report.findings, report.impression)
        kept = parsed(key.extra).get("exam", {})
        found[pk] = {
            **names[report.exam_id],
            **{name: text or None for name, text in zip(REPORT_FIELDS, texts, strict=True)},
            **{name: kept[name] for name in KEPT_FIELDS if name in kept},
        }
    return found


def _names_of_exams(run: GenerationRun, exams: Collection[int]) -> dict[int, dict[str, Any]]:
    """What exams and their images are called at their source. One walk: no index leads from an exam to its names."""
    rows = SourceIdentifier.objects.filter(bank=run.bank_id, exam_id__in=sorted(exams)).order_by("pk")
    by_exam: dict[int, dict[str, list[SourceIdentifier]]] = defaultdict(lambda: defaultdict(list))
    for row in rows.iterator(chunk_size=5000):
        if row.exam_id is not None:
            by_exam[row.exam_id][row.kind].append(row)
    return {exam_id: _names(by_kind, run.images_root) for exam_id, by_kind in by_exam.items()}


def _names(by_kind: dict[str, list[SourceIdentifier]], root: str) -> dict[str, Any]:
    exam = by_kind[IdentifierKind.EXAM_KEY][0]
    study_uid = next((row.value for row in by_kind[IdentifierKind.STUDY_UID]), None)
    values = ((exam.numbers or {}).get("patient") or None, (exam.numbers or {}).get("accession") or None, study_uid)
    return {
        "study_id": exam.value,
        **dict(zip(NUMBER_FIELDS, values, strict=True)),
        "ImagePath": list(dict.fromkeys(_path_from(root, row) for row in by_kind[IdentifierKind.IMAGE_PATH])),
    }


def _path_from(root: str, row: SourceIdentifier) -> str:
    """The path of an image from this root, where it lies under it."""
    full, inside = f"{row.root.rstrip('/')}/{row.value}", f"{root.rstrip('/')}/"
    return full.removeprefix(inside) if full.startswith(inside) else row.value


def generated_in(bank: QuestionBank) -> QuerySet[Question]:
    """Questions of the bank that came in as generated, whatever was made of them since."""
    brought = Revision.objects.filter(bank=bank, bank_import__kind=ImportKind.GENERATED)
    return Question.objects.filter(pk__in=brought.order_by().values("question")).order_by()


def holds_generated(bank: QuestionBank) -> bool:
    return BankImport.objects.filter(bank=bank, kind=ImportKind.GENERATED).exists()


def history_of_generated(revision: Revision) -> dict[str, Any] | None:
    """Report, findings, prompts, model and calls as the importer stored them; None for any other question.

    The caller has seen to it that the person may read the key.
    """
    kept = AnswerKey.objects.filter(pk=revision.pk).values_list("extra", flat=True).first()
    found: dict[str, Any] | None = parsed(kept or "{}").get("fields", {}).get(HISTORY)
    return found


class GroundedOption(Struct, frozen=True):
    """An option as it was generated, with the findings that support it: quote, statement, polarity."""

    letter: str
    text: str
    bullets: list[dict[str, Any]]
    is_key: bool


class QuestionOrigin(Struct, frozen=True):
    """Where a question came from. ``calls``: as ``show_call`` names them."""

    run: str
    model: str
    endpoint: str
    prompts: list[str]
    calls: list[str]
    rules: list[str]
    options: list[GroundedOption]


def origin_of(revisions: Sequence[Revision]) -> QuestionOrigin | None:
    """Of the newest of these wordings that came in as generated; None for a question that nobody generated.

    ``revisions``: with their imports, newest first. The caller has seen to it that the person may read the key.
    """
    brought = next((one for one in revisions if one.bank_import.kind == ImportKind.GENERATED), None)
    history = history_of_generated(brought) if brought is not None else None
    if brought is None or history is None:
        return None
    key = AnswerKey.objects.filter(pk=brought.pk).values_list("key", flat=True).get()
    by_number = {one["number"]: one for one in history["bullets"]}
    options = [
        GroundedOption(letter, text, [by_number[number] for number in numbers], letter == key)
        for letter, text, numbers in zip("ABCD", brought.options, history["options"], strict=True)
    ]
    prompts = [one["name"] for one in history["prompts"]]
    return QuestionOrigin(
        *(history["run"], history["model"], history["endpoint"], prompts, history["calls"], history["rules"], options)
    )
