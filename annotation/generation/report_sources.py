"""Reports that questions are written from: of the bank, or sent by somebody. What names somebody is held back."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.enums import IdentifierKind
from annotation.files.kernels.strictjson import NO_TEXT
from annotation.generation.kernels.answer_forms import SENT_FIELDS, sent_text
from annotation.generation.kernels.sent_reports import MOST_REPORTS, SentReports, SentRow, parts_of_sent
from annotation.models import (
    AnswerKey,
    BankImport,
    Exam,
    GenerationReport,
    GenerationRun,
    QuestionBank,
    Revision,
    SourceIdentifier,
)
from annotation.questionbank.importing import locate
from annotation.questionbank.kernels.examfields import (
    EXAM_FIELDS,
    KEPT_FIELDS,
    NUMBER_FIELDS,
    REPORT_FIELDS,
    ExamReader,
)
from annotation.questionbank.kernels.identifiers import IDENTIFIERS, TextPart, marked, masked, spot_identifiers
from annotation.questionbank.kernels.records import parsed
from annotation.questionbank.priors import exams_with_keys
from annotation.refusals import Refused
from annotation.site.sentences import listed

AT_ONCE = 500
FINDINGS, IMPRESSION = REPORT_FIELDS.index("Findings"), REPORT_FIELDS.index("Impression")


class GenerationRefused(Refused):
    """Questions cannot be made from these reports. ``held``: those that the identifier check holds back."""

    def __init__(self, code: str, sentence: str = "", *, held: Sequence[FoundReport] = (), **more: Any) -> None:
        super().__init__(code, sentence, **more)
        self.held = held


class FoundReport(Struct):
    """A report as it would be sent.

    ``exam``: its pseudonym, or its place in what was sent; ``exam_id``: None where the bank does not have it. It is
    kept with a question of the bank, else as ``fields`` of its exam. ``rules``: codes of those that find identifiers.
    """

    text: str
    exam: str
    exam_id: int | None
    answer_key: int | None = None
    fields: dict[str, Any] | None = None
    rules: list[str] = []

    @property
    def record(self) -> str:
        return json.dumps(self.fields, ensure_ascii=False, separators=(",", ":")) if self.fields else ""

    @property
    def parts(self) -> list[TextPart]:
        return marked(self.text)

    @property
    def masked_text(self) -> str:
        return masked(self.text)

    def as_json(self) -> dict[str, Any]:
        return {"exam": self.exam, "rules": self.rules}


class FoundReports(Struct):
    """``held``: left out by the identifier check; ``masked``: sent with a token for each place that it found."""

    reports: list[FoundReport] = []
    held: list[FoundReport] = []
    masked: list[FoundReport] = []
    images_root: str = ""

    @property
    def refused(self) -> list[dict[str, Any]]:
        return [one.as_json() for one in self.held]

    def take(
        self,
        candidates: Iterable[FoundReport],
        *,
        masks: bool,
        complete: Callable[[list[FoundReport]], None] = lambda _complete: None,
        most: int | None = None,
    ) -> None:
        """Those that may be sent, up to ``most``. ``complete`` gives what is masked its fields."""
        taken: list[FoundReport] = []
        for one in candidates:
            if len(taken) == most:
                break
            one.rules = identifiers_in(one.text)
            (self.held if one.rules and not masks else taken).append(one)
        complete([one for one in taken if one.rules])
        for one in taken:
            if not one.rules:
                self.reports.append(one)
                continue
            fields = masked_fields(one.fields or {})
            text = sent_text(fields["Findings"] or "", fields["Impression"] or "")
            if identifiers_in(text):
                self.held.append(one)
            else:
                self.masked.append(one)
                self.reports.append(FoundReport(text, one.exam, one.exam_id, fields=fields))


def identifiers_in(text: str) -> list[str]:
    """Codes of the rules that find something in it, each once."""
    return list(dict.fromkeys(one.identifier.code for one in spot_identifiers(text)))


def masked_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of an exam with a token in its report for each place that looks like an identifier."""
    text = masked(sent_text(fields.get("Findings") or "", fields.get("Impression") or ""))
    parts = {name: part or None for name, part in zip(SENT_FIELDS, parts_of_sent(text), strict=True)}
    others = {name: masked(fields[name]) for name in REPORT_FIELDS if name not in parts and fields.get(name)}
    return fields | others | parts


