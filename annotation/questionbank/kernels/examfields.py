"""The fields that every record of an exam repeats: numbers, person, report, images.

A question file says them again with each of the four or five questions of an exam; they are checked once and the
result is kept while the next record says the same.

Images that a record names and that do not count for its question: taken out of its lists, and put back. ImagePath and
the lists beside it then hold what counts, for every program that reads the file. A field of this program,
``images_left_out``, keeps what was taken out and where it was, so that an import reads the record as it was.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Collection, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from annotation.enums import Sex, ViewPosition
from annotation.files.kernels.strictjson import Fault, value_faults
from annotation.hashes import sha256_of
from annotation.questionbank.kernels import fields as reading
from annotation.questionbank.kernels.fields import FieldRefused, kind_of

NUMBER_FIELDS = ("PatientID", "AccessionNumber", "StudyInstanceUid")
REPORT_FIELDS = ("Indication", "Comparison", "Findings", "Impression")
# Columns hold what these mean, not how they are spelt: they are kept for the export of the bank.
KEPT_FIELDS = (
    *("PatientSex", "PatientAge", "StudyDate", "StudyDescription", "Manufacturer"),
    *("ImageViewPosition", "ImageModality", "ImageShape", "ImageBodyPart"),
)
PRIOR_FIELD = "prior_study"  # of this program: the files of ReXVQA do not have it
NAMING_FIELDS = ("study_id", "ImagePath", *NUMBER_FIELDS)
EXAM_FIELDS = ("study_id", "ImagePath", *NUMBER_FIELDS, *REPORT_FIELDS, *KEPT_FIELDS, PRIOR_FIELD)


class ImageReference(NamedTuple):
    """An image that a question names: its path relative to the root, and its view position."""

    path: str
    view_position: ViewPosition


class ExamRecord(NamedTuple):
    """What the records of one exam share. ``extra`` is JSON text of the fields that no column gives back."""

    key: str
    patient_number: str
    accession_number: str
    study_uid: str
    age_years: int | None
    sex: Sex
    report: tuple[str, ...]  # indication, comparison, findings, impression
    report_sha256: str
    images: tuple[ImageReference, ...]
    extra: str
    content_sha256: str
    prior: str  # key of an earlier exam, shown beside this one; "" for none
    odd: str  # members of a JSON object: fields that neither columns nor ``extra`` give back as they were written
    naming: dict[str, Any]  # what names the exam and its images, as it was written

    @property
    def named(self) -> str:
        """Members of a JSON object, for where other records name the exam otherwise."""
        return reading.encode_in_order(self.naming)[1:-1]


class ExamReader:
    """Reads the exam's part of records that come one after the other."""

    def __init__(self, folder: str) -> None:
        self._folder = folder  # of the question file, relative to the root of the images
        self._last = b""
        self._exam: ExamRecord | None = None
        self._problems: list[Fault] = []

    def read(self, value: dict[str, Any]) -> tuple[ExamRecord | None, list[Fault]]:
        """The exam of this record and no problem, or None and its problems."""
        try:  # as bytes, which are equal only for equal values of equal types: 1 is not true
            found = marshal.dumps([value.get(name, ...) for name in EXAM_FIELDS], 2)
        except ValueError:  # a refused number
            found = b""
        if found != self._last or not found:
            self._last = found
            check = reading.FieldCheck(value)
            exam = _read_exam(check, self._folder or _folder_in_release(value.get("ImagePath")))
            self._exam, self._problems = None if check.problems else exam, check.problems
        return self._exam, self._problems


def _read_exam(check: reading.FieldCheck, folder: str) -> ExamRecord:
    get = check.value.get
    patient, accession, study_uid = map(check.text, NUMBER_FIELDS)
    key = _exam_key(check, study_uid)
    prior = check.text(PRIOR_FIELD).strip()
    if prior and prior == key:
        sentence = f"{PRIOR_FIELD!r} names the exam itself. Name an earlier exam, or none."
        check.refuse(PRIOR_FIELD, "format", sentence)
    report = tuple(map(check.text, REPORT_FIELDS))
    images = _images(check, folder)
    age = get("PatientAge")
    if isinstance(age, list | dict | bool):
        sentence = f"'PatientAge' must be text, a number or null, not {reading.kind_of(age)}."
        check.refuse("PatientAge", "data_type", sentence)
    age_years = reading.read_age(age)
    kept = {name: check.value[name] for name in KEPT_FIELDS if name in check.value}
    if folder:
        kept["folder"] = folder
    if age_years == reading.OLDEST_AGE:
        kept["PatientAge"] = f"{reading.OLDEST_AGE:03}Y"  # older ages identify a person
    extra = check.kept(kept)
    content = [key, patient, accession, study_uid, *report, extra, *[path for path, _view in images]]
    if prior:
        content.append(f"{PRIOR_FIELD} {prior}")
    given_back = {"study_id": key, **dict(zip(NUMBER_FIELDS, (patient, accession, study_uid), strict=True))}
    given_back |= zip(REPORT_FIELDS, report, strict=True)
    paths = [reading.path_from(folder, path) for path, _view in images]
    return ExamRecord(
        *(key, patient, accession, study_uid, age_years, reading.read_sex(get("PatientSex")), report),
        *(sha256_of("\0".join(report)), images, extra, sha256_of("\0".join(content)), prior),
        _odd_fields(check.value, given_back, paths, extra),
        {name: check.value[name] for name in NAMING_FIELDS if name in check.value},
    )


