"""The exams of the demonstration: 24 simulated chests, described in ``exams.json``, and their files, made by several
processes.

Pure: a child process imports this module and no Django.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, Protocol

from annotation.demonstration.kernels.phantom import Photometric, phantom_dicom
from annotation.demonstration.kernels.phantom_thorax import ChestSpec, Effusion, Nodule, Pneumothorax, Projection

VIEWS: tuple[Projection, ...] = ("PA", "LL")


@dataclass(frozen=True)
class DemonstrationExam:
    """One exam: number 1 to 24, its chest, the form of its files, and the number of the patient's exam before."""

    number: int
    spec: ChestSpec
    indication: str
    marker: Literal["R", "L"] = "R"
    prior: int | None = None

    @property
    def photometric(self) -> Photometric:
        """Every other exam is MONOCHROME1, where bones are stored dark."""
        return "MONOCHROME1" if self.number % 2 else "MONOCHROME2"

    @property
    def modality(self) -> Literal["CR", "DX"]:
        return "CR" if self.number % 3 == 0 else "DX"

    @property
    def patient_number(self) -> str:
        return f"SIM{self.prior or self.number:05d}"

    @property
    def accession_number(self) -> str:
        return f"SIMACC{self.number:05d}"

    @property
    def study_uid(self) -> str:
        return f"1.2.826.0.1.3680043.10.1338.{self.number}"

    @property
    def study_id(self) -> str:
        return f"p{self.patient_number}_a{self.accession_number}_s{self.study_uid}"

    def path_of(self, view: Projection) -> str:
        """Where the file is, relative to the question file."""
        return f"images/exam{self.number:02d}/{view.lower()}.dcm"

    def dicom_of(self, view: Projection) -> bytes:
        return phantom_dicom(
            self.spec,
            view,
            photometric=self.photometric,
            modality=self.modality,
            marker=self.marker if view == "PA" else "L",
            study_uid=self.study_uid,
            patient_number=self.patient_number,
        )


def _exam(
    number: int, indication: str, chest: dict[str, Any], marker: Literal["R", "L"] = "R", prior: int | None = None
) -> DemonstrationExam:
    parts: dict[str, type[Any]] = {"effusions": Effusion, "nodules": Nodule}
    chest |= {name: tuple(made(*one) for one in chest.get(name, ())) for name, made in parts.items()}
    air = chest.pop("pneumothorax", None)
    return DemonstrationExam(
        number, ChestSpec(**chest, pneumothorax=Pneumothorax(*air) if air else None), indication, marker, prior
    )


EXAMS = tuple(
    _exam(number, **one)
    for number, one in enumerate(json.loads(Path(__file__).with_name("exams.json").read_text("utf-8")), 1)
)


class Stage(Protocol):
    """Called with what is being done, how much of it is done and how much there is."""

    def __call__(self, words: str, done: int, total: int, /) -> None: ...


def expose_all(exams: Sequence[DemonstrationExam], folder: Path, *, tell: Stage, processes: int) -> None:
    """Write the files of all exams under ``folder``, several exams at a time; with one process without any child."""
    words = "Making the radiographs"
    tell(words, 0, len(exams))
    if processes == 1:
        for done, exam in enumerate(exams, 1):
            expose_exam(exam, folder)
            tell(words, done, len(exams))
        return
    with ProcessPoolExecutor(min(processes, os.cpu_count() or 1), mp_context=get_context("spawn")) as pool:
        for done, _ in enumerate(pool.map(expose_exam, exams, [folder] * len(exams)), 1):
            tell(words, done, len(exams))


def expose_exam(exam: DemonstrationExam, folder: Path) -> None:
    """Write both views of one exam."""
    for view in VIEWS:
        path = folder / exam.path_of(view)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(exam.dicom_of(view))
