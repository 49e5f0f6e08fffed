"""Whether a text can be the schema of an answer, and the hash of everything of a prompt that is sent. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NoReturn

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
        schema = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except RecursionError:
        return "it is nested too deeply"
    except json.JSONDecodeError as error:
        return f"it is not JSON (line {error.lineno}, column {error.colno})"
    except ValueError as error:
        return str(error)
    return _problem_of(schema)


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


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f'"{name}" is there twice')
        found[name] = value
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")
