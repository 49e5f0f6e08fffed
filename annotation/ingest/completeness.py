"""Which exams wait for images, and which have lost some: a question about them is not what its author saw."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotation.enums import ImageState, ViewPosition
from annotation.models import Exam, Image, QuestionBank

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
    """Of each of these exams; one query for every few hundred, and one more where some have a prior.

    Images of the prior are waited for and missed like the exam's own; alone they are nothing to answer a question by.
    """
    found: dict[int, ExamImages] = defaultdict(ExamImages)
    priors: dict[int, int] = {}
    ids = list(dict.fromkeys(exams))
    for start in range(0, len(ids), AT_ONCE):
        for exam, prior, state, view, reason in _rows(ids[start : start + AT_ONCE]):
            _count(found[exam], state, view, reason)
            if prior is not None:
                priors[exam] = prior
    if priors:
        _count_priors(found, priors)
    return {exam: found[exam] for exam in ids}


def _rows(exams: Collection[int]) -> QuerySet[Image, tuple[int, int | None, str, str, str]]:
    rows = Image.objects.filter(exam__in=exams).order_by("position", "pk")
    return rows.values_list("exam_id", "exam__prior_id", "state", "view_position", "state_reason")


def _count(one: ExamImages, state: str, view: str, reason: str, *, of_prior: bool = False) -> None:
    if state == ImageState.AVAILABLE:
        one.n_seen += not of_prior
    elif state == ImageState.REMOVED:
        removed = _("prior, %(view)s removed") if of_prior else _("%(view)s removed")
        one.removed.append(lost_in_words(removed, view, reason))
    else:
        one.n_waiting += 1
    if state == ImageState.QUARANTINED:
        withheld = _("prior, %(view)s in quarantine") if of_prior else _("%(view)s in quarantine")
        one.withheld.append(lost_in_words(withheld, view, reason))


def _count_priors(found: dict[int, ExamImages], priors: dict[int, int]) -> None:
    of_exam: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    ids = list(dict.fromkeys(priors.values()))
    for start in range(0, len(ids), AT_ONCE):
        for exam, _prior, state, view, reason in _rows(ids[start : start + AT_ONCE]):
            of_exam[exam].append((state, view, reason))
    for exam, prior in priors.items():
        for state, view, reason in of_exam[prior]:
            _count(found[exam], state, view, reason, of_prior=True)


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


def lost_exams(bank: QuestionBank) -> QuerySet[Exam, int]:
    """The exams of a bank of which an image was removed, or is withheld until somebody decides about it; also where it
    is one of their prior.
    """
    lost = Image.objects.filter(exam__bank=bank, state__in=LOST).order_by().values("exam_id")
    exams = Exam.objects.filter(Q(pk__in=lost) | Q(prior__in=lost), bank=bank)
    return exams.order_by().values_list("pk", flat=True)
