"""60 faults in 12 kinds as models make them, and as many findings and questions without one. All are our own.

Each fault names the rule of ``ground-3`` that it is planted for. They were written after the rules. On the first run 59
faults were stopped, and 5 of what is sound; three rules were mended by that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from annotation.call_enums import Polarity
from annotation.generation.kernels.answer_forms import (
    WrittenBullet,
    WrittenOption,
    WrittenQuestion,
    fault_of,
    ground_bullet,
)

REPORT = """Findings: Support devices: A left subclavian line terminates at the cavoatrial junction. The cardiac
silhouette is mildly enlarged. There is a 14 mm nodule in the right mid zone, and the left costophrenic angle is
blunted. No pneumothorax, consolidation or displaced rib fracture is seen. Bones are osteopenic. The mediastinal contour
is normal. Retrocardiac density could represent aspiration. A small right effusion is not excluded. The trachea is not
deviated. The abnormal aortic contour is tortuous; degenerative spurs are present without vertebral collapse.
Impression: Cardiomegaly. Right lung nodule. No evidence of pulmonary edema."""
P, A = "present", "absent"
FINDINGS = {  # polarity, statement
    1: (P, "Mildly enlarged cardiac silhouette"),
    2: (P, "14 mm nodule in the right mid zone"),
    3: (P, "Blunted left costophrenic angle"),
    4: (P, "Left subclavian line at the cavoatrial junction"),
    5: (A, "No pneumothorax"),
    6: (A, "No consolidation"),
    7: (A, "No displaced rib fracture"),
    8: (A, "No pulmonary edema"),
    9: (P, "Tortuous aorta"),
}
PRESENCE, NEGATION = (
    "Which abnormality is present on these radiographs?",
    "Which abnormality is absent on these images?",
)
WHY = "It can be pointed at on the frontal view."


class Planted(NamedTuple):
    """``rule``: the code that ought to be found; "" where nothing is wrong."""

    kind: str
    rule: str
    found: str


def _finding(quote: str, statement: str, polarity: Any) -> str:
    return ground_bullet(WrittenBullet(quote, statement, polarity, False), REPORT).fault


def _question(options: str, stem: str = PRESENCE, *, task: Any = "presence", why: str = WHY) -> str:
    """The key comes first; an option is a text, @ and the number of its finding."""
    written = [WrittenOption(text.strip(), [int(n)]) for text, n in (one.split("@") for one in options.split("|"))]
    question = WrittenQuestion(task, stem, written, "A", why)
    polarities = {n: Polarity(polarity) for n, (polarity, _statement) in FINDINGS.items()}
    return fault_of(question, polarities, {n: statement for n, (_polarity, statement) in FINDINGS.items()})


HEART = "Cardiomegaly@1|Pneumothorax@5|Consolidation@6|Rib fracture@7"
EDEMA = "Pulmonary edema@8|Cardiomegaly@1|Lung nodule@2|Tortuous aorta@9"

CUT = (  # quote, statement, polarity, rule
    ("displaced rib fracture", "Displaced rib fracture", P, "polarity_not_stated"),
    ("pulmonary edema", "Pulmonary edema", P, "quote_not_whole"),
    ("vertebral collapse", "Vertebral collapse", P, "quote_not_whole"),
    ("consolidation", "Consolidation", P, "polarity_not_stated"),
    ("pneumothorax", "Pneumothorax", P, "quote_not_whole"),
)
INSIDE = (
    ("normal aortic contour", "Normal aortic contour", P, "quote_not_found"),
    ("A large left effusion is seen.", "Left effusion", P, "quote_not_found"),
    ("There is a 41 mm nodule in the right mid zone", "Nodule of 41 mm", P, "quote_not_found"),
    ("No pneumothorax or pleural effusion", "No effusion", A, "quote_not_found"),
    ("ones are osteopenic", "Osteopenia", P, "quote_not_found"),
)
SWAPPED = (
    ("Bones are osteopenic.", "Osteopenia", A, "polarity_not_stated"),
    ("No evidence of pulmonary edema.", "Pulmonary edema", P, "polarity_not_stated"),
    ("The trachea is not deviated.", "Tracheal deviation", P, "polarity_not_stated"),
    ("The mediastinal contour is normal.", "Widened mediastinum", P, "polarity_not_stated"),
    ("Right lung nodule.", "Nodule of the right lung", A, "polarity_not_stated"),
)
POSSIBLE = (
    ("Retrocardiac density could represent aspiration.", "Aspiration", P, "only_possible"),
    ("A small right effusion is not excluded.", "Right effusion", P, "only_possible"),
    ("A small right effusion is not excluded.", "Right effusion", A, "only_possible"),
    ("could represent aspiration", "Aspiration", P, "quote_not_whole"),
    ("A small right effusion", "Small right effusion", P, "quote_not_whole"),
)
KEYS = (  # options, stem, task, rule
    ("Pneumothorax@5|Consolidation@6|Rib fracture@7|Pulmonary edema@8", PRESENCE, "presence", "key_not_present"),
    ("Consolidation@6|Pneumothorax@5|Rib fracture@7|Cardiomegaly@1", PRESENCE, "presence", "key_not_present"),
    ("Cardiomegaly@1|Pneumothorax@5|Lung nodule@2|Rib fracture@7", NEGATION, "negation", "negation_key_not_absent"),
    (
        "Cardiogenic edema@8|Metastasis@2|Infection@2|Scar@2",
        "What explains the opacity?",
        "differential",
        "key_not_present",
    ),
    (
        "At the right base@6|Right mid zone@2|Left apex@2|Lingula@2",
        "Where is the opacity?",
        "location",
        "key_not_present",
    ),
)
SEVERAL = (
    ("Cardiomegaly@1|Lung nodule@2|Blunted angle@3|Subclavian line@4", PRESENCE, "presence", "distractor_not_absent"),
    ("Cardiomegaly@1|Pneumothorax@5|Tortuous aorta@9|Rib fracture@7", PRESENCE, "presence", "distractor_not_absent"),
    (
        "Pneumothorax@5|Consolidation@6|Lung nodule@2|Cardiomegaly@1",
        NEGATION,
        "negation",
        "negation_distractor_not_present",
    ),
    (
        "Right mid zone@2|A blunted left angle@3|Left apex@2|Right base@2",
        "What is correct?",
        "location",
        "several_right",
    ),
    (
        "Heart failure@1|Granuloma@2|Effusion@3|Atherosclerosis@9",
        "What is the diagnosis?",
        "differential",
        "several_right",
    ),
)
HIDDEN = (
    (EDEMA, "Which of the following is ABSENT?", "presence", "asks_for_absence"),
    (EDEMA, "Which abnormality is not demonstrated?", "differential", "asks_for_absence"),
    (EDEMA, "All of the following can be seen except:", "presence", "asks_for_absence"),
    (EDEMA, "Which of these isn't there?", "location", "asks_for_absence"),
    (
        EDEMA,
        "Of which abnormality are the lungs free of any sign, that is, which is missing?",
        "geometric",
        "asks_for_absence",
    ),
)
SAME = (
    ("Cardiomegaly@1|Pneumothorax@5|Air in the pleural space@5|Rib fracture@7", PRESENCE, "presence", "equal_options"),
    ("Enlarged heart@1|Lung edema@8|Pulmonary oedema@8|Consolidation@6", PRESENCE, "presence", "equal_options"),
    (
        "Consolidation@6|Cardiac enlargement@1|Nodule@2|Enlarged cardiac silhouette@1",
        NEGATION,
        "negation",
        "equal_options",
    ),
    ("Cardiomegaly@1|Broken rib@7|Pneumothorax@5|Rib fractures@7", PRESENCE, "presence", "equal_options"),
    ("Nodule@2|Airspace disease@6|Consolidation@6|Pneumothorax@5", PRESENCE, "presence", "equal_options"),
)
COMPARING = (  # stem, explanation, rule
    (PRESENCE, "The heart has become larger over the last days.", "mentions_prior"),
    ("Which abnormality is again demonstrated on these radiographs?", WHY, "mentions_prior"),
    (PRESENCE, "The line remains in satisfactory position and the heart is large.", "mentions_prior"),
    (PRESENCE, "The silhouette is wide, and the edema is no longer appreciated.", "mentions_prior"),
    ("Since the examination of Monday, which abnormality is present?", WHY, "mentions_prior"),
)
LETTERS = (
    (PRESENCE, "A is right, since the ratio is high; B and D are not seen.", "names_letter"),
    (PRESENCE, "The first answer fits, the others do not.", "names_letter"),
    (PRESENCE, "C would need air bronchograms.", "names_letter"),
    (PRESENCE, "Only option 1 agrees with the wide silhouette.", "names_letter"),
    (PRESENCE, "The ratio is high, unlike in (b).", "names_letter"),
)
PERSONS = (
    (PRESENCE, "Mrs. Okafor has a wide silhouette.", "identifier"),
    ("Tomasz Nowak has dyspnoea. Which abnormality is present?", WHY, "identifier"),
    (PRESENCE, "The silhouette was wide on 12 March 2021.", "identifier"),
    (PRESENCE, "The silhouette is wide; questions to pager 5567.", "identifier"),
    (PRESENCE, "The silhouette of patient number 88213 is wide.", "identifier"),
)
TOLD = (
    ("According to the report, which abnormality is present?", WHY, "mentions_report"),
    (PRESENCE, "The radiologist described a wide silhouette.", "mentions_report"),
    (PRESENCE, "This is stated in the impression section.", "mentions_report"),
    ("This patient with an enlarged heart has which abnormality?", WHY, "key_in_stem"),
    ("Which abnormality, such as cardiomegaly, is present?", WHY, "key_in_stem"),
)

SOUND_FINDINGS = (
    ("A left subclavian line terminates at the cavoatrial junction.", "Left subclavian line", P),
    ("The cardiac silhouette is mildly enlarged.", "Mild cardiomegaly", P),
    ("There is a 14 mm nodule in the right mid zone", "Nodule in the right mid zone", P),
    ("the left costophrenic angle is blunted", "Blunted left costophrenic angle", P),
    ("No pneumothorax, consolidation or displaced rib fracture is seen.", "No pneumothorax", A),
    ("No pneumothorax, consolidation or displaced rib fracture is seen.", "No consolidation", A),
    ("No pneumothorax, consolidation or displaced rib fracture is seen.", "Displaced rib fracture", A),
    ("No pneumothorax", "Pneumothorax", A),
    ("Bones are osteopenic.", "Osteopenia", P),
    ("The mediastinal contour is normal.", "Normal mediastinal contour", P),
    ("The mediastinal contour is normal.", "Widened mediastinum", A),
    ("The trachea is not deviated.", "No tracheal deviation", A),
    ("The abnormal aortic contour is tortuous", "Tortuous aorta", P),
    ("degenerative spurs are present", "Degenerative spurs", P),
    ("without vertebral collapse", "No vertebral collapse", A),
    ("degenerative spurs are present without vertebral collapse.", "Degenerative spurs", P),
    ("degenerative spurs are present without vertebral collapse.", "Vertebral collapse", A),
    ("Cardiomegaly.", "Enlarged heart", P),
    ("Right lung nodule.", "Nodule of the right lung", P),
    ("No evidence of pulmonary edema.", "No pulmonary edema", A),
    ("Bones are osteopenic", "Reduced bone density", P),
    ("cardiac\nsilhouette is mildly enlarged", "Enlarged cardiac silhouette", P),
    ("the trachea is NOT deviated", "Deviation of the trachea", A),
    ("There is a 14 mm nodule in the right mid zone, and the left costophrenic angle is blunted.", "Lung nodule", P),
    ("14 mm nodule in the right mid zone", "Nodule of 14 mm", P),
)
SOUND_QUESTIONS = (  # options, stem, task, explanation
    (HEART, PRESENCE, "presence", WHY),
    ("Lung nodule@2|Pneumothorax@5|Consolidation@6|Pulmonary edema@8", PRESENCE, "presence", WHY),
    ("Tortuous aorta@9|Pneumothorax@5|Consolidation@6|Rib fracture@7", "What is seen on both views?", "presence", WHY),
    ("Subclavian line@4|Pulmonary edema@8|Pneumothorax@5|Rib fracture@7", "Which finding is visible?", "presence", WHY),
    (EDEMA, NEGATION, "negation", "Vessels are sharp and septal lines are missing."),
    ("Pneumothorax@5|Cardiomegaly@1|Lung nodule@2|Subclavian line@4", NEGATION, "negation", "No pleural line is seen."),
    ("Consolidation@6|Cardiomegaly@1|Lung nodule@2|Tortuous aorta@9", "Which of these is NOT seen?", "negation", WHY),
    ("Rib fracture@7|Blunted angle@3|Nodule@2|Wide aorta@9", "Which finding is missing?", "negation", WHY),
    ("Right mid zone@2|Left apex@2|Right base@2|Lingula@2", "Where does the nodule lie?", "location", WHY),
    ("Right mid zone@2|Left costophrenic angle@3|Left apex@2|Right apex@2", "Where is the nodule?", "location", WHY),
    (
        "Cavoatrial junction@4|Azygos vein@4|Right ventricle@4|Innominate vein@4",
        "Where does the line end?",
        "location",
        WHY,
    ),
    (
        "On the left@3|On the right@3|On both sides@3|On neither side@3",
        "On which side is the angle blunted?",
        "location",
        WHY,
    ),
    ("14 mm@2|24 mm@2|34 mm@2|44 mm@2", "How wide is the nodule?", "geometric", "It is 14 mm wide."),
    ("Above 0.50@1|Below 0.40@1|About 0.45@1|Below 0.30@1", "Which ratio fits the heart?", "geometric", WHY),
    (
        "Pleural effusion@3|Pleural mass@3|Rib lesion@3|Skin fold@3",
        "What explains the blunted angle best?",
        "differential",
        WHY,
    ),
    (
        "Granuloma@2|Rib island@2|Nipple shadow@2|Skin lesion@2",
        "What is the likely nature of the nodule?",
        "differential",
        WHY,
    ),
    (HEART, "Which abnormality explains the dyspnoea?", "presence", "More than half of the chest width is heart."),
    (HEART, "A 64-year-old man with worsening dyspnoea: which abnormality is present?", "presence", WHY),
    (HEART, PRESENCE, "presence", "A wide silhouette is seen. A pleural line is not, and Kerley B lines are not."),
    (HEART, PRESENCE, "presence", "Vitamin D deficiency does not widen the heart; the first rib is intact."),
    (HEART, PRESENCE, "presence", "Since the silhouette takes up 55 % of the width, it is wide."),
    (HEART, PRESENCE, "presence", "Increased markings would be seen in edema; the remaining options lack their signs."),
    (HEART, PRESENCE, "presence", "A Swan-Ganz catheter would not change the size of the heart."),
    (HEART, PRESENCE, "presence", "Air is not seen in the pleural space, and no opacity has air bronchograms."),
    (EDEMA, NEGATION, "negation", "Edema would blur the vessels, which are sharp."),
    (EDEMA, "Which abnormality can be excluded by the sharp vessels?", "negation", WHY),
    (
        "Lung nodule@2|Pneumothorax@5|Rib fracture@7|Consolidation@6",
        "Which abnormality is shown?",
        "presence",
        "It is round.",
    ),
    ("Blunted angle@3|Pneumothorax@5|Rib fracture@7|Consolidation@6", "What do the images show?", "presence", WHY),
    ("Enlarged heart@1|No nodule@2|Pneumothorax@5|Rib fracture@7", PRESENCE, "presence", WHY),
    (
        "Line from the left@4|Line from the right@4|Port@4|Dialysis catheter@4",
        "Which device is it?",
        "differential",
        WHY,
    ),
    ("Mild@1|Marked@1|Absent@1|Not assessable@1", "How large is the enlargement of the heart?", "geometric", WHY),
    ("Mid zone@2|Upper zone@2|Lower zone@2|Apex@2", "In which zone of the right lung is the nodule?", "location", WHY),
    (
        HEART,
        "Which abnormality is present beside the line?",
        "presence",
        "The heart is wide; a line alone is no disease.",
    ),
    (
        HEART,
        "Which of the following findings is visible on the frontal view?",
        "presence",
        "The ratio is above one half.",
    ),
    (EDEMA, "Which of these findings is absent on both views?", "negation", "The other three can be pointed at."),
)


def cases() -> Iterator[Planted]:
    """All of them, with what the rules say."""
    kinds = {"quote cut out": CUT, "quote not there": INSIDE, "polarity swapped": SWAPPED, "only possible": POSSIBLE}
    for kind, quotes in kinds.items():
        for quote, statement, polarity, rule in quotes:
            yield Planted(kind, rule, _finding(quote, statement, polarity))
    asked = {"key of the other polarity": KEYS, "several right": SEVERAL, "absence under another task": HIDDEN}
    for kind, questions in (asked | {"options that say the same": SAME}).items():
        for options, stem, task, rule in questions:
            yield Planted(kind, rule, _question(options, stem, task=task))
    said = {"comparison": COMPARING, "letter or place": LETTERS, "person": PERSONS, "report, or key in the stem": TOLD}
    for kind, texts in said.items():
        for stem, why, rule in texts:
            yield Planted(kind, rule, _question(HEART, stem, why=why))
    for quote, statement, polarity in SOUND_FINDINGS:
        yield Planted("sound finding", "", _finding(quote, statement, polarity))
    for options, stem, task, why in SOUND_QUESTIONS:
        yield Planted("sound question", "", _question(options, stem, task=task, why=why))
