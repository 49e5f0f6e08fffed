"""The client and the notebook of docs/ against a served site: every method, and every cell in its order."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from client import Client, JobFailed, Problem
from django.utils import timezone
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from annotation.enums import ImageState, Role
from annotation.jobs import queueing
from annotation.jobs.running import run
from annotation.models import Image, QuestionBank, User
from annotation.models.people import TokenScope
from annotation.people.tokens import make_token, place_named
from annotation.questionbank.bank_life import make_bank
from readerstudy.analysis import storing
from readerstudy.analysis.kernels.scoring import Settings as AnalysisSettings
from readerstudy.models import ReaderStudy
from tests.annotation.exports.review_files import file_of, review_cells
from tests.annotation.images.test_uploads import png
from tests.annotation.questionbank.files import make_record, write_file
from tests.architecture.source import ROOT
from tests.browser.server import served_in_one_piece, wait_until_left
from tests.conftest import make_person

NOTEBOOK = ROOT / "docs" / "client.ipynb"
REVIEWERS = ["rita@example.org", "remo@example.org"]


@pytest.fixture(scope="session")
def _in_one_piece() -> Iterator[None]:
    with served_in_one_piece():
        yield


@pytest.fixture(autouse=True)
def _leaves(_in_one_piece: None, live_server: LiveServer, transactional_db: None) -> Iterator[None]:
    """No request of a test is under way when its tables are emptied."""
    yield
    wait_until_left(live_server)


def token_of(person: User, bank: QuestionBank) -> str:
    now, place = timezone.now(), place_named(person, TokenScope.BANK, bank.slug)
    return make_token(person, "test", role=Role.COORDINATOR, place=place, days=1, actor=person, at=now).text


@pytest.fixture
def token(transactional_db: None, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a site with an empty bank and two reviewers. A job is done before the request that asked for it ends."""

    def let_out(image: Image, *, at: Any) -> ImageState:
        Image.objects.filter(pk=image.pk).update(state=ImageState.AVAILABLE)
        return ImageState.AVAILABLE

    def few_draws(study: ReaderStudy) -> AnalysisSettings:
        return AnalysisSettings(seed=study.seed, draws=200)

    settings.MEDIA_ROOT, settings.TEMP_ROOT = tmp_path / "media", tmp_path / "tmp"
    for folder in (settings.MEDIA_ROOT, settings.TEMP_ROOT):
        folder.mkdir()
    monkeypatch.setattr(queueing, "nudge", lambda job: run(job.public_id, clock=timezone.now))
    monkeypatch.setattr("annotation.ingest.uploading.check_text", let_out)
    monkeypatch.setattr(storing, "default_settings", few_draws)
    cora = make_person("Cora", Role.COORDINATOR)
    for name in ("Rita", "Remo"):
        make_person(name, Role.REVIEWER)
    return token_of(cora, make_bank("Chest", simulated=True, actor=cora, at=timezone.now()))


# --- the notebook ---------------------------------------------------------------------------------
def cells() -> list[str]:
    document = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert document["nbformat"] == 4
    code = [one for one in document["cells"] if one["cell_type"] == "code"]
    assert all(one["outputs"] == [] and one["execution_count"] is None for one in code), "clear its outputs"
    return ["".join(one["source"]) for one in code]


def run_cell(text: str, names: dict[str, Any]) -> object:
    """What the cell ends with."""
    tree = ast.parse(text)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


def test_the_notebook_goes_from_an_empty_bank_to_figures(
    live_server: LiveServer, token: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in (("ADDRESS", live_server.url), ("TOKEN", token), ("BANK", "chest")):
        monkeypatch.setenv(f"REXVQA_{name}", value)
    monkeypatch.setenv("REXVQA_REVIEWERS", ",".join(REVIEWERS))
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path))
    names: dict[str, Any] = {}
    shown = [run_cell(text, names) for text in cells()]
    assert all(
        one is not None for text, one in zip(cells(), shown, strict=True) if text.splitlines()[-1][0] not in " #"
    )
    assert len(names["reviews"]) == 2 * len(names["KEYS"])
    assert names["reviews"]["simulated"].all()
    assert len(names["cases"]) == 6
    assert 3 not in names["cases"]  # one reviewer does not accept it
    assert names["result"]["simulated"]
    assert "<svg" in names["drawing"]._repr_svg_()
    assert len(names["responses"]) == 3 * 6
    assert ReaderStudy.objects.get().simulated
    names["client"].session.close()


# --- the client -----------------------------------------------------------------------------------
class Watched(Client):
    """Knows which of its methods were used."""

    used: set[str] = set()

    def __getattribute__(self, name: str) -> Any:
        Watched.used.add(name)
        return super().__getattribute__(name)


@pytest.fixture
def client(live_server: LiveServer, token: str) -> Iterator[Client]:
    client = Watched(live_server.url, token, pause=lambda _seconds: None)
    yield client
    client.session.close()


