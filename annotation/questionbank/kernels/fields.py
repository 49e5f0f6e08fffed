"""Single fields of a ReXVQA record: spellings in, one word of the glossary out. What is not known stays unknown."""

from __future__ import annotations

import posixpath
import re

from annotation.enums import Difficulty, Sex, Task, ViewPosition

LETTERS = "ABCD"
OLDEST_AGE = 90  # 90 means 90 or older

_winding = re.compile(r"//|/\.|/\Z|\A/").search  # a path that may be written shorter
_option_prefix = re.compile(r"([A-Da-d])([.):]\s?|\s?[-–—]\s|\s[:]\s?)")
_age_text = re.compile(r"\s*(\d{1,4})\s*([YMWDymwd]?)[A-Za-z]*\s*\Z")
_years_in = {"Y": 1.0, "": 1.0, "M": 1 / 12, "W": 7 / 365.25, "D": 1 / 365.25}

_TASKS = {
    "presence": Task.PRESENCE,
    "negation": Task.NEGATION,
    "differential diagnosis": Task.DIFFERENTIAL,
    "differential": Task.DIFFERENTIAL,
    "location and distribution": Task.LOCATION,
    "location & distribution": Task.LOCATION,
    "location": Task.LOCATION,
    "geometric information": Task.GEOMETRIC,
    "geometric": Task.GEOMETRIC,
}

_VIEWS = {
    "PA": ViewPosition.PA,
    "POSTERO ANTERIOR": ViewPosition.PA,
    "POSTEROANTERIOR": ViewPosition.PA,
    "AP": ViewPosition.AP,
    "ANTERO POSTERIOR": ViewPosition.AP,
    "ANTEROPOSTERIOR": ViewPosition.AP,
    "LL": ViewPosition.LL,
    "LEFT LATERAL": ViewPosition.LL,
    "RL": ViewPosition.RL,
    "RIGHT LATERAL": ViewPosition.RL,
    "LATERAL": ViewPosition.LATERAL,
    "LAT": ViewPosition.LATERAL,
    "LAO": ViewPosition.OBLIQUE,
    "RAO": ViewPosition.OBLIQUE,
    "LPO": ViewPosition.OBLIQUE,
    "RPO": ViewPosition.OBLIQUE,
    "OBLIQUE": ViewPosition.OBLIQUE,
}
# Words that say how the patient or the tube stood, not which way the beam went.
_BESIDE_VIEW = {
    "PORTABLE",
    "SUPINE",
    "ERECT",
    "UPRIGHT",
    "SITTING",
    "SEMI",
    "SEMIERECT",
    "AXIAL",
    "MOBILE",
    "VIEW",
    "CHEST",
}

_SEXES = {"F": Sex.FEMALE, "FEMALE": Sex.FEMALE, "M": Sex.MALE, "MALE": Sex.MALE, "O": Sex.OTHER, "OTHER": Sex.OTHER}

_task_cache: dict[str, Task | None] = {}
_view_cache: dict[str, ViewPosition] = {}


class OptionsUnclear(ValueError):
    """Some options start with their letter and others do not, or the letters are not A to D in order."""


class PathOutsideRoot(ValueError):
    """The path is absolute, is an address, or leaves the folder that no image path may leave."""


def split_options(options: list[str]) -> tuple[list[str], str]:
    """Texts without letters, and the text between letter and option (". ", ") ", " - "), "" where there are none.

    All four options carry their letter in the same form, or none does; anything between raises OptionsUnclear.
    ``letter + form + text`` gives back the option.
    """
    a, b, c, d = options
    if a[:3] == "A. " and b[:3] == "B. " and c[:3] == "C. " and d[:3] == "D. ":  # as in every file seen
        return [a[3:], b[3:], c[3:], d[3:]], ". "
    matches = [_option_prefix.match(text) for text in options]
    found = [match for match in matches if match]
    in_place = [match for match, letter in zip(matches, LETTERS, strict=True) if match and match[1] == letter]
    if not in_place and len(found) < len(options):
        return list(options), ""
    forms = {match[2] for match in in_place}
    if len(in_place) < len(options) or len(forms) != 1:
        raise OptionsUnclear("the options must start with A, B, C and D in one form, or all without a letter")
    form = forms.pop()
    return [text[1 + len(form) :] for text in options], form


def join_options(texts: list[str], form: str) -> list[str]:
    """The options as they were written; the opposite of split_options."""
    return [letter + form + text for letter, text in zip(LETTERS, texts, strict=True)] if form else list(texts)


def read_task(name: str) -> Task | None:
    """The task of any spelling seen, without regard to case, with "_" as space; None for a name nobody knows."""
    try:
        return _task_cache[name]
    except KeyError:
        words = " ".join(name.replace("_", " ").casefold().split())
        task = _TASKS.get(words.removesuffix(" assessment"))
        if len(_task_cache) < 1000:
            _task_cache[name] = task
        return task


def read_view(text: object) -> ViewPosition:
    """The view position, never guessed: LATERAL has no side, DECUBITUS and ERECT name no projection."""
    if not isinstance(text, str):
        return ViewPosition.UNKNOWN
    try:
        return _view_cache[text]
    except KeyError:
        words = re.sub(r"[_\-/,.]+", " ", text.upper()).split()
        named = " ".join(word for word in words if word not in _BESIDE_VIEW)
        view = _VIEWS.get(named, ViewPosition.UNKNOWN)
        if len(_view_cache) < 1000:
            _view_cache[text] = view
        return view


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


def read_difficulty(value: str) -> Difficulty | None:
    """Easy, medium or hard in any case, unknown for an empty text, None for any other word."""
    word = value.strip().lower()
    return Difficulty(word) if word in Difficulty.values() else None


def place_path(path: str, folder: str) -> str:
    """The path relative to the root, for a path relative to ``folder`` (itself relative to the root, "" for the root).

    Raises PathOutsideRoot for an address, an absolute path, a drive or a way out of the root.
    """
    if ":" in path or "\\" in path or path[:1] in ("/", "~") or not path.isprintable():
        raise PathOutsideRoot(path)
    below = path[3:]
    if path[:3] == "../" and folder == "metadata" and below[:1] not in ("", ".") and not _winding(below):
        return below  # as in the release
    placed = posixpath.normpath(posixpath.join(folder, path))
    if placed in (".", "..") or placed.startswith("../"):
        raise PathOutsideRoot(path)
    return placed
