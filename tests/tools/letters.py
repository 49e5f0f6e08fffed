"""Which letters other programs take from answers: run by the Python of each, with the answers as JSON lines.

``python letters.py NAME [FOLDER] < answers.jsonl`` prints a JSON list, with "" where nothing was taken. Where it is
enough, only the module of the function is loaded: the rest of a program wants a hundred packages.
"""

import json
import logging
import random
import sys
from functools import cache
from pathlib import Path
from runpy import run_path
from sysconfig import get_path
from types import ModuleType, SimpleNamespace
from typing import Any


def lmms_eval(text: str, options: dict[str, str]) -> str:
    """Its parser for MMMU, which draws a letter where it finds none."""
    module = _loaded(Path(get_path("purelib")) / "lmms_eval" / "tasks" / "_task_utils" / "mmmu_mcq_utils.py")
    return str(module["parse_mmmu_multi_choice_response"](text, list(options), options))


def inspect_ai(text: str, options: dict[str, str]) -> str:
    """Of its solver for questions of one right option."""
    from inspect_ai.solver._multiple_choice import parse_answers

    state: Any = SimpleNamespace(output=SimpleNamespace(completion=text), choices=list(options))
    return "".join(sorted(parse_answers(state, False)))


def vlmevalkit(text: str, options: dict[str, str]) -> str:
    """What it takes before it asks another model. "Z" is its word for a refusal."""
    log = ModuleType("vlmeval.smp.log")
    log.__dict__["get_logger"] = logging.getLogger
    sys.modules |= {"vlmeval": ModuleType("vlmeval"), "vlmeval.smp": ModuleType("vlmeval.smp"), log.__name__: log}
    found = _loaded(Path(sys.argv[2]) / "vlmeval" / "utils" / "matching_util.py")["can_infer"](text, dict(options))
    return found if found and found in options else ""


@cache
def _loaded(path: Path) -> dict[str, Any]:
    return run_path(str(path))


if __name__ == "__main__":
    random.seed(1)
    take = {one.__name__: one for one in (lmms_eval, inspect_ai, vlmevalkit)}[sys.argv[1]]
    rows = map(json.loads, sys.stdin)
    print(json.dumps([take(row["text"], dict(zip("ABCDEFGH", row["options"], strict=False))) for row in rows]))
