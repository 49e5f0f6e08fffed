"""The questions of the demonstration, five for each exam, with keys that follow from what the chest shows.

Some of them are made faulty on purpose, so that the finished round has something to find. The words stand in
``wording.json``.

What can be reported of a simulated chest: findings and their signs, the diagnosis, the report. All that is said of
chests, here and in questions, stands in ``wording.json``, whose braces hold what a chest decides.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from annotation.demonstration.kernels.phantom_thorax import ChestSpec
from annotation.demonstration.simulated_exams import EXAMS, VIEWS, DemonstrationExam
from annotation.enums import Flag

WORDING: dict[str, Any] = json.loads(Path(__file__).with_name("wording.json").read_text("utf-8"))
LARGE_HEART = 0.52
"""Between 0.48 and this no chest of the demonstration is: the answer must be plain."""
SHOWS: dict[str, Callable[[ChestSpec], bool]] = {
    "Right pneumothorax": lambda spec: spec.pneumothorax is not None and spec.pneumothorax.side == "right",
    "Left pneumothorax": lambda spec: spec.pneumothorax is not None and spec.pneumothorax.side == "left",
    "Right pleural effusion": lambda spec: any(effusion.side == "right" for effusion in spec.effusions),
    "Left pleural effusion": lambda spec: any(effusion.side == "left" for effusion in spec.effusions),
    "Consolidation": lambda spec: spec.consolidation is not None,
    "Pulmonary nodule": lambda spec: bool(spec.nodules),
    "Heart apex on the right": lambda spec: spec.mirrored,
    "Hyperinflated lungs": lambda spec: spec.hyperinflated,
    "Raised right hemidiaphragm": lambda spec: spec.raised_dome == "right",
    "Raised left hemidiaphragm": lambda spec: spec.raised_dome == "left",
    "Cardiac pacemaker": lambda spec: spec.pacemaker,
    "Endotracheal tube": lambda spec: spec.tube_above_carina is not None,
    "Central venous catheter": lambda spec: spec.venous_catheter,
    "Sternal wires": lambda spec: spec.sternal_wires,
    "Enlarged heart": lambda spec: spec.cardiothoracic_ratio > LARGE_HEART,
}


@dataclass(frozen=True)
class ChestFinding:
    """One thing that a chest shows or does not.

    ``sign`` says where and by what it is seen; ``diagnosis`` is what it means, empty for a device, and ``group`` its
    category and subcategory; ``rivals`` are the names of findings that must not be offered with it as wrong options,
    because they are disputable there.
    """

    name: str
    sign: str
    category: str
    diagnosis: str = ""
    group: Sequence[str] = ("", "")
    rivals: Sequence[str] = ()

    def is_shown_by(self, spec: ChestSpec) -> bool:
        return SHOWS[self.name](spec)


FINDINGS = tuple(ChestFinding(**one) for one in WORDING["findings"])
"""In the order in which a report would name them first."""
STRUCTURES: dict[str, str] = WORDING["structures"]
"""Seen on every chest of the demonstration: their names and what they belong to."""


def present(spec: ChestSpec) -> list[ChestFinding]:
    return [finding for finding in FINDINGS if finding.is_shown_by(spec)]


def absent_beside(spec: ChestSpec) -> list[ChestFinding]:
    """Findings that this chest plainly does not show."""
    shown = present(spec)
    disputed = {name for finding in shown for name in finding.rivals}
    return [finding for finding in FINDINGS if finding not in shown and finding.name not in disputed]


def leading(spec: ChestSpec) -> ChestFinding | None:
    """The finding that a report would begin with; None for a normal chest."""
    return next(iter(present(spec)), None)


def diagnosis(spec: ChestSpec) -> tuple[str, Sequence[str], str]:
    """What explains the picture best, its category and subcategory, and the sign that says so."""
    shown = present(spec)
    if spec.cardiothoracic_ratio > LARGE_HEART and spec.effusions:
        of_several = "failure"
    elif len(spec.nodules) > 1:
        of_several = "metastases"
    else:
        for finding in shown:
            if finding.diagnosis:
                return finding.diagnosis, finding.group, finding.sign
        of_several = "none"
    found = WORDING["diagnoses"][of_several]
    return found["name"], found["group"], found["sign"]


def report(spec: ChestSpec) -> tuple[str, str]:
    """Findings and impression, as a short report would give them."""
    said = WORDING["report"]
    lines = [f"{finding.sign}." for finding in present(spec)]
    if spec.consolidation:
        lines.append(said["consolidation"].format(lobe=spec.consolidation))
    lines += [said["nodule"].format(size=round(one.radius * 2), lobe=one.lobe) for one in spec.nodules]
    if spec.tube_above_carina is not None:
        lines.append(said["tube"].format(centimetres=spec.tube_above_carina / 10))
    lines.append(said["ratio"].format(ratio=spec.cardiothoracic_ratio))
    lines += [] if spec.effusions else [said["no effusion"]]
    lines += [] if spec.pneumothorax else [said["no pneumothorax"]]
    return " ".join(lines), f"{diagnosis(spec)[0]}."


SEED = 20261121
LETTERS = "ABCD"
FAULTS: tuple[tuple[Flag, int], ...] = (
    (Flag.SEVERAL_VALID, 13),
    (Flag.NEEDS_PRIOR, 8),
    (Flag.UNSOUND, 6),
    (Flag.HALLUCINATED, 4),
)
"""How many questions of 120 get which fault: the counts of the expert review in the ReXVQA paper."""
_OPTIONS: dict[str, Any] = WORDING["options"]


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
        return f"{self.exam.study_id}_{self.number}"


def all_questions(exams: Sequence[DemonstrationExam] = EXAMS) -> list[DemonstrationQuestion]:
    """Every question in order, the planned faults built in."""
    return with_faults([question for exam in exams for question in questions_of(exam)])


def questions_of(exam: DemonstrationExam) -> list[DemonstrationQuestion]:
    """Presence, absence, diagnosis, a second look, and a place or a measure. All are sound."""
    drawn, spec = _Drawing(exam), exam.spec
    asked = [_presence(drawn), _absence(drawn), _diagnosis(drawn), _heart(drawn) if exam.number % 2 else _pleura(drawn)]
    if spec.consolidation or len(spec.nodules) == 1:
        return [*asked, _lobe(drawn)]
    if len(spec.effusions) == 1 or spec.pneumothorax:
        return [*asked, _side(drawn)]
    if spec.tube_above_carina is not None:
        return [*asked, _tube_height(drawn, spec.tube_above_carina)]
    return [*asked, _higher_dome(drawn) if spec.raised_dome else _ratio(drawn)]


class _Drawing:
    """Makes the questions of one exam, one after the other, with a random generator of its own."""

    def __init__(self, exam: DemonstrationExam) -> None:
        self.exam, self.spec, self.n_made = exam, exam.spec, 0
        self.rng = np.random.default_rng((SEED, exam.number))

    def some(self, names: Iterable[str], n: int) -> list[str]:
        listed = list(names)
        return [listed[int(place)] for place in self.rng.choice(len(listed), n, replace=False)]

    def ask(self, kind: str, key: str, wrong: Iterable[str], difficulty: str, **facts: object) -> DemonstrationQuestion:
        """Options in an order by chance, so that no letter is favoured; ``facts`` fill the braces of the wording."""
        said = WORDING["questions"][kind]
        options = [key, *wrong]
        order = [int(place) for place in self.rng.permutation(4)]
        self.n_made += 1
        return DemonstrationQuestion(
            exam=self.exam,
            number=self.n_made,
            task=said["task"],
            category=said["category"][0].format(**facts),
            subcategory=said["category"][1].format(**facts),
            stem=said["stem"].format(**facts),
            options=tuple(options[place] for place in order),
            answer=order.index(0),
            explanation=said["explanation"].format(key=key, **facts),
            difficulty=difficulty,
        )


def _presence(drawn: _Drawing) -> DemonstrationQuestion:
    finding = leading(drawn.spec)
    away = [other.name for other in absent_beside(drawn.spec)]
    if finding is None:
        structure = list(STRUCTURES)[int(drawn.rng.integers(len(STRUCTURES)))]
        return drawn.ask("structure", structure, drawn.some(away, 3), "easy", area=STRUCTURES[structure])
    is_plain = finding.category in ("Implanted Devices", "Pleural Effusion")
    difficulty = "easy" if is_plain else "hard" if drawn.spec.nodules else "medium"
    facts = {"finding": finding, "subcategory": finding.group[1] or "Support Devices"}
    return drawn.ask("finding", finding.name, drawn.some(away, 3), difficulty, **facts)


def _absence(drawn: _Drawing) -> DemonstrationQuestion:
    missing = absent_beside(drawn.spec)[int(drawn.rng.integers(5))]
    shown = [finding.name for finding in present(drawn.spec)][:2]
    seen = [*shown, *drawn.some(STRUCTURES, 3 - len(shown))]
    sign = missing.sign[0].lower() + missing.sign[1:]
    return drawn.ask("absent", missing.name, seen, "medium" if shown else "easy", sign=sign)


def _pleura(drawn: _Drawing) -> DemonstrationQuestion:
    """Which statement about the pleura is right."""
    wet, air = [effusion.side for effusion in drawn.spec.effusions], drawn.spec.pneumothorax
    right = f"air {air.side}" if air else "fluid both" if len(wet) == 2 else f"fluid {wet[0]}" if wet else "none"
    statements = _OPTIONS["pleura"]
    wrong = drawn.some((text for name, text in statements.items() if name != right), 3)
    if right == "none":
        return drawn.ask("clear pleura", statements[right], wrong, "easy")
    signs = [finding.sign for finding in present(drawn.spec) if "effusion" in finding.name or "thorax" in finding.name]
    group = "Pleural Effusion" if wet else "Negation"
    return drawn.ask("pleura", statements[right], wrong, "medium", signs="; ".join(signs), group=group)


def _diagnosis(drawn: _Drawing) -> DemonstrationQuestion:
    key, group, sign = diagnosis(drawn.spec)
    shown = " ".join(finding.diagnosis for finding in present(drawn.spec))
    wrong = [name for name in WORDING["rival_diagnoses"] if name != key and name not in shown]
    if drawn.spec.consolidation or drawn.spec.nodules:
        wrong = [name for name in wrong if name not in ("Lobar pneumonia", "Pulmonary metastases")]
    difficulty = "easy" if group[0] == "Negation" else "hard" if drawn.spec.nodules else "medium"
    return drawn.ask("diagnosis", key, drawn.some(wrong, 3), difficulty, group=group, sign=sign)


def _heart(drawn: _Drawing) -> DemonstrationQuestion:
    normal, large, *impossible = _OPTIONS["heart"]
    ratio = drawn.spec.cardiothoracic_ratio
    if ratio > LARGE_HEART:
        return drawn.ask("large heart", large, [normal, *impossible], "medium", ratio=ratio)
    return drawn.ask("normal heart", normal, [large, *impossible], "easy", ratio=ratio)


def _lobe(drawn: _Drawing) -> DemonstrationQuestion:
    spec = drawn.spec
    lobe, thing = (spec.consolidation, "consolidation") if spec.consolidation else (spec.nodules[0].lobe, "nodule")
    others = [name for name in _OPTIONS["lobe"] if name.lower() != lobe]
    facts = {"thing": thing, "group": thing.capitalize(), "side": lobe.split()[0], "lobe": lobe}
    return drawn.ask("lobe", lobe.capitalize(), drawn.some(others, 3), "hard", **facts)


def _side(drawn: _Drawing) -> DemonstrationQuestion:
    """Of fluid, or else of free air, on one side."""
    spec = drawn.spec
    if spec.effusions:
        side, thing, group, place = spec.effusions[0].side, "pleural fluid", "Pleural Effusion", "at the base"
    else:
        assert spec.pneumothorax is not None
        side, thing, group = spec.pneumothorax.side, "free pleural air", "Lung and Pleural Lucency"
        place = "at the apex and along the side wall"
    facts = {"thing": thing, "group": group, "side": side, "place": place, "other": _opposite(side)}
    key, *wrong = (text.format(**facts) for text in _OPTIONS["side"])
    return drawn.ask("side", key, wrong, "medium", **facts)


def _ratio(drawn: _Drawing) -> DemonstrationQuestion:
    place = int(drawn.rng.integers(4))
    offers = [f"{drawn.spec.cardiothoracic_ratio + 0.10 * (step - place):.2f}" for step in range(4)]
    return drawn.ask("ratio", offers.pop(place), offers, "hard")


def _tube_height(drawn: _Drawing, above_carina: float) -> DemonstrationQuestion:
    centimetres = round(above_carina / 10)
    offers = [f"About {value} cm" for value in (1, 4, 7) if value != centimetres]
    wrong = [*offers, "The tip stands below the carina"]
    return drawn.ask("tube", f"About {centimetres} cm", wrong, "hard", centimetres=centimetres)


def _higher_dome(drawn: _Drawing) -> DemonstrationQuestion:
    side = drawn.spec.raised_dome or "right"
    facts = {"side": side, "other": _opposite(side)}
    key, *wrong = (text.format(**facts) for text in _OPTIONS["dome"])
    return drawn.ask("dome", key, wrong, "medium", **facts)


def _opposite(side: str) -> str:
    return "left" if side == "right" else "right"


def with_faults(sound: list[DemonstrationQuestion]) -> list[DemonstrationQuestion]:
    """The planned faults, put on questions chosen by chance among those that can carry them."""
    rng = np.random.default_rng((SEED, 999))
    questions = list(sound)
    order = [int(place) for place in rng.permutation(len(questions))]
    for fault, of_120 in FAULTS:
        wanted = round(of_120 * len(questions) / 120)
        for place in order:
            if wanted == 0:
                break
            faulty = _spoiled(questions[place], fault) if questions[place].fault is None else None
            if faulty is not None:
                questions[place] = faulty
                wanted -= 1
    return questions


def _spoiled(question: DemonstrationQuestion, fault: Flag) -> DemonstrationQuestion | None:
    """The question with that fault, or None where it would not be one."""
    said, task = WORDING["faults"], question.task.split()[0]
    if fault == Flag.SEVERAL_VALID:
        return _with_second_answer(question)
    if fault == Flag.NEEDS_PRIOR and task in ("Presence", "Negation"):
        stem = said["prior"].format(stem=question.stem[0].lower() + question.stem[1:])
        return replace(question, fault=fault, stem=stem)
    if fault == Flag.UNSOUND and task == "Differential":
        return replace(question, fault=fault, stem=said["unsound"])
    if fault == Flag.HALLUCINATED and task == "Presence":
        return replace(question, fault=fault, explanation=said["hallucinated"].format(explanation=question.explanation))
    return None


def _with_second_answer(question: DemonstrationQuestion) -> DemonstrationQuestion | None:
    """One wrong option replaced by another right one."""
    spec, options = question.exam.spec, list(question.options)
    place = next(index for index in range(4) if index != question.answer)
    if question.stem.startswith("Which of the following is seen"):
        options[place] = "Both clavicles" if "Both clavicles" not in options else "The aortic knob"
    elif question.stem.startswith("Which of the following is absent"):
        spare = [finding.name for finding in absent_beside(spec) if finding.name not in options]
        options[place] = spare[0]
    else:
        return None
    return replace(question, fault=Flag.SEVERAL_VALID, options=tuple(options), also_valid=(place,))


def records_of(questions: Sequence[DemonstrationQuestion]) -> dict[str, dict[str, Any]]:
    """The questions in the ReXVQA form: question id to record."""
    return {question.key: _record(question) for question in questions}


def _record(question: DemonstrationQuestion) -> dict[str, Any]:
    exam = question.exam
    findings, impression = report(exam.spec)
    prior = {"prior_study": replace(exam, number=exam.prior, prior=None).study_id} if exam.prior else {}
    return {
        **prior,
        "study_id": exam.study_id,
        "task_name": question.task,
        "question": question.stem,
        "options": [f"{letter}. {text}" for letter, text in zip(LETTERS, question.options, strict=True)],
        "correct_answer": LETTERS[question.answer],
        "correct_answer_explanation": question.explanation,
        "category": question.category,
        "subcategory": question.subcategory,
        "class": "Clinical Assessment",
        "difficulty": question.difficulty,
        "PatientID": exam.patient_number,
        "AccessionNumber": exam.accession_number,
        "StudyInstanceUid": exam.study_uid,
        "PatientSex": exam.spec.sex,
        "PatientAge": f"{exam.spec.age:03d}Y",
        "StudyDate": "20260101",
        "StudyDescription": "SIMULATED CHEST 2 VIEWS",
        "Manufacturer": "Simulated",
        "Indication": exam.indication,
        "Comparison": None,
        "Findings": findings,
        "Impression": impression,
        "ImagePath": [exam.path_of(view) for view in VIEWS],
        "ImageViewPosition": list(VIEWS),
        "ImageModality": [exam.modality] * len(VIEWS),
        "ImageBodyPart": ["CHEST"] * len(VIEWS),
    }
