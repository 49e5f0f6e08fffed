"""The scripts of a report that fit a mixed model to its ratings: in Python, and in R where its packages are here."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from readerstudy.exports.ratings import COLUMNS, ratings_csv
from readerstudy.exports.report_writing import MIXED_MODELS
from tests.readerstudy.report.test_recompute import QUICK, lively

IN_R, IN_PYTHON = MIXED_MODELS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ratings.csv").write_text(ratings_csv(lively(n_readers=4), QUICK))
    for script in MIXED_MODELS:
        shutil.copy(script, tmp_path)
    return tmp_path


def run(folder: Path, *command: str) -> str:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_in_python_models_are_compared_with_readers(folder: Path) -> None:
    pytest.importorskip("statsmodels")
    printed = run(folder, sys.executable, "-I", "-W", "error", IN_PYTHON.name)
    kinds = dict(re.findall(r"^(\S.*?) +([MV]) +-?\d", printed, re.MULTILINE))
    models, tasks = dict.fromkeys(("M0, =1", "M1, =1"), "M"), dict.fromkeys(("negation", "presence"), "M")
    effects = dict.fromkeys(("reader", "case of readers", "case of models", "cluster"), "V")
    assert kinds == {"readers": "M", **models, **tasks, **effects}
    assert "no\ndegrees of freedom of readers" in printed


def test_in_r_too(folder: Path) -> None:
    text = IN_R.read_text()
    used = {*re.findall(r"(?:rows|sure)\$(\w+)", text), *re.findall(r"\| (\w+)\)", text), "correct", "voided"}
    assert used - {"human", "who"} <= {one.name for one in COLUMNS}
    r = shutil.which("Rscript")
    if r is None or subprocess.run([r, "-e", "library(lme4); library(ordinal)"], capture_output=True).returncode:
        return  # without them the names of the columns are all that can be asked
    printed = run(folder, r, IN_R.name)
    for effect in ("case:kind", "case ", "cluster", "rater"):
        assert re.search(rf"^ {effect}.*\d", printed, re.MULTILINE), printed
    assert re.search(r"^whoM0, =1 +-?\d", printed, re.MULTILINE)
    assert "Cumulative Link Mixed Model" in printed
