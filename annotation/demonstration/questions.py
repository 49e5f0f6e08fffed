"""Five questions for each exam of the demonstration, with keys that follow from what the chest shows. All are sound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annotation.demonstration.findings import (
    HEART,
    LARGE_HEART,
    RIVAL_DIAGNOSES,
    STRUCTURES,
    ChestFinding,
    absent_beside,
    diagnosis,
    leading,
    present,
)
from annotation.demonstration.kernels.phantom_spec import ChestSpec, side_of
from annotation.demonstration.simulated_exams import DemonstrationExam
from annotation.enums import Flag

SEED = 20261121


@dataclass(frozen=True)
class DemonstrationQuestion:
    """One question; ``options`` in their order, ``answer`` the index of the key.

    ``fault`` is what is wrong with it on purpose, and ``also_valid`` the options that are right beside the key.
    """

    exam: DemonstrationExam
    number: int
    task: str
    category: str
    subcategory: str
    stem: str
    options: tuple[str, ...]
    answer: int
    explanation: str
    difficulty: str
    fault: Flag | None = None
    also_valid: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        return f"p{self.exam.patient_number}_a{self.exam.accession_number}_s{self.exam.study_uid}_{self.number}"


def questions_of(exam: DemonstrationExam) -> list[DemonstrationQuestion]:
    """Presence, absence, diagnosis, a second look, and a place or a measure."""
    rng = np.random.default_rng((SEED, exam.number))
    makers = [_presence, _negation, _differential, _heart_size if exam.number % 2 else _second_negation]
    makers.append(_location if _has_place(exam.spec) else _geometry)
    return [maker(exam, number, rng) for number, maker in enumerate(makers, 1)]


def _ask(
    exam: DemonstrationExam,
    number: int,
    rng: np.random.Generator,
    *,
    task: str,
    category: tuple[str, str],
    stem: str,
    key: str,
    wrong: Sequence[str],
    explanation: str,
    difficulty: str,
) -> DemonstrationQuestion:
    """Options in an order by chance, so that no letter is favoured."""
    options = [key, *wrong[:3]]
    order = [int(place) for place in rng.permutation(4)]
    return DemonstrationQuestion(
        exam=exam,
        number=number,
        task=task,
        category=category[0],
        subcategory=category[1],
        stem=stem,
        options=tuple(options[place] for place in order),
        answer=order.index(0),
        explanation=explanation,
        difficulty=difficulty,
    )


def _some(rng: np.random.Generator, names: Sequence[str], n: int) -> list[str]:
    return [names[int(place)] for place in rng.choice(len(names), n, replace=False)]


def _presence(exam: DemonstrationExam, number: int, rng: np.random.Generator) -> DemonstrationQuestion:
    finding = leading(exam.spec)
    away = [other.name for other in absent_beside(exam.spec)]
    if finding is None:
        structure, category = STRUCTURES[int(rng.integers(len(STRUCTURES)))]
        return _ask(
            exam,
            number,
            rng,
            task="Presence Assessment",
            category=(category, "Normal Anatomy"),
            stem="Which of the following is seen on these frontal and lateral chest radiographs?",
            key=structure,
            wrong=_some(rng, away, 3),
            explanation=f"{structure} can be followed on these views; lungs, pleura and heart show no abnormality and "
            "no device is present, so the other three options fail.",
            difficulty="easy",
        )
    return _ask(
        exam,
        number,
        rng,
        task="Presence Assessment",
        category=(finding.category, finding.group[1] or "Support Devices"),
        stem="Which of the following is seen on these frontal and lateral chest radiographs?",
        key=finding.name,
        wrong=_some(rng, away, 3),
        explanation=f"{finding.sign}. None of the signs of the other three options is there.",
        difficulty=_difficulty(exam.spec, finding),
    )


def _negation(exam: DemonstrationExam, number: int, rng: np.random.Generator) -> DemonstrationQuestion:
    missing = absent_beside(exam.spec)[int(rng.integers(5))]
    seen = [finding.name for finding in present(exam.spec)][:2]
    seen += _some(rng, [name for name, _category in STRUCTURES], 3 - len(seen))
    return _ask(
        exam,
        number,
        rng,
        task="Negation Assessment",
        category=("Negation", "Absence of Disease"),
        stem="Which of the following is absent on these frontal and lateral chest radiographs?",
        key=missing.name,
        wrong=seen,
        explanation=f"{missing.name} would show thus: {missing.sign[0].lower()}{missing.sign[1:]}. Nothing of that is "
        "seen, while the other three can be pointed at.",
        difficulty="medium" if len(seen) and present(exam.spec) else "easy",
    )


def _second_negation(exam: DemonstrationExam, number: int, rng: np.random.Generator) -> DemonstrationQuestion:
    """Which statement about the pleura is right."""
    wet, airy = [effusion.side for effusion in exam.spec.effusions], exam.spec.pneumothorax
    statements = {
        "There is neither pleural effusion nor pneumothorax": not wet and airy is None,
        "There is a pleural effusion on the right only": wet == ["right"],
        "There is a pleural effusion on the left only": wet == ["left"],
        "There are pleural effusions on both sides": len(wet) == 2,
        "There is a pneumothorax on the right": airy is not None and airy.side == "right",
        "There is a pneumothorax on the left": airy is not None and airy.side == "left",
    }
    key = next(text for text, right in statements.items() if right)
    signs = [finding.sign for finding in present(exam.spec) if "effusion" in finding.name or "thorax" in finding.name]
    why = "; ".join(signs) or "Both costophrenic angles are sharp and lung markings reach the chest wall on both sides"
    return _ask(
        exam,
        number,
        rng,
        task="Negation Assessment" if not signs else "Presence Assessment",
        category=("Pleural Effusion" if wet else "Negation", "Absence of Disease" if not signs else "Pleural Space"),
        stem="Which statement about the pleural spaces is correct?",
        key=key,
        wrong=_some(rng, [text for text, right in statements.items() if not right], 3),
        explanation=f"{why}. The other three statements contradict this.",
        difficulty="medium" if signs else "easy",
    )


def _differential(exam: DemonstrationExam, number: int, rng: np.random.Generator) -> DemonstrationQuestion:
    key, group, sign = diagnosis(exam.spec)
    shown = " ".join(finding.diagnosis for finding in present(exam.spec))
    wrong = [name for name in RIVAL_DIAGNOSES if name != key and name not in shown]
    if exam.spec.consolidation or exam.spec.nodules:
        wrong = [name for name in wrong if name not in ("Lobar pneumonia", "Pulmonary metastases")]
    return _ask(
        exam,
        number,
        rng,
        task="Differential Diagnosis",
        category=group,
        stem="Which diagnosis fits the findings on these radiographs best?",
        key=key,
        wrong=_some(rng, wrong, 3),
        explanation=f"{sign}. The signs of the other three diagnoses are missing.",
        difficulty="easy" if group[0] == "Negation" else "hard" if exam.spec.nodules else "medium",
    )


def _heart_size(exam: DemonstrationExam, number: int, rng: np.random.Generator) -> DemonstrationQuestion:
    large = exam.spec.cardiothoracic_ratio > LARGE_HEART
    key = "The heart is enlarged" if large else "The heart is of normal size"
    wrong = [
        "The heart is of normal size" if large else "The heart is enlarged",
        "The heart cannot be seen because both lungs are white",
        "The heart is displaced out of the frontal view",
    ]
    return _ask(
        exam,
        number,
        rng,
        task="Presence Assessment" if large else "Negation Assessment",
        category=(HEART.category, "Heart Size") if large else ("Negation", "Absence of Disease"),
        stem="Which statement about the size of the heart on the frontal view is correct?",
        key=key,
        wrong=wrong,
        explanation=f"The cardiothoracic ratio on the frontal view is about {exam.spec.cardiothoracic_ratio:.2f}; "
        f"a heart is called enlarged above 0.50. Its borders are visible, so the other options fail.",
        difficulty="medium" if large else "easy",
    )


def _has_place(spec: ChestSpec) -> bool:
    one_sided = len(spec.effusions) == 1 or spec.pneumothorax is not None
    return one_sided or spec.consolidation is not None or len(spec.nodules) == 1


def _location(exam: DemonstrationExam, number: int, rng: np.random.Generator) -> DemonstrationQuestion:
    spec = exam.spec
    lobe = spec.consolidation or (spec.nodules[0].lobe if len(spec.nodules) == 1 else None)
    if lobe is not None:
        thing = "consolidation" if spec.consolidation else "nodule"
        lobes = ["right upper lobe", "right middle lobe", "right lower lobe", "left upper lobe", "left lower lobe"]
        return _ask(
            exam,
            number,
            rng,
            task="Location and Distribution Assessment",
            category=("Lung and Pleural Opacity", thing.capitalize()),
            stem=f"Where does the {thing} lie?",
            key=lobe.capitalize(),
            wrong=_some(rng, [other.capitalize() for other in lobes if other != lobe], 3),
            explanation=f"The frontal view shows the {thing} in the {side_of(lobe)} lung, and its place between the "
            f"fissures on the lateral view is that of the {lobe}.",
            difficulty="hard",
        )
    side = spec.effusions[0].side if spec.effusions else spec.pneumothorax.side if spec.pneumothorax else "right"
    thing = "pleural fluid" if spec.effusions else "free pleural air"
    other = "left" if side == "right" else "right"
    place = "at the base" if spec.effusions else "at the apex and along the side wall"
    return _ask(
        exam,
        number,
        rng,
        task="Location and Distribution Assessment",
        category=("Pleural Effusion" if spec.effusions else "Lung and Pleural Lucency", "Distribution"),
        stem=f"Where does the {thing} lie?",
        key=f"On the {side}, {place}",
        wrong=[f"On the {other}, {place}", f"On both sides, {place}", "Between the lobes of both lungs"],
        explanation=f"By the side marker the {thing} is on the patient's {side}, {place}; the other side is clear.",
        difficulty="medium",
    )


def _geometry(exam: DemonstrationExam, number: int, rng: np.random.Generator) -> DemonstrationQuestion:
    if exam.spec.tube_above_carina is not None:
        return _tube_height(exam, number, rng)
    if exam.spec.raised_dome is not None:
        return _higher_dome(exam, number, rng)
    ratio = exam.spec.cardiothoracic_ratio
    place = int(rng.integers(4))
    values = [ratio + 0.10 * (step - place) for step in range(4)]
    return _ask(
        exam,
        number,
        rng,
        task="Geometric Information Assessment",
        category=("Heart", "Heart Size"),
        stem="The cardiothoracic ratio on the frontal view is closest to which value?",
        key=f"{ratio:.2f}",
        wrong=[f"{value:.2f}" for step, value in enumerate(values) if step != place],
        explanation=f"The widest transverse diameter of the heart is {ratio:.2f} of the widest inner diameter of the "
        "thorax on the frontal view.",
        difficulty="hard",
    )


def _tube_height(exam: DemonstrationExam, number: int, rng: np.random.Generator) -> DemonstrationQuestion:
    centimetres = round((exam.spec.tube_above_carina or 0) / 10)
    offers = [value for value in (1, 4, 7) if value != centimetres]
    return _ask(
        exam,
        number,
        rng,
        task="Geometric Information Assessment",
        category=("Tubes and Lines", "Tube Position"),
        stem="How far above the carina does the tip of the endotracheal tube stand?",
        key=f"About {centimetres} cm",
        wrong=[*(f"About {value} cm" for value in offers), "The tip stands below the carina"],
        explanation=f"The dense stripe ends about {centimetres} cm above the division of the air column into the two "
        "main bronchi; a vertebral body with its disc measures about 2.4 cm.",
        difficulty="hard",
    )


def _higher_dome(exam: DemonstrationExam, number: int, rng: np.random.Generator) -> DemonstrationQuestion:
    side = exam.spec.raised_dome or "right"
    other = "left" if side == "right" else "right"
    return _ask(
        exam,
        number,
        rng,
        task="Geometric Information Assessment",
        category=("Diaphragm", "Height"),
        stem="Which statement about the height of the hemidiaphragms is correct?",
        key=f"The {side} stands clearly higher than the {other}",
        wrong=[
            f"The {other} stands clearly higher than the {side}",
            "Both stand at the same height",
            "Both are hidden by fluid",
        ],
        explanation=f"The dome on the patient's {side} stands several centimetres higher than the {other} one; both "
        "outlines are sharp.",
        difficulty="medium",
    )


def _difficulty(spec: ChestSpec, finding: ChestFinding) -> str:
    if finding.category in ("Implanted Devices", "Pleural Effusion"):
        return "easy"
    return "hard" if spec.nodules else "medium"
