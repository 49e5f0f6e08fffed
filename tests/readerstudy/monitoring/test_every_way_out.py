"""Every way on which results leave a study unblinds it, where it was read here and where its readings were imported."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEvent, User
from readerstudy.enums import StudyState
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.reading.response_import import import_responses
from readerstudy.results.kernels import rendering
from tests.annotation.review.cases import NOON
from tests.made_once import made_once
from tests.readerstudy.analysis.made import analyse_by
from tests.readerstudy.report.made import QUICK
from tests.readerstudy.studies import make_study

pytestmark = pytest.mark.django_db
ResultsRoutes = Callable[[Client, Analysis, Path], object]


def command(*words: str) -> ResultsRoutes:
    def run(client: Client, analysis: Analysis, folder: Path) -> None:
        told = [word.replace("FOLDER", str(folder)) for word in words]
        call_command(*told, stdout=io.StringIO(), stderr=io.StringIO())

    return run


def posted(name: str, *args: str) -> ResultsRoutes:
    def send(client: Client, analysis: Analysis, folder: Path) -> None:
        said = [analysis.public_id if arg == "ANALYSIS" else arg for arg in args]
        form = {"threshold": "50", "name": "Again"} if name == "study-rereview" else {}
        assert client.post(reverse(name, args=["trial", *said]), form).status_code in (200, 302)

    return send


WAYS: dict[str, ResultsRoutes] = {
    "the first look at the pages": posted("study-results"),
    "the JSON from a page": posted("study-analysis", "ANALYSIS"),
    "responses from a page": posted("study-export", "responses", "csv"),
    "events from a page": posted("study-export", "events", "csv"),
    "cases for a re-review": posted("study-rereview"),
    "the JSON from a command": command("analyse_study", "Trial", "--json", "--draws", "100"),
    "the JSON into a file": command("analyse_study", "Trial", "--output", "FOLDER/analysis.json", "--draws", "100"),
    "responses from a command": command(
        "export_responses", "--study", "Trial", "--format", "csv", "--output", "FOLDER/out.csv"
    ),
    "figures": command("render_figures", "Trial", "--output", "FOLDER/figures"),
    "the report": command("export_report", "Trial", "--output", "FOLDER/report"),
}


@pytest.fixture(autouse=True)
def _nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here it matters that files leave, not what is drawn in them."""
    monkeypatch.setattr(rendering, "render", lambda *_args: b"drawn")


@made_once
def analysed(*, elsewhere: bool) -> Analysis:
    state, at = (StudyState.FROZEN, None) if elsewhere else (StudyState.CLOSED, NOON)
    study = make_study("Trial", n_cases=4, state=state, opened_at=at, n_orders=0)
    rows = [f"{name},{case},{said},answered" for name in ("R1", "R2") for case, said in enumerate("AABB", 1)]
    text = "\n".join(["reader,case,option,state", *rows]).encode()
    assert import_responses(study, name="old.csv", content=text, actor=None, at=NOON).stored
    return analyse_by(QUICK, study, at=NOON)


@pytest.fixture(params=["read elsewhere", "closed"])
def analysis(request: pytest.FixtureRequest) -> Analysis:
    return analysed(elsewhere=request.param == "read elsewhere")


@pytest.mark.parametrize("way", WAYS)
def test_it_unblinds(way: str, analysis: Analysis, client: Client, cora: User, tmp_path: Path) -> None:
    client.force_login(cora)
    assert ReaderStudy.objects.get().unblinded_at is None  # computing and storing show nothing
    assert client.get(reverse("study-analysed", args=["trial", analysis.public_id])).status_code == 403
    WAYS[way](client, analysis, tmp_path)
    assert ReaderStudy.objects.get().unblinded_at is not None
    assert AuditEvent.objects.filter(act="study.unblinded").count() == 1
