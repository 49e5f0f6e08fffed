"""Which exams wait for images, and which have lost some: a question about them is not what its author saw."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.enums import ImageState, ViewPosition
from annotation.models import Image, QuestionBank

LOST = (ImageState.REMOVED, ImageState.QUARANTINED)
AT_ONCE = 500  # ids in one query


@dataclass
class ExamImages:
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


def images_of_exams(exams: Collection[int]) -> dict[int, ExamImages]:
    """Of each of these exams; one query for every few hundred."""
    found: dict[int, ExamImages] = defaultdict(ExamImages)
    ids = list(dict.fromkeys(exams))
    for start in range(0, len(ids), AT_ONCE):
        rows = Image.objects.filter(exam__in=ids[start : start + AT_ONCE]).order_by("position", "pk")
        for exam, state, view, reason in rows.values_list("exam_id", "state", "view_position", "state_reason"):
            one = found[exam]
            if state == ImageState.AVAILABLE:
                one.n_seen += 1
            elif state == ImageState.REMOVED:
                one.removed.append(lost_in_words(_("%(view)s removed"), view, reason))
            else:
                one.n_waiting += 1
            if state == ImageState.QUARANTINED:
                one.withheld.append(lost_in_words(_("%(view)s in quarantine"), view, reason))
    return {exam: found[exam] for exam in ids}


def lost_in_words(sentence: str, view: str, reason: str) -> str:
    """For coordinators: which view is gone, and why."""
    label = next((one.label for one in ViewPosition if one == view), ViewPosition.UNKNOWN.label)
    said = sentence % {"view": label}
    return f"{said}: {reason}" if reason else said


def why_unseen(state: str) -> str:
    """For everybody: why an image of a case is not shown."""
    words = {
        ImageState.PENDING: _("not uploaded yet"),
        ImageState.CHECKING: _("being searched for text"),
        ImageState.QUARANTINED: _("withheld (possible patient data)"),
        ImageState.REMOVED: _("removed"),
    }
    return words.get(ImageState(state), _("not available"))


def lost_exams(bank: QuestionBank) -> QuerySet[Image, int]:
    """The exams of a bank of which an image was removed, or is withheld until somebody decides about it."""
    lost = Image.objects.filter(exam__bank=bank, state__in=LOST)
    return lost.order_by().values_list("exam_id", flat=True)
