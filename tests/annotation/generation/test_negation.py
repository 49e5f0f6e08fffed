"""What is denied, possible or called normal: the published examples, and sentences of chest reports."""

from __future__ import annotations

import pytest

from annotation.generation.kernels.negation import Stated, how_stated, sentences, stated_words

# Of NegExAlgorithmDescription.md and rsAnnotations-1-120-random.txt, https://github.com/chapmanbe/negex (Apache-2.0),
# and of the tests of negspacy, https://github.com/jenojp/negspacy (MIT). The condition stands in capitals.
PUBLISHED = (
    ("The patient denies CHEST PAIN and has no shortness of breath.", Stated.ABSENT),
    ("The patient denies chest pain and has no SHORTNESS OF BREATH.", Stated.ABSENT),
    ("The patient denies CHEST PAIN but has experienced some shortness of breath", Stated.ABSENT),
    ("The patient denies chest pain but has experienced some SHORTNESS OF BREATH", Stated.PRESENT),
    ("She is TUMOR free.", Stated.ABSENT),
    ("No increase in TUMOR size.", Stated.PRESENT),
    ("Extremities reveal no peripheral cyanosis or EDEMA.", Stated.ABSENT),
    ("No abdominal pain, nausea, VOMITING or diarrhea.", Stated.ABSENT),
    ("Heart - Regular rate and rhythm, no MURMURS, gallops, or rubs.", Stated.ABSENT),
    ("The lungs are clear to auscultation bilaterally, no wheezes or RALES.", Stated.ABSENT),
    ("CHEST PAIN, rule out myocardial infarction.", Stated.PRESENT),
    ("chest pain, rule out MYOCARDIAL INFARCTION.", Stated.POSSIBLE),
    ("Small PERICARDIAL EFFUSION seen.", Stated.PRESENT),
    ("No PERICARDIAL EFFUSION.", Stated.ABSENT),
    ("Impression: TINY RIGHT PLEURAL EFFUSION, otherwise the lungs are clear.", Stated.PRESENT),
    ("The ekg shows normal sinus rhythm with no acute ISCHEMIC CHANGES.", Stated.ABSENT),
    ("There is TRACE MITRAL REGURGITATION.", Stated.PRESENT),
    ("ALCOHOLISM unlikely.", Stated.ABSENT),
    ("SMOKING not ruled out.", Stated.POSSIBLE),
    ("No history of headaches, smoking, acid reflux, or GERD.", Stated.ABSENT),
)
OURS = (
    ("PNEUMOTHORAX is not seen.", Stated.ABSENT),
    ("Pleural EFFUSION and pneumothorax are not seen.", Stated.ABSENT),
    ("No pneumothorax, and the heart is ENLARGED.", Stated.PRESENT),
    ("No effusion, consolidation, or PNEUMOTHORAX is seen.", Stated.ABSENT),
    ("No PNEUMOTHORAX; there is a small effusion.", Stated.ABSENT),
    ("No pneumothorax; there is a small EFFUSION.", Stated.PRESENT),
    ("No pneumothorax, there is a small EFFUSION.", Stated.PRESENT),
    ("There is no evidence of PNEUMONIA.", Stated.ABSENT),
    ("Opacity may represent ATELECTASIS.", Stated.POSSIBLE),
    ("PNEUMONIA cannot be excluded.", Stated.POSSIBLE),
    ("Cannot exclude a small EFFUSION.", Stated.POSSIBLE),
    ("The HEART is normal in size.", Stated.NORMAL),
    ("The COSTOPHRENIC ANGLES are sharp.", Stated.NORMAL),
    ("Lungs are clear with a small EFFUSION.", Stated.PRESENT),
    ("The heart is ENLARGED without effusion.", Stated.PRESENT),
    ("The heart is enlarged without EFFUSION.", Stated.ABSENT),
    ("The EFFUSION has resolved.", Stated.ABSENT),
    ("Neither EFFUSION nor pneumothorax.", Stated.ABSENT),
    ("Neither effusion nor PNEUMOTHORAX.", Stated.ABSENT),
    ("PLEURAL EFFUSION: None.", Stated.ABSENT),
    ("LYMPHADENOPATHY: absent.", Stated.ABSENT),
    ("PNEUMOTHORAX: No.", Stated.ABSENT),
    ("Impression: no PNEUMOTHORAX.", Stated.ABSENT),
    ("PLEURA: Normal.", Stated.NORMAL),
    ("The CANNULA projects over the midline.", Stated.PRESENT),
    ("The TRACHEA is midline.", Stated.NORMAL),
    ("Nil EFFUSION.", Stated.ABSENT),
    ("MEDIASTINAL WIDENING ruled out.", Stated.ABSENT),
    ("PNEUMOTHORAX excluded.", Stated.ABSENT),
    ("Nothing to suggest PNEUMONIA.", Stated.ABSENT),
    ("Probable small EFFUSION.", Stated.POSSIBLE),
    ("Small NODULE?", Stated.POSSIBLE),
    ("If PNEUMONIA is suspected, a scan is advised.", Stated.POSSIBLE),
    ("The PACEMAKER was removed.", Stated.ABSENT),
    ("The CATHETER does not reach the right atrium.", Stated.UNCLEAR),
    ("The trachea is not DEVIATED.", Stated.ABSENT),
)


def stated_in(text: str) -> Stated:
    """How the words in capitals are stated."""
    return how_stated([one for one in stated_words(text) if text[one.start : one.end].isupper()])


@pytest.mark.parametrize(("text", "stated"), PUBLISHED)
def test_the_published_examples_come_out_as_published(text: str, stated: Stated) -> None:
    assert stated_in(text) is stated


@pytest.mark.parametrize(("text", "stated"), OURS)
def test_statements_of_chest_reports(text: str, stated: Stated) -> None:
    assert stated_in(text) is stated


def test_sentences_end_at_full_stops_lists_and_headings() -> None:
    text = "Findings: A nodule of\n  2.5 cm. No mass.\nImpression: 1. Nodule.\n2. Normal heart"
    found = [" ".join(text[start:end].split()) for start, end in sentences(text)]
    assert found == ["Findings: A nodule of 2.5 cm.", "No mass.", "Impression: 1.", "Nodule.", "2.", "Normal heart"]
