"""Images that a record names and that do not count for its question: taken out of its lists, and put back. Pure.

ImagePath and the lists beside it then hold what counts, for every program that reads the file. A field of this
program, ``images_left_out``, keeps what was taken out and where it was, so that an import reads the record as it was.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from annotation.files.kernels.strictjson import value_faults
from annotation.questionbank.kernels.fields import FieldRefused, kind_of

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
