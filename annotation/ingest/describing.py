"""What a coordinator may say about images: how one was taken, whose they are. Each change is in the audit log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Min, OuterRef, QuerySet, Subquery
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import IdentifierKind, ViewPosition
from annotation.ingest.kernels.credits import Credit, IngestRefused
from annotation.models import Exam, Image, QuestionBank, SourceIdentifier, User


def images_of_banks() -> QuerySet[Image]:
    """All but those of a bank in the bin."""
    put_away = QuestionBank.everywhere.filter(deleted_at__isnull=False).order_by().values("pk")
    theirs = Exam.objects.filter(bank__in=put_away).order_by().values("pk")
    return Image.objects.exclude(exam__in=theirs).select_related("exam__bank")


@transaction.atomic
def correct_view(image: Image, view: ViewPosition, laterality: str, *, actor: User | None, at: datetime) -> bool:
    """Set view position and side; the audit row keeps the value before. False when nothing changes."""
    locked = Image.objects.select_for_update().get(pk=image.pk)
    before = [str(locked.view_position), locked.laterality]
    if before == [view.value, laterality]:
        return False
    locked.view_position, locked.laterality = view, laterality
    locked.save(update_fields=["view_position", "laterality"])
    facts = {"before": before, "after": [view.value, laterality]}
    record("image.view_corrected", actor=actor, at=at, subject=locked, facts=facts)
    return True


AT_ONCE = 1000


class StatedView(Struct, frozen=True):
    """What files say of a view and no program understands, and how many images with it have a view now."""

    words: str
    view: ViewPosition
    n_images: int
    example: str  # the id of one of them


def stated_views() -> list[StatedView]:
    """Of all images, most images first."""
    view = images_of_banks().filter(pk=OuterRef("image_id")).values("view_position")[:1]
    stated = SourceIdentifier.objects.filter(kind=IdentifierKind.STATED_VIEW).annotate(view=Subquery(view))
    grouped = stated.exclude(view=None).values_list("value", "view").annotate(n=Count("pk"), one=Min("image_id"))
    rows = list(grouped.order_by("-n", "value"))
    names = dict(Image.objects.filter(pk__in=[row[3] for row in rows]).values_list("pk", "public_id"))
    return [StatedView(words, ViewPosition(view), n, names[one]) for words, view, n, one in rows]


@transaction.atomic
def say_views(meanings: Sequence[tuple[StatedView, ViewPosition]], *, actor: User, at: datetime) -> int:
    """Give all images of which files say the same, and which have the same view now, another one. How many changed.

    The words stay out of the audit log: a file can hold a name in their place.
    """
    # all are found before one is changed, so that no image is changed twice
    found = [(one.view, view, ids) for one, view in meanings if view != one.view and (ids := _images_of(one))]
    for before, after, images in found:
        for start in range(0, len(images), AT_ONCE):
            Image.objects.filter(pk__in=images[start : start + AT_ONCE]).update(view_position=after)
        facts = {"before": before.value, "after": after.value, "images": len(images)}
        record("images.views_said", actor=actor, at=at, facts=facts)
    return sum(len(images) for _before, _after, images in found)


def _images_of(stated: StatedView) -> list[int]:
    named = SourceIdentifier.objects.filter(kind=IdentifierKind.STATED_VIEW, value=stated.words)
    images = images_of_banks().filter(pk__in=named.values("image_id"), view_position=stated.view)
    return list(images.values_list("pk", flat=True))


@transaction.atomic
def set_credits(image: Image, attribution: str, licence: str, *, actor: User | None, at: datetime) -> bool:
    """Set whose image this is and under which licence it is shown. False when nothing changes."""
    locked = Image.objects.select_for_update().get(pk=image.pk)
    if (locked.attribution, locked.licence) == (attribution, licence):
        return False
    locked.attribution, locked.licence = attribution, licence
    locked.save(update_fields=["attribution", "licence"])
    record("image.credited", actor=actor, at=at, subject=locked, facts={"attribution": attribution, "licence": licence})
    return True


@transaction.atomic
def credit_images(
    rows: Sequence[Credit], *, bank: QuestionBank | None, actor: User | None, at: datetime
) -> dict[str, Any]:
    """Give each named image its attribution and licence (and view position); all rows or none.

    `file` is the image's path as its question gives it, or as it was uploaded, or its end from a slash on. An image
    that several exams name by the same path is credited in all of them. Raises IngestRefused, whose ``problems`` are
    the rows (line, file, sentence) that name no image.
    """
    found = _images_by_file(rows, bank)
    problems = [(row.row, row.file, "No image of this bank is named so.") for row in rows if not found.get(row.file)]
    if problems:
        sentence = f"{len(problems)} rows of the table do not name exactly one image"
        raise IngestRefused("credits_unmatched", sentence, status=422, problems=problems)
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
