"""How many images of a bank, or of all banks, are in which state."""

from __future__ import annotations

from django.core.cache import cache
from django.db.models import Count, Exists, Max, OuterRef, QuerySet
from msgspec import Struct
from msgspec.structs import replace

from annotation.enums import ImageState, JobState
from annotation.ingest.describing import images_of_banks
from annotation.ingest.uploading import uploads_of_images
from annotation.models import Image, Question, QuestionBank

MOST_COUNTED_ANEW = 5_000  # questions or images
KEPT_SECONDS = 300  # of many


class ImageCounts(Struct, frozen=True):
    """How many images are in which state; of removed ones nobody waits for anything."""

    n_pending: int = 0
    n_checking: int = 0
    n_quarantined: int = 0
    n_available: int = 0
    upload: str = ""  # the newest of the bank that is still being read, where images are pending

    @classmethod
    def of(cls, images: QuerySet[Image]) -> ImageCounts:
        found = dict(images.order_by().values_list("state").annotate(n=Count("pk")))
        return cls(**{f"n_{state}": n for state, n in found.items() if state != ImageState.REMOVED})

    @property
    def n_all(self) -> int:
        return self.n_pending + self.n_checking + self.n_quarantined + self.n_available


def images_of_bank(bank: QuestionBank) -> ImageCounts:
    """Of the exams that questions of the bank are on; of a large bank as of some minutes ago."""
    name = f"images:{bank.pk}"
    known: ImageCounts | None = cache.get(name)
    if known is None:
        asked = Question.objects.filter(exam=OuterRef("exam"), bank=bank)
        known = ImageCounts.of(Image.objects.filter(Exists(asked), exam__bank=bank))
        last = Question.objects.filter(bank=bank).aggregate(last=Max("number"))["last"] or 0
        cache.set(name, known, KEPT_SECONDS if last > MOST_COUNTED_ANEW else 0)
    if known.n_pending:
        reading = uploads_of_images().filter(bank=bank, job__state__in=(JobState.QUEUED, JobState.RUNNING))
        known = replace(known, upload=reading.order_by("-pk").values_list("public_id", flat=True).first() or "")
    return known


def images_of_site() -> ImageCounts:
    """Of all banks; where there are many as of some minutes ago."""
    known: ImageCounts | None = cache.get("images-of-all-banks")
    if known is None:
        known = ImageCounts.of(images_of_banks())
        cache.set("images-of-all-banks", known, KEPT_SECONDS if known.n_all > MOST_COUNTED_ANEW else 0)
    return known