# --- of the bank ---
def reports_of_bank(
    bank: QuestionBank, n_exams: int | None, *, seed: int, exams: Sequence[str] = (), masks: bool = False
) -> FoundReports:
    """So many exams with a report, in an order drawn by the seed, or all of them; of ``exams`` where they are named.

    One whose report names somebody is passed over, or masked. Raises GenerationRefused (``bad_exams``, ``no_exam``,
    ``no_reports``, ``too_few_reports``).
    """
    key_of = _keys_of_named(bank, exams) if exams else _first_keys(bank, report__isnull=False)
    if n_exams is None and len(key_of) > MOST_REPORTS:
        sentence = _("“%(bank)s” has more than %(most)s exams with a report. Ask for so many of them at most.")
        facts = {"bank": bank.name, "most": f"{MOST_REPORTS:,}"}
        raise GenerationRefused("bad_exams", sentence % facts, status=422, field="exams")
    drawn = sorted(key_of)
    random.Random(f"generation {seed}").shuffle(drawn)  # noqa: S311 - a draw that can be repeated
    found = FoundReports(images_root=_images_root(key_of[drawn[0]]) if drawn else "")

    def complete(flagged: list[FoundReport]) -> None:
        fields = _fields_of_exams(
            bank.pk, found.images_root, {one.exam_id or 0: one.answer_key or 0 for one in flagged}
        )
        for one in flagged:
            one.fields = fields[one.exam_id or 0]

    found.take(_candidates(drawn, key_of), masks=masks, complete=complete, most=n_exams)
    _check_enough(bank, found, n_exams)
    return found


def exams_named(bank: QuestionBank, names: Collection[str]) -> dict[str, int]:
    """The id of each exam of the bank with one of these names: at its source, or its pseudonym here."""
    good = [name for name in names if name and not NO_TEXT.search(name)]
    rows = Exam.objects.filter(pseudonym__in=good, bank=bank).values_list("pseudonym", "pk")
    return dict(rows) | exams_with_keys(bank.pk, good)


def _keys_of_named(bank: QuestionBank, names: Sequence[str]) -> dict[int, int]:
    ids = exams_named(bank, names)
    key_of = _first_keys(bank, report__isnull=False, revision__question__exam__in=set(ids.values()))
    if unknown := [name for name in dict.fromkeys(names) if name not in ids]:
        raise GenerationRefused("no_exam", _no_exam(bank, unknown), status=422, field="chosen")
    if bare := [name for name in dict.fromkeys(names) if ids[name] not in key_of]:
        sentence = _("These exams of “%(bank)s” have no report: %(exams)s. Leave them out.")
        facts = {"bank": bank.name, "exams": listed(bare)}
        raise GenerationRefused("no_reports", sentence % facts, status=422, field="chosen")
    return key_of


def _no_exam(bank: QuestionBank, names: Sequence[str]) -> str:
    sentence = _("“%(bank)s” has no exam with this id: %(exams)s. Name exams as its question file does (study_id).")
    return sentence % {"bank": bank.name, "exams": listed(names)}


def _check_enough(bank: QuestionBank, found: FoundReports, n_exams: int | None) -> None:
    facts = {"bank": bank.name, "n": len(found.reports), "refused": len(found.held), "wanted": n_exams or 1}
    if not found.reports and not found.held:
        sentence = _("“%(bank)s” holds no exam with a report. Give the reports in a file.")
        raise GenerationRefused("no_reports", sentence % facts, status=422, field="exams")
    if len(found.reports) < (n_exams or 1):
        sentence = _(
            "“%(bank)s” has %(n)d exams whose report may be sent, and %(wanted)d are asked for. Ask for fewer."
        )
        if found.held:
            sentence = _(
                "“%(bank)s” has %(n)d exams whose report may be sent, and %(wanted)d are asked for; the identifier "
                "check holds back %(refused)d. Ask for fewer, or mask what it found."
            )
        more: dict[str, Any] = {"held": found.held, "identifiers": found.refused}
        raise GenerationRefused("too_few_reports", sentence % facts, status=422, field="exams", **more)


