"""Vectors of questions from an endpoint: what is sent, what is kept, and near-duplicates by its threshold."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from annotation.call_enums import EndpointPlace
from annotation.endpoints.sending_permissions import SendingRefused
from annotation.enums import ImportState
from annotation.management.base import ShownProgress
from annotation.models import (
    AuditEvent,
    BankImport,
    Embedding,
    Finding,
    Job,
    QuestionBank,
    QuestionVector,
    Revision,
    SendingPermission,
)
from annotation.questionbank.bank_life import sweep_import
from annotation.validators.embedded_questions import (
    EmbeddedResult,
    compare_embedded,
    embed_questions,
    embeddings_of,
    plan_embedding,
)
from annotation.validators.kernels.near_vectors import near_vectors, unit_vectors
from annotation.validators.vector_sources import EmbeddingRefused
from tests.annotation.endpoints.simulated_models import EMBEDDING_LENGTH, EMBEDDING_MODEL
from tests.annotation.endpoints.stand_in import StandIn, StandInFault
from tests.annotation.model_calls.simulated_calls import ENDPOINT, NOON, SHORT, make_permission
from tests.annotation.model_calls.simulated_calls import asked_server as named_server
from tests.annotation.review.cases import make_bank, make_revisions
from tests.commands import ends_with_2, printed
from tests.jobs import result_of

QUIET = ShownProgress(None)
asked_server = partial(named_server, place=EndpointPlace.MACHINE)


# --- kernels ---
def answer(*vectors: Any, **fields: Any) -> bytes:
    return json.dumps({"data": [{"index": n, "embedding": one} for n, one in enumerate(vectors)], **fields}).encode()


def test_vectors_are_of_length_1_in_the_order_of_the_texts() -> None:
    body = json.dumps({"data": [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 4]}]}).encode()
    found = unit_vectors(body, 2)
    assert found.dtype == np.float32
    assert found.round(6).tolist() == np.array([[0.6, 0.8], [0, 1]], dtype=np.float32).tolist()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"[]", "no list of embeddings"),
        (b'{"data": [{"embedding": [1]}]}', "no list of embeddings"),
        (answer([1.0]), "2 texts were sent, and 1 vectors came"),
        (answer([1.0], [1.0, 2.0]), "of one length"),
        (answer([], []), "of one length"),
        (answer([0.0, 0.0], [1.0, 0.0]), "zero or not finite"),
        (answer([float("nan")], [1.0]), "zero or not finite"),
        (answer(["a"], [1.0]), "no number"),
        (answer("AAAA", "AAAA"), "of one length"),
    ],
)
def test_what_is_no_answer_is_refused(body: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        unit_vectors(body, 2)


@pytest.mark.parametrize("threshold", [0.3, 0.6])
def test_pairs_are_those_of_brute_force(threshold: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.validators.kernels.near_vectors.ROWS", 7)
    monkeypatch.setattr("annotation.validators.kernels.near_vectors.COLUMNS", 11)
    vectors = np.random.default_rng(3).standard_normal((60, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    told: list[tuple[int, int]] = []
    found = near_vectors(vectors, threshold, lambda done, total: told.append((done, total)))
    pairs = np.round((vectors @ vectors.T).astype(np.float64), 6)
    np.fill_diagonal(pairs, 0)
    similar = pairs >= threshold
    assert found.n_pairs == similar.sum() // 2 > 0
    assert found.n_similar.tolist() == similar.sum(axis=1).tolist()
    assert found.nearest.tolist() == np.where(similar.any(axis=1), pairs.argmax(axis=1), -1).tolist()
    assert told[-1][0] == told[-1][1]


# --- asking ---
@pytest.fixture
def bank(db: None) -> QuestionBank:
    """Five questions, of which two have the same text and a third nearly so."""
    made = make_bank("Embedded")
    stems = ["Is there a pneumothorax on the left", "Where is the tube", "Is there a pneumothorax on the left"]
    stems += ["Is there a pneumothorax on the left side", "What does the lateral view show of the spine"]
    options = [["one", "two", "three", f"option {n}"] for n in (1, 2, 1, 1, 5)]
    make_revisions(made, {n: {"stem": stem, "options": options[n - 1]} for n, stem in enumerate(stems, start=1)})
    make_permission(made, images=False)
    return made


def embedded(bank: QuestionBank, **fields: Any) -> Embedding:
    plan = plan_embedding(bank, ENDPOINT, EMBEDDING_MODEL, at=NOON)
    given = {"actor": None, "clock": lambda: NOON, "progress": QUIET, "limits": SHORT, "wait": lambda _seconds: None}
    return embed_questions(plan, **given | fields)


def sent(server: StandIn) -> list[Any]:
    return [one for one in server.ledger if one.path.endswith("embeddings")]


def test_each_text_is_asked_about_once_and_a_second_run_asks_only_what_is_new(bank: QuestionBank) -> None:
    with asked_server() as server:
        made = embedded(bank)
        assert (QuestionVector.objects.count(), made.dimension) == (5, EMBEDDING_LENGTH)
        assert plan_embedding(bank, ENDPOINT, EMBEDDING_MODEL, at=NOON).missing == {}
        embedded(bank)
        n_before = len(sent(server))
        make_revisions(bank, {6: {"stem": "A new one"}})
        assert len(plan_embedding(bank, ENDPOINT, EMBEDDING_MODEL, at=NOON).missing) == 1
        embedded(bank)
        assert (n_before, len(sent(server))) == (1, 2)
    assert QuestionVector.objects.count() == 6
    event = AuditEvent.objects.filter(act="embedding.asked").first()
    assert event is not None
    assert AuditEvent.objects.filter(act="embedding.asked").count() == 2
    lengths = [
        np.linalg.norm(np.frombuffer(one, "<f4")) for one in QuestionVector.objects.values_list("vector", flat=True)
    ]
    np.testing.assert_allclose(lengths, 1, rtol=1e-5)


def test_the_same_text_in_another_bank_is_not_sent_again(bank: QuestionBank) -> None:
    with asked_server() as server:
        embedded(bank)
        other = make_bank("Other")
        make_permission(other)
        row = {"stem": "Where is the tube", "options": ["one", "two", "three", "option 2"]}
        make_revisions(other, {1: row})
        embedded(other)
        assert len(sent(server)) == 1
    assert QuestionVector.objects.filter(revision__bank=other).count() == 1


@pytest.mark.parametrize(
    "fault", [StandInFault.TOO_MANY_RETRY_AFTER, StandInFault.BROKEN, StandInFault.CUT_BODY, StandInFault.HTML]
)
def test_what_fails_in_passing_is_asked_again(bank: QuestionBank, fault: StandInFault) -> None:
    waits: list[float] = []
    with asked_server(fault):
        embedded(bank, wait=waits.append)
    assert QuestionVector.objects.count() == 5
    assert len(waits) == 1


def test_after_five_failures_it_ends_and_goes_on_where_it_was(
    bank: QuestionBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.validators.embedded_questions.AT_ONCE", 2)
    waits: list[float] = []
    faults = [StandInFault.UNAVAILABLE] * 5
    with asked_server(*faults), pytest.raises(EmbeddingRefused, match="503"):
        embedded(bank, wait=waits.append)
    assert waits == [1, 2, 4, 8]
    with asked_server() as server:
        embedded(bank)
        assert len(sent(server)) == 2


def test_without_a_permission_nothing_is_sent(bank: QuestionBank) -> None:
    with asked_server() as server:
        plan = plan_embedding(bank, ENDPOINT, EMBEDDING_MODEL, at=NOON)
        late = NOON.replace(year=3000)
        with pytest.raises(SendingRefused, match="Nobody has permitted"):
            embed_questions(plan, actor=None, clock=lambda: late, progress=QUIET)
        SendingPermission.objects.update(questions=False, reports=True)
        with pytest.raises(SendingRefused, match="Nobody has permitted"):
            plan_embedding(bank, ENDPOINT, EMBEDDING_MODEL, at=NOON)
        assert sent(server) == []
    assert not QuestionVector.objects.exists()


def test_another_dimension_under_the_same_name_is_refused(bank: QuestionBank) -> None:
    Embedding.objects.create(endpoint=ENDPOINT, model=EMBEDDING_MODEL, dimension=384, created_at=NOON)
    with asked_server(), pytest.raises(EmbeddingRefused, match="another model is behind"):
        embedded(bank)
    assert not QuestionVector.objects.exists()


# --- comparing ---
def test_near_duplicates_by_the_threshold_of_the_embedding_and_without_one_none(bank: QuestionBank) -> None:
    with asked_server():
        made = embedded(bank)
    told = compare_embedded(bank, made, actor=None, at=NOON, progress=QUIET)
    assert told == EmbeddedResult(str(made), None, 5)
    assert not Finding.objects.exists()
    bank.refresh_from_db()
    assert bank.compared_at is None
    made.threshold = 0.95
    told = compare_embedded(bank, made, actor=None, at=NOON, progress=QUIET)
    found = Finding.objects.filter(rule="near_embedded").order_by("revision__question__number")
    pairs = [(one.revision.question.number, one.other.question.number) for one in found if one.other]
    assert pairs == [(1, 3), (3, 1), (4, 1)]
    assert (told.n_duplicates, told.n_pairs) == (3, 3)
    assert found[0].detail.startswith(f"By the embedding {made}, stem and options are 1.00 similar to question 3;")
    made.threshold = 0.999
    compare_embedded(bank, made, actor=None, at=NOON, progress=QUIET)
    assert found.all().count() == 2
    make_revisions(bank, {6: {"stem": "A new one"}})
    made.threshold = 0.9
    with pytest.raises(EmbeddingRefused, match="1 questions of “Embedded” have no vector"):
        compare_embedded(bank, made, actor=None, at=NOON, progress=QUIET)
    (row,) = embeddings_of(bank)
    assert (row.n_vectors, row.n_questions, row.is_whole) == (5, 6, False), "one has no vector"


# --- command and page ---
def test_the_command_sends_nothing_in_a_dry_run(bank: QuestionBank) -> None:
    SendingPermission.objects.update(expires_at=NOON + timedelta(days=5000))
    arguments = ("--bank", "Embedded", "--endpoint", ENDPOINT, "--model", EMBEDDING_MODEL, "--json")
    with asked_server() as server:
        told = json.loads(printed("embed_questions", *arguments, "--dry-run"))
        assert (told["texts_to_send"], told["requests"], told["dry_run"], sent(server)) == (4, 1, True, [])
        assert json.loads(printed("embed_questions", *arguments))["threshold"] is None
        SendingPermission.objects.all().delete()
        with ends_with_2("Nobody has permitted"):
            printed("embed_questions", *arguments)


def test_the_page_asks_in_the_background(
    coordinator: Client, bank: QuestionBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.jobs.running.send", lambda _job: None)
    SendingPermission.objects.update(expires_at=NOON + timedelta(days=5000))
    page = reverse("bank-near-duplicates", args=[bank.slug])
    with asked_server():
        for _again in range(2):
            coordinator.post(reverse("bank-embed", args=[bank.slug]), {"endpoint": ENDPOINT, "model": EMBEDDING_MODEL})
        told = result_of(Job.objects.get(), at=NOON)
        text = coordinator.get(page).content.decode()
    assert (told["threshold"], told["n_questions"]) == (None, 5)
    assert "5 / 5" in text
    assert "none yet: nothing is called a duplicate" in text
    SendingPermission.objects.all().delete()
    answered = coordinator.post(reverse("bank-embed", args=[bank.slug]), {"endpoint": ENDPOINT}, follow=True)
    assert "error" in answered.content.decode()


def test_vectors_go_with_the_questions_of_an_import_that_is_taken_back(bank: QuestionBank) -> None:
    with asked_server():
        embedded(bank)
    brought = BankImport.objects.get(bank=bank)
    BankImport.objects.filter(pk=brought.pk).update(state=ImportState.FAILED)
    sweep_import(brought)
    assert (Revision.objects.count(), QuestionVector.objects.count()) == (0, 0)
