"""The study of the paper, from its files through the ordinary commands to the published numbers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils.text import slugify

from annotation.models import User
from readerstudy.analysis import storing
from readerstudy.analysis.kernels.scoring import Settings
from tests.readerstudy.analysis.test_computing import GOLDEN, pair_of

STUDY = "Paper-shaped study"


@pytest.fixture
def golden(shared_data: Path) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((shared_data.parent / GOLDEN).read_text())["expected"]
    return expected


@pytest.fixture
def files(shared_data: Path, tmp_path: Path) -> Path:
    shared = shared_data.parent
    tool = shared / "tools" / "paper_study_files.py"
    if not tool.is_file():
        pytest.skip("the tool that writes the files of the study is not on this machine")
    subprocess.run([sys.executable, str(tool), str(shared / GOLDEN), str(tmp_path)], check=True)
    return tmp_path


def command(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out, stderr=StringIO())
    return out.getvalue()


def analysis() -> dict[str, Any]:
    """The study's own, of few draws."""
    with patch.object(storing, "default_settings", lambda study: Settings(seed=study.seed, draws=100)):
        result: dict[str, Any] = json.loads(command("analyse_study", STUDY, "--json", "--draws", "100"))
    return result


def printed_accuracies(result: dict[str, Any]) -> dict[str, float]:
    raters = result["panels"]["All tasks"]["raters"]
    return {one["name"]: round(100 * one["accuracy"]["value"], 2) for one in raters}


def accuracies_on_the_page(client: Client) -> dict[str, str]:
    """Of each rater over questions, as a coordinator reads it on the results page."""
    page = client.get(f"/studies/{slugify(STUDY)}/results/", follow=True).content.decode()
    table = page[page.index('aria-labelledby="accuracy-title"') :]
    rows = re.findall(r'<th scope="row">\s*<bdi>([^<]+)</bdi>.*?<td class="number">\s*([\d.]+)', table, re.DOTALL)
    return dict(reversed(rows))  # the first table with a name is that of accuracy


def test_the_published_accuracies_and_every_kappa(
    client: Client, cora: User, files: Path, golden: dict[str, Any]
) -> None:
    command("import_questions", str(files / "questions.json"), "--bank", "paper")
    command("create_study", "--bank", "paper", "--cases", str(files / "cases.txt"), "--name", STUDY)
    command("act", "study-freeze", slugify(STUDY), "--by", cora.email, "--with", "read_elsewhere=on")
    command("import_responses", str(files / "responses.csv"), "--study", STUDY)
    for model in sorted(files.glob("predictions_*.json")):
        name = model.stem.removeprefix("predictions_")
        command("import_predictions", str(model), "--model", name, "--study", STUDY)
    published = golden["accuracy"]["published_percent"]
    command("import_voidings", str(files / "voidings.csv"), "--study", STUDY)  # before anybody sees a result
    result = analysis()
    unvoided = printed_accuracies(result["variants"]["with_voided"])
    assert not [name for name, percent in published.items() if unvoided[name] == percent]
    found = printed_accuracies(result)
    assert {name: found[name] for name in published} == published
    client.force_login(cora)
    shown = accuracies_on_the_page(client)
    assert {name: shown[name] for name in published} == {name: f"{percent:.2f}" for name, percent in published.items()}
    assert [one["decided"] for one in result["excluded"]] == ["before_unblinding"] * 2
    names, kappas = golden["rater_order"]["value"], golden["kappa all"]["value"]
    for row, first in enumerate(names):
        for column, second in enumerate(names[:row]):
            found_kappa = pair_of(result["panels"]["All tasks"], first, second)["cohen_kappa"]["value"]
            assert found_kappa == pytest.approx(kappas[row][column], abs=1e-9)
