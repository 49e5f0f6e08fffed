"""What several commands are given: a study by its name, a file."""

from __future__ import annotations

import json
from pathlib import Path

from django.core.management.base import CommandError

from annotation.site.slugs import the_one
from readerstudy.design.kernels.parsing import MAX_BYTES
from readerstudy.models import ReaderStudy


def find_study(wanted: str) -> ReaderStudy:
    """The study of this name or address. Raises CommandError where there is none, or two."""
    return the_one(ReaderStudy.objects.all(), wanted, "study")


def read_file(path: Path) -> bytes:
    """The content, or a little more than may be read of it. Raises CommandError."""
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}. Name a file that can be read.", returncode=2) from None


def read_json(path: Path) -> object:
    """Raises CommandError."""
    data = read_file(path)
    if len(data) > MAX_BYTES:
        raise CommandError(f"{path} is larger than 32 MB.", returncode=2)
    try:
        found: object = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise CommandError(f"{path} is not a JSON file.", returncode=2) from None
    return found
