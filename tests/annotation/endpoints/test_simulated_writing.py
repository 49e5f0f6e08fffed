"""The simulated model that keeps to schemas writes findings and questions, a seeded share of them at fault."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from annotation.generation.kernels.answer_forms import (
    BULLETS_SCHEMA,
    QUESTIONS_SCHEMA,
    WrittenBullet,
    read_bullets,
    read_questions,
)
from annotation.generation.kernels.generation_prompts import BULLETS, QUESTIONS, finding_line
from annotation.generation.kernels.grounding import fault_of, ground_bullet
from annotation.prompts.kernels.filling import fill
from tests.annotation.endpoints.simulated_models import GOOD, OBEYS_SCHEMA, chat_answer
from tests.annotation.generation.made import FINDINGS, IMPRESSION

REPORT = f"Findings: {FINDINGS}\nImpression: {IMPRESSION}"


def said(text: str, schema: str, *, seed: int, model: str = OBEYS_SCHEMA) -> str:
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": json.loads(schema)}}
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": text}], "response_format": form}
    content: str = chat_answer(body, seed=seed)["choices"][0]["message"]["content"]
    return content


def bullets(seed: int) -> list[WrittenBullet]:
    return read_bullets(said(fill(BULLETS.text, {"report": REPORT}), BULLETS_SCHEMA, seed=seed))


def test_findings_quote_the_report_but_for_a_share() -> None:
    faults = Counter(ground_bullet(one, REPORT).fault for seed in range(40) for one in bullets(seed))
    assert set(faults) == {"", "quote_not_found"}
    assert 0.05 < faults["quote_not_found"] / faults.total() < 0.25


def test_what_is_denied_is_absent() -> None:
    said_of = {one.statement: one.polarity for one in bullets(1)}
    assert said_of["No pleural effusion"] == "absent"
    assert said_of["The heart is enlarged"] == "present"


def test_questions_stand_on_the_findings_but_for_a_share() -> None:
    usable = [one for one in bullets(1) if not ground_bullet(one, REPORT).fault]
    lines = [finding_line(n, one.polarity, one.statement, "") for n, one in enumerate(usable, start=1)]
    polarities = {n: ground_bullet(one, REPORT).polarity for n, one in enumerate(usable, start=1)}
    text = fill(QUESTIONS.text, {"bullets": "\n".join(lines), "n_questions": "2"})
    asked = [one for seed in range(60) for one in read_questions(said(text, QUESTIONS_SCHEMA, seed=seed))]
    faults = Counter(fault_of(one, polarities) for one in asked)
    assert len(asked) == 120
    assert set(faults) == {"", "negation_distractor_not_present", "unknown_bullet"}
    assert faults[""] > 70


def test_equal_requests_get_equal_answers_and_other_models_ignore_the_schema() -> None:
    text = fill(BULLETS.text, {"report": REPORT})
    assert said(text, BULLETS_SCHEMA, seed=3) == said(text, BULLETS_SCHEMA, seed=3)
    assert not said(text, BULLETS_SCHEMA, seed=3, model=GOOD).startswith("{")


def test_a_report_of_nothing_has_no_finding() -> None:
    assert read_bullets(said(fill(BULLETS.text, {"report": ""}), BULLETS_SCHEMA, seed=1)) == []
