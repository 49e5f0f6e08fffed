"""The fields that every record of an exam repeats: numbers, person, report, images.

A question file says them again with each of the four or five questions of an exam; they are checked once and the
result is kept while the next record says the same.
"""

from __future__ import annotations

import hashlib
import marshal
from operator import itemgetter
from typing import Any

from annotation.questionbank.kernels import fields as reading
from annotation.questionbank.kernels.checking import FieldCheck
from annotation.questionbank.kernels.records import (
    MAX_IMAGES,
    MAX_PATH_CHARS,
    MAX_REPORT_CHARS,
    ExamRecord,
    ImageReference,
    kind_of,
)
from annotation.questionbank.kernels.strictjson import Fault

NUMBER_FIELDS = ("PatientID", "AccessionNumber", "StudyInstanceUid")
REPORT_FIELDS = ("Indication", "Comparison", "Findings", "Impression")
# Columns hold what these mean, not how they are spelt: they are kept for the export of the bank.
KEPT_FIELDS = (
    *("PatientSex", "PatientAge", "StudyDate", "StudyDescription", "Manufacturer"),
    *("ImageViewPosition", "ImageModality", "ImageShape", "ImageBodyPart"),
)
PRIOR_FIELD = "prior_study"  # of this program: the files of ReXVQA do not have it
_USUAL_FIELDS = ("study_id", "ImagePath", *NUMBER_FIELDS, *REPORT_FIELDS, *KEPT_FIELDS)
EXAM_FIELDS = (*_USUAL_FIELDS, PRIOR_FIELD)
_ABSENT = Ellipsis
_take_usual = itemgetter(*_USUAL_FIELDS)


