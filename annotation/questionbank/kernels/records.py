"""Records of the ReXVQA form, checked, brought into one shape and given out in batches.

The four structural checks of the paper have the codes ``schema`` (a field is missing), ``data_type``, ``format``
and ``completeness`` (a field is there and empty). The rest have codes of their own: ``unknown_task``,
``duplicate_options``, ``key_outside_options``, ``path_outside_root``, ``too_long``, ``too_deep``, ``duplicate_key``
and those of :mod:`annotation.files.kernels.strictjson`. Every field with a problem is reported, not the first
alone.

The private-test form of the leaderboard (``image_path``, ``section_findings`` and so on) is the same record under
other names. Its split is published without answers: there, and only there, key and explanation may be missing.
``model_prediction`` is an answer of a model, no part of a question; it is left out.

What is kept of a record beside its columns, so that the export of a bank writes an equal one. It is in the JSON text
``AnswerKey.extra`` under ``source``, outside of what is hashed: the layout (names of the fields in their order, as a
number in the list of the import, since most records of a file have the same), how many images it names, and what its
columns do not give back (null or "", a number or its text).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, BinaryIO, NamedTuple
from unicodedata import category, normalize

from msgspec import Struct, field
from msgspec.json import decode

from annotation.enums import Difficulty, QuestionState, Split, Task
from annotation.files.kernels.strictjson import MAX_KEY_CHARS, NO_TEXT, Entry, FileRefused
from annotation.hashes import sha256_of
from annotation.questionbank.kernels import fields as reading
from annotation.questionbank.kernels.column_matching import MatchedEntries, Matching
from annotation.questionbank.kernels.entries import SPLIT, STATE, read_entries
from annotation.questionbank.kernels.examfields import EXAM_FIELDS, LEFT_OUT, ExamReader, ExamRecord, put_back
from annotation.questionbank.kernels.fields import encode_in_order
from annotation.questionbank.kernels.rules import MIN_EXPLANATION

MOST_LAYOUTS = 200  # in the list of an import; a further one is stored with its record


class KeptSource(NamedTuple):
    layout: tuple[str, ...]
    n_images: int
    as_written: dict[str, Any]


NOTHING_KEPT = KeptSource((), 0, {})  # of a record that an earlier version imported


class Layouts:
    """The layouts of one file, in the order in which they were met."""

    def __init__(self) -> None:
        self.listed: list[tuple[str, ...]] = []
        self._numbers: dict[tuple[str, ...], int] = {}

    def named(self, layout: tuple[str, ...]) -> str:
        """JSON text: its number from 0, or the names where the list is full."""
        number = self._numbers.get(layout)
        if number is None:
            if len(self.listed) == MOST_LAYOUTS:
                return encode_in_order(layout)
            number = self._numbers[layout] = len(self.listed)
            self.listed.append(layout)
        return str(number)


def with_source(extra: str, source: str, *as_written: str) -> str:
    """``extra`` with what is kept; ``source`` and ``as_written`` are members of JSON objects, the latter or empty."""
    members = ",".join(filter(None, as_written))
    written = f',"as":{{{members}}}' if members else ""
    return f'{extra[:-1]},"source":{{{source}{written}}}}}'


def read_source(extra: dict[str, Any], layouts: Sequence[Sequence[str]]) -> KeptSource:
    """What was kept, of the parsed ``extra`` of a key and the list of its import."""
    kept = extra.get("source")
    if not kept:
        return NOTHING_KEPT
    named = kept["layout"]
    layout = layouts[named] if isinstance(named, int) else named
    return KeptSource(tuple(layout), kept["images"], kept.get("as", {}))


def parsed(extra: str) -> dict[str, Any]:
    found: dict[str, Any] = decode(extra or "{}")
    return found


# --- Records of the ReXVQA form, checked, brought into one shape and given out in batches ---------
PRIVATE_NAMES = {
    "image_path": "ImagePath",
    "image_path_list": "ImagePath",
    "section_findings": "Findings",
    "section_impression": "Impression",
    "frontal_lateral": "ImageViewPosition",
    "context": "Indication",
}
_PREDICTION = "model_prediction"
_other_names = {*PRIVATE_NAMES, _PREDICTION}
REQUIRED_IN_PRIVATE = ("question", "options", "task_name")
REQUIRED_FIELDS = (*REQUIRED_IN_PRIVATE, "category", "correct_answer", "correct_answer_explanation")
_COUNTS_FROM_1 = (
    "A key is 4, and none is 0: the keys of the file count from 1. In a question file a key is A, B, C or D, or a "
    "number from 0 to 3. Write letters, or count from 0."
)
_read_here = {*REQUIRED_FIELDS, *EXAM_FIELDS, "subcategory", "class", "difficulty", LEFT_OUT}


class RecordProblem(NamedTuple):
    """Why a record is refused: its key, the field, a code, a sentence."""

    key: str
    field: str
    code: str
    message: str


class QuestionRecord(NamedTuple):
    """One checked record. ``answer`` is "" where the form comes without answers; ``extra`` is JSON text.

    ``content_sha256`` is over everything but the difficulty, which may come from elsewhere. Neighbouring
    questions of one exam share one ``exam`` object.
    """

    key: str
    stem: str
    options: list[str]
    answer: str
    explanation: str
    task: Task
    category: str
    subcategory: str
    question_class: str
    difficulty: Difficulty
    exam: ExamRecord
    extra: str
    content_sha256: str
    source: str  # how the record was written, as kept_source.py keeps it; not hashed
    odd: str  # members of a JSON object: fields of the record that its columns do not give back as they were written
    left_out: tuple[str, ...] = ()  # paths of its images that do not count
    split: str = ""  # not hashed; empty: neither record nor file says one


def content_sha256(
    exam: ExamRecord,
    stem: str,
    options: Sequence[str],
    answer: str,
    explanation: str,
    groups: Sequence[str],
    extra: str,
    left_out: Sequence[str] = (),
) -> str:
    """``groups``: task, category, subcategory and class; ``left_out``: paths of images that do not count."""
    parts = (exam.content_sha256, stem, *options, answer, explanation, *groups, extra, *left_out)
    return sha256_of("\0".join(parts))


def extra_text(exam: ExamRecord, fields: str, form: dict[str, Any]) -> str:
    """What is kept of a record beside its columns and is hashed; ``fields`` is JSON text."""
    return f'{{"exam":{exam.extra},"fields":{fields},"form":{reading.encode_json(form) if form else "{}"}}}'


class RecordRules(Struct, frozen=True):
    """What an import may set: where paths start, the shortest explanation, difficulties from a side file, how the
    columns of a foreign file are matched (None: the file is a question file), and the split of records that name none.
    """

    folder: str = ""  # of the question file, relative to the root of the images
    min_explanation: int = MIN_EXPLANATION
    difficulties: Mapping[str, Difficulty] = field(default_factory=dict)
    matching: Matching | None = None
    split: str = ""


_SPLIT_FILE = re.compile(rf"({'|'.join(Split.values())})(_vqa_data|[._-])", re.I)


def split_of_file(name: str, folder: str) -> str:
    """Of ``train_vqa_data.json`` and the like, and of every file of ``metadata`` whose name begins with a split."""
    found = _SPLIT_FILE.match(name)
    return found[1].lower() if found and (len(found[2]) > 1 or folder.lower() == "metadata") else ""


class Batch(NamedTuple):
    """``n_read`` entries were read for this batch; ``problems`` tells of those refused, and of the file."""

    n_read: int
    n_refused: int
    bytes_read: int
    questions: list[QuestionRecord]
    problems: list[RecordProblem]
    unreadable: bool  # the file could not be read on; the last problem says where
    layouts: Sequence[tuple[str, ...]] = ()  # of all records so far
    look_alikes: Sequence[str] = ()


def read_as(key: str) -> str:
    """What people read of an id: no capitals, one form of each letter, no characters that cannot be seen."""
    if key.isascii() and key.isprintable():
        return " ".join(key.lower().split())
    seen = "".join(one for one in normalize("NFKC", key).casefold() if category(one) not in ("Cf", "Cc", "Mn"))
    return " ".join(normalize("NFKC", seen).split())


def read_batches(stream: BinaryIO, rules: RecordRules, *, size: int) -> Iterator[Batch]:
    """Batches of at most ``size`` entries, in the order of the file; refuses an id that comes twice.

    The ids read so far are remembered by their 64-bit hashes, and by those of what people read of them, so that ids
    that nobody can tell apart are named: 100 MB for 600,000 questions.
    """
    records, matching = RecordReader(rules), rules.matching
    matched: MatchedEntries | None = None
    entries = read_entries(stream)
    seen: set[int] = set()
    readable: set[int] = set()
    ended = False
    while not ended:
        questions: list[QuestionRecord] = []
        problems: list[RecordProblem] = []
        look_alikes: list[str] = []
        n_read = n_refused = 0
        unreadable = False
        try:
            if matching is not None and matched is None:
                matched = MatchedEntries(stream, matching)
                entries = iter(matched)
            for entry in islice(entries, size):
                n_read += 1
                record, found = records.read(entry)
                if hash(entry.key) in seen:
                    found = [*found, RecordProblem(entry.key, "", "duplicate_key", "The id is in the file twice.")]
                elif hash(read_as(entry.key)) in readable:
                    look_alikes.append(entry.key)
                seen.add(hash(entry.key))
                readable.add(hash(read_as(entry.key)))
                if record is None or found:
                    n_refused += 1
                    reported = found if matched is None else [_in_their_file(one, matched) for one in found]
                    problems += [RecordProblem(*(NO_TEXT.sub("\ufffd", part) for part in one)) for one in reported]
                else:
                    questions.append(record)
        except FileRefused as error:
            problems.append(RecordProblem("", "", error.code, str(error)))
            unreadable = True
        ended = unreadable or n_read < size
        if ended and len(reading.LETTERS) in records.numbers and 0 not in records.numbers and not unreadable:
            problems.append(RecordProblem("", "correct_answer", "key_contradiction", _COUNTS_FROM_1))
            unreadable = True
        if ended and not seen and not unreadable:
            problems.append(RecordProblem("", "", "schema", "The file holds no question."))
        so_far = n_read, n_refused, stream.tell()
        yield Batch(*so_far, questions, problems, unreadable, records.layouts.listed, look_alikes)


def _in_their_file(problem: RecordProblem, matched: MatchedEntries) -> RecordProblem:
    """The same with the row and the column of a foreign file."""
    column = matched.matching.column_of(problem.field)
    message = problem.message.replace(repr(problem.field), repr(column))
    place = "" if message.lower().startswith(matched.place) else f"{matched.place.capitalize()}: "
    return problem._replace(field=column, message=place + message)


class RecordReader:
    """Reads the entries of one file, in their order. The only state is the exam of the record before, and layouts."""

    def __init__(self, rules: RecordRules) -> None:
        self._rules = rules
        self.layouts = Layouts()
        self._exams = ExamReader(rules.folder)
        self.numbers: set[int] = set()  # keys 0 and 4 of the file, whose numbers count from 0 by rule

    def read(self, entry: Entry) -> tuple[QuestionRecord | None, list[RecordProblem]]:
        """The record of one entry, or None and every problem that it has."""
        key, value, faults = entry
        check = reading.FieldCheck(value if type(value) is dict else {}, faults)
        if type(value) is dict:
            record = self._read(key, check)
        elif not faults:
            found = reading.kind_of(value)
            check.refuse("", "schema", f"A question must be an object of fields, in braces, not {found}.")
        if check.problems:
            return None, [RecordProblem(key, *problem) for problem in check.problems]
        return record, []

    def _read(self, key: str, check: reading.FieldCheck) -> QuestionRecord | None:
        form: dict[str, Any] = {}  # of what the columns hold in another form than the file
        split = _split_of(check.value) or self._rules.split
        if not _MARKS.keys().isdisjoint(check.value):
            _take_out_marks(check)
        written = check.value
        places = _put_back(check) if LEFT_OUT in written else ()
        if not _other_names.isdisjoint(check.value):
            check.value, form = _with_usual_names(check.value)
        is_private = bool(form)
        check.require(REQUIRED_IN_PRIVATE if is_private else REQUIRED_FIELDS)
        if not 0 < len(key) <= MAX_KEY_CHARS:
            check.refuse("", "format", f"The id of a question has 1 to {MAX_KEY_CHARS} characters.")
        exam, problems = self._exams.read(check.value)
        for problem in problems:
            check.refuse(*problem)
        get = check.value.get
        stem = check.text("question")
        options, option_form = check.read("options", reading.read_options) or ([], ". ")
        if option_form != ". ":
            form["options"] = option_form
        answer = explanation = ""
        if not is_private or get("correct_answer") not in (None, ""):
            answer = check.read("correct_answer", reading.read_answer)
            shortest = self._rules.min_explanation
            explanation = check.read("correct_answer_explanation", reading.read_explanation, shortest)
            number = get("correct_answer")
            if type(number) is int:
                form["key"] = "index"
                self.numbers |= {number} & {0, len(reading.LETTERS)}
        task = check.read("task_name", reading.read_task_name)
        if task is not None and get("task_name") not in reading.USUAL_TASK_NAMES:
            form["task_name"] = get("task_name")
        category, subcategory, question_class = map(check.text, ("category", "subcategory", "class"))
        difficulty = check.read("difficulty", reading.read_level)
        further = check.kept({name: member for name, member in check.value.items() if name not in _read_here})
        if exam is None or check.problems:
            return None
        extra = extra_text(exam, further, form)
        groups = (task, category, subcategory, question_class)
        if self._rules.difficulties:
            difficulty = self._rules.difficulties.get(key, difficulty)
        odd = _odd_fields(written, check.value, answer, explanation, difficulty)
        layout = self.layouts.named(tuple(name for name in written if name != _PREDICTION))
        source = f'"layout":{layout},"images":{len(exam.images)}'
        odd = f"{exam.odd},{odd}".strip(",")
        left_out = tuple(exam.images[place].path for place in places) if places else ()
        return QuestionRecord(
            *(key, stem, options, answer, explanation, *groups, difficulty, exam, extra),
            *(
                content_sha256(exam, stem, options, answer, explanation, groups, extra, left_out),
                source,
                odd,
                left_out,
                split,
            ),
        )


_MARKS = {STATE: QuestionState.values(), SPLIT: Split.values()}
_SPLITS = {**{word.value: word.value for word in Split}, "val": "valid", "validation": "valid"}


def _split_of(value: dict[str, Any]) -> str:
    """By what an export wrote, else by a field of the file, which is kept among its further fields as well."""
    told = value.get(SPLIT) or value.get("split")
    return _SPLITS.get(told.strip().casefold(), "") if isinstance(told, str) else ""


def _take_out_marks(check: reading.FieldCheck) -> None:
    """The record from here on without what an export wrote of its reviews and split; another field of such a name is
    not lost.
    """
    for mark, words in _MARKS.items():
        if check.value.get(mark) not in (None, "", *words):
            sentence = f"{mark!r} must be one of: {', '.join(words)}. Or give the field another name."
            check.refuse(mark, "format", sentence)
    check.value = {name: member for name, member in check.value.items() if name not in _MARKS}


def _put_back(check: reading.FieldCheck) -> tuple[int, ...]:
    """The record with all of its images from here on; the places of those that do not count."""
    try:
        return put_back(check.value)
    except reading.FieldRefused as refusal:
        check.refuse(LEFT_OUT, refusal.code, str(refusal))
        return ()


def _odd_fields(
    written: dict[str, Any], usual: dict[str, Any], answer: str, explanation: str, level: Difficulty
) -> str:
    """Members of a JSON object: what the columns of a question do not give back as it was written."""
    get = usual.get
    odd = [name for name in ("category", "subcategory", "class") if get(name) == ""]
    if type(get("correct_answer")) is not int and get("correct_answer") != (answer or None):
        odd.append("correct_answer")
    if get("correct_answer_explanation") != (explanation or None):
        odd.append("correct_answer_explanation")
    if get("difficulty") != (level.value or None):
        odd.append("difficulty")
    if LEFT_OUT in usual and not usual[LEFT_OUT]:
        odd.append(LEFT_OUT)
    if written is not usual:
        odd += [name for name in written if name in PRIVATE_NAMES and written[name] is not get(PRIVATE_NAMES[name])]
    if not odd:
        return ""
    named = {name: written[name] if name in written else get(name) for name in odd if name in written or name in usual}
    return reading.encode_in_order(named)[1:-1] if named else ""


def _with_usual_names(value: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The record under its usual names, and the form that says which were renamed. A usual name that is there wins."""
    usual: dict[str, Any] = {}
    renamed: dict[str, str] = {}
    for name, member in value.items():
        usual_name = PRIVATE_NAMES.get(name, name)
        if name == _PREDICTION or (usual_name != name and (usual_name in value or usual_name in renamed)):
            continue
        if usual_name != name:
            renamed[usual_name] = name
        usual[usual_name] = member
    return usual, {"names": renamed} if renamed else {}
