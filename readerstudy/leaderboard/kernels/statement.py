"""What a team says of its model: the list of questions, what is missing in the answers, and the model card. Pure.

Labels are marked for translation and translated where they are shown; the card is in English.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from annotation.enums import _
from readerstudy.predictions.kernels.records import HIDDEN, without_hidden

FORM = "statement-1"  # change the name when the list changes
UNKNOWN, NONE = "unknown", "none"
CHOICES = ("yes", "no", UNKNOWN)
LINE, TEXT, CHOICE, DATE, LINK = "line", "text", "choice", "date", "link"
LONGEST = {LINE: 300, TEXT: 20_000, DATE: 10, LINK: 500}
IDENTIFYING = ("model", "version", "link", "contact")  # not shown while a team is anonymous
_DAY = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")
_LINK = re.compile(r"https?://[^\s<>\"'`\\]+\.[^\s<>\"'`\\]+")


class Asked(msgspec.Struct, frozen=True):
    """One question. ``unknown``: whether that can be true of it."""

    name: str
    label: str
    kind: str = LINE
    help: str = ""
    unknown: bool = True


DATASETS = {
    "rexvqa": "ReXVQA",
    "rexgradient-160k": "ReXGradient-160K",
    "mimic-cxr": "MIMIC-CXR",
    "chexpert": "CheXpert",
    "chexpert-plus": "CheXpert Plus",
    "padchest": "PadChest",
    "chestx-ray14": "ChestX-ray14",
    "vindr-cxr": "VinDr-CXR",
    "brax": "BRAX",
    "open-i": "Open-i (Indiana University)",
    "rsna-pneumonia": "RSNA Pneumonia Detection",
    "siim-acr-pneumothorax": "SIIM-ACR Pneumothorax",
}
OF_DATA = {f"data_{slug.replace('-', '_')}": slug for slug in DATASETS}
QUESTIONS = (
    Asked("model", _("Name of the model"), unknown=False),
    Asked("version", _("Weights: their version"), help=_("Checkpoint, size or name at the service.")),
    Asked("dated_on", _("Date of the weights"), DATE, _("2026-11-30, 2026-11 or 2026.")),
    Asked("parameters", _("Number of parameters"), help=_("Such as 27 billion.")),
    Asked("licence", _("Licence of the weights"), help=_("Such as apache-2.0, or proprietary.")),
    *(Asked(name, f"Training data: {DATASETS[slug]}", CHOICE) for name, slug in OF_DATA.items()),
    Asked("other_data", _("Other training data"), TEXT, _("Everything else with radiographs or reports, or “none”.")),
    Asked("writer_family", _("Of the same family as the model that wrote the questions"), CHOICE),
    Asked("tools", _("Tools and retrieval"), TEXT, _("What it could call or look up while it answered, or “none”.")),
    Asked("people", _("People in the loop"), TEXT, _("Who saw questions or answers, and what they did, or “none”.")),
    Asked("prompt", _("Prompt"), TEXT, _("Word by word, with placeholders where question and options go.")),
    Asked("decoding", _("Decoding"), TEXT, _("Temperature, sampling, most tokens, seed, number of answers.")),
    Asked("link", _("Link"), LINK, _("Paper, model card or repository: https://..., or “none”."), unknown=False),
    Asked("contact", _("Contact"), help=_("Who answers questions about this model."), unknown=False),
)
ASKED = {one.name: one for one in QUESTIONS}


class Problem(NamedTuple):
    field: str
    message: str


def cleaned(answers: Mapping[str, object]) -> dict[str, str]:
    """As they are kept, in the order of the list: without characters that are not shown. Others stay, for problems."""
    said = {name: value for name, value in answers.items() if isinstance(value, str)}
    known = {one.name: _visible(said.get(one.name, ""), one.kind == TEXT) for one in QUESTIONS}
    return known | {name: value for name, value in said.items() if name not in ASKED}


def _visible(text: str, has_lines: bool = False) -> str:
    shown = "".join(
        "\ufffd" if unicodedata.category(one) == "Cs" or ord(one) & 0xFFFE == 0xFFFE else one for one in text
    )
    if not has_lines:
        return without_hidden(shown)
    lines = shown.replace("\r\n", "\n").replace("\t", "    ").split("\n")
    return "\n".join("".join(one for one in line if unicodedata.category(one) not in HIDDEN) for line in lines).strip()


def problems_of(answers: Mapping[str, object]) -> list[Problem]:
    """What is wrong with them, by name and in the order of the list."""
    said = cleaned(answers)
    found = [Problem(one.name, wrong) for one in QUESTIONS if (wrong := _wrong(one, said[one.name]))]
    return found + [Problem(str(name), _("The list has no such question.")) for name in answers if name not in ASKED]


def _wrong(asked: Asked, text: str) -> str:
    if not text:
        return _("Answer this line; “unknown” is an answer.") if asked.unknown else _("Answer this line.")
    if asked.kind == CHOICE:
        return "" if text in CHOICES else _("Answer yes, no or unknown.")
    if len(text) > LONGEST[asked.kind]:
        return _("This is too long.")
    if text.casefold() == UNKNOWN:
        return "" if asked.unknown else _("This line cannot be unknown.")
    if asked.kind == DATE and not _DAY.fullmatch(text):
        return _("Write a date such as 2026-11-30, 2026-11 or 2026, or “unknown”.")
    if asked.kind == LINK and text.casefold() != NONE and not _LINK.fullmatch(text):
        return _("A link starts with https:// or http://; write “none” where there is none.")
    return ""


def shown(answers: Mapping[str, str], *, anonymous: bool = False) -> Iterator[tuple[Asked, str]]:
    """The lines that are printed, in the order of the list."""
    for one in QUESTIONS:
        if not (anonymous and one.name in IDENTIFYING):
            yield one, answers.get(one.name, "")


# --- the model card -------------------------------------------------------------------------------
_NAMED = ("apache-2.0", "mit", "bsd-3-clause", "cc-by-4.0", "cc-by-nc-4.0", "cc-by-sa-4.0", "gemma", "openrail")
LICENCES = (*_NAMED, UNKNOWN)
_MARKS = re.compile(r"([\\`*_\[\]<>!|~&:@#])")  # what makes Markdown of a text, links and images among it
_WWW = re.compile(r"(?i)\b(www)\.")


CardResult = tuple[str, Mapping[str, Any]]  # "Accuracy, all questions"; its published value, low, high and n


def model_card(
    answers: Mapping[str, str],
    results: Sequence[CardResult] = (),
    *,
    team: str,
    benchmark: str,
    slug: str,
    version: int,
) -> str:
    """The statement in the form of Hugging Face: YAML with ``model-index`` in front, then Markdown."""
    front = "\n".join(_front(answers, results, benchmark=benchmark, slug=slug, version=version))
    lines = "\n".join(_printed(one, text) for one, text in shown(answers))
    name = _plain(answers.get("model", ""))
    said = f"What follows is what the team “{_plain(team)}” says of it; nobody has checked it."
    return f"---\n{front}\n---\n\n# {name}\n\n{said}\n\n{lines}"


def _front(
    answers: Mapping[str, str], results: Sequence[CardResult], *, benchmark: str, slug: str, version: int
) -> Iterator[str]:
    licence = answers.get("licence", UNKNOWN).casefold()
    yield f"license: {licence if licence in LICENCES else 'other'}"
    if licence not in LICENCES:
        yield f"license_name: {_quoted(answers['licence'])}"
    yield "pipeline_tag: visual-question-answering"
    trained = [slug for name, slug in OF_DATA.items() if answers.get(name) == "yes"]
    yield from ("datasets:", *(f"- {one}" for one in trained)) if trained else ()
    yield from ("model-index:", f"- name: {_quoted(answers.get('model', ''))}")
    if not results:
        yield "  results: []"
        return
    yield from ("  results:", "  - task:", "      type: visual-question-answering")
    yield "      name: Multiple-choice questions on chest radiographs"
    yield from ("    dataset:", f"      type: {_quoted(slug)}", f"      name: {_quoted(benchmark)}")
    yield from ("      split: test", f"      revision: {_quoted(str(version))}", "    metrics:")
    for metric, told in results:
        limits = "" if told["low"] is None else f"95% interval {told['low']:g} to {told['high']:g}, "
        name = f"{metric} (percent, {limits}n = {told['n']:,})"
        yield from ("    - type: accuracy", f"      value: {told['value']:g}", f"      name: {_quoted(name)}")


def _quoted(text: str) -> str:
    """A text as YAML reads it whatever stands in it: one line of JSON."""
    return json.dumps(_visible(text), ensure_ascii=False)


def _printed(asked: Asked, text: str) -> str:
    """Several lines are printed as they are, where nothing in them is Markdown."""
    if "\n" not in text:
        return f"- **{asked.label}**\\: {_plain(text)}"
    return f"- **{asked.label}**\\:\n\n" + "\n".join(f"      {line}" for line in text.split("\n")) + "\n"


def _plain(text: str) -> str:
    return _WWW.sub(r"\1\\.", _MARKS.sub(r"\\\1", _visible(text)))
