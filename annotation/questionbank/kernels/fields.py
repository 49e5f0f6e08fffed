"""Single fields of a ReXVQA record: spellings in, one word of the glossary out. What is not known stays unknown.

A reader of a field is given its name and its value. It raises FieldRefused for a value that is not taken.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple
from unicodedata import normalize

from annotation.enums import Difficulty, Sex, Task, ViewPosition
from annotation.files.kernels.strictjson import Fault

LETTERS = "ABCD"
_LETTERS = set(LETTERS)
OLDEST_AGE = 90  # 90 means 90 or older
MAX_TEXT_CHARS = 20_000
MAX_REPORT_CHARS = 100_000
MAX_NAME_CHARS = 200
MAX_PATH_CHARS = 1_000
MAX_IMAGES = 64
MAX_DEPTH = 8
USUAL_TASK_NAMES = {
    "Presence Assessment": Task.PRESENCE,
    "Negation Assessment": Task.NEGATION,
    "Differential Diagnosis": Task.DIFFERENTIAL,
    "Location and Distribution Assessment": Task.LOCATION,
    "Geometric Information Assessment": Task.GEOMETRIC,
}
_TASKS = {name.removesuffix(" Assessment").casefold(): task for name, task in USUAL_TASK_NAMES.items()} | {
    "differential": Task.DIFFERENTIAL,
    "location & distribution": Task.LOCATION,
    "location": Task.LOCATION,
    "geometric": Task.GEOMETRIC,
}
_SPELLINGS = {
    ViewPosition.PA: ("PA", "POSTERO ANTERIOR", "POSTEROANTERIOR"),
    ViewPosition.AP: ("AP", "ANTERO POSTERIOR", "ANTEROPOSTERIOR"),
    ViewPosition.LL: ("LL", "LEFT LATERAL"),
    ViewPosition.RL: ("RL", "RIGHT LATERAL"),
    ViewPosition.LATERAL: ("LATERAL", "LAT"),
    ViewPosition.OBLIQUE: ("LAO", "RAO", "LPO", "RPO", "OBLIQUE"),
}
_VIEWS = {spelling: view for view, spellings in _SPELLINGS.items() for spelling in spellings}
# Words that say how the patient or the tube stood, not the direction of the beam.
_BESIDE_VIEW = {
    *("PORTABLE", "SUPINE", "ERECT", "UPRIGHT", "SITTING", "SEMI", "SEMIERECT", "AXIAL", "MOBILE", "VIEW", "CHEST")
}
_SEXES = {"F": Sex.FEMALE, "FEMALE": Sex.FEMALE, "M": Sex.MALE, "MALE": Sex.MALE, "O": Sex.OTHER, "OTHER": Sex.OTHER}
_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}
_option_prefix = re.compile(r"([A-Da-d])([.):]\s?|\s?[-–—]\s|\s[:]\s?)")
_age_text = re.compile(r"\s*(\d{1,4})\s*+([YMWDymwd]?)[A-Za-z]*\s*\Z")
_years_in = {"Y": 1.0, "": 1.0, "M": 1 / 12, "W": 7 / 365.25, "D": 1 / 365.25}
encode_json = json.JSONEncoder(
    check_circular=False, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False
).encode


encode_in_order = json.JSONEncoder(
    check_circular=False, ensure_ascii=False, separators=(",", ":"), allow_nan=False
).encode


class FieldRefused(ValueError):
    """The value of a field is refused, by a code and a sentence."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class TextRule(NamedTuple):
    """What a text may be: at most so many characters, or more than white space, or a whole number for its digits."""

    most: int = MAX_NAME_CHARS
    is_needed: bool = False
    may_be_number: bool = False


TEXTS = {
    "question": TextRule(MAX_TEXT_CHARS, is_needed=True),
    "correct_answer_explanation": TextRule(MAX_TEXT_CHARS, is_needed=True),
    "task_name": TextRule(is_needed=True),
    **dict.fromkeys(("category", "subcategory", "class", "difficulty"), TextRule()),
    "study_id": TextRule(MAX_PATH_CHARS, is_needed=True, may_be_number=True),
    "prior_study": TextRule(MAX_PATH_CHARS, may_be_number=True),
    "ImagePath": TextRule(MAX_PATH_CHARS, is_needed=True),
    **dict.fromkeys(("PatientID", "AccessionNumber", "StudyInstanceUid"), TextRule(may_be_number=True)),
    **dict.fromkeys(("Indication", "Comparison", "Findings", "Impression"), TextRule(MAX_REPORT_CHARS)),
}


NAMES_OF_FILES = {"study_id", "prior_study", "ImagePath", "PatientID", "AccessionNumber", "StudyInstanceUid"}


