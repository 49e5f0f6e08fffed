"""Made-up questions with the words of chest radiography, some of them reworded or repeated: the same seed, the same."""

from __future__ import annotations

import random
from collections.abc import Iterator

from annotation.questionbank.kernels.rules import CheckedQuestion


def _listed(words: str) -> list[str]:
    return words.split("|")


FINDINGS = _listed(
    "pleural effusion|pneumothorax|consolidation|atelectasis|cardiomegaly|interstitial oedema|"
    "pulmonary nodule|cavity|mass|hilar enlargement|rib fracture|clavicle fracture|scoliosis|emphysema|"
    "fibrosis|calcified granuloma|pleural thickening|hiatal hernia|free air|aortic tortuosity|"
    "aortic calcification|mediastinal widening|tracheal deviation|bronchiectasis|endotracheal tube|"
    "central venous catheter|chest tube|pacemaker|prosthetic valve|sternotomy wires|nasogastric tube|"
    "subcutaneous emphysema|volume loss|hyperinflation|vascular congestion|elevated hemidiaphragm|"
    "vertebral compression"
)
PLACES = _listed(
    "left upper lobe|right upper lobe|right middle lobe|left lower lobe|right lower lobe|lingula|"
    "left apex|right apex|left hilum|right hilum|left costophrenic angle|right costophrenic angle|"
    "retrocardiac region|minor fissure|carina|aortopulmonary window|left hemidiaphragm|"
    "right hemidiaphragm|superior mediastinum|cardiac apex|paratracheal stripe"
)
DEGREES = _listed("small|moderate|large|subtle|dense|patchy|linear|rounded|loculated|layering|ill-defined|bilateral")
STEMS = (
    "Which of the following findings is present on this {view} radiograph?",
    "Which finding is best seen in the {place}?",
    "What is the most likely explanation of the {degree} opacity in the {place}?",
    "Which statement about the {finding} is correct?",
    "Where is the {finding} located on these {view} views?",
    "Which of the following is absent in this {age}-year-old patient?",
    "What does the {degree} {finding} in the {place} suggest?",
    "A {age}-year-old patient has {sign}. Which abnormality of the {place} explains it?",
)
SIGNS = _listed("fever|cough|dyspnoea|chest pain|haemoptysis|weight loss|hypoxia|trauma|a murmur|leg swelling")


def made_up(n: int, *, seed: int = 1, repeated: float = 0.03, reworded: float = 0.05) -> Iterator[CheckedQuestion]:
    """``n`` questions; a share is the same as an earlier one, another differs from it in one word."""
    source = random.Random(seed)
    known: list[CheckedQuestion] = []
    for _number in range(n):
        chance = source.random()
        if known and chance < repeated:
            yield source.choice(known)
            continue
        one = _reworded(source.choice(known), source) if known and chance < repeated + reworded else _new(source)
        if len(known) < 5_000:
            known.append(one)
        yield one


def _new(source: random.Random) -> CheckedQuestion:
    words = {
        "view": source.choice(("frontal", "lateral", "frontal and lateral", "portable")),
        "place": source.choice(PLACES),
        "degree": source.choice(DEGREES),
        "finding": source.choice(FINDINGS),
        "age": source.randrange(18, 90),
        "sign": source.choice(SIGNS),
    }
    options = tuple(_phrase(source) for _option in range(4))
    key = source.randrange(4)
    explanation = (
        f"{options[key]} is seen because of a {source.choice(DEGREES)} change of the {source.choice(PLACES)}; "
        f"there is no {source.choice(FINDINGS)}, and the {source.choice(PLACES)} is clear."
    )
    report = " ".join(f"There is {_phrase(source).lower()}." for _sentence in range(5))
    return CheckedQuestion(source.choice(STEMS).format(**words), options, key, explanation, report)


def _phrase(source: random.Random) -> str:
    place = f" in the {source.choice(PLACES)}" if source.random() < 0.6 else ""
    degree = f"{source.choice(DEGREES)} " if source.random() < 0.6 else ""
    return f"{degree}{source.choice(FINDINGS)}{place}".capitalize()


def _reworded(one: CheckedQuestion, source: random.Random) -> CheckedQuestion:
    options = list(one.options)
    options[source.randrange(4)] += f", {source.choice(DEGREES)}"
    return CheckedQuestion(one.stem, tuple(options), one.key, one.explanation, one.report)
