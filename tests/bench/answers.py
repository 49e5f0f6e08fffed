"""Which letter is taken from the answers of models: by our rule, and by other programs from the same texts.

Those of the package index are installed into environments of their own (``tests/tools/``). VLMEvalKit is no package:
BENCH_VLMEVALKIT names a checkout. Printed is how many answers are read right, read as another letter, and missed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from annotation.model_calls.kernels.extraction import RULE, extract
from annotation.model_calls.kernels.letter_1 import extract as extract_before
from tests.bench.measuring import seconds
from tests.bench.rows import Row
from tests.processes import ROOT
from tests.tools.installing import ToolMissing, programs_of

TEXTS = ROOT.parent / "shared" / "cases" / "answers" / "answers.jsonl"
N_ANSWERS = 41_007
Texts = Sequence[dict[str, Any]]


def measure() -> list[Row]:
    if not TEXTS.exists():
        print("The sample answers (../shared/cases) are not on this machine: nothing was read.")
        return []
    texts = [json.loads(line) for line in TEXTS.read_text(encoding="utf-8").splitlines()]
    _tell(f"ours, {RULE}", texts, [extract(one["text"], one["options"]) for one in texts])
    for name, letters in _others(texts):
        _tell(name, texts, letters)
    cycled = enumerate(islice(cycle(texts), N_ANSWERS))
    many = [(one["text"], [*one["options"][:-1], f"{one['options'][-1]} {n}"]) for n, one in cycled]
    now, before = (seconds(lambda read=read: [read(*one) for one in many]) for read in (extract, extract_before))  # type: ignore[misc]
    title = f"letters of {N_ANSWERS:,} answers, each with options of its own"
    return [Row(title, now, "s", "5", "letter-1, the rule before", before)]


def _others(texts: Texts) -> Iterator[tuple[str, list[str]]]:
    """Name and version, and the letters. A printed sentence says which is not there."""
    for name, how in (("lmms-eval", ("--no-deps",)), ("inspect-ai", ())):
        try:
            python = programs_of(name, *how) / "python"
            version = (ROOT / "tests" / "tools" / f"{name}.txt").read_text().split()[0]
            yield version, _taken(python, texts, name.replace("-", "_"))
        except (ToolMissing, subprocess.CalledProcessError) as why:
            print(f"Not asked: {why}")
    if checkout := os.environ.get("BENCH_VLMEVALKIT"):
        yield f"VLMEvalKit in {Path(checkout).name}", _taken(Path(sys.executable), texts, "vlmevalkit", checkout)
    else:
        print("VLMEvalKit was not asked: the package index has none, and BENCH_VLMEVALKIT names no checkout of it.")


def _taken(python: Path, texts: Texts, *words: str) -> list[str]:
    command = [str(python), str(ROOT / "tests" / "tools" / "letters.py"), *words]
    sent = "\n".join(map(json.dumps, texts))
    done = subprocess.run(command, input=sent, stdout=subprocess.PIPE, text=True, check=True)
    letters: list[str] = json.loads(done.stdout.splitlines()[-1])
    return letters


def _tell(name: str, texts: Texts, letters: Sequence[str]) -> None:
    pairs = [(letter, one["gold"]) for letter, one in zip(letters, texts, strict=True)]
    n_right = sum(letter == gold for letter, gold in pairs)
    n_other = sum(letter not in ("", gold) for letter, gold in pairs)
    print(f"{name}: of {len(pairs)} answers {n_right} right, {n_other} other, {len(pairs) - n_right - n_other} missed")
