"""A sentence model of a folder turns texts into vectors, in this process and without a network. Pure."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from annotation.diversity.kernels.embedding_folder import Pooling, SentenceFolder
from annotation.diversity.kernels.near_vectors import Vectors, of_length_1

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when onnxruntime is imported: nothing is logged or sent elsewhere
import onnxruntime as ort
from tokenizers import Tokenizer

OUTPUTS = ("last_hidden_state", "token_embeddings")  # vectors of the tokens, as exporters name them


class SentenceModel:
    """Loaded once; ``n_threads`` compute. Raises ValueError with what is wrong with the model or the tokenizer."""

    def __init__(self, folder: SentenceFolder, *, n_threads: int = 1) -> None:
        self._folder = folder
        self._tokenizer = _tokenizer(folder)
        self._session = _session(folder, n_threads)
        self._inputs = {one.name for one in self._session.get_inputs()}
        if not {"input_ids", "attention_mask"} <= self._inputs <= {"input_ids", "attention_mask", "token_type_ids"}:
            raise ValueError(f"its model asks for {', '.join(sorted(self._inputs))[:200]}, which is not known here")
        self._output = _output_of(self._session)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Of length 1, in the order of the texts. Raises ValueError."""
        read = self._tokenizer.encode_batch(list(texts))
        mask = np.array([one.attention_mask for one in read], dtype=np.int64)
        given = {
            "input_ids": np.array([one.ids for one in read], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(mask),
        }
        try:
            (tokens,) = self._session.run([self._output], {name: given[name] for name in self._inputs})
        except Exception as error:  # its errors have no class of their own in common
            raise ValueError(f"its model fails: {str(error)[:200]}") from None
        if tokens.ndim != 3 or tokens.shape[2] != self._folder.dimension:
            raise ValueError(f"its vectors have not the {self._folder.dimension} numbers that 1_Pooling names")
        return of_length_1(tokens[:, 0] if self._folder.pooling == Pooling.CLS else _mean(tokens, mask))


def _mean(tokens: Any, mask: Any) -> Any:
    """Over the tokens of a text; every text has some, since the tokenizer adds its own."""
    weights = mask[:, :, np.newaxis].astype(np.float32)
    return (tokens * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)


def _tokenizer(folder: SentenceFolder) -> Tokenizer:
    """Padding goes to the longest text of a batch, whatever the file says: the mask leaves it out."""
    try:
        read = Tokenizer.from_file(str(folder.tokenizer))
    except Exception as error:  # it raises no narrower class
        raise ValueError(f"its tokenizer.json cannot be used: {str(error)[:200]}") from None
    padding = read.padding or {}
    read.enable_padding(pad_id=padding.get("pad_id", 0), pad_token=padding.get("pad_token", "[PAD]"))
    read.enable_truncation(folder.longest)
    return read


def _session(folder: SentenceFolder, n_threads: int) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = n_threads, 1
    options.log_severity_level = 4
    try:
        return ort.InferenceSession(str(folder.model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have no class of their own in common
        raise ValueError(f"its model.onnx cannot be used: {str(error)[:200]}") from None


def _output_of(session: ort.InferenceSession) -> str:
    named = {one.name: one.shape for one in session.get_outputs()}
    found = next((name for name in OUTPUTS if name in named), None) or next(
        (name for name, shape in named.items() if len(shape) == 3), None
    )
    if found is None:
        raise ValueError("its model gives no vectors of tokens, so that its pooling cannot be done")
    return found
