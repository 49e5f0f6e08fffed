"""The exams of the finished study: the simulated chests again as small pictures, with other questions. Pure."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any

import numpy as np
from PIL import Image

from annotation.demonstration.kernels.phantom_spec import Projection
from annotation.demonstration.question_file import records_of
from annotation.demonstration.questions import DemonstrationQuestion, questions_of
from annotation.demonstration.simulated_exams import DemonstrationExam

SHARE = 1.75  # exams for each chest of the demonstration: 42 for its 24, and 210 questions
FIRST = 101  # number of the first of them
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


def small_exams(exams: Sequence[DemonstrationExam]) -> list[SmallExam]:
    """Patients of other ages with the chests of ``exams``, in that order and then again."""
    rng = np.random.default_rng(FIRST)
    found = []
    for place, exam in enumerate(islice(cycle(exams), round(SHARE * len(exams)))):
        age = int(np.clip(exam.spec.age + rng.integers(-6, 7), 18, 92))
        found.append(SmallExam(FIRST + place, replace(exam.spec, age=age), exam.indication, exam.marker))
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
    picture = Image.open(io.BytesIO(content)).convert("L")
    cut = picture.width * float(rng.uniform(0, 0.03))
    box = (cut, cut * picture.height / picture.width, picture.width - cut, picture.height * (1 - cut / picture.width))
    size = round(HEIGHT * picture.width / picture.height), HEIGHT
    greys = np.asarray(picture.resize(size, Image.Resampling.BILINEAR, box=box), dtype=np.float32) / 255
    greys = greys ** rng.uniform(0.85, 1.15) + rng.normal(0, 0.008, greys.shape)
    stream = io.BytesIO()
    Image.fromarray((np.clip(greys, 0, 1) * 255).astype(np.uint8)).save(stream, "PNG", compress_level=1)
    return stream.getvalue()
