"""What can be reported of a simulated chest: findings and their signs, the diagnosis, the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from annotation.demonstration.kernels.phantom_spec import ChestSpec, Side

LARGE_HEART = 0.52
"""Between 0.48 and this no chest of the demonstration is: the answer must be plain."""


@dataclass(frozen=True)
class ChestFinding:
    """One thing that a chest shows or does not.

    ``sign`` says where and by what it is seen; ``diagnosis`` is what it means, empty for a device; ``rivals`` are the
    names of findings that must not be offered with it as wrong options, because they are disputable there.
    """

    name: str
    shows: Callable[[ChestSpec], bool]
    sign: str
    category: str
    diagnosis: str = ""
    group: tuple[str, str] = ("", "")
    rivals: tuple[str, ...] = ()


def has_effusion(side: Side) -> Callable[[ChestSpec], bool]:
    return lambda spec: any(effusion.side == side for effusion in spec.effusions)


def has_air(side: Side) -> Callable[[ChestSpec], bool]:
    return lambda spec: spec.pneumothorax is not None and spec.pneumothorax.side == side


def has_raised_dome(side: Side) -> Callable[[ChestSpec], bool]:
    return lambda spec: spec.raised_dome == side


def _effusion(side: Side) -> ChestFinding:
    return ChestFinding(
        name=f"{side.capitalize()} pleural effusion",
        shows=has_effusion(side),
        sign=f"The {side} costophrenic angle is filled by a white area with a curved upper border",
        category="Pleural Effusion",
        diagnosis=f"{side.capitalize()}-sided pleural effusion",
        group=("Other Pulmonary Diagnosis", "Miscellaneous Pulmonary Disease"),
        rivals=(f"Raised {side} hemidiaphragm", "Consolidation"),
    )


def _pneumothorax(side: Side) -> ChestFinding:
    return ChestFinding(
        name=f"{side.capitalize()} pneumothorax",
        shows=has_air(side),
        sign=f"A thin white pleural line is seen on the {side}, and no lung markings lie outside it",
        category="Lung and Pleural Lucency",
        diagnosis=f"{side.capitalize()}-sided pneumothorax",
        group=("Other Pulmonary Diagnosis", "Miscellaneous Pulmonary Disease"),
        rivals=("Hyperinflated lungs",),
    )


def _raised(side: Side) -> ChestFinding:
    return ChestFinding(
        name=f"Raised {side} hemidiaphragm",
        shows=has_raised_dome(side),
        sign=f"The dome of the {side} hemidiaphragm stands several centimetres above the other, with a clear outline",
        category="Diaphragm",
        diagnosis=f"Elevation of the {side} hemidiaphragm",
        group=("Miscellaneous Diagnosis", "Miscellaneous Disease"),
        rivals=(f"{side.capitalize()} pleural effusion",),
    )


HEART = ChestFinding(
    name="Enlarged heart",
    shows=lambda spec: spec.cardiothoracic_ratio > LARGE_HEART,
    sign="The heart is wider than half of the inner thorax on the frontal view",
    category="Heart",
    diagnosis="Cardiomegaly",
    group=("Cardiac Disease", "Other Cardiac Disease"),
)
CONSOLIDATION = ChestFinding(
    name="Consolidation",
    shows=lambda spec: spec.consolidation is not None,
    sign="A dense area hides the vessels in one lobe and ends at a fissure",
    category="Lung and Pleural Opacity",
    diagnosis="Lobar pneumonia",
    group=("Infectious Disease", "Pneumonia"),
    rivals=("Pulmonary nodule",),
)
NODULE = ChestFinding(
    name="Pulmonary nodule",
    shows=lambda spec: bool(spec.nodules),
    sign="A round, well-defined opacity lies in the lung",
    category="Lung and Pleural Opacity",
    diagnosis="Solitary pulmonary nodule, a tumour until proven otherwise",
    group=("Pulmonary Neoplasm", "Primary Lung Cancer"),
    rivals=("Consolidation",),
)
HYPERINFLATION = ChestFinding(
    name="Hyperinflated lungs",
    shows=lambda spec: spec.hyperinflated,
    sign="Both domes of the diaphragm are low and flat, and the retrosternal space is wide on the lateral view",
    category="Lung Volume",
    diagnosis="Chronic obstructive pulmonary disease",
    group=("Other Pulmonary Diagnosis", "COPD"),
)
MIRRORED = ChestFinding(
    name="Heart apex on the right",
    shows=lambda spec: spec.mirrored,
    sign="By the side marker the heart apex, the aortic knob and the gastric bubble all lie on the patient's right",
    category="Heart",
    diagnosis="Situs inversus",
    group=("Congenital Disease", "Congenital Heart Disease"),
    rivals=("Raised right hemidiaphragm", "Raised left hemidiaphragm"),
)
TUBE = ChestFinding(
    name="Endotracheal tube",
    shows=lambda spec: spec.tube_above_carina is not None,
    sign="A tube with a dense stripe runs down in the air column of the trachea",
    category="Tubes and Lines",
)
CATHETER = ChestFinding(
    name="Central venous catheter",
    shows=lambda spec: spec.venous_catheter,
    sign="A thin line runs from the right side of the neck along the right border of the upper mediastinum",
    category="Tubes and Lines",
)
PACEMAKER = ChestFinding(
    name="Cardiac pacemaker",
    shows=lambda spec: spec.pacemaker,
    sign="A metal generator lies over the left upper chest, and two leads run from it to the heart",
    category="Implanted Devices",
)
WIRES = ChestFinding(
    name="Sternal wires",
    shows=lambda spec: spec.sternal_wires,
    sign="Five metal loops stand in the midline on the frontal view and along the sternum on the lateral view",
    category="Implanted Devices",
)

FINDINGS: tuple[ChestFinding, ...] = (
    _pneumothorax("right"),
    _pneumothorax("left"),
    _effusion("right"),
    _effusion("left"),
    CONSOLIDATION,
    NODULE,
    MIRRORED,
    HYPERINFLATION,
    _raised("right"),
    _raised("left"),
    PACEMAKER,
    TUBE,
    CATHETER,
    WIRES,
    HEART,
)
"""In the order in which a report would name them first."""

STRUCTURES: tuple[tuple[str, str], ...] = (
    ("An air bubble in the stomach", "Abdomen"),
    ("The aortic knob", "Aorta"),
    ("Both clavicles", "Clavicle"),
    ("The air column of the trachea", "Airway"),
    ("End plates of the thoracic vertebrae", "Spine"),
)
"""Seen on every chest of the demonstration."""


def present(spec: ChestSpec) -> list[ChestFinding]:
    return [finding for finding in FINDINGS if finding.shows(spec)]


def absent_beside(spec: ChestSpec) -> list[ChestFinding]:
    """Findings that this chest plainly does not show."""
    shown = present(spec)
    disputed = {name for finding in shown for name in finding.rivals}
    return [finding for finding in FINDINGS if finding not in shown and finding.name not in disputed]


def leading(spec: ChestSpec) -> ChestFinding | None:
    """The finding that a report would begin with; None for a normal chest."""
    return next(iter(present(spec)), None)


def diagnosis(spec: ChestSpec) -> tuple[str, tuple[str, str], str]:
    """What explains the picture best, its category and subcategory, and the sign that says so."""
    shown = present(spec)
    if HEART in shown and spec.effusions:
        sign = "The heart is wider than half of the thorax and fluid fills a costophrenic angle: both fit heart failure"
        return "Congestive heart failure", ("Cardiac Disease", "Congestive Heart Failure"), sign
    if len(spec.nodules) > 1:
        sign = "Several round opacities of different size lie in both lungs, which is the picture of metastases"
        return "Pulmonary metastases", ("Pulmonary Neoplasm", "Pulmonary Metastases"), sign
    for finding in shown:
        if finding.diagnosis:
            return finding.diagnosis, finding.group, finding.sign
    sign = "Lungs, heart, pleura and mediastinum are normal on both views; a device alone is no disease"
    return "No acute cardiopulmonary disease", ("Negation", "Absence of Disease"), sign


RIVAL_DIAGNOSES: tuple[str, ...] = (
    "Congestive heart failure",
    "Lobar pneumonia",
    "Right-sided pneumothorax",
    "Left-sided pneumothorax",
    "Pulmonary metastases",
    "Situs inversus",
    "No acute cardiopulmonary disease",
)


def report(spec: ChestSpec) -> tuple[str, str]:
    """Findings and impression, as a short report would give them."""
    shown = present(spec)
    lines = [f"{finding.sign}." for finding in shown]
    if spec.consolidation:
        lines.append(f"The consolidation lies in the {spec.consolidation}.")
    lines += [f"Nodule of about {round(nodule.radius * 2)} mm in the {nodule.lobe}." for nodule in spec.nodules]
    if spec.tube_above_carina is not None:
        lines.append(f"The tip of the tube is about {spec.tube_above_carina / 10:.0f} cm above the carina.")
    lines.append(f"Cardiothoracic ratio {spec.cardiothoracic_ratio:.2f}.")
    if not spec.effusions:
        lines.append("No pleural effusion.")
    if spec.pneumothorax is None:
        lines.append("No pneumothorax.")
    return " ".join(lines), f"{diagnosis(spec)[0]}."
