"""The two prompts of ours by which questions are made from reports. Pure."""

from __future__ import annotations

from annotation.call_enums import PromptPurpose
from annotation.generation.kernels.answer_forms import BULLETS_SCHEMA, QUESTIONS_SCHEMA
from annotation.prompts.kernels.filling import ShippedPrompt

REASON = "Our own: the paper prints no prompt."

BULLETS = ShippedPrompt(
    name="findings of a report",
    purpose=PromptPurpose.BULLETS,
    instruction="You read chest radiograph reports. You write JSON and nothing else.",
    text=(
        "List every finding that this report states as present or as absent, one after the other, in the order of the "
        "report.\n"
        "Of each, give:\n"
        "- quote: the words of the report that state it, copied exactly, without leaving anything out in between;\n"
        "- statement: the finding in one short sentence of your own;\n"
        "- polarity: present or absent, as the report states it. What the report does not mention is neither: leave it "
        "out;\n"
        "- compares_with_prior: true if it can only be known from an earlier exam (new, unchanged, improved, worse);\n"
        "- location: where it is, in the words of the report, or an empty text.\n"
        "Do not conclude anything that the report does not say.\n\n"
        "Report:\n{{report}}"
    ),
    variables=("report",),
    schema=BULLETS_SCHEMA,
    reason=REASON,
)

QUESTIONS = ShippedPrompt(
    name="questions from findings",
    purpose=PromptPurpose.QUESTIONS,
    instruction="You write multiple-choice questions for radiologists. You write JSON and nothing else.",
    text=(
        "These are the findings of one chest radiograph exam. Write {{n_questions}} questions that a radiologist can "
        "answer from the images alone, each of another task where the findings allow it.\n"
        "- A question has four options, of one kind and of about the same length, one of which is the key.\n"
        "- Each option names by number the findings that it stands on, in bullets. Never offer what no finding "
        "states.\n"
        "- task negation asks which finding is absent: the key stands on findings marked absent, and each of the other "
        "three options on findings marked present.\n"
        "- Do not mention the report, an earlier exam, or the letter of an option.\n"
        "- explanation: why the key is right, in one or two sentences.\n"
        "- category, subcategory and question_class: the disease group, the finding, and what is asked of the reader.\n"
        "- If the findings do not carry a question, write fewer.\n\n"
        "Findings:\n{{bullets}}"
    ),
    variables=("n_questions", "bullets"),
    schema=QUESTIONS_SCHEMA,
    reason=REASON,
)


def finding_line(number: int, polarity: str, statement: str, location: str) -> str:
    """A finding as the second prompt lists it."""
    words = " ".join(statement.split())
    place = " ".join(location.split())
    return f"{number}. [{polarity}] {words}" + (f" ({place})" if place else "")
