"""Planning figures against R (Connor 1987, Wilson 1927, Hillis et al. 2011)."""

from __future__ import annotations

from typing import Any

import pytest

from readerstudy.statistics.planning import (
    mcnemar_exact_power,
    mcnemar_questions,
    questions_rounded,
    reader_vs_model_power,
    wilson_questions,
)
from tests.readerstudy.statistics.goldencases import Found, Golden


def of_assumptions(given: Any) -> Found:
    needed = [mcnemar_questions(**each) for each in given["mcnemar"]]
    return {
        "mcnemar_questions_unrounded": needed,
        "mcnemar_questions": [questions_rounded(n) for n in needed],
        "mcnemar_exact_power": [mcnemar_exact_power(**each) for each in given["mcnemar_exact_power"]],
        "wilson_questions": [wilson_questions(**each) for each in given["wilson_half_width"]],
        "reader_vs_model_power": [vars(reader_vs_model_power(**each)) for each in given["reader_vs_model"]],
    }


GOLDEN = Golden({"planning": of_assumptions}, {"planning": ".*"})


@pytest.mark.parametrize(("file", "name"), GOLDEN.parameters())
def test_golden(file: str, name: str) -> None:
    GOLDEN.check(file, name)
