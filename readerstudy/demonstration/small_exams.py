"""Banks of the demonstration whose exams are its simulated chests again, as small pictures with other questions."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Picture

from annotation.demonstration.building import fill_bank
from annotation.demonstration.kernels.phantom_spec import Projection
from annotation.demonstration.questions import DemonstrationQuestion, questions_of, records_of
from annotation.demonstration.simulated_exams import DemonstrationExam, Stage
from annotation.enums import RenditionKind
from annotation.ingest import storage
from annotation.models import QuestionBank, Rendition, User

HEIGHT = 256  # pixels; the search for text in larger ones would keep the first start waiting
VIEW: Projection = "PA"
EXPLANATION = "Simulated: the key follows from what the simulated chest was made to show."
IN_ONE_VIEW = {
    "these frontal and lateral chest radiographs": "this frontal chest radiograph",
    "these radiographs": "this radiograph",
}


@dataclass(frozen=True)
class SmallExam(DemonstrationExam):
    """An exam of one frontal view, a small picture of a chest that is in the demonstration already."""

    def path_of(self, view: Projection) -> str:
        return f"images/exam{self.number}/{view.lower()}.png"


def small_exams(exams: Sequence[DemonstrationExam], *, first: int, n: int) -> list[SmallExam]:
    """So many patients of other ages with the chests of ``exams``, in that order and then again.

    ``first``: the number of the first, and the seed of their ages.
    """
    rng = np.random.default_rng(first)
    found = []
    for place, exam in enumerate(islice(cycle(exams), n)):
        age = int(np.clip(exam.spec.age + rng.integers(-6, 7), 18, 92))
        found.append(SmallExam(first + place, replace(exam.spec, age=age), exam.indication, exam.marker))
    return found


def records_of_one_view(exams: Sequence[SmallExam]) -> dict[str, dict[str, Any]]:
    """The questions of ``exams`` in the ReXVQA form, asked about the frontal view alone."""
    questions = [_in_one_view(question) for exam in exams for question in questions_of(exam)]
    first = ("ImagePath", "ImageViewPosition", "ImageModality", "ImageBodyPart")
    return {
        key: record | {name: record[name][:1] for name in first} | {"StudyDescription": "SIMULATED CHEST 1 VIEW"}
        for key, record in records_of(questions).items()
    }


def _in_one_view(question: DemonstrationQuestion) -> DemonstrationQuestion:
    stem = question.stem
    for of_two, of_one in IN_ONE_VIEW.items():
        stem = stem.replace(of_two, of_one)
    return replace(question, stem=stem, explanation=EXPLANATION)


def small_picture(content: bytes, seed: int) -> bytes:
    """A picture as a small PNG: cut a little at its edges, brighter or darker, with noise, as ``seed`` has it."""
    rng = np.random.default_rng(seed)
    picture = Picture.open(io.BytesIO(content)).convert("L")
    cut = picture.width * float(rng.uniform(0, 0.03))
    box = (cut, cut * picture.height / picture.width, picture.width - cut, picture.height * (1 - cut / picture.width))
    size = round(HEIGHT * picture.width / picture.height), HEIGHT
    greys = np.asarray(picture.resize(size, Picture.Resampling.BILINEAR, box=box), dtype=np.float32) / 255
    greys = greys ** rng.uniform(0.85, 1.15) + rng.normal(0, 0.008, greys.shape)
    stream = io.BytesIO()
    Picture.fromarray((np.clip(greys, 0, 1) * 255).astype(np.uint8)).save(stream, "PNG", compress_level=1)
    return stream.getvalue()


def fill_small_bank(
    name: str,
    exams: Sequence[SmallExam],
    *,
    of: QuestionBank,
    folder: Path,
    coordinator: User,
    at: datetime,
    tell: Stage,
) -> QuestionBank:
    """Add what is missing of the bank of this name: its questions, and its images, which are frontal views ``of``
    another bank, in its order.

    ``folder`` holds the files for as long as this takes.
    """
    return fill_bank(
        name,
        records_of_one_view(exams),
        [exam.path_of(VIEW) for exam in exams],
        lambda: _draw_small(of, exams, folder),
        folder=folder,
        coordinator=coordinator,
        at=at,
        watch=lambda done, total: tell(f"Taking in the images of “{name}”", done, total),
    )


def _draw_small(bank: QuestionBank, exams: Sequence[SmallExam], folder: Path) -> None:
    """The files of ``exams``: the frontal views of the bank, in its order and then again."""
    frontal: dict[int, str] = {}
    shown = Rendition.objects.filter(kind=RenditionKind.PREVIEW, image__exam__bank=bank)
    for exam_id, name in shown.order_by("image__exam", "image").values_list("image__exam", "name"):
        frontal.setdefault(exam_id, name)
    for exam, name in zip(exams, cycle(frontal.values()), strict=False):
        path = folder / exam.path_of(VIEW)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(small_picture(storage.load(name), seed=exam.number))
