"""Folders of sentence models, as whoever runs the server names them, and what such a folder says of itself. Pure.

A folder has the form that sentence-transformers exports: ``model.onnx`` (also in ``onnx/``), ``tokenizer.json``,
``1_Pooling/config.json`` and ``sentence_bert_config.json``.
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
LENGTH_FILES = ("sentence_bert_config.json", "tokenizer.json")


class Pooling(StrEnum):
    """How the vectors of the tokens become that of the text."""

    MEAN = "mean"  # over the tokens of the text, without padding
    CLS = "cls"  # that of the first token


class SentenceFolder(Struct, frozen=True):
    """``fingerprint``: of all that a vector depends on, so that other files are another embedding."""

    name: str
    model: Path
    tokenizer: Path
    pooling: Pooling
    dimension: int
    longest: int  # tokens of a text; what is longer is cut
    fingerprint: str


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


def read_folder(name: str, path: Path) -> SentenceFolder:
    """Raises ValueError with what is missing or unclear."""
    if not path.is_dir():
        raise ValueError("there is no such folder")
    model = next((one for one in (path / "model.onnx", path / "onnx" / "model.onnx") if one.is_file()), None)
    if model is None:
        raise ValueError("it holds no model.onnx")
    tokenizer = path / "tokenizer.json"
    if not tokenizer.is_file():
        raise ValueError("it holds no tokenizer.json")
    _check_steps(path)
    pooling_config = _json_of(path / "1_Pooling" / "config.json")
    if pooling_config is None:
        raise ValueError("its pooling is unclear: it holds no 1_Pooling/config.json")
    pooling, dimension, longest = (
        _pooling_of(pooling_config),
        pooling_config.get("word_embedding_dimension"),
        _longest_of(path),
    )
    if not _is_count(dimension):
        raise ValueError("the size of its vectors is unclear: 1_Pooling/config.json has no word_embedding_dimension")
    digest = _fingerprint([model, model.with_name("model.onnx_data"), tokenizer], f"{pooling} {longest}")
    return SentenceFolder(name, model, tokenizer, pooling, dimension, longest, digest)


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


def _longest_of(path: Path) -> int:
    bert, tokenizer = (_json_of(path / name) or {} for name in LENGTH_FILES)
    cut = tokenizer.get("truncation")
    for value in (bert.get("max_seq_length"), cut.get("max_length") if isinstance(cut, dict) else None):
        if _is_count(value) and value <= LONGEST:
            return value
    raise ValueError(
        "how many tokens it takes is unclear: neither sentence_bert_config.json (max_seq_length) nor the truncation of "
        f"tokenizer.json says it, or it is more than {LONGEST}"
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


def _fingerprint(files: list[Path], settings: str) -> str:
    found = hashlib.sha256(settings.encode())
    for path in files:
        if path.is_file():
            with path.open("rb") as file:
                found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()[:FINGERPRINT]
