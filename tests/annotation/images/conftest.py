"""Images with files and rows, made without a decoder's child process."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_django import Settings

from annotation.enums import AssignmentState, ImageState, RenditionKind, RoundState
from annotation.imaging.kernels.attributes import Attributes, Identifiers
from annotation.imaging.kernels.image_files import SourceImage, SourceKind
from annotation.ingest.matching import Source
from annotation.ingest.storing import prepare_image, store_rows
from annotation.models import (
    Assignment,
    BankImport,
    Exam,
    Image,
    Question,
    QuestionBank,
    Rendition,
    ReviewRound,
    Revision,
    SamplingPlan,
    User,
)

MakeImage = Callable[..., Image]
Assign = Callable[..., Assignment]


@pytest.fixture
def home(settings: Settings, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT, settings.TEMP_ROOT = tmp_path / "media", tmp_path / "tmp"
    settings.TEMP_ROOT.mkdir()
    settings.FILE_UPLOAD_TEMP_DIR = str(settings.TEMP_ROOT)
    return tmp_path


@pytest.fixture
def make_image(home: Path, noon: datetime, db: None) -> MakeImage:
    """An image of 60 x 80 pixels that came in at noon, in the state asked for."""
    made = []

    def make(state: ImageState = ImageState.AVAILABLE, **columns: Any) -> Image:
        made.append(state)
        pixels = np.random.default_rng(len(made)).integers(0, 4096, (60, 80)).astype(np.uint16)
        source = SourceImage(SourceKind.DICOM, pixels, Attributes(modality="CR", bits_stored=12), Identifiers())
        prepared = prepare_image(source, Source("a", "/somewhere", f"{len(made)}.dcm", f"{len(made):064d}"))
        image = store_rows([prepared], bank=None, roots=[], actor=None, at=noon).images[0]
        Image.objects.filter(pk=image.pk).update(state=state, **columns)
        image.refresh_from_db()
        return image

    return make


@pytest.fixture
def bank(db: None, noon: datetime) -> QuestionBank:
    return QuestionBank.objects.create(name="Bank", slug="bank", created_at=noon)


@pytest.fixture
def assign(bank: QuestionBank, noon: datetime) -> Assign:
    """A question on the exam, in a round of its own, given to a reviewer."""

    def give(
        exam: Exam, reviewer: User, *, state: str = AssignmentState.WAITING, round_state: str = RoundState.OPEN
    ) -> Assignment:
        number = Question.objects.count() + 1
        question = Question.objects.create(bank=bank, number=number, exam=exam)
        brought = BankImport.objects.create(
            bank=bank, state="published", file_name="q.json", started_at=noon, heartbeat_at=noon
        )
        revision = Revision.objects.create(
            bank=bank, question=question, number=1, bank_import=brought, content_sha256="0" * 64, options=["a"] * 4
        )
        plan = SamplingPlan.objects.create(
            name=f"P{number}", slug=f"p{number}", bank=bank, rule="r", stratify_by="none", per_thousand=1, seed=1,
            strata=[], n_frame=1, frame_sha256="0" * 64, created_at=noon,
        )  # fmt: skip
        review_round = ReviewRound.objects.create(
            name=f"R{number}", slug=f"r{number}", plan=plan, state=round_state, created_at=noon
        )
        return Assignment.objects.create(
            round=review_round, reviewer=reviewer, revision=revision, position=1, state=state
        )

    return give


def rendition_of(image: Image, kind: RenditionKind = RenditionKind.FULL) -> Rendition:
    return image.renditions.get(kind=kind)
