"""Which exams wait for images, and which have lost some: a question about them is not what its author saw.

And how many images of a bank, or of all banks, are in which state.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import NamedTuple, TypeVar

from django.core.cache import cache
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct, field
from msgspec.structs import replace

from annotation.enums import ImageState, JobState, ViewPosition
from annotation.ingest.describing import images_of_banks
from annotation.ingest.uploading import uploads_of_images
from annotation.models import Exam, Image, Question, QuestionBank, Revision

LOST = (ImageState.REMOVED, ImageState.QUARANTINED)
AT_ONCE = 500  # ids in one query

Key = TypeVar("Key", bound=Hashable)


class ExamImages(Struct):
    """How many images of an exam can be seen, how many it waits for, and which were removed, in words."""

    n_seen: int = 0
    n_waiting: int = 0
    removed: list[str] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)  # in quarantine: somebody decides about them

    @property
    def lost(self) -> list[str]:
        return [*self.removed, *self.withheld]

    @property
    def is_waiting(self) -> bool:
        """Nobody could answer a question about it now as it was meant."""
        return self.n_waiting > 0 or self.n_seen == 0


def images_of_questions(asked: Iterable[tuple[Key, int, Collection[str] | None]]) -> dict[Key, ExamImages]:
    """Of each of these questions, given as any name, its exam, and the images that do not count for it.

    One query for every few hundred exams, and one more where some have a prior. Images of the prior are waited for and
    missed like the exam's own; alone they are nothing to answer a question by.
    """
    questions = list(asked)
    rows = _rows({exam for _key, exam, _left_out in questions})
    prior_of = {row.exam: row.prior for listed in rows.values() for row in listed if row.prior is not None}
    rows |= _rows(set(prior_of.values()).difference(rows))
    found: dict[Key, ExamImages] = {}
    for key, exam, left_out in questions:
        found[key] = ExamImages()
        for row in rows.get(exam, ()):
            if row.public_id not in (left_out or ()):
                _count(found[key], row)
        for row in rows.get(prior_of.get(exam, 0), ()):
            _count(found[key], row, of_prior=True)
    return found


class _ImageRow(NamedTuple):
    exam: int
    prior: int | None
    public_id: str
    state: str
    view: str
    reason: str


def _rows(exams: Collection[int]) -> dict[int, list[_ImageRow]]:
    """The images of these exams in their order, by exam."""
    found: dict[int, list[_ImageRow]] = defaultdict(list)
    ids = list(exams)
    columns = ("exam_id", "exam__prior_id", "public_id", "state", "view_position", "state_reason")
    for start in range(0, len(ids), AT_ONCE):
        rows = Image.objects.filter(exam__in=ids[start : start + AT_ONCE]).order_by("position", "pk")
        for row in rows.values_list(*columns):
            found[row[0]].append(_ImageRow(*row))
    return found


def _count(one: ExamImages, row: _ImageRow, *, of_prior: bool = False) -> None:
    if row.state == ImageState.AVAILABLE:
        one.n_seen += not of_prior
    elif row.state == ImageState.REMOVED:
        removed = _("prior, %(view)s removed") if of_prior else _("%(view)s removed")
        one.removed.append(lost_in_words(removed, row.view, row.reason))
    else:
        one.n_waiting += 1
    if row.state == ImageState.QUARANTINED:
        withheld = _("prior, %(view)s in quarantine") if of_prior else _("%(view)s in quarantine")
        one.withheld.append(lost_in_words(withheld, row.view, row.reason))


def lost_in_words(sentence: str, view: str, reason: str) -> str:
    """For coordinators: which view is gone, and why."""
    label = next((one.label for one in ViewPosition if one == view), ViewPosition.UNKNOWN.label)
    lost = sentence % {"view": label}
    return f"{lost}: {reason}" if reason else lost


def why_unseen(state: str) -> str:
    """For everybody: why an image of a case is not shown."""
    words = {
        ImageState.PENDING: _("not uploaded yet"),
        ImageState.CHECKING: _("being searched for text"),
        ImageState.QUARANTINED: _("withheld (possible patient data)"),
        ImageState.REMOVED: _("removed"),
    }
    return words.get(ImageState(state), _("not available"))


def lost_exams() -> QuerySet[Image, int]:
    """The exams of which an image was removed, or is withheld until somebody decides about it; also where it is one of
    their prior.
    """
    return _with_images(*LOST)


def waiting_exams() -> QuerySet[Image, int]:
    """The exams of which no image is here, or for which an image has not come; also where it is one of their prior."""
    is_here = Exists(Image.objects.filter(exam=OuterRef("exam"), state=ImageState.AVAILABLE))
    none_here = Image.objects.filter(~is_here, state=ImageState.REMOVED).order_by().values_list("exam", flat=True)
    return _with_images(ImageState.PENDING, ImageState.CHECKING, ImageState.QUARANTINED).union(none_here, all=True)


def _with_images(*states: ImageState) -> QuerySet[Image, int]:
    """A union, one exam perhaps twice: how many rows come of an OR of subqueries PostgreSQL does not guess."""
    images = Image.objects.filter(state__in=states).order_by().values_list("exam", flat=True)
    later = Exam.objects.filter(prior__isnull=False, prior__images__state__in=states).order_by()
    return images.union(later.values_list("pk", flat=True), all=True)


def has_lost_images(bank: QuestionBank) -> Q:
    """The revisions of a bank whose exam is one of lost_exams. What does not count for a question is not missed."""
    return _about(bank, lost_exams(), lambda images: bool(images.lost))


def waits_for_images(bank: QuestionBank) -> Q:
    """The revisions of a bank that nobody can answer yet: their exam is one of waiting_exams."""
    return _about(bank, waiting_exams(), lambda images: images.is_waiting)


def _about(bank: QuestionBank, exams: QuerySet[Image, int], is_so: Callable[[ExamImages], bool]) -> Q:
    """The revisions about these exams, but those of which it is not so once they leave images out."""
    found = Q(question__exam__in=exams)
    rows = Revision.objects.filter(bank=bank, images_left_out__isnull=False, question__exam__in=exams)
    leaving = rows.order_by().values_list("pk", "question__exam", "images_left_out")
    others = [pk for pk, images in images_of_questions(leaving).items() if not is_so(images)]
    return found & ~Q(pk__in=others) if others else found


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
