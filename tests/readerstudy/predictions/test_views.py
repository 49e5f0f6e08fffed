"""Models on pages: who sees what, and a file from its check to its run."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import NoReturn

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils.html import strip_tags
from pytest_django import DjangoAssertNumQueries

from annotation.enums import Role
from annotation.models import AuditEvent, Job, User
from readerstudy.enums import StudyState
from readerstudy.models import ModelEntry, Prediction, PredictionRun, ReaderStudy, StudyRole
from readerstudy.predictions.entries import enter_model
from readerstudy.predictions.kernels import streamed_predictions
from readerstudy.predictions.kernels.records import PredictionsRefused
from readerstudy.predictions.listing import Target, close_submissions, open_submissions
from readerstudy.predictions.uploads import entry_of_file
from tests.annotation.review.cases import NOON
from tests.conftest import make_person
from tests.jobs import work
from tests.readerstudy.design.drafts import statuses
from tests.readerstudy.predictions.made import answers, entry_named, import_file, keyed_bank, lines
from tests.readerstudy.studies import enrol, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


@pytest.fixture
def mona() -> User:
    """Mona submits models."""
    return make_person("Mona", Role.MODEL_SUBMITTER)


def send(client: Client, entry: ModelEntry, content: bytes, target: str, **fields: str) -> str:
    """The address of the import of a sent file, checked."""
    sent = {"file": SimpleUploadedFile("a.jsonl", content), "target": target, **fields}
    response = client.post(f"/models/{entry.public_id}/predictions/", sent)
    assert response.status_code == 302, response.context["form"].errors
    work()
    return str(response["Location"])


def test_check_look_store(coordinator: Client) -> None:
    keyed_bank(3)
    entry = entry_named()
    content = answers(Q1="B", Q2="<b>I cannot tell</b>", Q9="A")
    address = send(coordinator, entry, content, "bank:bank")
    page = coordinator.get(address).content.decode()
    assert "Preview: nothing has been saved" in page
    assert "&lt;b&gt;I cannot tell" in page
    assert "Q9" in page
    assert not PredictionRun.objects.exists()
    for _twice in range(2):
        coordinator.post(address + "store/")
    assert Job.objects.filter(kind="store_predictions").count() == 1
    work()
    run = PredictionRun.objects.get()
    assert (str(run.imported_by), run.file_name, Prediction.objects.count()) == ("Cora", "a.jsonl", 2)
    assert "stored as run 1" in coordinator.get(address).content.decode()
    report = coordinator.get(address + "report.json")
    assert (report.json()["matched"], report["Content-Disposition"][:10]) == (2, "attachment")
    assert AuditEvent.objects.filter(act="upload.report_taken").count() == 1
    again = send(coordinator, entry, content, "bank:bank")
    assert "stored already, as run 1" in coordinator.get(again).content.decode()


@pytest.mark.logs("predictions.received")
def test_a_refused_file_cannot_be_stored(coordinator: Client) -> None:
    keyed_bank(3)
    content = lines({"id": "Q1", "pred_answer": "B"}, {"id": "Q1", "pred_answer": "A"})
    address = send(coordinator, entry_named(), content, "bank:bank")
    page = coordinator.get(address)
    assert not page.context["may_store"]
    assert "Row 1 answers this question with B" in page.content.decode()
    coordinator.post(address + "store/")
    work()
    assert not PredictionRun.objects.exists()
    assert coordinator.get(send(coordinator, entry_named("N"), content, "bank:bank", duplicates="last")).context[
        "may_store"
    ]


def test_what_the_form_refuses(coordinator: Client) -> None:
    entry = entry_named()
    keyed_bank(1)
    address = f"/models/{entry.public_id}/predictions/"
    for sent in ({}, {"file": SimpleUploadedFile("a", b"x"), "target": "bank:none"}):
        assert coordinator.post(address, sent).status_code == 422
    empty = coordinator.get(send(coordinator, entry, b"", "bank:bank")).content.decode()
    assert "The file is empty" in empty


def test_entering_editing_replacing_withdrawing(coordinator: Client) -> None:
    assert coordinator.post("/models/new/", {"name": "", "link": "javascript:alert(1)"}).status_code == 422
    given = {"name": "<i>M</i>", "version": "1", "dated_on": "2026-01-31", "link": "https://example.org/m"}
    address = coordinator.post("/models/new/", given)["Location"]
    entry = ModelEntry.objects.get()
    assert (str(entry.dated_on), str(entry.submitter)) == ("2026-01-31", "Cora")
    assert coordinator.post("/models/new/", given).status_code == 422
    assert coordinator.post(address + "edit/", {**given, "prompt": "Look."})["Location"] == address
    page = coordinator.get(address).content.decode()
    assert "&lt;i&gt;M" in page
    assert "Look." in page
    assert "No predictions yet" in page
    successor = coordinator.post(address + "replace/", {**given, "version": "2"})["Location"]
    assert "Replaced by" in coordinator.get(address).content.decode()
    assert coordinator.post(successor + "withdraw/", {"reason": ""}).status_code == 422
    coordinator.post(successor + "withdraw/", {"reason": "wrong weights"})
    assert "wrong weights" in coordinator.get(successor).content.decode()
    assert coordinator.get(successor + "predictions/").status_code == 403
    assert coordinator.post(successor + "edit/", given).status_code == 422


def test_a_run_is_named_and_withdrawn_on_its_page(coordinator: Client) -> None:
    study, entry = make_study("Trial", n_cases=2), entry_named()
    target = Target.of_study(study)
    for said in ("A", "no idea"):
        import_file(entry, target, answers(**{"1": said, "zz": "A"}))
    second = PredictionRun.objects.get(number=2)
    address = f"/models/runs/{second.public_id}/"
    page = coordinator.get(address).content.decode()
    assert "no idea" in page
    assert "Make it the main run" in page
    assert "zz" in page
    coordinator.post(address + "name/")
    assert PredictionRun.objects.get(is_named=True) == second
    assert "Models" in coordinator.get("/studies/trial/").content.decode()
    coordinator.post(address + "withdraw/", {"reason": ""})
    coordinator.post(address + "withdraw/", {"reason": "wrong file"})
    second.refresh_from_db()
    assert (second.is_named, second.withdrawn_because) == (False, "wrong file")
    assert "wrong file" in coordinator.get(f"/models/{entry.public_id}/").content.decode()


def test_a_study_is_told_to_its_coordinators_and_not_to_who_submitted_the_model(client: Client, mona: User) -> None:
    study, ruth = make_study("Trial", n_cases=1), make_person("Ruth")
    StudyRole.objects.create(study=study, user=ruth, granted_at=NOON)
    entry = enter_model({"name": "M"}, actor=mona, at=NOON)
    address = f"/models/{entry.public_id}/"
    assert statuses(client, address, [mona, ruth]) == [200, 404]
    run = import_file(entry, Target.of_study(study), answers(**{"1": "no idea"})).run
    assert run is not None
    assert statuses(client, address, [mona, ruth]) == [200, 200]
    assert statuses(client, f"/models/runs/{run.public_id}/", [mona, ruth]) == [404, 200]
    client.force_login(mona)
    page = client.get(address).content.decode()
    assert "Trial" not in page  # neither the run nor its place in the history


def test_nobody_sees_runs_of_a_study_that_they_read_in(client: Client, cora: User) -> None:
    study, entry = make_study("Trial", n_cases=1), entry_named()
    enrol(study, cora)
    run = import_file(entry, Target.of_study(study), answers(**{"1": "no idea"})).run
    assert run is not None
    client.force_login(cora)
    page = client.get(f"/models/{entry.public_id}/")
    assert page.context["runs"] == []
    assert "Trial" not in page.content.decode()
    assert client.get(f"/models/runs/{run.public_id}/").status_code == 404
    form = client.get(f"/models/{entry.public_id}/predictions/").context["form"]
    assert "study:trial" not in str(form["target"])


@pytest.mark.logs("bank.submissions_opened", "bank.submissions_closed")
def test_submitters_send_for_banks_that_are_open_to_them(client: Client, mona: User, cora: User) -> None:
    bank = keyed_bank(2)
    make_study("Trial", n_cases=1)
    entry = enter_model({"name": "M"}, actor=mona, at=NOON)
    client.force_login(mona)
    assert "no bank for which you may send" in client.get(f"/models/{entry.public_id}/predictions/").content.decode()
    client.force_login(cora)
    assert client.post("/models/submissions/bank/open/").status_code == 302
    client.force_login(mona)
    address = send(client, entry, answers(Q1="B"), "bank:bank")
    page = client.get(address)
    assert page.context["result"]["missing"] == ["2"]  # by number, not by the key of the source
    assert "jobs" not in page.content.decode()
    close_submissions(bank, actor=cora, at=NOON)
    assert client.get(address).status_code == 404
    open_submissions(bank, actor=cora, at=NOON)
    client.post(address + "store/")
    work()
    assert PredictionRun.objects.get().imported_by == mona
    client.force_login(make_person("Mick", Role.MODEL_SUBMITTER))
    assert client.get(address).status_code == 404
    assert client.post("/models/submissions/bank/close/").status_code == 403


@pytest.mark.logs("model.entered")
def test_the_home_page_of_a_submitter_names_the_next_step(client: Client, mona: User) -> None:
    client.force_login(mona)
    assert "/models/new/" in client.get("/").content.decode()
    enter_model({"name": "Mine"}, actor=mona, at=NOON)
    assert "Mine" in client.get("/").content.decode()


@pytest.mark.parametrize("n", [1, 6])
def test_queries_do_not_grow_with_models_and_runs(
    coordinator: Client, n: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    bank = Target(keyed_bank(2))
    entry = entry_named("Model")
    for number in range(n):
        import_file(entry, bank, answers(Q1="A", Q2=f"no {number}"))
        import_file(entry_named(f"M{number}"), bank, answers(Q1="A"))
    # session, person, roles; count, page, runs; open banks, banks
    with django_assert_num_queries(8):
        coordinator.get("/models/")
    # session, person, roles; entry, runs, history; runs on this site, studies that the person reads
    with django_assert_num_queries(8):
        coordinator.get(f"/models/{entry.public_id}/")
    run = entry.runs.get(number=1)
    # session, person, roles; run, entry, failed answers
    with django_assert_num_queries(6):
        coordinator.get(f"/models/runs/{run.public_id}/")


def several(client: Client, files: dict[str, bytes], target: str = "bank:bank") -> str:
    """The address of the preview of files that were sent at once, checked."""
    sent = [SimpleUploadedFile(name, content) for name, content in files.items()]
    response = client.post("/models/import/", {"predictions": sent, "target": target})
    assert response.status_code == 302, response.context["form"].errors
    work()
    return str(response["Location"])


def test_files_of_several_models_are_looked_at_together_and_stored_by_one_confirmation(coordinator: Client) -> None:
    keyed_bank(3)
    known = entry_named("Known", version="2")
    content = answers(Q1="B", Q2="A", Q3="C")
    files = {
        "predictions_MedGemma.jsonl": content,
        "Known-preds.jsonl": answers(Q1="B"),
        "some.csv": b"id,model,prediction\nQ1,Named in the file,B\nQ9,Named in the file,A\n",
        "bad.jsonl": lines({"id": "Q1", "pred_answer": "B"}, {"id": "Q1", "pred_answer": "A"}),
    }
    address = several(coordinator, files)
    page = coordinator.get(address).content.decode()
    assert [row["job"].params["model"] for row in coordinator.get(address).context["rows"]] == [
        *("MedGemma", "Known 2", "Named in the file", "bad")
    ]
    assert "Row 1 answers this question with B" in page  # which file is wrong, and where
    assert "nothing has been saved" in page
    assert "Save 3 files" in page
    assert (PredictionRun.objects.count(), ModelEntry.objects.count()) == (0, 1)
    ids = [row["upload"].public_id for row in coordinator.get(address).context["rows"]]
    for _twice in range(2):
        assert coordinator.post("/models/import/store/", {"file": ids})["Location"] == address
    work()
    runs = PredictionRun.objects.order_by("pk")
    assert [str(run.entry) for run in runs] == ["MedGemma", "Known 2", "Named in the file"]
    assert {run.entry.submitter.name for run in runs if run.entry != known and run.entry.submitter} == {"Cora"}
    assert all(run.is_named for run in runs)
    page = coordinator.get(address).content.decode()
    assert page.count("saved as run 1") == 3
    assert "Save 3 files" not in page
    again = coordinator.get(several(coordinator, {"predictions_MedGemma.jsonl": content})).content.decode()
    assert "saved before, as run 1" in again
    detail = coordinator.get(f"/models/imports/{ids[0]}/").content.decode()  # of a model that had no entry yet
    assert "MedGemma" in detail


def test_answers_without_an_option_are_part_of_the_questions_matched(coordinator: Client) -> None:
    """200 answered and 5 without an option read as a contradiction: every page says of what they are a part."""
    bank = keyed_bank(3)
    entry = entry_named("M")
    content = answers(Q1="B", Q2="I cannot tell.")
    address = several(coordinator, {"M.jsonl": content})
    run = import_file(entry, Target(bank), content).run
    assert run
    [upload] = [row["upload"].public_id for row in coordinator.get(address).context["rows"]]
    pages = (address, f"/models/imports/{upload}/", f"/models/runs/{run.public_id}/", f"/models/{entry.public_id}/")
    for page in pages:
        shown = " ".join(strip_tags(coordinator.get(page).content.decode()).lower().split())
        assert "questions answered" not in shown, page
        assert shown.index("questions matched") < shown.index("of these without an option"), page


def test_several_files_can_be_sent_where_there_is_no_model_yet(client: Client, cora: User, mona: User) -> None:
    link = 'href="/models/import/"'
    for person, offered in ((cora, True), (mona, False)):
        client.force_login(person)
        assert (link in client.get("/models/").content.decode()) is offered
    entry_named("Known")
    client.force_login(cora)
    assert client.get("/models/").content.decode().count(link) == 1


def test_the_empty_models_tab_of_a_study_leads_to_several_files(client: Client, cora: User, rita: User) -> None:
    study = make_study("Trial")
    client.force_login(cora)
    page = client.get("/studies/trial/models/").content.decode()
    assert 'href="/models/import/?target=study:trial"' in page
    form = client.get("/models/import/?target=study:trial").context["form"]
    assert form["target"].value() in dict(dict(form.fields["target"].choices)["Studies"])
    ReaderStudy.objects.update(state=StudyState.DRAFT)
    page = client.get("/studies/trial/models/").content.decode()
    assert "/models/import/" not in page
    assert "once it is frozen" in page
    StudyRole.objects.create(study=study, user=rita, granted_by=cora, granted_at=NOON)
    ReaderStudy.objects.update(state=StudyState.FROZEN)
    client.force_login(rita)  # of this study alone: enters models one by one
    page = client.get("/studies/trial/models/").content.decode()
    assert "/models/import/" not in page
    assert 'href="/models/"' in page


def test_two_files_of_one_new_model_are_two_runs_of_it(coordinator: Client) -> None:
    keyed_bank(3)
    files = {"a.csv": b"id,model,prediction\nQ1,New,B\n", "b.csv": b"id,model,prediction\nQ1,New,A\n"}
    address = several(coordinator, files)
    ids = [row["upload"].public_id for row in coordinator.get(address).context["rows"]]
    coordinator.post("/models/import/store/", {"file": ids})
    work()
    assert [run.number for run in ModelEntry.objects.get().runs.order_by("number")] == [1, 2]


def test_a_file_that_could_be_of_several_versions_stops_all_of_them(coordinator: Client) -> None:
    keyed_bank(3)
    entry_named("Known", version="1")
    entry_named("Known", version="2")
    sent = [SimpleUploadedFile(name, answers(Q1="B")) for name in ("Known.jsonl", "Other.jsonl")]
    response = coordinator.post("/models/import/", {"predictions": sent, "target": "bank:bank"})
    assert response.status_code == 422
    assert "Known.jsonl: Several versions of Known are listed" in response.content.decode()
    assert coordinator.post("/models/import/", {"target": "bank:bank"}).status_code == 422
    too_many = [SimpleUploadedFile(f"{n}.jsonl", b"") for n in range(31)]
    assert coordinator.post("/models/import/", {"predictions": too_many, "target": "bank:bank"}).status_code == 422
    assert Job.objects.count() == 0


def test_no_file_is_looked_at_that_was_not_sent(coordinator: Client) -> None:
    assert coordinator.get("/models/import/?file=nonsense").status_code == 404


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("predictions_MedGemma.json", "MedGemma"),
        ("MedGemma-4b_results.csv", "MedGemma-4b"),
        ("Qwen2.5-VL.predictions.jsonl", "Qwen2.5-VL"),
        ("answers.json", "answers"),
        ("Presto.json", "Presto"),
    ],
)
def test_a_model_is_named_by_its_file(tmp_path: Path, name: str, model: str) -> None:
    path = tmp_path / "sent"
    path.write_bytes(answers(Q1="B"))
    assert entry_of_file(name, path).name == model


def named_by(tmp_path: Path, content: bytes, name: str = "sent.json") -> str:
    path = tmp_path / "sent"
    path.write_bytes(content)
    return entry_of_file(name, path).name


def test_only_the_beginning_of_a_file_is_read_for_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n_read = 0

    class Counting(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            nonlocal n_read
            found = super().read(size)
            n_read += len(found)
            return found

    def counted(content: bytes | Path) -> io.BytesIO:
        return Counting(content.read_bytes()) if isinstance(content, Path) else io.BytesIO(content)

    rest = [{"id": f"Q{n}", "model": "Other", "pred_answer": "ä" * 90} for n in range(2_000)]
    first = {"id": "Q1", "model": "First", "pred_answer": "A"}
    monkeypatch.setattr(streamed_predictions, "opened", counted)
    contents = [
        json.dumps([first, *rest], ensure_ascii=False).encode(),
        json.dumps({"first": first, **{one["id"]: one for one in rest}}, ensure_ascii=False).encode(),
        lines(first, *rest),
        b"id,model,prediction\nQ1,First,A\n" + b"Q2,Other,B\n" * 20_000,
    ]
    for content in contents:
        n_read = 0
        assert named_by(tmp_path, content) == "First"
        assert n_read <= streamed_predictions.NAMED_WITHIN + 1 < len(content)
    blank = b"[" + b" " * streamed_predictions.NAMED_WITHIN
    assert named_by(tmp_path, blank + json.dumps(first).encode() + b"]") == "sent"


def test_a_spreadsheet_is_not_unpacked_for_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unpack(*_args: object) -> NoReturn:
        raise AssertionError("unpacked while somebody waits for the page")

    monkeypatch.setattr(streamed_predictions, "lines_of_questions", unpack)
    assert named_by(tmp_path, streamed_predictions.ZIP + b"anything", "predictions_MedGemma.xlsx") == "MedGemma"


@pytest.mark.parametrize(
    ("said", "model"),
    [
        ("Med\u202eGemma", "MedGemma"),
        (" Med\n Gemma\t4b ", "Med Gemma 4b"),
        ("\u200b\u202e", "sent"),
        ("x" * 201, "sent"),
    ],
)
def test_the_name_of_a_model_holds_no_hidden_characters(tmp_path: Path, said: str, model: str) -> None:
    assert named_by(tmp_path, lines({"id": "Q1", "model": said, "pred_answer": "A"})) == model
    with pytest.raises(PredictionsRefused, match="another name"):
        named_by(tmp_path, answers(Q1="A"), "\u202e.json")


def test_the_form_refuses_hidden_characters_in_a_name(coordinator: Client) -> None:
    for sent in ({"name": "Med\u202eGemma"}, {"name": "Med\x07Gemma"}, {"name": "M", "version": "1\u2066"}):
        page = coordinator.post("/models/new/", sent)
        assert page.status_code == 422
        assert "characters that are not shown" in page.content.decode()
    assert not ModelEntry.objects.exists()


@pytest.mark.parametrize("n", [1, 6])
def test_queries_do_not_grow_with_files(
    coordinator: Client, n: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    keyed_bank(3)
    entry_named("M0")
    address = several(coordinator, {f"M{number}.jsonl": answers(Q1="B") for number in range(n)})
    # session, person, roles; files, jobs that store, models, studies, banks
    with django_assert_num_queries(8):
        coordinator.get(address)
