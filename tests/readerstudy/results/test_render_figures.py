"""manage.py render_figures: the files of the pages, and when it refuses."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from readerstudy.results.kernels import rendering
from tests.readerstudy.results.made import analysed_study
from tests.readerstudy.studies import make_study
from tests.sweeps import in_share


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