class ExamReader:
    """Reads the exam's part of records that come one after the other."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._last = b""
        self._record: ExamRecord | None = None
        self._problems: list[Fault] = []

    def read(self, value: dict[str, Any]) -> tuple[ExamRecord | None, list[Fault]]:
        """The exam of this record and no problem, or None and its problems."""
        try:
            said = (*_take_usual(value), value.get(PRIOR_FIELD, _ABSENT))
        except KeyError:
            said = tuple([value.get(name, _ABSENT) for name in EXAM_FIELDS])
        told = _told(said)
        if told != self._last or not told:
            self._last = told
            given = {name: part for name, part in zip(EXAM_FIELDS, said, strict=True) if part is not _ABSENT}
            self._record, self._problems = _read_exam(given, self._folder)
        return self._record, self._problems


def _told(said: tuple[Any, ...]) -> bytes:
    """The parts as bytes that are equal only for equal values of equal types; b"" for what cannot be compared."""
    try:
        return marshal.dumps(said, 2)
    except ValueError:  # a refused number
        return b""


def _read_exam(value: dict[str, Any], folder: str) -> tuple[ExamRecord | None, list[Fault]]:
    check = FieldCheck()
    get = value.get
    folder = folder or _folder_in_release(get("ImagePath"))
    patient, accession, study_uid = (_number(check, name, get(name)) for name in NUMBER_FIELDS)
    key = _exam_key(check, value, study_uid)
    prior = _prior(check, get(PRIOR_FIELD), key)
    indication, comparison, findings, impression = (
        check.optional_text(name, get(name), MAX_REPORT_CHARS) for name in REPORT_FIELDS
    )
    report = (indication, comparison, findings, impression)
    images = _images(check, value, folder)
    age = _age(check, get("PatientAge"))
    sex = reading.read_sex(get("PatientSex"))
    kept = {name: value[name] for name in KEPT_FIELDS if name in value}
    if folder:
        kept["folder"] = folder
    if age == reading.OLDEST_AGE:
        kept["PatientAge"] = f"{reading.OLDEST_AGE:03}Y"  # older ages identify a person
    extra = check.further_fields(kept)
    if check.problems:
        return None, check.problems
    parts = (key, patient, accession, study_uid, *report, extra, *[path for path, _view in images])
    content = "\0".join((*parts, f"{PRIOR_FIELD} {prior}") if prior else parts)
    hashes = _sha256("\0".join(report)), _sha256(content)
    numbers = key, patient, accession, study_uid
    return ExamRecord(*numbers, age, sex, report, hashes[0], images, extra, hashes[1], prior), []


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _exam_key(check: FieldCheck, value: dict[str, Any], study_uid: str) -> str:
    """The study id, which groups the questions of an exam; without it the Study Instance UID does."""
    study = value.get("study_id")
    if study in (None, "") and study_uid:
        return study_uid
    if "study_id" not in value:
        check.refuse("study_id", "schema", "The field 'study_id' is missing, and there is no 'StudyInstanceUid'.")
        return ""
    return check.required_text("study_id", str(study) if type(study) is int else study, MAX_PATH_CHARS)


def _prior(check: FieldCheck, value: object, key: str) -> str:
    """The key of the exam that is shown as the prior; "" for none."""
    prior = check.optional_text(PRIOR_FIELD, str(value) if type(value) is int else value, MAX_PATH_CHARS).strip()
    if prior and prior == key:
        check.refuse(PRIOR_FIELD, "format", f"{PRIOR_FIELD!r} names the exam itself. Name an earlier exam, or none.")
    return prior


def _number(check: FieldCheck, name: str, value: object) -> str:
    """A number of the hospital: text, seldom a JSON number."""
    return check.optional_text(name, str(value) if type(value) is int else value)


def _age(check: FieldCheck, value: object) -> int | None:
    if isinstance(value, list | dict | bool):
        check.refuse("PatientAge", "data_type", f"'PatientAge' must be text, a number or null, not {kind_of(value)}.")
    return reading.read_age(value)


def _images(check: FieldCheck, value: dict[str, Any], folder: str) -> tuple[ImageReference, ...]:
    if "ImagePath" not in value:
        check.refuse("ImagePath", "schema", "The field 'ImagePath' is missing.")
        return ()
    paths = [value["ImagePath"]] if type(value["ImagePath"]) is str else value["ImagePath"]
    if type(paths) is not list:
        code = "completeness" if paths is None else "data_type"
        check.refuse("ImagePath", code, f"'ImagePath' must be a list of texts, not {kind_of(paths)}.")
        return ()
    if not 0 < len(paths) <= MAX_IMAGES:
        code = "format" if paths else "completeness"
        check.refuse("ImagePath", code, f"A question names 1 to {MAX_IMAGES} images; this one names {len(paths)}.")
        return ()
    placed = [_path(check, path, folder) for path in paths]
    if len(set(placed)) < len(placed):
        check.refuse("ImagePath", "format", "'ImagePath' names an image twice.")
    views = _views(check, value.get("ImageViewPosition"), len(placed))
    return tuple([ImageReference(path, reading.read_view(view)) for path, view in zip(placed, views, strict=True)])


def _folder_in_release(paths: object) -> str:
    """ "metadata" where the paths go up one folder, as those of the release do; "" where they do not.

    A file that lies anywhere else is read as if it lay there: "../" is the root, which no path may leave.
    """
    listed = paths if isinstance(paths, list) else [paths]
    return "metadata" if any(type(path) is str and path.startswith("../") for path in listed) else ""


def _path(check: FieldCheck, path: object, folder: str) -> str:
    text = check.required_text("ImagePath", path, MAX_PATH_CHARS)
    try:
        return reading.place_path(text, folder) if text else ""
    except reading.PathOutsideRoot:
        shown = repr(text[:80])
        check.refuse("ImagePath", "path_outside_root", f"The path {shown} leaves the folder of the images.")
        return ""


def _views(check: FieldCheck, views: object, n_images: int) -> list[object]:
    """One spelling per image; a list that is too short is filled up with unknown."""
    if type(views) is str:
        views = [views]
    if views is not None and type(views) is not list:
        check.refuse("ImageViewPosition", "data_type", "'ImageViewPosition' must be a list of texts or nulls.")
    given = views if isinstance(views, list) else []
    return (given + [None] * n_images)[:n_images]
