"""Files of figures are drawn once for an analysis, and asked for by those who may see it."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.models import User
from annotation.tables.kernels.forms import FigureForm, Width
from readerstudy.enums import StudyState
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.results import looking
from readerstudy.results.kernels import rendering
from readerstudy.results.looking import figure_file, prepare_figures
from readerstudy.study.permissions import StudyRefused
from tests.annotation.review.cases import NOON
from tests.architecture.source import file_of, imports_of, name_of, python_files
from tests.readerstudy.results.made import analysed_study
from tests.readerstudy.studies import make_study
from tests.refusals import refuses
from tests.sweeps import in_share


@pytest.fixture
def analysis(db: None) -> Analysis:
    return analysed_study(unblinded_at=NOON)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The figures that were drawn, in order; nothing is drawn really."""
    names: list[str] = []

    def draw(name: str, *_rest: object) -> bytes:
        names.append(name)
        return f"{name} {len(names)}".encode()

    monkeypatch.setattr(rendering, "render", draw)
    return names


def address(analysis: Analysis, name: str = "accuracy", width: str = "two", form: str = "svg") -> str:
    return reverse("study-figure", args=["trial", analysis.public_id, name, width, form])


def test_a_figure_is_drawn_once(analysis: Analysis, drawn: list[str]) -> None:
    first = figure_file(analysis, "accuracy", FigureForm.SVG, Width.TWO)
    assert figure_file(analysis, "accuracy", FigureForm.SVG, Width.TWO) == first == b"accuracy 1"
    figure_file(analysis, "accuracy", FigureForm.SVG, Width.ONE)
    figure_file(analysis, "accuracy", FigureForm.PDF, Width.TWO)
    assert len(drawn) == 3
    assert figure_file(analysis, "accuracy", FigureForm.SVG, Width.TWO, afresh=True) == b"accuracy 4"
    assert figure_file(analysis, "accuracy", FigureForm.SVG, Width.TWO) == b"accuracy 4"


def test_another_analysis_and_another_version_have_files_of_their_own(
    analysis: Analysis, drawn: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    figure_file(analysis, "accuracy", FigureForm.SVG, Width.TWO)
    monkeypatch.setattr(looking, "drawing_version", lambda: "another")
    figure_file(analysis, "accuracy", FigureForm.SVG, Width.TWO)
    analysis.result_sha256 = "f" * 64
    with pytest.raises(Analysis.DoesNotExist):  # the hash names the result: no other one is drawn under it
        figure_file(analysis, "accuracy", FigureForm.SVG, Width.TWO)
    assert len(drawn) == 2


def test_what_the_pages_show_is_prepared_and_older_drawings_go(analysis: Analysis, drawn: list[str]) -> None:
    older = settings.HOME / "cache" / "figures" / "older"
    older.mkdir(parents=True)
    assert prepare_figures(analysis) == 2
    assert drawn == ["difference", "accuracy"]  # no times in this study
    assert not older.exists()
    prepare_figures(analysis)
    assert len(drawn) == 2


def test_a_figure_that_the_analysis_does_not_hold(analysis: Analysis, drawn: list[str]) -> None:
    with refuses(StudyRefused, "no_such_figure"):
        figure_file(analysis, "time", FigureForm.SVG, Width.TWO)
    assert not drawn


def test_a_full_disk_leaves_the_figure(analysis: Analysis, drawn: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_given: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(looking, "_keep", refuse)
    assert figure_file(analysis, "accuracy", FigureForm.SVG, Width.TWO) == b"accuracy 1"
    assert figure_file(analysis, "accuracy", FigureForm.SVG, Width.TWO) == b"accuracy 2"


def test_a_browser_asks_once(client: Client, cora: User, analysis: Analysis, drawn: list[str]) -> None:
    client.force_login(cora)
    first = client.get(address(analysis))
    assert first.content == b"accuracy 1"
    assert "immutable" in first["Cache-Control"]
    again = client.get(address(analysis), headers={"if-none-match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(address(analysis), headers={"if-none-match": '"other"'}).content == b"accuracy 1"
    assert client.get(address(analysis, form="pdf"))["ETag"] != first["ETag"]


def test_a_kept_file_is_shown_to_nobody_else(client: Client, stan: User, ada: User, analysis: Analysis) -> None:
    prepare_figures(analysis)
    for person, status in ((stan, 404), (ada, 403)):
        client.force_login(person)
        assert client.get(address(analysis)).status_code == status
    ReaderStudy.objects.update(unblinded_at=None)
    assert client.get(address(analysis)).status_code == 403


def test_a_change_of_any_module_that_figures_read_results_with_draws_anew() -> None:
    drawing = {name_of(path) for path in looking.modules_that_draw()}
    kernels = python_files("annotation/tables/kernels", "readerstudy/results/kernels")
    read = {name_of(path) for kernel in kernels for module in imports_of(kernel) if (path := file_of(module))}
    shown = {name for name in read if name.split("/")[1] in ("tables", "results")}
    assert "readerstudy/results/kernels/inferences.py" in shown
    assert shown - drawing == set()


@pytest.mark.sweep
def test_every_figure_in_every_form_and_the_study_is_unblinded(
    db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analysed_study()
    drawn = rendering.render
    monkeypatch.setattr(rendering, "render", lambda *asked: drawn(*asked) if in_share((asked[0], *asked[2:])) else b"")
    call_command("render_figures", "trial", "--output", str(tmp_path / "figures"), stdout=StringIO())
    found = {one.name for one in (tmp_path / "figures").iterdir()}
    assert len(found) == 5 * (2 * 3 + 1)
    assert {
        "accuracy-one.svg",
        "agreement-two.pdf",
        "difference-one.png",
        "inferences-two.svg",
        "accuracy.txt",
    } <= found
    assert ReaderStudy.objects.get().unblinded_at is not None


@pytest.mark.parametrize("state", [StudyState.OPEN, StudyState.CLOSED])
def test_what_is_refused_writes_nothing(db: None, tmp_path: Path, state: StudyState) -> None:
    if state == StudyState.OPEN:
        analysed_study(state=state)
    else:
        make_study(state=state)
    wanted = "until the study is closed" if state == StudyState.OPEN else "run analyse_study trial first"
    with pytest.raises(CommandError, match=wanted) as refusal:
        call_command("render_figures", "trial", "--output", str(tmp_path / "figures"))
    assert refusal.value.returncode == 2
    assert not (tmp_path / "figures").exists()
