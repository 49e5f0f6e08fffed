"""Folders of models in ONNX, as whoever runs the server names them, and what such a folder says of itself. Pure.

Each holds ``model.onnx`` (also in ``onnx/``) and ``tokenizer.json``. A sentence model has beside them what
sentence-transformers exports, ``1_Pooling/config.json`` and ``sentence_bert_config.json``; a classifier of texts has
``config.json``, whose ``id2label`` names its classes, as Optimum exports one.
"""

from __future__ import annotations

import hashlib
import json
import re
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeGuard

from msgspec import Struct

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,28}[a-z0-9])?")
FINGERPRINT = 12  # characters
LONGEST = 8192  # tokens that a model may take
KNOWN_STEPS = {"Transformer", "Pooling", "Normalize"}  # of modules.json; vectors are brought to length 1 in any case
MOST_CLASSES, LONGEST_CLASS = 50, 60


class Pooling(StrEnum):
    """How the vectors of the tokens become that of the text."""

    MEAN = "mean"  # over the tokens of the text, without padding
    CLS = "cls"  # that of the first token


class ModelFolder(Struct, frozen=True):
    """``fingerprint``: of all that an answer depends on, so that other files are another model."""

    name: str
    model: Path
    tokenizer: Path
    longest: int  # tokens that the model takes at once
    fingerprint: str


class SentenceFolder(ModelFolder, frozen=True):
    pooling: Pooling
    dimension: int


class ClassifierFolder(ModelFolder, frozen=True):
    """``is_multi``: a text can be of several classes, so that each has a probability of its own; else they add to 1."""

    labels: tuple[str, ...]
    is_multi: bool


def folders_from(text: str) -> dict[str, Path]:
    """Of ``name=/path/of/folder, other=...``. Raises ValueError with a sentence for the first one that is wrong."""
    found: dict[str, Path] = {}
    for number, entry in enumerate(filter(None, (part.strip() for part in text.split(","))), start=1):
        name, equals, path = (part.strip() for part in entry.partition("="))
        if not equals or not path:
            raise ValueError(f"entry {number} is not of the form name=/path/of/folder")
        if not NAME.fullmatch(name):
            raise ValueError(f"the name of entry {number} is not made of small letters, digits and hyphens, 30 at most")
        if name in found:
            raise ValueError(f"the name {name!r} is listed twice")
        if not Path(path).is_absolute():
            raise ValueError(f"the folder of {name!r} is not named by its whole path, from / on")
        found[name] = Path(path)
    return found


def _files_of(path: Path) -> tuple[Path, Path]:
    """Model and tokenizer. Raises ValueError."""
    if not path.is_dir():
        raise ValueError("there is no such folder")
    model = next((one for one in (path / "model.onnx", path / "onnx" / "model.onnx") if one.is_file()), None)
    if model is None:
        raise ValueError("it holds no model.onnx")
    tokenizer = path / "tokenizer.json"
    if not tokenizer.is_file():
        raise ValueError("it holds no tokenizer.json")
    return model, tokenizer


def read_sentence_folder(name: str, path: Path) -> SentenceFolder:
    """Raises ValueError with what is missing or unclear."""
    model, tokenizer = _files_of(path)
    _check_steps(path)
    pooling_config = _json_of(path / "1_Pooling" / "config.json")
    if pooling_config is None:
        raise ValueError("its pooling is unclear: it holds no 1_Pooling/config.json")
    pooling, dimension = _pooling_of(pooling_config), pooling_config.get("word_embedding_dimension")
    if not _is_count(dimension):
        raise ValueError("the size of its vectors is unclear: 1_Pooling/config.json has no word_embedding_dimension")
    longest = _longest_of(path, "sentence_bert_config.json", "max_seq_length")
    digest = _fingerprint(model, tokenizer, f"{pooling} {longest}")
    return SentenceFolder(name, model, tokenizer, longest, digest, pooling, dimension)


