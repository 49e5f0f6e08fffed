"""What a case shows its readers: gathered from the bank for a draft, kept from freezing on, and as a hash.

From freezing on readers get what was kept. Of the image itself only its state is asked: one that was taken out of
sight, because it may identify somebody, is not shown, and its place says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.enums import ImageState, ViewPosition
from annotation.ingest.completeness import why_unseen
from annotation.ingest.serving import SERVED, image_descriptors
from annotation.models import AnswerKey, Exam, Image, Rendition, Revision
from annotation.questionbank.priors import Patients, patients_by
from readerstudy.design.kernels.documents import earlier_shown_sha256, shown_sha256
from readerstudy.enums import Information
from readerstudy.models import ReaderStudy, ShownImage, StudyCase

_DESCRIBED = ("public_id", "view_position", "laterality", "display", "simulated", "attribution", "licence")
PRIOR = "prior"  # frozen of an image of the prior exam; the others say nothing of it
_NAMES = ("public_id", "renditions")  # by chance: no part of the hash


class Shown(Struct, frozen=True):
    """What one case shows: its images in their order, those of the prior exam last, and what the arm tells beside."""

    images: list[ShownImage]
    information: dict[str, Any] | None


class Views(Struct, frozen=True):
    """The images of a case as its page gets them: those to be seen, and a line for each that is not."""

    shown: list[dict[str, Any]]
    withheld: list[dict[str, str]]


def shown_now(study: ReaderStudy, cases: Iterable[StudyCase]) -> dict[int, Shown]:
    """Of each case by its id, as it would be frozen now. Nothing is stored."""
    cases = list(cases)
    information = information_of(study, [case.revision for case in cases])
    exams = {case.revision.question.exam_id for case in cases}
    priors = dict(Exam.objects.filter(pk__in=exams, prior__isnull=False).values_list("pk", "prior_id"))
    by_exam: dict[int, list[tuple[Image, dict[str, Any]]]] = defaultdict(list)
    for image, frozen in _images_now(exams | set(priors.values())):
        by_exam[image.exam_id].append((image, frozen))

    def images(revision: Revision) -> list[tuple[Image, dict[str, Any]]]:
        exam = revision.question.exam_id
        own = [(image, frozen) for image, frozen in by_exam[exam] if image.public_id not in revision.left_out]
        prior = priors.get(exam)
        before = by_exam[prior] if prior is not None else []
        return [*own, *((image, {**frozen, PRIOR: True}) for image, frozen in before)]

    return {
        case.pk: Shown(
            [
                ShownImage(case=case, position=position, image=image, frozen=frozen)
                for position, (image, frozen) in enumerate(images(case.revision), 1)
            ],
            information.get(case.revision_id),
        )
        for case in cases
    }


def shown_as_frozen(cases: Iterable[StudyCase]) -> dict[int, Shown]:
    """The same as it was kept; two queries at the most."""
    cases = list(cases)
    images: dict[int, list[ShownImage]] = defaultdict(list)
    for one in ShownImage.objects.filter(case__in=[case.pk for case in cases]).select_related("image"):
        images[one.case_id].append(one)
    return {case.pk: Shown(images[case.pk], case.information) for case in cases}


def priors_shown(study: ReaderStudy) -> QuerySet[ShownImage]:
    """Images of prior exams, as they were frozen with the cases of the study."""
    return ShownImage.objects.filter(case__study=study, frozen__has_key=PRIOR).order_by("pk")


def patients_shown(study: ReaderStudy) -> Patients:
    """Who is one patient, by the priors that were frozen with the study: what a bank names later changes nothing."""
    pseudonyms = ("patient_pseudonym", "pseudonym")
    exams = ("case__revision__question__exam", "image__exam")
    return patients_by(priors_shown(study).values_list(*(f"{exam}__{name}" for exam in exams for name in pseudonyms)))


def hash_of(case: StudyCase, shown: Shown) -> str:
    revision = case.revision
    images = [{name: value for name, value in one.frozen.items() if name not in _NAMES} for one in shown.images]
    return shown_sha256(revision.stem, revision.options, images, shown.information)


def is_as_hashed(case: StudyCase, shown: Shown) -> bool:
    """Whether the hash of the case is that of what was kept, by the rule of today or by the one before it."""
    revision = case.revision
    pixels = [one.frozen["pixels_sha256"] if one.frozen["renditions"] else "" for one in shown.images]
    earlier = earlier_shown_sha256(revision.stem, revision.options, pixels, shown.information)
    return case.shown_sha256 in (hash_of(case, shown), earlier)


def changed_pixels(shown: Iterable[ShownImage]) -> set[int]:
    """The cases of which an image has no longer the pixels that were frozen: it was masked or removed since."""
    shown = list(shown)
    stored: dict[int, dict[str, str]] = defaultdict(dict)
    rows = Rendition.objects.filter(image__in={one.image_id for one in shown}, kind__in=SERVED)
    for image, name, sha256 in rows.values_list("image_id", "name", "sha256"):
        stored[image][name] = sha256
    return {
        one.case_id
        for one in shown
        if any(stored[one.image_id].get(kept["name"]) != kept["sha256"] for kept in one.frozen["renditions"].values())
        or (one.frozen["renditions"] and one.image.pixels_sha256 != one.frozen["pixels_sha256"])
    }


def views_of(images: Sequence[tuple[int, str, Mapping[str, Any]]]) -> Views:
    """Of images as their id, their state now, and what was frozen of them."""
    seen = [(pk, frozen) for pk, state, frozen in images if is_seen(state, frozen)]
    names = {pk: {kind: kept["name"] for kind, kept in frozen["renditions"].items()} for pk, frozen in seen}
    as_frozen = [
        Image(pk=pk, state=ImageState.AVAILABLE, **{name: frozen[name] for name in _DESCRIBED}) for pk, frozen in seen
    ]
    withheld = [_withheld(state, frozen) for _pk, state, frozen in images if not is_seen(state, frozen)]
    priors = {pk for pk, frozen in seen if is_of_prior(frozen)}
    return Views(image_descriptors(as_frozen, names=names, priors=priors), withheld)


def is_of_prior(frozen: Mapping[str, Any]) -> bool:
    return PRIOR in frozen


def is_seen(state: str, frozen: Mapping[str, Any]) -> bool:
    return state == ImageState.AVAILABLE and bool(frozen["renditions"])


def _withheld(state: str, frozen: Mapping[str, Any]) -> dict[str, str]:
    view = next((one for one in ViewPosition if one == frozen["view_position"]), ViewPosition.UNKNOWN)
    named = _("Prior: %(view)s") % {"view": view.label} if is_of_prior(frozen) else str(view.label)
    return {"id": frozen["public_id"], "view": named, "why": why_unseen(state)}


def _images_now(exams: Iterable[int]) -> Iterator[tuple[Image, dict[str, Any]]]:
    images = Image.objects.filter(exam__in=set(exams)).prefetch_related("renditions")
    for image in images.order_by("exam", "position", "pk"):
        is_there = image.state == ImageState.AVAILABLE and image.display is not None
        renditions = {
            str(one.kind): {"name": one.name, "sha256": one.sha256}
            for one in image.renditions.all()
            if is_there and one.kind in SERVED
        }
        described = {name: getattr(image, name) for name in _DESCRIBED}
        yield image, {**described, "pixels_sha256": image.pixels_sha256, "renditions": renditions}


def information_of(study: ReaderStudy, revisions: Iterable[Revision]) -> dict[int, dict[str, Any]]:
    """Age and sex, and the indication of the report that belongs to the wording; nothing where no arm shows any."""
    shown = set(study.arms.values_list("information", flat=True)) - {Information.NONE}
    if not shown:
        return {}
    ids = [revision.pk for revision in revisions]
    exams = Revision.objects.filter(pk__in=ids).values_list("pk", "question__exam__age_years", "question__exam__sex")
    information: dict[int, dict[str, Any]] = {pk: {"age": age, "sex": sex} for pk, age, sex in exams}
    if Information.INDICATION in shown:
        keys = AnswerKey.objects.filter(pk__in=ids).values_list("pk", "report__indication")
        for pk, indication in keys:
            information[pk]["indication"] = indication or ""
    return information
