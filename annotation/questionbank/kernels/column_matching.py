"""Which column of a foreign file holds which field, guessed first; its rows read as records by that. Pure.

A row becomes the record that a question file would have contained, so that every rule of an import holds for it
unchanged. Columns that are matched to no field are kept as further fields.

What fits in two ways is left open, so that a person says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from msgspec import Struct, field

from annotation.files.kernels.strictjson import Entry, Fault, unreadable, value_faults
from annotation.questionbank.kernels.entries import ID, OPTIONS, SPLIT, STATE, field_of_column, lettered
from annotation.questionbank.kernels.examfields import EXAM_FIELDS, LEFT_OUT, NUMBER_FIELDS, PRIOR_FIELD, REPORT_FIELDS
from annotation.questionbank.kernels.fields import LETTERS
from annotation.questionbank.kernels.foreign_rows import ForeignRow, json_in, parts_of, plain, read_rows

KEY, EXPLANATION, TASK, IMAGES, VIEWS, EXAM = (
    *("correct_answer", "correct_answer_explanation", "task_name", "ImagePath", "ImageViewPosition", "study_id"),
)
LETTER, FROM_0, FROM_1, TEXT = "letter", "from_0", "from_1", "text"
NUMBER = "number"  # from 0 or from 1: first rows never tell which, and no file is read by it
KEY_FORMS = {
    LETTER: "the letter A to D",
    TEXT: "the text of the right option",
    FROM_0: "a number from 0 to 3 (0 is option A)",
    FROM_1: "a number from 1 to 4 (1 is option A)",
}
KEY_FORM_UNSAID = (
    "The file does not say how its keys are written, so you have to. Of numbers, no key is 0, and none is 4, so that 1 "
    "may be option A or option B; or the keys fit in two ways. Choose the letter, the text, a number from 0 or one "
    "from 1 (key_form: letter, text, from_0 or from_1)."
)
_BOTH = (
    "%s has the key 0 and %s the key 4, and no file has both: keys count from 0 or from 1. Correct the file and send "
    "it again"
)
_OTHER = (
    "%s has the key %d: the keys of the file count from %s, and the matching says from %s. Match its columns again and "
    "choose “%s” (API: key_form %s; command: --key-form %s)"
)
COUNTS_BY = {0: FROM_0, len(LETTERS): FROM_1}  # the numbers that only one of the two has
SEPARATORS = {"|": "a vertical bar  |", ";": "a semicolon  ;", ",": "a comma  ,", "\n": "a line break"}


class MatchedField(NamedTuple):
    """A field that a column can hold; ``guesses`` are names of columns, as ``_folded`` gives them, the best first."""

    name: str
    label: str
    guesses: str = ""
    is_needed: bool = False
    may_be_constant: bool = False


FIELDS = (
    MatchedField(ID, "Question id", "id qid questionid uid itemid number nr no", is_needed=True),
    MatchedField(EXAM, "Exam (study) id", "studyid examid exam study imgid imageid caseid case", is_needed=True),
    MatchedField("question", "Question", "question stem questiontext prompt item", is_needed=True),
    MatchedField("options", "Options, all in one cell", "options choices answeroptions answerchoices alternatives"),
    *(
        MatchedField(
            name,
            f"Option {letter}",
            f"{letter.lower()} option{letter.lower()} option{number} choice{letter.lower()} choice{number} "
            f"op{letter.lower()} opt{letter.lower()} answer{letter.lower()} answer{number}",
            may_be_constant=True,
        )
        for number, (name, letter) in enumerate(zip(OPTIONS, LETTERS, strict=True), start=1)
    ),
    MatchedField(
        KEY,
        "Key",
        "correctanswer answer key answerkey correctoption correct cop answeridx solution label",
        is_needed=True,
    ),
    MatchedField(
        EXPLANATION,
        "Explanation of the key",
        "correctanswerexplanation explanation rationale exp reason comment",
        is_needed=True,
        may_be_constant=True,
    ),
    MatchedField(
        TASK, "Task", "taskname task questiontype qtype type answertype", is_needed=True, may_be_constant=True
    ),
    MatchedField(
        "category",
        "Category",
        "category topic contenttype finding diagnosis imageorgan location",
        is_needed=True,
        may_be_constant=True,
    ),
    MatchedField(
        IMAGES,
        "Image paths",
        "imagepath imagepaths imagename imgname image images filename file files path",
        is_needed=True,
    ),
    MatchedField(VIEWS, "View positions", "imageviewposition viewposition view projection", may_be_constant=True),
    MatchedField("difficulty", "Difficulty", "difficulty level", may_be_constant=True),
    MatchedField("subcategory", "Subcategory", "subcategory subtopic", may_be_constant=True),
    MatchedField("class", "Class", "class", may_be_constant=True),
    MatchedField("PatientAge", "Age", "patientage age"),
    MatchedField("PatientSex", "Sex", "patientsex sex gender"),
    *(MatchedField(name, name, name.lower()) for name in REPORT_FIELDS),
    *(
        MatchedField(name, label, name.lower())
        for name, label in zip(NUMBER_FIELDS, ("Patient id", "Accession number", "Study Instance UID"), strict=True)
    ),
    MatchedField(PRIOR_FIELD, "Prior exam (its exam id)", "priorstudy prior"),
)
FIELD = {one.name: one for one in FIELDS}
_SET_HERE = {"options", *OPTIONS, KEY, IMAGES, VIEWS, ID}
_NEVER_KEPT = {
    *FIELD,
    *EXAM_FIELDS,
    LEFT_OUT,
    STATE,
    SPLIT,
    "model_prediction",
    "image_path",
    "image_path_list",
    "frontal_lateral",
    "context",
}
_NEVER_KEPT |= {"section_findings", "section_impression"}
_WORDED = {TASK, "difficulty", "category", "PatientSex", VIEWS}  # fields whose words a matching translates


class Matching(Struct, frozen=True):
    """Columns and constants by field; a column may hold two fields, such as an image that is the exam, too.

    ``words`` are translated where they are the whole cell of a field of few words, such as the task.
    """

    name: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    key_form: str = LETTER
    separator: str = "|"  # between the options in one cell, and between image paths
    words: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """As it is kept; ``Matching(**kept)`` gives it back."""
        kept = {"columns": dict(self.columns), "constants": dict(self.constants), "words": dict(self.words)}
        return {"name": self.name, **kept, "key_form": self.key_form, "separator": self.separator}

    def column_of(self, name: str) -> str:
        """What a person calls the place of this field in their file."""
        if name == "options" and name not in self.columns:
            return ", ".join(dict.fromkeys(filter(None, map(self.columns.get, OPTIONS)))) or name
        return self.columns.get(name, name)


class MatchingFault(NamedTuple):
    field: str
    message: str


def faults_of(matching: Matching) -> list[MatchingFault]:
    """What keeps a file from being read by this matching: each with the field and what to do."""
    given = {*matching.columns, *matching.constants}
    faults = [
        MatchingFault(one.name, _missing(one))
        for one in FIELDS
        if one.is_needed and one.name not in given and not (one.name == EXAM and "StudyInstanceUid" in given)
    ]
    own = [name for name in OPTIONS if name in given]
    if "options" in given and own:
        sentence = "“Options, all in one cell” and “%s” are both given. Keep the one cell, or the four options."
        faults.append(MatchingFault("options", sentence % FIELD[own[0]].label))
    elif not own and "options" not in given:
        sentence = "The options are not matched. Choose one column for “Options, all in one cell”, or one for each of "
        faults.append(MatchingFault("options", sentence + "Option A to Option D: a question has four."))
    elif own:
        faults += [MatchingFault(name, _missing(FIELD[name])) for name in OPTIONS if name not in given]
    for name in matching.columns.keys() & matching.constants.keys():
        sentence = f"“{FIELD[name].label}” has a column and one value for all questions. Keep one of the two."
        faults.append(MatchingFault(name, sentence))
    if matching.key_form not in KEY_FORMS:
        faults.append(MatchingFault("key_form", KEY_FORM_UNSAID))
    return faults


def _missing(one: MatchedField) -> str:
    instead = ", or give one value for all questions" if one.may_be_constant else ""
    return f"No column is matched to “{one.label}”, which every question needs. Choose a column for it{instead}."


def compared(text: Any) -> str:
    return " ".join(str(text).casefold().split())


def digit_of(text: Any) -> int:
    return int(text) if isinstance(text, str) and text.isdecimal() and len(text) == 1 else -1


class RowReader:
    """Reads the rows of one file as records. ``names``: all its columns."""

    def __init__(self, matching: Matching, names: Sequence[str]) -> None:
        self._matching = matching
        self._words = {compared(word): meaning for word, meaning in matching.words.items()}
        self._used = set(matching.columns.values())
        self._kept_names = {name: _kept_name(name, names) for name in names}
        self.places: dict[str, str] = {}  # by FROM_0 or FROM_1: the first row whose key says so

    def read(self, row: ForeignRow) -> Entry:
        cells, faults = row.cells, list(row.faults)
        key = self._text(ID, cells)
        if type(key) is not str or not key:
            key, sentence = row.place, f"{row.place.capitalize()} has no id."
            faults.append(Fault(ID, "completeness", sentence))
        value: dict[str, Any] = {}
        for one in FIELDS:
            if one.name not in _SET_HERE:
                text = self._text(one.name, cells)
                if one.is_needed or text != "":
                    value[one.name] = text if text != "" else None
        options = self.options(cells)
        value["options"] = lettered(options) if list(map(type, options)) == [str] * len(LETTERS) else options
        value[KEY] = self._key(options, row, faults)
        value[IMAGES] = self._listed(IMAGES, cells)
        for name in ("options", IMAGES):  # a list that is the text of a cell can hold what the file could not
            faults += value_faults(name, value[name])
        if views := self._listed(VIEWS, cells):
            value[VIEWS] = [self._words.get(compared(view), view) for view in views]
        for name, cell in cells.items():
            if name not in self._used and cell not in (None, ""):
                value[self._kept_names.get(name) or _kept_name(name, ())] = cell
        return Entry(key, value, tuple(faults))

    def options(self, cells: Mapping[str, Any]) -> list[Any]:
        """The options of a row; empty ones at the end are none."""
        if "options" in self._matching.columns:
            return parts_of(cells.get(self._matching.columns["options"]), self._matching.separator)
        options = [self._text(name, cells) for name in OPTIONS]
        while options and options[-1] == "":
            options.pop()
        return options

    def _text(self, name: str, cells: Mapping[str, Any]) -> Any:
        """The text of a field; what is no text where the file holds something else."""
        if name in self._matching.constants:
            return self._matching.constants[name]
        text = plain(cells.get(self._matching.columns.get(name, "")))
        if self._words and name in _WORDED and isinstance(text, str):
            return self._words.get(compared(text), text)
        return text

    def _key(self, options: Sequence[Any], row: ForeignRow, faults: list[Fault]) -> Any:
        """The letter, or the text of the file where it names none."""
        text = self._text(KEY, row.cells)
        if text == "" or self._matching.key_form == LETTER:
            return text
        if self._matching.key_form == TEXT:
            found = [compared(option) for option in options]
            at, what = (found.index(compared(text)), "") if compared(text) in found else (-1, "is none of the options")
        else:
            start = 0 if self._matching.key_form == FROM_0 else 1
            number = digit_of(text)
            at = number - start
            if number in COUNTS_BY:
                self.places.setdefault(COUNTS_BY[number], row.place)
            what = f"is no number from {start} to {start + len(LETTERS) - 1}"
        if 0 <= at < len(LETTERS):
            return LETTERS[at]
        faults.append(Fault(KEY, "key_outside_options", f"The key {str(text)[:60]!r} {what}."))
        return None

    def _listed(self, name: str, cells: Mapping[str, Any]) -> list[Any]:
        cell = self._matching.constants.get(name) or cells.get(self._matching.columns.get(name, ""))
        if isinstance(cell, str):
            cell = cell.replace("\n", "|")
        parts = map(_path_in, parts_of(cell, self._matching.separator))
        return [one for part in parts for one in (part.split("|") if isinstance(part, str) else [part]) if one != ""]


def _path_in(part: Any) -> Any:
    """The path of an image that the file holds itself, as data sets in Parquet do."""
    found = json_in(part) if isinstance(part, str) else part
    return found["path"] if isinstance(found, dict) and "path" in found else part


def _kept_name(name: str, names: Sequence[str]) -> str:
    """The field under which a column that is not matched is kept: one that a record reads as something else is not."""
    if name in _NEVER_KEPT or field_of_column(name) != name or name != name.strip():
        name = f"column {name.strip()}"
        while name in names:
            name = f"column {name}"
    return name


class MatchedEntries:
    """The entries of a foreign file; ``place`` is where the last of them is. Raises BankRefused, after the last entry
    where its keys count from another number than the matching says.
    """

    def __init__(self, stream: BinaryIO, matching: Matching) -> None:
        self.place, self.matching = "", matching
        names, self._rows = read_rows(stream)
        missing = sorted({*matching.columns.values()}.difference(names))
        if missing:
            sentence = f"The file has no column {', '.join(map(repr, missing))}, which the matching "
            raise unreadable("columns", f"{sentence}{matching.name!r} names. Found: {', '.join(names)[:400]}")
        self._reader = RowReader(matching, names)

    def __iter__(self) -> Iterator[Entry]:
        for row in self._rows:
            self.place = row.place
            yield self._reader.read(row)
        self._check_counting()

    def _check_counting(self) -> None:
        """A file that is read by the wrong one has a wrong key in every row that is not refused."""
        places, said = self._reader.places, self.matching.key_form
        if not places.keys() - {said}:
            return
        if len(places) > 1:
            raise unreadable("key_contradiction", _BOTH % (places[FROM_0].capitalize(), places[FROM_1]))
        ((other, place),) = places.items()
        number = next(number for number, form in COUNTS_BY.items() if form == other)
        told = place.capitalize(), number, other[-1], said[-1], KEY_FORMS[other], other, other
        raise unreadable("key_contradiction", _OTHER % told)


def guess_matching(names: Sequence[str], rows: Sequence[ForeignRow], name: str = "") -> Matching:
    """A matching by the names of the columns, to begin with; images that no exam is named for are exams themselves."""
    free = {}
    for column in reversed(names):
        free[_folded(column)] = column
    columns: dict[str, str] = {}
    for one in FIELDS:
        found = next((guess for guess in one.guesses.split() if guess in free), "")
        if found and not (one.name in OPTIONS and "options" in columns):
            columns[one.name] = free.pop(found)
    if len(columns.keys() & {*OPTIONS}) == 1:  # a column named A says little
        columns = {field_name: column for field_name, column in columns.items() if field_name not in OPTIONS}
    if IMAGES in columns:
        columns.setdefault(EXAM, columns[IMAGES])
    separator = _guess_separator([row.cells.get(columns.get("options", "")) for row in rows])
    matching = Matching(name, columns, separator=separator)
    return Matching(name, columns, key_form=_guess_key_form(matching, rows), separator=separator)


def _folded(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _guess_separator(cells: Sequence[Any]) -> str:
    texts = [cell for cell in cells if isinstance(cell, str)]
    fits = (sign for sign in SEPARATORS if texts and all(len(parts_of(text, sign)) == len(LETTERS) for text in texts))
    return next(fits, "|")


def _guess_key_form(matching: Matching, rows: Sequence[ForeignRow]) -> str:
    reader = RowReader(matching, ())
    keys = [str(plain(row.cells.get(matching.columns.get(KEY, "")))).rstrip(".)").upper() for row in rows]
    options = [{compared(one) for one in reader.options(row.cells)} for row in rows]
    is_text = bool(keys) and all(compared(key) in listed for key, listed in zip(keys, options, strict=True))
    forms = {NUMBER: all(key in ("0", "1", "2", "3", "4") for key in keys), LETTER: all(key in LETTERS for key in keys)}
    found = next((form for form, fits in forms.items() if fits), TEXT)
    return "" if is_text and found != TEXT else found


def counts_from(stream: BinaryIO, column: str) -> str:
    """FROM_0 or FROM_1, by the first key of the file that only one of them has; "" where no key tells.

    Whether another key contradicts it shows when the file is read (MatchedEntries). Raises BankRefused.
    """
    _names, rows = read_rows(stream)
    found = (COUNTS_BY.get(digit_of(plain(row.cells.get(column)))) for row in rows)
    return next(filter(None, found), "")
