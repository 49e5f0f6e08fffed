"""What the simulated model that keeps to schemas writes of a report: findings and questions of its own sentences. Pure.

A seeded share of it is at fault as models are: quotes that nobody wrote, distractors that the report does not mention,
and questions of presence with two right options.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

INVENTED = 8  # one quote in so many is in no report
UNGROUNDED = 5  # one question in so many offers what its report does not state
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_HEADING = re.compile(r"^[A-Z][A-Za-z ]{2,20}:\s*")
_DENIED = re.compile(r"^(?:there (?:is|are) )?no (?:evidence of |sign of )?|\bwithout\b|\bnot seen\b", re.IGNORECASE)
_FINDING = re.compile(r"^(\d+)\. \[(present|absent)\] (.+)$", re.MULTILINE)
_NUMBER = re.compile(r"Write (\d+) questions")
_REPORT = re.compile(r"^Report:\n(.*)", re.MULTILINE | re.DOTALL)


def writes(schema: dict[str, Any]) -> bool:
    """Whether the schema asks for findings, for questions or for a verdict."""
    return set(schema.get("properties", {})) in ({"bullets"}, {"questions"}, {"reason", "verdict"})


def written_for(schema: dict[str, Any], text: str, draw: random.Random) -> dict[str, Any]:
    """The answer to such a request; ``text`` is the whole prompt."""
    if "verdict" in schema["properties"]:
        verdict = draw.choices(["pass", "fail", "undecided"], weights=[6, 3, 1])[0]
        return {"reason": f"Simulated ({verdict}): nobody looked at the question.", "verdict": verdict}
    if "bullets" in schema["properties"]:
        found = _REPORT.search(text)
        return {"bullets": [_bullet(one, draw) for one in _sentences(found[1] if found else "")]}
    number = _NUMBER.search(text)
    findings = [(int(n), polarity, words) for n, polarity, words in _FINDING.findall(text)]
    return {"questions": _questions(findings, int(number[1]) if number else 1, draw)}


def _sentences(report: str) -> list[str]:
    parts = (_HEADING.sub("", part.strip()) for part in _SENTENCE.split(report))
    return [part for part in parts if part]


def _bullet(sentence: str, draw: random.Random) -> dict[str, Any]:
    is_invented = draw.randrange(INVENTED) == 0
    words = sentence.rstrip(".")
    return {
        "quote": "A simulated finding that nobody reported." if is_invented else sentence,
        "statement": words,
        "polarity": "absent" if _DENIED.search(words) else "present",
        "compares_with_prior": False,
        "location": "",
    }


Finding = tuple[int, str, str]


def _questions(findings: Sequence[Finding], n_questions: int, draw: random.Random) -> list[dict[str, Any]]:
    present = [one for one in findings if one[1] == "present"]
    absent = [one for one in findings if one[1] == "absent"]
    made = []
    for number in range(n_questions):
        if absent and len(present) >= 3 and number % 2 == 0:
            key, wrong = draw.choice(absent), draw.sample(present, 3)
            if draw.randrange(UNGROUNDED) == 0:
                wrong[0] = key[0], "absent", f"{_name(key)}, not mentioned"
            made.append(_question("negation", "Which of these is absent on the images?", key, wrong, draw))
        elif len(findings) >= 4 and present:
            key = draw.choice(present)
            rest = [one for one in findings if one != key]
            wrong = draw.sample(absent if len(absent) >= 3 and draw.randrange(UNGROUNDED) else rest, 3)
            if draw.randrange(UNGROUNDED) == 0:
                wrong[0] = max(one[0] for one in findings) + 1, "present", "A finding that nobody reported"
            made.append(_question("presence", f"What do the images show ({number + 1})?", key, wrong, draw))
    return made


def _question(task: str, stem: str, key: Finding, wrong: Sequence[Finding], draw: random.Random) -> dict[str, Any]:
    options = [key, *wrong]
    draw.shuffle(options)
    return {
        "task": task,
        "stem": stem,
        "options": [{"text": _name(one), "bullets": [one[0]]} for one in options],
        "key": "ABCD"[options.index(key)],
        "explanation": f"Simulated: it is {key[1]}, and nobody looked at an image.",
        "category": "Simulated",
        "subcategory": "",
        "question_class": "Clinical Assessment",
        "difficulty": draw.choice(["easy", "medium", "hard"]),
    }


def _name(finding: Finding) -> str:
    """The finding without its denial, so that no option gives itself away."""
    words = _DENIED.sub("", finding[2]).strip() or finding[2]
    return words[:1].upper() + words[1:]