def _first_keys(bank: QuestionBank, **narrow: Any) -> dict[int, int]:
    """By exam: the key of its first current question, of these keys."""
    current = Revision.objects.in_bank(bank).current().values("pk")
    rows = AnswerKey.objects.filter(revision__in=current, **narrow).order_by("revision__question__number")
    found: dict[int, int] = {}
    for exam_id, key in rows.values_list("revision__question__exam_id", "pk").iterator(chunk_size=5000):
        found.setdefault(exam_id, key)
    return found


def _candidates(exams: Sequence[int], key_of: dict[int, int]) -> Iterator[FoundReport]:
    for start in range(0, len(exams), AT_ONCE):
        some = exams[start : start + AT_ONCE]
        keys = AnswerKey.objects.select_related("report__exam").defer("extra").in_bulk([key_of[one] for one in some])
        for exam_id in some:
            report = keys[key_of[exam_id]].report
            if report and (text := sent_text(report.findings, report.impression)):
                yield FoundReport(text, report.exam.pseudonym, exam_id, key_of[exam_id])


def _images_root(key: int) -> str:
    brought_by = BankImport.objects.exclude(result={}).filter(bank__questions__revisions=key)
    root: str = next((one.result["images_root"] for one in brought_by if "images_root" in one.result), "")
    return root


# --- that somebody sent ---
def reports_sent(bank: QuestionBank, sent: SentReports, *, masks: bool = False) -> FoundReports:
    """Reports that came by a file, a page or a program. Their exams are those of the bank, unless a file on this
    server names images for each, as a question file does.

    Raises GenerationRefused with everything that is wrong, by row: fields that the import of questions would refuse,
    an exam that the bank does not have, that comes twice or has no report; and where all are held back.
    """
    problems, candidates, root = _read_rows(bank, sent)
    where = sent.name or _("What was sent")
    found = FoundReports(images_root=root)
    if not problems:
        found.take(candidates, masks=masks)
        if not found.reports:
            labels = {one.code: _(one.label) for one in IDENTIFIERS}
            sentence = _("%(row)s: the report holds what looks like an identifier (%(rules)s)")
            problems = [
                sentence % {"row": one.exam, "rules": ", ".join(labels[rule] for rule in one.rules)}
                for one in found.held
            ]
    if problems:
        sentence = _("%(file)s cannot be used: %(problems)s.") % {
            "file": where,
            "problems": listed(problems, signs=300),
        }
        raise GenerationRefused(
            *("bad_reports", sentence), held=found.held, status=422, field="reports", problems=problems
        )
    if not found.reports:
        sentence = _("%(file)s holds no report.") % {"file": where}
        raise GenerationRefused("no_reports", sentence, status=422, field="reports")
    return found


def _read_rows(bank: QuestionBank, sent: SentReports) -> tuple[list[str], list[FoundReport], str]:
    """What is wrong, what was read, and the root of its image paths."""
    place = locate(sent.path) if sent.path and all("ImagePath" in row.value for row in sent.rows) else None
    ids, of_bank, root = dict[str, int](), dict[int, dict[str, Any]](), place.root if place else ""
    if place is None:
        ids = exams_named(bank, {_exam_of(row) for row in sent.rows})
        first = _first_keys(bank, revision__question__exam__in=set(ids.values()))
        root = _images_root(next(iter(first.values()))) if first else ""
        of_bank = _fields_of_exams(bank.pk, root, first)
    reader, seen = ExamReader(place.folder if place else ""), set[str]()
    problems, candidates = list[str](), list[FoundReport]()
    for row in sent.rows:
        fields, faults, exam_id = row.value, list(row.faults), ids.get(_exam_of(row))
        if place is None and exam_id in of_bank:
            fields = of_bank[exam_id] | {name: fields.get(name) for name in REPORT_FIELDS}
        elif place is None and not faults:
            faults = [_no_exam(bank, [_exam_of(row)]) if _exam_of(row) else _("No exam is named (study_id).")]
        exam, more = reader.read(fields) if not faults else (None, [])
        faults += [fault.message for fault in more]
        text = sent_text(exam.report[FINDINGS], exam.report[IMPRESSION]) if exam else ""
        if exam and exam.key in seen:
            faults = [_("The exam comes twice.")]
        elif exam and not text:
            faults = [_("There is neither “Findings” nor “Impression”.")]
        problems += [_("%(row)s: %(why)s") % {"row": row.place, "why": fault.rstrip(".")} for fault in faults]
        if exam and not faults:
            seen.add(exam.key)
            kept = {name: fields[name] for name in EXAM_FIELDS if name in fields}
            kept["ImagePath"] = [image.path for image in exam.images]  # from the root of the images
            candidates.append(FoundReport(text, row.place, exam_id, fields=kept))
    return problems, candidates, root


