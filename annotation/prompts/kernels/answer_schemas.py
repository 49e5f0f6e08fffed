"""Whether a text can be the schema of an answer, and the hash of everything of a prompt that is sent. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from annotation.files.kernels.strictjson import FileRefused, read_value

LONGEST_SCHEMA = 20_000  # characters


def schema_problem(text: str) -> str:
    """What is wrong with a schema; nothing for a good one, and for none at all.

    A good one describes an object with named properties: answers of any other form are not read here.
    """
    if not text:
        return ""
    if len(text) > LONGEST_SCHEMA:
        return f"it is longer than {LONGEST_SCHEMA:,} characters"
    try:
        _name, schema, faults = read_value(text)
    except FileRefused as refusal:
        if refusal.code == "too_deep":
            return "it is nested too deeply"
        return f"it is not JSON (line {refusal.facts['line']}, column {refusal.facts['column']})"
    return f"it is not strict JSON: {faults[0].message.rstrip('.')}" if faults else _problem_of(schema)


def prompt_sha256(*, instruction: str, text: str, variables: Sequence[str], images: str, schema: str) -> str:
    sent = {"instruction": instruction, "text": text, "variables": sorted(variables), "images": images}
    return hashlib.sha256(json.dumps({**sent, "schema": schema}, sort_keys=True).encode()).hexdigest()


def _problem_of(schema: Any) -> str:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return 'it is not an object with "type": "object"'
    properties, required = schema.get("properties"), schema.get("required", [])
    if not isinstance(properties, dict) or not properties:
        return 'it names no "properties"'
    if plain := [name for name, described in properties.items() if not isinstance(described, dict)]:
        return f'its property "{plain[0]}" is not described by an object'
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return '"required" is not a list of names'
    if missing := [name for name in required if name not in properties]:
        return f'"required" names "{missing[0]}", which is none of its properties'
    return ""