def write_lines(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def filled(client: Client, folder: Path) -> str:
    """The bank holds three questions with an image each, two of which came in; the address of a sample of them all."""
    records = {f"q-{n}": make_record(n, n, ImagePath=[f"{n}.png"], ImageViewPosition=["PA"]) for n in (1, 2, 3)}
    stored = client.upload_questions("chest", write_file(folder, records))
    assert (stored["result"]["created"], stored["is_stored"]) == (3, True)
    files = [folder / f"{n}.png" for n in (1, 2)]
    for n, path in enumerate(files):
        path.write_bytes(png(n))
    taken = client.upload_images("chest", [*files, write_lines(folder, 'a “quoted" name.png', "no image")])
    assert taken["result"]["met"] == 2
    assert len(taken["refusals"]) == 1
    sample: str = client.draw_sample("chest", "All", by="none", per_thousand=1000)["id"]
    return sample


def reviewed(client: Client, folder: Path, sample: str) -> None:
    client.make_round(sample, "Spring", REVIEWERS, reviewers_per_question=2, steps="open")
    with pytest.raises(Problem) as refused:
        client.open_round("spring")
    assert refused.value.status == 409
    assert client.open_round("spring", without_images="One is missing")["state"] == "open"
    rows = [review_cells(n, blind_best=None, blind_difficulty=None) for n in (1, 2, 3)]
    path = file_of(folder, rows)
    assert client.import_reviews("spring", path, dry_run=True)["stored"] is False
    assert client.import_reviews("spring", path)["n_reviews"] == 3
    with pytest.raises(Problem, match="3") as refused:
        client.complete_round("spring")
    assert refused.value.code == "not_complete"
    assert client.complete_round("spring", confirmed_open=3)["state"] == "complete"
    assert client.close_round("spring")["state"] == "closed"
    frame = client.reviews("spring")
    assert list(frame["verdict"]) == ["accept"] * 3
    assert str(frame["submitted_at"].dtype).endswith("UTC]")
    assert [row["question"] for row in client.rows("rounds/spring/reviews/", limit=1, fields="question")] == [1, 2, 3]


def read_and_analysed(client: Client, folder: Path) -> None:
    draw = {"n": 3, "accepted_because": "One review each, of two"}  # disputed in the bank
    client.make_study({"name": "Trial", "bank": "chest", "draw": draw, "n_readers": 1})
    assert client.freeze_study("trial", read_elsewhere=True)["state"] == "frozen"
    with pytest.raises(Problem) as refused:
        client.open_study("trial")
    assert refused.value.status == 409
    rows = [f"Reader,{n},{'ABC'[n - 1]},answered" for n in (1, 2, 3)]
    readings = write_lines(folder, "readings.csv", "reader,case,option,state", *rows)
    assert client.import_readings("trial", readings, dry_run=True)["stored"] is False
    assert client.import_readings("trial", readings)["created"] == 3
    model = client.enter_model("Model", version="1")["id"]
    lines = [json.dumps({"id": str(n), "pred_answer": "B"}) for n in (1, 2, 3)]
    sent = client.send_predictions(model, write_lines(folder, "answers.jsonl", *lines), study="trial")
    assert (sent["is_stored"], sent["result"]["matched"]) == (True, 3)
    client.close_study("trial")
    analysis = client.analyse("trial")["id"]
    with pytest.raises(Problem) as refused:
        client.analysis_result("trial", analysis)
    assert refused.value.status == 403
    assert {one["name"] for one in client.analysis_result("trial", analysis, first_look=True)["raters"]} >= {"Reader"}
    [name, *_more] = client.figures("trial", analysis)
    assert client.figure("trial", analysis, name, folder / "figure.svg").read_text().lstrip().startswith("<")
    assert list(client.responses("trial").sort_values("case")["correct"]) == [False, True, False]
    protocol = client.download("studies/trial/protocol/", folder / "protocol.json").read_bytes()
    assert hashlib.sha256(protocol).hexdigest() == client.get("studies/trial/")["protocol_sha256"]
    assert not list(folder.glob(".*.part"))


def test_every_method(client: Client, tmp_path: Path) -> None:
    sample = filled(client, tmp_path)
    reviewed(client, tmp_path, sample)
    read_and_analysed(client, tmp_path)
    methods = {name for name, one in vars(Client).items() if inspect.isfunction(one) and not name.startswith("_")}
    assert methods - Watched.used == set()


def test_what_is_refused_is_told_with_field_and_row(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = write_file(tmp_path, {"q-1": make_record(1), "q-2": make_record(2, correct_answer="E")})
    with pytest.raises(JobFailed, match="correct_answer"):
        client.upload_questions("chest", wrong)
    assert client.get("banks/chest/")["n_questions"] == 0
    assert client.upload_questions("chest", wrong, skip_refused=True)["result"]["created"] == 1
    with pytest.raises(Problem) as refused:
        client.draw_sample("chest", "All", colour="red")
    told = refused.value
    assert (told.status, told.code) == (422, "invalid")
    assert told.errors == [{"field": "colour", "message": "There is no such field."}]
    assert "colour: There is no such field." in str(told)
    model = client.enter_model("Model")["id"]
    with pytest.raises(JobFailed):
        client.send_predictions(model, write_lines(tmp_path, "a.jsonl", '{"id": "1"'), bank="chest")
    asked = {"bank": "chest", "name": "Twice", "by": "none"}
    assert client.make("samples/", asked, key="mine") == client.make("samples/", asked, key="mine")
    monkeypatch.setattr(queueing, "nudge", lambda _job: None)  # nobody works
    client.patience = 3
    with pytest.raises(TimeoutError, match="queued"):
        client.upload_questions("chest", write_file(tmp_path, {"q-3": make_record(3)}))
