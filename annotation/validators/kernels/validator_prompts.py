"""The prompts of ours by which validators and raters are asked, and the forms of what they answer. Pure.

The reason comes before the verdict in the schema, since a model writes in order: a reason behind it can no longer
change it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal

import msgspec

from annotation.call_enums import PromptPurpose, SentImages
from annotation.model_calls.kernels.filling import ShippedPrompt
from annotation.questionbank.kernels.question_checks import BIAS, C1, C2, C3, IMAGES, RATING

VERDICT_SCHEMA = """{"type":"object","properties":{"reason":{"type":"string","maxLength":600},\
"verdict":{"type":"string","enum":["pass","fail","undecided"]}},"required":["reason","verdict"],\
"additionalProperties":false}"""
RATING_SCHEMA = """{"type":"object","properties":{"reason":{"type":"string","maxLength":600},\
"difficulty":{"type":"string","enum":["easy","medium","hard"]}},"required":["reason","difficulty"],\
"additionalProperties":false}"""
LONGEST_REASON = 2_000  # characters that are kept of a reason
_INSTRUCTION = "You check multiple-choice questions about chest radiographs before radiologists do. You write JSON."
_ANSWER = (
    'Answer in JSON with the fields "reason" and "verdict", in this order. reason: one or two sentences. verdict: '
)
_QUESTION = "Question: {{question}}\n\n{{options}}\n\nKey: {{key}}"
_REASON = "Our own: the paper names what its validators ask, and prints no prompt."

_prompt = partial(
    ShippedPrompt, purpose=PromptPurpose.CHECK, instruction=_INSTRUCTION, schema=VERDICT_SCHEMA, reason=_REASON
)
PROMPTS: Mapping[str, ShippedPrompt] = {
    C1: _prompt(
        name="c1 domain-specific",
        text=(
            "Does this question need radiological knowledge? It does not where somebody without it can answer: by a "
            "general internet search, since a page about the subject states the answer, or by the text alone, since "
            "the wording of question and options gives the key away. You do not see the radiographs, and neither "
            "search nor text shows them.\n\n"
            f"{_QUESTION}\n\n{_ANSWER}"
            "pass where only somebody who knows radiology can answer it; fail where a general internet search or the "
            "text alone answers it; undecided where you cannot tell."
        ),
        variables=("question", "options", "key"),
        reason=f"{_REASON} Its c1 is domain specificity: neither a general internet search nor the text alone answers.",
    ),
    C2: _prompt(
        name="c2 no recall",
        text=(
            "Does this question ask for recall or trivia? It does where it asks for a fact that stands in a textbook, "
            "or for something that matters neither to a report nor to the care of the patient, instead of for reading "
            "these radiographs.\n\n"
            f"{_QUESTION}\n\n{_ANSWER}"
            "pass where it asks for an interpretation that matters; fail where it is recall or trivia; undecided where "
            "you cannot tell."
        ),
        variables=("question", "options", "key"),
    ),
    C3: _prompt(
        name="c3 sound and key right",
        text=(
            "Is this question sound, and is its key the one right option? Judge by the report of the exam alone. It "
            "fails where the report contradicts the key or the explanation, a side or place included; where a second "
            "option is right as well; where no option is; where it needs an earlier exam; or where it can be read in "
            "two ways.\n\n"
            f"Report:\n{{{{report}}}}\n\n{_QUESTION}\n\nExplanation: {{{{explanation}}}}\n\n{_ANSWER}"
            "pass where it is sound and the key right; fail where it is not; undecided where the report does not "
            "decide."
        ),
        variables=("report", "question", "options", "key", "explanation"),
        images=SentImages.NONE,
        reason=f"{_REASON} The report stands for the images, so that a model that takes none can judge.",
    ),
    IMAGES: _prompt(
        name="needs the images",
        text=(
            "Can this question be answered without its radiographs? It can where the wording of question and options "
            "gives the key away, or general knowledge decides between them. You do not see the radiographs.\n\n"
            f"{_QUESTION}\n\n{_ANSWER}"
            "pass where only the radiographs tell which option is right; fail where the text alone gives the answer; "
            "undecided where you cannot tell."
        ),
        variables=("question", "options", "key"),
        reason="Our own. Until c1 was asked as the paper says it, this was the prompt of c1.",
    ),
    BIAS: _prompt(
        name="free of bias",
        text=(
            "Is this question biased? It is where its stem, options or explanation rest on a stereotype of age, sex, "
            "gender, origin, religion, disability, body or social standing; where such a word steers to or away from "
            "an option without bearing on the finding that is asked for; or where its language disparages a person or "
            "a group. Age, sex or origin that bear on what is likely are no bias. You do not see the radiographs.\n\n"
            f"{_QUESTION}\n\nExplanation: {{{{explanation}}}}\n\n{_ANSWER}"
            "pass where it is free of bias; fail where it is biased; undecided where you cannot tell. The reason names "
            "the words that decide."
        ),
        variables=("question", "options", "key", "explanation"),
    ),
    RATING: _prompt(
        name="difficulty of a question",
        text=(
            "Of ten second-year radiology residents who see the radiographs, how many would answer this question "
            "correctly? easy: 9 or 10; medium: 6 to 8; hard: 5 or fewer. You do not see the radiographs.\n\n"
            f"{_QUESTION}\n\n"
            'Answer in JSON with the fields "reason" and "difficulty", in this order. reason: one or two sentences.'
        ),
        variables=("question", "options", "key"),
        schema=RATING_SCHEMA,
        reason="Our own, with the anchors that reviewers see beside the same scale.",
    ),
}


_Reason = Annotated[str, msgspec.Meta(max_length=20_000)]


class WrittenVerdict(msgspec.Struct, frozen=True):
    """What a validator answered."""

    verdict: Literal["pass", "fail", "undecided"]
    reason: _Reason = ""


class WrittenRating(msgspec.Struct, frozen=True):
    """What a rater of difficulty answered."""

    difficulty: Literal["easy", "medium", "hard"]
    reason: _Reason = ""


def word_of(written: WrittenVerdict | WrittenRating) -> str:
    return written.verdict if isinstance(written, WrittenVerdict) else written.difficulty


def kept_reason(written: WrittenVerdict | WrittenRating) -> str:
    return " ".join(written.reason.split())[:LONGEST_REASON]