def _odd_fields(value: dict[str, Any], given_back: dict[str, str], paths: list[str], extra: str) -> str:
    """An empty column gives back null, and a name or number the text that it is."""
    odd = [name for name, text in given_back.items() if name in value and value[name] != (text or None)]
    if value.get("ImagePath") != paths:
        odd.append("ImagePath")
    if PRIOR_FIELD in value:
        odd.append(PRIOR_FIELD)
    if "{" in extra[1:]:  # in an object the order of names is lost
        odd += [name for name in KEPT_FIELDS if isinstance(value.get(name), list | dict)]
    return reading.encode_in_order({name: value[name] for name in odd if name in value})[1:-1] if odd else ""


def _exam_key(check: reading.FieldCheck, study_uid: str) -> str:
    """The study id, which groups the questions of an exam; without it the Study Instance UID does."""
    if check.value.get("study_id") in (None, "") and study_uid:
        return study_uid
    if "study_id" not in check.value:
        sentence = "The field 'study_id' is missing, and there is no 'StudyInstanceUid'."
        check.refuse("study_id", "schema", sentence)
    return check.text("study_id")


def _images(check: reading.FieldCheck, folder: str) -> tuple[ImageReference, ...]:
    """Each image with its view position, which is unknown where the list of them is too short."""
    check.require(["ImagePath"])
    paths = check.read("ImagePath", reading.read_paths, folder) or []
    views = check.read("ImageViewPosition", reading.read_views) or []
    pairs = zip_longest(paths, views[: len(paths)])
    return tuple([ImageReference(path, reading.read_view(view)) for path, view in pairs])


def _folder_in_release(paths: object) -> str:
    """ "metadata" where the paths go up one folder, as those of the release do; "" where they do not.

    A file that lies anywhere else is read as if it lay there: "../" is the root, which no path may leave.
    """
    listed = paths if isinstance(paths, list) else [paths]
    return "metadata" if any(type(path) is str and path.startswith("../") for path in listed) else ""


# --- Images that a record names and that do not count for its question: taken out of its ----------
LEFT_OUT = "images_left_out"
PLACE = "place"  # in the lists of all images, from 1
TABLE_LISTS = ("ImagePath", "ImageViewPosition")  # what a cell of a table holds as a list
IMAGE_LISTS = (*TABLE_LISTS, "ImageModality", "ImageBodyPart", "ImageShape")
PATH_NAMES = ("ImagePath", "image_path", "image_path_list")
_NAMES = {*IMAGE_LISTS, *PATH_NAMES, "frontal_lateral"}


def take_out(record: dict[str, Any], places: Collection[int], names: Sequence[str] = IMAGE_LISTS) -> None:
    """Change the record: what is at these places, from 0, in its lists of these names goes into LEFT_OUT."""
    lists = {name: record[name] for name in names if _is_list_of_images(record.get(name))}
    record[LEFT_OUT] = [
        {PLACE: place + 1, **{name: listed[place] for name, listed in lists.items() if place < len(listed)}}
        for place in sorted(places)
    ]
    for name, listed in lists.items():
        record[name] = [member for place, member in enumerate(listed) if place not in places]


def _is_list_of_images(value: Any) -> bool:
    """Two numbers are the size of one image."""
    return isinstance(value, list) and not any(isinstance(member, int | float) for member in value)


def put_back(record: dict[str, Any]) -> tuple[int, ...]:
    """Change the record to what it was before take_out; the places, from 0, of what does not count.

    Raises FieldRefused, where the record may have been changed in part.
    """
    entries = _entries_of(record[LEFT_OUT])
    for entry in sorted(entries, key=lambda one: int(one[PLACE])):
        for name, member in entry.items():
            if name != PLACE:
                record[name] = _with_member(name, record.get(name), entry[PLACE] - 1, member)
    found: Any = next((record[name] for name in PATH_NAMES if name in record), None)
    listed = found if isinstance(found, list) else []
    if any(listed[one[PLACE] - 1 : one[PLACE]] != [_path_of(one)] for one in entries):
        raise _malformed()
    if entries and len(listed) <= len(entries):
        raise FieldRefused("format", "At least one image of a question must count.")
    return tuple(sorted(entry[PLACE] - 1 for entry in entries))


def _entries_of(value: Any) -> list[dict[str, Any]]:
    """A cell of a table holds the list as JSON text, and nothing but texts in it."""
    if value is None or value == "":
        return []
    is_text = isinstance(value, str)
    if is_text:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise _malformed() from None
    if not isinstance(value, list) or not all(_is_entry(one, is_text=is_text) for one in value):
        raise _malformed()
    if faults := value_faults(LEFT_OUT, value):
        raise FieldRefused(faults[0].code, faults[0].message)
    return value


def _is_entry(one: Any, *, is_text: bool) -> bool:
    if not isinstance(one, dict) or type(one.get(PLACE)) is not int or not one.keys() - {PLACE} <= _NAMES:
        return False
    members = [member for name, member in one.items() if name != PLACE]
    is_plain = all(member is None or isinstance(member, str) for member in members)
    return isinstance(_path_of(one), str) and (is_plain or not is_text)


def _path_of(entry: dict[str, Any]) -> Any:
    return next((entry[name] for name in PATH_NAMES if name in entry), None)


def _malformed() -> FieldRefused:
    sentence = (
        f"{LEFT_OUT!r} must be a list of objects, each with the {PLACE!r} of an image, from 1, and its ImagePath."
    )
    return FieldRefused("format", sentence)


def _with_member(name: str, listed: Any, place: int, member: Any) -> list[Any]:
    members = [] if listed is None else [listed] if isinstance(listed, str) else listed
    if not isinstance(members, list):
        raise FieldRefused("data_type", f"{name!r} must be a list of texts, not {kind_of(listed)}.")
    if not 0 <= place <= len(members):
        raise FieldRefused(
            "format", f"{LEFT_OUT!r} names place {place + 1} of {name!r}, which has {len(members)} others."
        )
    return [*members[:place], member, *members[place:]]