def _exam_of(row: SentRow) -> str:
    name = row.value.get("study_id")
    return str(row.value.get("StudyInstanceUid") or "" if name in (None, "") else name)


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
    by_exam = {key.report.exam_id: key.pk for key in keys.values() if key.report}
    fields = _fields_of_exams(run.bank_id, run.images_root, by_exam)
    return found | {pk: fields[key.report.exam_id] for pk, key in keys.items() if key.report}


def _fields_of_exams(bank_id: int, root: str, key_of: Mapping[int, int]) -> dict[int, dict[str, Any]]:
    """By exam, as a question of it with this key has them."""
    names, found = _names_of_exams(bank_id, root, key_of), dict[int, dict[str, Any]]()
    keys = AnswerKey.objects.select_related("report").in_bulk(key_of.values())
    for exam, key in key_of.items():
        report, kept = keys[key].report, parsed(keys[key].extra).get("exam", {})
        texts = (report.indication, report.comparison, report.findings, report.impression) if report else ("",) * 4
        found[exam] = {
            **names[exam],
            **{name: text or None for name, text in zip(REPORT_FIELDS, texts, strict=True)},
            **{name: kept[name] for name in KEPT_FIELDS if name in kept},
        }
    return found


def _names_of_exams(bank_id: int, root: str, exams: Collection[int]) -> dict[int, dict[str, Any]]:
    """What exams and their images are called at their source. One walk: no index leads from an exam to its names."""
    rows = SourceIdentifier.objects.filter(bank=bank_id, exam_id__in=sorted(exams)).order_by("pk")
    by_exam: dict[int, dict[str, list[SourceIdentifier]]] = defaultdict(lambda: defaultdict(list))
    for row in rows.iterator(chunk_size=5000):
        if row.exam_id is not None:
            by_exam[row.exam_id][row.kind].append(row)
    return {exam_id: _names(by_kind, root) for exam_id, by_kind in by_exam.items()}


def _names(by_kind: dict[str, list[SourceIdentifier]], root: str) -> dict[str, Any]:
    exam = by_kind[IdentifierKind.EXAM_KEY][0]
    study_uid = next((row.value for row in by_kind[IdentifierKind.STUDY_UID]), None)
    values = ((exam.numbers or {}).get("patient") or None, (exam.numbers or {}).get("accession") or None, study_uid)
    first: dict[int | None, SourceIdentifier] = {}  # an image may go by several paths
    for row in by_kind[IdentifierKind.IMAGE_PATH]:
        first.setdefault(row.image_id, row)
    return {
        "study_id": exam.value,
        **dict(zip(NUMBER_FIELDS, values, strict=True)),
        "ImagePath": list(dict.fromkeys(_path_from(root, row) for row in first.values())),
    }


def _path_from(root: str, row: SourceIdentifier) -> str:
    """The path of an image from this root, where it lies under it."""
    full, inside = f"{row.root.rstrip('/')}/{row.value}", f"{root.rstrip('/')}/"
    return full.removeprefix(inside) if full.startswith(inside) else row.value