def read_classifier_folder(name: str, path: Path) -> ClassifierFolder:
    """Raises ValueError with what is missing or unclear."""
    model, tokenizer = _files_of(path)
    config = _json_of(path / "config.json") or {}
    kinds = [str(one) for one in config.get("architectures") or ()]
    if others := [one for one in kinds if not one.endswith("ForSequenceClassification")]:
        raise ValueError(f"it is no classifier of whole texts: its config.json says {others[0][:60]}")
    labels = _labels_of(config)
    places = config.get("max_position_embeddings")  # of which some models leave two out
    most = places - 2 if _is_count(places) else None
    longest = _longest_of(path, "tokenizer_config.json", "model_max_length", most)
    is_multi = config.get("problem_type") == "multi_label_classification" or len(labels) == 1
    settings = json.dumps([labels, is_multi, longest])
    return ClassifierFolder(
        name, model, tokenizer, longest, _fingerprint(model, tokenizer, settings), tuple(labels), is_multi
    )


def _labels_of(config: dict[str, Any]) -> list[str]:
    """The classes in the order of the model's numbers."""
    named = config.get("id2label")
    if not isinstance(named, dict) or not named:
        raise ValueError("it is no classifier: it holds no config.json whose id2label names classes")
    labels = [str(named.get(str(number), "")).strip() for number in range(len(named))]
    if len(set(labels)) < len(labels) or not all(0 < len(one) <= LONGEST_CLASS for one in labels):
        raise ValueError(
            f"the id2label of its config.json does not name each class once, in {LONGEST_CLASS} characters"
        )
    if len(labels) > MOST_CLASSES:
        raise ValueError(f"its config.json names {len(labels)} classes; {MOST_CLASSES} at most")
    return labels


def _check_steps(path: Path) -> None:
    """A step that is not done here would give other vectors than the model means. Raises ValueError."""
    file = path / "modules.json"
    if not file.is_file():
        return
    try:
        steps = [str(one["type"]).rpartition(".")[2] for one in json.loads(file.read_bytes())]
    except (ValueError, TypeError, KeyError):
        raise ValueError("its modules.json cannot be read") from None
    if others := [one for one in steps if one not in KNOWN_STEPS]:
        raise ValueError(f"it asks for a step that is not done here: {', '.join(others)[:100]}")


def _pooling_of(config: dict[str, Any]) -> Pooling:
    """Of flags (``pooling_mode_mean_tokens``), or a word (``pooling_mode``) as newer exports have it."""
    flags = {
        key.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for key, value in config.items()
        if key.startswith("pooling_mode_") and value is True
    }
    word = config.get("pooling_mode")
    named = {word} if isinstance(word, str) else flags
    if len(named) != 1:
        raise ValueError("its pooling is unclear: 1_Pooling/config.json names none, or more than one")
    (one,) = named
    if one not in set(Pooling):
        raise ValueError(f"its pooling {str(one)[:40]!r} is not known here; known are {', '.join(Pooling)}")
    return Pooling(one)


def _longest_of(path: Path, name: str, key: str, else_most: int | None = None) -> int:
    said, tokenizer = (_json_of(path / one) or {} for one in (name, "tokenizer.json"))
    cut = tokenizer.get("truncation")
    for value in (said.get(key), cut.get("max_length") if isinstance(cut, dict) else None, else_most):
        if _is_count(value) and value <= LONGEST:
            return value
    raise ValueError(
        f"how many tokens it takes is unclear: neither {name} ({key}) nor the truncation of tokenizer.json says it, or "
        f"it is more than {LONGEST}"
    )


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _json_of(file: Path) -> dict[str, Any] | None:
    """None: there is no such file. Raises ValueError for one that holds no JSON object."""
    if not file.is_file():
        return None
    try:
        content = json.loads(file.read_bytes())
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise ValueError(f"its {file.name} cannot be read")
    return content


def _fingerprint(model: Path, tokenizer: Path, settings: str) -> str:
    found = hashlib.sha256(settings.encode())
    for path in (model, model.with_name("model.onnx_data"), tokenizer):
        if path.is_file():
            with path.open("rb") as file:
                found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()[:FINGERPRINT]
