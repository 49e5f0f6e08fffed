"""What rules and validators find of planted faults: ``python -m tests.annotation.validators.exam_table``.

Identifiers are planted in made-up questions, which the rules look at, and defects in questions of the sample, about
which a model is asked by the prompts of the validators: each as it is and with every defect that it can have. Without
``--url`` the model is a simulated one that looks at nothing; EXAM_KEY holds the key of an endpoint that wants one.
A question may have a fault of its own, so that the share failed without a planted one is the floor of the others.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import requests

from annotation.endpoints.kernels.completions import ChatSettings, Message, ModelRequest, chat_request
from annotation.generation.kernels.answer_forms import NotInForm, read_form
from annotation.model_calls.kernels.extraction import LETTERS, question_values
from annotation.model_calls.kernels.filling import fill
from annotation.questionbank.kernels.question_checks import BY_VERDICT
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share
from annotation.validators.kernels.validator_prompts import PROMPTS, WrittenVerdict
from tests.annotation.endpoints.simulated_models import JUDGES, chat_answer
from tests.annotation.quality.planted_identifiers import FORMS, found_of
from tests.architecture.source import ROOT


@dataclass(frozen=True)
class AskedQuestion:
    stem: str
    options: tuple[str, ...]
    key: str
    explanation: str
    report: str = ""

    def with_option(self, letter: str, text: str) -> AskedQuestion:
        place = LETTERS.index(letter)
        return replace(self, options=(*self.options[:place], text, *self.options[place + 1 :]))


# --- planted ---
RECALL = (  # stem, options, key, explanation
    ("How many lobes has the right lung?", ("Two", "Three", "Four", "Five"), "B", "It has three lobes."),
    ("Who took the first radiograph of a hand?", ("Curie", "Edison", "Becquerel", "Röntgen"), "D", "Röntgen, in 1895."),
    ("Whose lines are short and horizontal?", ("Hampton's", "Kerley's", "Fleischner's", "Hill's"), "B", "Kerley B."),
    ("Where does the pulmonary trunk begin?", ("Right ventricle", "Left atrium", "Aorta", "Carina"), "A", "There."),
)


def planted(question: AskedQuestion, draw: random.Random) -> dict[str, AskedQuestion]:
    """By defect: the question as it is, and a copy with each one that it can have."""
    key_text = question.options[LETTERS.index(question.key)]
    other = draw.choice([letter for letter in LETTERS if letter != question.key])
    copies = {
        "none": question,
        "key swapped": replace(question, key=other),
        "second option true": question.with_option(other, f"Findings in keeping with: {_lowered(key_text)}"),
        "earlier exam mentioned": replace(
            question, stem=f"Compared with the previous radiographs, {_lowered(question.stem)}"
        ),
        "question of recall": AskedQuestion(*draw.choice(RECALL), question.report),
    }
    turned, sides = _turned(key_text), {side.lower() for side in _SIDE.findall(key_text)}
    if len(sides) == 1 and turned.casefold() not in {option.casefold() for option in question.options}:
        explanation = _turned(question.explanation)
        copies["side of the key swapped"] = replace(question.with_option(question.key, turned), explanation=explanation)
    return copies


_SIDE = re.compile(r"\b(left|right)\b", re.IGNORECASE)


def _lowered(text: str) -> str:
    """With a small first letter, unless the word is written in capitals."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _turned(text: str) -> str:
    def other(found: re.Match[str]) -> str:
        side = {"left": "right", "right": "left"}[found[0].lower()]
        return side.capitalize() if found[0][0].isupper() else side

    return _SIDE.sub(other, text)


# --- asked ---
def verdict_on(question: AskedQuestion, validator: str, model: str, send: Callable[[ModelRequest], str]) -> str:
    """``unread`` where the answer holds none."""
    prompt = PROMPTS[validator]
    values = question_values(question.stem, question.options)
    values |= {"key": question.key, "explanation": question.explanation, "report": question.report}
    messages = [Message("system", (prompt.instruction,)), Message("user", (fill(prompt.text, values),))]
    answer = send(chat_request(model, messages, ChatSettings(temperature=0, schema=prompt.schema)))
    try:
        return read_form(answer, WrittenVerdict).verdict
    except NotInForm:
        return "unread"


def verdicts_of(
    questions: list[AskedQuestion], validator: str, model: str, send: Callable[[ModelRequest], str], *, seed: int
) -> dict[str, Counter[str]]:
    """By defect, how often each verdict was given."""
    found: dict[str, Counter[str]] = {}
    for place, question in enumerate(questions):
        for defect, copy in planted(question, random.Random(f"{seed} {place}")).items():
            found.setdefault(defect, Counter())[verdict_on(copy, validator, model, send)] += 1
    return found


def sample_questions(n: int, *, seed: int) -> list[AskedQuestion]:
    sample = ROOT.parent / "shared" / "data" / "rexvqa_sample.json"
    records = list(json.loads(sample.read_text(encoding="utf-8")).values())
    return [
        AskedQuestion(
            one["question"],
            tuple(option[3:] for option in one["options"]),
            one["correct_answer"],
            one["correct_answer_explanation"],
            f"Findings: {one['Findings']}\nImpression: {one['Impression']}",
        )
        for one in random.Random(seed).sample(records, min(n, len(records)))
    ]


def _sender(url: str) -> Callable[[ModelRequest], str]:
    def send(request: ModelRequest) -> str:
        if url:
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('EXAM_KEY', '')}"}
            answer = requests.post(f"{url}/{request.route}", data=request.body, headers=headers, timeout=600).json()
        else:
            answer = chat_answer(json.loads(request.body), seed=1)
        return str(answer["choices"][0]["message"]["content"])

    return send


def _written(found: Estimate) -> str:
    low, high = found.ci95 or (0.0, 1.0)
    return f"{found.count:4} of {found.n:4}  {100 * (found.value or 0):5.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="", help="of an endpoint that speaks as OpenAI's does, ending in /v1")
    parser.add_argument("--model", default=JUDGES, help="as the endpoint calls it")
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print("identifiers found by the rules (95 % by Wilson)")
    for form in FORMS:
        found = found_of(form, n=100, seed=given.seed)
        print(f"  {form.letter} {form.label:<27} {_written(found)}")
    questions, send = sample_questions(given.questions, seed=given.seed), _sender(given.url)
    for validator in BY_VERDICT:
        print(f"\n{PROMPTS[validator].name}: copies that {given.model} fails, by what is planted")
        for defect, counts in verdicts_of(questions, validator, given.model, send, seed=given.seed).items():
            rest = ", ".join(f"{counts[word]} {word}" for word in ("undecided", "unread") if counts[word])
            print(f"  {defect:<29} {_written(share(counts['fail'], counts.total()))}  {rest}".rstrip())


if __name__ == "__main__":
    main()
