"""The 24 exams of the demonstration: what each simulated chest shows, and its files, made by several processes.

Pure: a child process imports this module and no Django.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Literal, Protocol

from annotation.demonstration.kernels.phantom import Photometric, phantom_dicom
from annotation.demonstration.kernels.phantom_spec import ChestSpec, Effusion, Nodule, Pneumothorax, Projection

VIEWS: tuple[Projection, ...] = ("PA", "LL")


@dataclass(frozen=True)
class DemonstrationExam:
    """One exam: number 1 to 24, its chest, and the form of its files."""

    number: int
    spec: ChestSpec
    indication: str
    marker: Literal["R", "L"] = "R"

    @property
    def photometric(self) -> Photometric:
        """Every other exam is MONOCHROME1, where bones are stored dark."""
        return "MONOCHROME1" if self.number % 2 else "MONOCHROME2"

    @property
    def modality(self) -> Literal["CR", "DX"]:
        return "CR" if self.number % 3 == 0 else "DX"

    @property
    def patient_number(self) -> str:
        return f"SIM{self.number:05d}"

    @property
    def accession_number(self) -> str:
        return f"SIMACC{self.number:05d}"

    @property
    def study_uid(self) -> str:
        return f"1.2.826.0.1.3680043.10.1338.{self.number}"

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


def _exam(number: int, indication: str, spec: ChestSpec, marker: Literal["R", "L"] = "R") -> DemonstrationExam:
    return DemonstrationExam(number, spec, indication, marker)


EXAMS: tuple[DemonstrationExam, ...] = (
    _exam(1, "Pre-employment examination.", ChestSpec(seed=101, sex="M", age=31, cardiothoracic_ratio=0.43)),
    _exam(
        2,
        "Breathlessness on exertion, ankle swelling.",
        ChestSpec(seed=102, sex="F", age=72, cardiothoracic_ratio=0.60, effusions=(Effusion("left", 48),)),
    ),
    _exam(
        3,
        "Sudden chest pain on the right.",
        ChestSpec(seed=103, sex="M", age=24, cardiothoracic_ratio=0.41, pneumothorax=Pneumothorax("right", 34)),
    ),
    _exam(
        4,
        "Weight loss.",
        ChestSpec(seed=104, sex="F", age=63, cardiothoracic_ratio=0.44, nodules=(Nodule("left upper lobe", 13),)),
        "L",
    ),
    _exam(
        5,
        "Fever and cough for four days.",
        ChestSpec(seed=205, sex="M", age=45, cardiothoracic_ratio=0.44, consolidation="right middle lobe"),
    ),
    _exam(
        6,
        "Control after implantation of a pacemaker.",
        ChestSpec(seed=106, sex="M", age=78, cardiothoracic_ratio=0.47, pacemaker=True),
    ),
    _exam(7, "Cough. Infiltrate?", ChestSpec(seed=107, sex="F", age=38, cardiothoracic_ratio=0.42)),
    _exam(
        8,
        "Intubated, control of the tube.",
        ChestSpec(seed=108, sex="M", age=58, cardiothoracic_ratio=0.46, tube_above_carina=40, venous_catheter=True),
    ),
    _exam(
        9,
        "Known heart failure, worse for a week.",
        ChestSpec(
            seed=109,
            sex="M",
            age=69,
            cardiothoracic_ratio=0.58,
            effusions=(Effusion("right", 42), Effusion("left", 34)),
        ),
        "L",
    ),
    _exam(
        10,
        "Smoker, chronic breathlessness.",
        ChestSpec(seed=110, sex="M", age=66, cardiothoracic_ratio=0.37, hyperinflated=True),
    ),
    _exam(
        11,
        "Pain below the right ribs.",
        ChestSpec(seed=111, sex="F", age=52, cardiothoracic_ratio=0.43, raised_dome="right"),
    ),
    _exam(
        12,
        "Fever, cough, pain on the left.",
        ChestSpec(seed=112, sex="F", age=29, cardiothoracic_ratio=0.43, consolidation="left lower lobe"),
    ),
    _exam(
        13,
        "Five years after bypass surgery.",
        ChestSpec(seed=113, sex="M", age=71, cardiothoracic_ratio=0.57, sternal_wires=True),
    ),
    _exam(
        14,
        "Staging of a tumour.",
        ChestSpec(
            seed=114,
            sex="F",
            age=60,
            cardiothoracic_ratio=0.44,
            nodules=(Nodule("right upper lobe", 11), Nodule("right lower lobe", 13), Nodule("left upper lobe", 10)),
        ),
    ),
    _exam(
        15,
        "Breathless for two weeks.",
        ChestSpec(seed=115, sex="M", age=64, cardiothoracic_ratio=0.44, effusions=(Effusion("right", 84),)),
        "L",
    ),
    _exam(16, "Fitness for anaesthesia.", ChestSpec(seed=116, sex="F", age=47, cardiothoracic_ratio=0.45)),
    _exam(
        17,
        "Stabbing chest pain, tall and thin.",
        ChestSpec(seed=117, sex="M", age=19, cardiothoracic_ratio=0.39, pneumothorax=Pneumothorax("left", 26)),
    ),
    _exam(
        18,
        "Intubated in the emergency department, poor air entry on the left.",
        ChestSpec(seed=118, sex="F", age=55, cardiothoracic_ratio=0.45, tube_above_carina=8),
    ),
    _exam(
        19,
        "Pacemaker, breathless.",
        ChestSpec(
            seed=119, sex="F", age=81, cardiothoracic_ratio=0.61, pacemaker=True, effusions=(Effusion("left", 36),)
        ),
    ),
    _exam(
        20,
        "Fever and cough, chills.",
        ChestSpec(seed=120, sex="M", age=50, cardiothoracic_ratio=0.43, consolidation="right upper lobe"),
        "L",
    ),
    _exam(
        21,
        "Chance finding: heart sounds on the right.",
        ChestSpec(seed=121, sex="F", age=35, cardiothoracic_ratio=0.44, mirrored=True),
    ),
    _exam(
        22,
        "Hoarse voice, smoker.",
        ChestSpec(seed=122, sex="M", age=67, cardiothoracic_ratio=0.44, nodules=(Nodule("right lower lobe", 17),)),
    ),
    _exam(
        23,
        "After surgery in the upper abdomen on the left.",
        ChestSpec(seed=123, sex="M", age=48, cardiothoracic_ratio=0.43, raised_dome="left"),
    ),
    _exam(
        24,
        "Control of a central venous catheter.",
        ChestSpec(seed=124, sex="F", age=43, cardiothoracic_ratio=0.46, venous_catheter=True),
    ),
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
