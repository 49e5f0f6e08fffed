"""A table of attributions meets the images that it names. Reads source identifiers, as matching does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from annotation.audit.recording import record
from annotation.enums import IdentifierKind, ViewPosition
from annotation.ingest.kernels.credits import Credit
from annotation.models import Image, QuestionBank, SourceIdentifier, User


class CreditsUnmatched(Exception):
    """Rows that name no image, or several: nothing is stored. ``problems`` lists (line, file, sentence)."""

    def __init__(self, problems: list[tuple[int, str, str]]) -> None:
        super().__init__(f"{len(problems)} rows of the table do not name exactly one image")
        self.problems = problems


@transaction.atomic
def credit_images(
    rows: Sequence[Credit], *, bank: QuestionBank | None, actor: User | None, at: datetime
) -> dict[str, Any]:
    """Give each named image its attribution and licence (and view position); all rows or none.

    `file` is the image's path as its question gives it, or as it was uploaded, or its end from a slash on. An image
    that several exams name by the same path is credited in all of them. Raises CreditsUnmatched.
    """
    found = _images_by_file(rows, bank)
    problems = [(row.line, row.file, "No image of this bank is named so.") for row in rows if not found.get(row.file)]
    if problems:
        raise CreditsUnmatched(problems)
    n_changed = sum(_credit(found[row.file], row) for row in rows)
    facts = {"rows": len(rows), "changed": n_changed, "bank": bank.slug if bank else ""}
    record("images.credited", actor=actor, at=at, subject=bank, facts=facts)
    return {"rows": len(rows), "changed": n_changed}


def _credit(ids: list[int], row: Credit) -> int:
    changes: dict[str, Any] = {"attribution": row.attribution, "licence": row.licence}
    if row.view is not None:
        changes["view_position"] = ViewPosition(row.view)
    return Image.objects.filter(pk__in=ids).exclude(**changes).update(**changes)


def _images_by_file(rows: Sequence[Credit], bank: QuestionBank | None) -> dict[str, list[int]]:
    """Image ids by the file of a row: those with exactly this path, else those whose path ends so."""
    wanted = {row.file for row in rows}
    last_parts = {file.rsplit("/", 1)[-1] for file in wanted}
    paths: dict[str, list[int]] = defaultdict(list)
    ends: dict[str, list[int]] = defaultdict(list)
    named = SourceIdentifier.objects.filter(kind=IdentifierKind.IMAGE_PATH, image_id__isnull=False)
    named = named.filter(bank=bank) if bank else named
    for value, image_id in named.values_list("value", "image_id").iterator():
        parts = value.split("/")
        if parts[-1] not in last_parts or image_id is None:
            continue
        for start in range(len(parts)):
            end = "/".join(parts[start:])
            if end in wanted:
                (ends if start else paths)[end].append(image_id)
    return {file: paths.get(file) or ends.get(file, []) for file in wanted}