class FieldCheck:
    """Reads the fields of one record and collects what is refused; a field keeps the first problem found."""

    def __init__(self, value: dict[str, Any], faults: Iterable[Fault] = ()) -> None:
        self.value = value
        self.problems = list(faults)

    def refuse(self, name: str, code: str, sentence: str) -> None:
        if not any(problem.field == name for problem in self.problems):
            self.problems.append(Fault(name, code, sentence))

    def require(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.value:
                self.refuse(name, "schema", f"The field {name!r} is missing.")

    def read(self, name: str, reader: Callable[..., Any], *more: Any) -> Any:
        """What the reader makes of the field, None where it refuses it; ``more`` is for the reader."""
        try:
            return reader(name, self.value.get(name), *more)
        except FieldRefused as refusal:
            self.refuse(name, refusal.code, str(refusal))
            return None

    def text(self, name: str) -> str:
        return self.read(name, read_text) or ""

    def kept(self, members: dict[str, Any]) -> str:
        """JSON text of fields that are kept as they are; one nested more than MAX_DEPTH deep is refused."""
        for name, member in members.items():
            if type(member) in (list, dict) and _is_deeper(member, MAX_DEPTH):
                self.refuse(name, "too_deep", f"{name!r} is nested more than {MAX_DEPTH} deep.")
        return "" if self.problems else encode_json(members)


def _is_deeper(value: Any, depth: int) -> bool:
    """Whether lists and objects in ``value`` are nested more than ``depth`` deep; never by recursion."""
    level = [value]
    while level and depth > 0:
        depth -= 1
        parts = [part.values() if type(part) is dict else part for part in level]
        level = [member for part in parts for member in part if type(member) in (list, dict)]
    return bool(level)


def kind_of(value: object) -> str:
    """What a JSON value is, in words."""
    return _KINDS.get(type(value), "null")


def read_text(name: str, value: object) -> str:
    """A text as TEXTS allows it for this field; "" for null where it is not needed."""
    most, is_needed, may_be_number = TEXTS[name]
    if type(value) is int and may_be_number:
        value = str(value)
    if is_needed and (value is None or (isinstance(value, str) and not value.strip())):
        raise FieldRefused("completeness", f"{name!r} is empty.")
    if value is None:
        return ""
    if not isinstance(value, str):
        wanted = "text" if is_needed else "text or null"
        raise FieldRefused("data_type", f"{name!r} must be {wanted}, not {kind_of(value)}.")
    if len(value) > most:
        raise FieldRefused("too_long", f"{name!r} has {len(value):,} characters; at most {most:,} are taken.")
    return value if name in NAMES_OF_FILES else normalize("NFC", value)


def split_options(options: list[str]) -> tuple[list[str], str]:
    """Texts without letters, and the text between letter and option (". ", ") ", " - "), "" where there are none.

    All four options carry their letter in the same form, or none does; FieldRefused is raised for anything between.
    ``letter + form + text`` gives back the option.
    """
    a, b, c, d = options
    if a[:3] == "A. " and b[:3] == "B. " and c[:3] == "C. " and d[:3] == "D. ":  # as in every file seen
        return [a[3:], b[3:], c[3:], d[3:]], ". "
    matches = [_option_prefix.match(text) for text in options]
    in_place = [match for match, letter in zip(matches, LETTERS, strict=True) if match and match[1] == letter]
    if not in_place and not all(matches):
        return list(options), ""
    forms = {match[2] for match in in_place}
    if len(in_place) < len(options) or len(forms) != 1:
        wanted = "the options must start with A, B, C and D in one form, or all without a letter"
        raise FieldRefused("format", f"In 'options', {wanted}.")
    form = forms.pop()
    return [text[1 + len(form) :] for text in options], form


def join_options(texts: list[str], form: str) -> list[str]:
    """The options as they were written; the opposite of split_options."""
    return [letter + form + text for letter, text in zip(LETTERS, texts, strict=True)] if form else list(texts)


def read_options(name: str, value: object) -> tuple[list[str], str]:
    """Four texts that differ and are not empty, and the form of their letters; see split_options."""
    if not isinstance(value, list):
        code = "completeness" if value is None else "data_type"
        raise FieldRefused(code, f"{name!r} must be a list of four texts, not {kind_of(value)}.")
    if len(value) != len(LETTERS):
        raise FieldRefused("format", f"A question has four options; this one has {len(value)}.")
    for option in value:
        if not isinstance(option, str):
            raise FieldRefused("data_type", f"Every option must be text, not {kind_of(option)}.")
    texts, form = split_options([normalize("NFC", option) for option in value])
    compared = {" ".join(text.casefold().split()) for text in texts}
    if "" in compared:
        raise FieldRefused("completeness", "An option is empty.")
    if len(compared) < len(texts):
        raise FieldRefused("duplicate_options", "Two options have the same text.")
    if max(map(len, texts)) > MAX_TEXT_CHARS:
        raise FieldRefused("too_long", f"An option has more than {MAX_TEXT_CHARS:,} characters.")
    return texts, form


def read_answer(name: str, value: object) -> str:
    """The letter of the key, from a letter or from an index that starts at 0."""
    if isinstance(value, str):
        letter = value.strip().rstrip(".)").upper()
        if letter in _LETTERS:
            return letter
        if not letter:
            raise FieldRefused("completeness", f"{name!r} is empty.")
    elif type(value) is int:
        if 0 <= value < len(LETTERS):
            return LETTERS[value]
    else:
        wanted = f"{name!r} must be a letter A to D or a number 0 to 3, not {kind_of(value)}."
        raise FieldRefused("completeness" if value is None else "data_type", wanted)
    raise FieldRefused("key_outside_options", f"The key {repr(value)[:40]} names none of the options A to D.")


def read_explanation(name: str, value: object, shortest: int) -> str:
    explanation = read_text(name, value)
    n_characters = len(explanation.strip())
    if n_characters < shortest:
        sentence = f"The explanation has {n_characters} characters; at least {shortest} are asked for."
        raise FieldRefused("format", sentence)
    return explanation


def read_task_name(name: str, value: object) -> Task:
    text = read_text(name, value)
    task = read_task(text)
    if task is None:
        raise FieldRefused("unknown_task", f"The task {text[:60]!r} is not one of the five.")
    return task


@lru_cache(maxsize=1000)
def read_task(name: str) -> Task | None:
    """The task of any spelling seen, without regard to case, with "_" as space; None for a name nobody knows."""
    words = " ".join(name.replace("_", " ").casefold().split())
    return _TASKS.get(words.removesuffix(" assessment"))


def read_level(name: str, value: object) -> Difficulty:
    """The difficulty that a record gives; unknown where it gives none."""
    difficulty = read_difficulty(read_text(name, value)) if value else Difficulty.UNKNOWN
    if difficulty is None:
        raise FieldRefused("format", f"The difficulty {str(value)[:40]!r} is not easy, medium or hard.")
    return difficulty


def read_difficulty(value: str) -> Difficulty | None:
    """Easy, medium or hard in any case, unknown for an empty text, None for any other word."""
    word = value.strip().lower()
    return Difficulty(word) if word in Difficulty.values() else None


def read_view(text: object) -> ViewPosition:
    """The view position, never guessed: LATERAL has no side, DECUBITUS and ERECT name no projection."""
    return _view_of(text) if isinstance(text, str) else ViewPosition.UNKNOWN


@lru_cache(maxsize=1000)
def _view_of(text: str) -> ViewPosition:
    words = re.sub(r"[_\-/,.]+", " ", text.upper()).split()
    return _VIEWS.get(" ".join(word for word in words if word not in _BESIDE_VIEW), ViewPosition.UNKNOWN)


def read_age(value: object) -> int | None:
    """Completed years from "058Y", "011M", "002D" or a number; 90 for 90 and older; None where it says nothing."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        years = int(value) if 0 <= value < 1000 else -1
    else:
        match = _age_text.match(value) if isinstance(value, str) else None
        years = int(int(match[1]) * _years_in[match[2].upper()] + 1e-9) if match else -1
    return min(years, OLDEST_AGE) if 0 <= years <= 150 else None


def read_sex(value: object) -> Sex:
    return _SEXES.get(value.strip().upper(), Sex.UNKNOWN) if isinstance(value, str) else Sex.UNKNOWN


def read_paths(name: str, value: object, folder: str) -> list[str]:
    """The paths of a question's images, one text or a list of texts, as place_path places them."""
    paths = [value] if isinstance(value, str) else value
    if not isinstance(paths, list):
        code = "completeness" if paths is None else "data_type"
        raise FieldRefused(code, f"{name!r} must be a list of texts, not {kind_of(paths)}.")
    if not 0 < len(paths) <= MAX_IMAGES:
        code = "format" if paths else "completeness"
        raise FieldRefused(code, f"A question names 1 to {MAX_IMAGES} images; this one names {len(paths)}.")
    placed = [place_path(read_text(name, path), folder) for path in paths]
    if len(set(placed)) < len(placed):
        raise FieldRefused("format", f"{name!r} names an image twice.")
    return placed


def place_path(path: str, folder: str) -> str:
    """The path relative to the root, for a path relative to ``folder`` (itself relative to the root, "" for the root).

    Raises FieldRefused for an address, an absolute path, a drive or a path out of the root.
    """
    placed = posixpath.normpath(posixpath.join(folder, path))
    is_strange = ":" in path or "\\" in path or path[:1] in ("/", "~") or not path.isprintable()
    if is_strange or placed in (".", "..") or placed.startswith("../"):
        raise FieldRefused("path_outside_root", f"The path {path[:80]!r} leaves the folder of the images.")
    return placed


def path_from(folder: str, placed: str) -> str:
    """The path relative to ``folder``, as files of a release write it; the opposite of place_path."""
    here, there = [part for part in folder.split("/") if part], placed.split("/")
    while here and len(there) > 1 and here[0] == there[0]:
        here, there = here[1:], there[1:]
    return "/".join([".."] * len(here) + there)


def read_views(name: str, value: object) -> list[object]:
    """One spelling for each image; too few are allowed."""
    if value is not None and not isinstance(value, list | str):
        raise FieldRefused("data_type", f"{name!r} must be a list of texts or nulls.")
    return [value] if isinstance(value, str) else value or []
