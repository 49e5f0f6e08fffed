"""One unit is stored: its images decoded and rendered into files, then their rows in one transaction, or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
from django.conf import settings
from django.db import transaction

from annotation.audit.recording import record
from annotation.enums import IdentifierKind, ImageState, RenditionKind, Sex, Turn, ViewPosition
from annotation.hashes import keyed_pseudonym
from annotation.imaging.kernels.codestreams import WARNINGS
from annotation.imaging.kernels.deidentification import VERSION, as_file, deidentified, keyed_names
from annotation.imaging.kernels.image_files import SourceImage, SourceKind
from annotation.imaging.kernels.orientation import turn_for
from annotation.imaging.kernels.rendering import as_8bit, full_depth, prepare, preview
from annotation.imaging.kernels.views import OTHER_WORDS
from annotation.ingest import storage
from annotation.ingest.matching import (
    Source,
    check_not_another,
    exam_of_study,
    has_come_in,
    identifier,
    path_identifier,
    pending_images,
    take_held,
)
from annotation.models import Exam, Image, QuestionBank, Rendition, SourceIdentifier, User
from annotation.site.sorted_tables import OneAtATime, lock

BURNED_IN = "The file says that text is burned into its pixels."


@dataclass(frozen=True)
class PreparedImage:
    """An image whose files are written and whose rows are not."""

    source: Source
    image: SourceImage  # without its pixels: an archive may hold thousands of images
    shape: tuple[int, ...]  # rows, columns
    pixels_sha256: str
    object_name: str
    display: dict[str, Any]
    renditions: tuple[Rendition, ...]  # unsaved

    @property
    def file_names(self) -> list[str]:
        return [self.object_name, *(rendition.name for rendition in self.renditions)]

    @property
    def modality(self) -> str:
        return self.image.attributes.modality if self.image.kind is SourceKind.DICOM else ""


def prepare_image(image: SourceImage, source: Source) -> PreparedImage:
    """De-identify, render and write the files. When writing fails, nothing of it stays."""
    pixels_sha256 = hash_pixels(image)
    exam = image.identifiers.study_uid or pixels_sha256
    names = keyed_names(
        settings.PSEUDONYM_KEY.encode(), image, exam=exam, image=image.identifiers.sop_uid or pixels_sha256
    )
    written: list[str] = []
    try:
        written.append(storage.store(as_file(deidentified(image, names, burned_in=image.attributes.burned_in or None))))
        display, renditions = write_renditions(image, written)
    except BaseException:
        storage.remove(written)
        raise
    without_pixels = replace(image, pixels=np.empty((0, 0), dtype=image.pixels.dtype))
    return PreparedImage(source, without_pixels, image.pixels.shape, pixels_sha256, written[0], display, renditions)


def write_renditions(
    image: SourceImage, written: list[str], turned: Turn = Turn.NONE
) -> tuple[dict[str, Any], tuple[Rendition, ...]]:
    """Write what the screen needs: how it is displayed, and unsaved rows. Names of files are added to ``written``.

    ``turned``: what was done to the pixels since they came in, which is shown beside the image.
    """
    payload, display = prepare(image)
    small, width, height = preview(as_8bit(payload, display))
    renditions = []
    for kind, data, size in (
        (RenditionKind.PREVIEW, small, (width, height, 8)),
        (RenditionKind.FULL, full_depth(payload), (display.width, display.height, display.bits)),
    ):
        renditions.append(storage.store_rendition(kind, data, *size))
        written.append(renditions[-1].name)
    return {**display.as_json(), **({"turned": str(turned)} if turned else {})}, tuple(renditions)


def hash_pixels(image: SourceImage) -> str:
    """SHA-256 over size, type, photometric interpretation and pixels: what must be equal to be the same image."""
    rows, columns = image.pixels.shape
    digest = hashlib.sha256(f"{rows} {columns} {image.pixels.dtype.str} {image.attributes.is_inverted}".encode())
    digest.update(np.ascontiguousarray(image.pixels).data)
    return digest.hexdigest()


@dataclass
class Stored:
    """What became of the images of one unit."""

    images: list[Image] = field(default_factory=list)
    unmet_ids: list[int] = field(default_factory=list)  # of those for which no question was waiting
    n_duplicates: int = 0
    n_held: int = 0  # images of the site in whose place others waited under another name
    missed_views: list[str] = field(default_factory=list)  # what files say of a view and nobody understands
    unused: list[str] = field(default_factory=list)  # files that no row names after all


@transaction.atomic
def store_rows(
    unit: Sequence[PreparedImage],
    *,
    bank: QuestionBank | None,
    roots: Sequence[str],
    actor: User | None,
    at: datetime,
    simulated: bool = False,
) -> Stored:
    """Attach each image to those that wait for it, or give it an exam. Raises ImageRefused (same_uid, same_path)."""
    lock(OneAtATime.INGEST)
    stored = Stored()
    for prepared in unit:
        waiting = pending_images(prepared.source, bank, roots)
        is_known = check_not_another(prepared.source, prepared.image.identifiers, prepared.pixels_sha256)
        held = {one.pk for one in waiting if take_held(one, prepared.source.sha256)}
        waiting = [one for one in waiting if one.pk not in held]
        stored.n_held += len(held)
        if not waiting and (held or is_known or has_come_in(prepared.source)):
            stored.n_duplicates += 1
            stored.unused += prepared.file_names
            continue
        image = waiting[0] if waiting else Image(exam=_exam_for(prepared, bank))
        stored.images.append(_fill(image, prepared, actor=actor, at=at, simulated=simulated))
        stored.unmet_ids += [] if waiting else [image.pk]
        stored.missed_views += filter(None, [prepared.image.identifiers.missed_view])
    return stored


def _exam_for(prepared: PreparedImage, bank: QuestionBank | None) -> Exam:
    """The exam of the image's DICOM study, or a new one. A picture without a study is an exam of its own."""
    identifiers, attributes = prepared.image.identifiers, prepared.image.attributes
    exam = exam_of_study(identifiers.study_uid, bank)
    if exam is None:
        key = settings.PSEUDONYM_KEY.encode()
        exam = Exam.objects.create(
            bank=bank,
            pseudonym=keyed_pseudonym(key, "exam", identifiers.study_uid or prepared.pixels_sha256),
            patient_pseudonym=keyed_pseudonym(key, "patient", identifiers.patient_id),
            age_years=attributes.age_years,
            sex=attributes.sex,
        )
        numbers = {
            IdentifierKind.STUDY_UID: identifiers.study_uid,
            IdentifierKind.PATIENT: identifiers.patient_id,
            IdentifierKind.ACCESSION: identifiers.accession_number,
        }
        SourceIdentifier.objects.bulk_create(
            identifier(kind, value, image=None, exam=exam) for kind, value in numbers.items() if value
        )
    return exam


