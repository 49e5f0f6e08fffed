"""What a case shows its readers, as a hash: wording, pixels, and what the arm tells beside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from annotation.enums import ImageState
from annotation.models import AnswerKey, Image, Revision
from readerstudy.design.protocol import shown_sha256
from readerstudy.enums import Information
from readerstudy.models import ReaderStudy, StudyCase


def shown_hashes(study: ReaderStudy, cases: Iterable[StudyCase]) -> dict[int, str]:
    """The hash of each case by its id, as it would be shown now."""
    cases = list(cases)
    revisions = [case.revision for case in cases]
    pixels, told = pixels_of(revisions), information_of(study, revisions)
    return {
        case.pk: shown_sha256(
            case.revision.stem, case.revision.options, pixels[case.revision_id], told.get(case.revision_id)
        )
        for case in cases
    }


def pixels_of(revisions: Iterable[Revision]) -> dict[int, list[str]]:
    """The names of the pixels that each revision shows: hashes, in the order of its images; "" where none are there."""
    exam_of = {revision.pk: revision.question.exam_id for revision in revisions}
    rows = Image.objects.filter(exam__in=set(exam_of.values())).exclude(state=ImageState.REMOVED)
    by_exam: dict[int, list[str]] = defaultdict(list)
    for exam, state, pixels in rows.order_by("exam", "position", "pk").values_list("exam_id", "state", "pixels_sha256"):
        by_exam[exam].append(pixels if state == ImageState.AVAILABLE else "")
    return {pk: by_exam[exam] for pk, exam in exam_of.items()}


def information_of(study: ReaderStudy, revisions: Iterable[Revision]) -> dict[int, dict[str, Any]]:
    """Age and sex, and the indication of the report that belongs to the wording; nothing where no arm shows any."""
    shown = set(study.arms.values_list("information", flat=True)) - {Information.NONE}
    if not shown:
        return {}
    ids = [revision.pk for revision in revisions]
    exams = Revision.objects.filter(pk__in=ids).values_list("pk", "question__exam__age_years", "question__exam__sex")
    told: dict[int, dict[str, Any]] = {pk: {"age": age, "sex": sex} for pk, age, sex in exams}
    if Information.INDICATION in shown:
        keys = AnswerKey.objects.filter(pk__in=ids).values_list("pk", "report__indication")
        for pk, indication in keys:
            told[pk]["indication"] = indication or ""
    return told