def _fill(image: Image, prepared: PreparedImage, *, actor: User | None, at: datetime, simulated: bool) -> Image:
    """Give a new or waiting image its pixels. Nobody sees it before it was searched for text."""
    attributes, is_waiting = prepared.image.attributes, image.pk is not None
    exam = image.exam
    if not is_waiting:
        image.position = Image.objects.filter(exam=exam).count()
    image.state = ImageState.QUARANTINED if attributes.burned_in else ImageState.CHECKING
    image.state_reason = BURNED_IN if attributes.burned_in else ""
    if attributes.view_position is not ViewPosition.UNKNOWN or not image.view_position:
        image.view_position = attributes.view_position
    image.laterality = attributes.laterality
    image.modality = prepared.modality
    image.rows, image.columns = prepared.shape
    image.bits_stored = attributes.bits_stored
    image.photometric_interpretation = "MONOCHROME1" if attributes.is_inverted else "MONOCHROME2"
    image.display = prepared.display
    turn = turn_for(attributes.patient_orientation, ViewPosition(image.view_position))  # which a question may have said
    image.turn = turn or Turn.NONE
    codes = dict.fromkeys([*prepared.image.warnings, *(["orientation"] if turn is None else [])])
    image.warnings = [{"code": code, "message": WARNINGS[code]} for code in codes]
    image.source_sha256, image.pixels_sha256 = prepared.source.sha256, prepared.pixels_sha256
    image.object_name, image.deidentification = prepared.object_name, VERSION
    image.simulated, image.ingested_at = simulated, at
    image.save()
    _complete_exam(exam, prepared)
    for row in prepared.renditions:
        row.image, row.created_at = image, at
    Rendition.objects.bulk_create(prepared.renditions)
    names = [] if is_waiting else [path_identifier(prepared.source, image, exam)]
    identifiers = prepared.image.identifiers
    if identifiers.sop_uid:
        names.append(identifier(IdentifierKind.SOP_UID, identifiers.sop_uid, image=image, exam=exam))
    if identifiers.missed_view not in ("", OTHER_WORDS):
        names.append(identifier(IdentifierKind.STATED_VIEW, identifiers.missed_view, image=image, exam=exam))
    SourceIdentifier.objects.bulk_create(names)
    facts = {"source_sha256": image.source_sha256, "deidentification": VERSION, "state": str(image.state)}
    record("image.ingested", actor=actor, at=at, subject=image, facts=facts)
    return image


def _complete_exam(exam: Exam, prepared: PreparedImage) -> None:
    """What the question file did not say about a person, the image may."""
    attributes = prepared.image.attributes
    if exam.age_years is None and attributes.age_years is not None:
        Exam.objects.filter(pk=exam.pk, age_years__isnull=True).update(age_years=attributes.age_years)
    if not exam.sex and attributes.sex is not Sex.UNKNOWN:
        Exam.objects.filter(pk=exam.pk, sex="").update(sex=attributes.sex)
