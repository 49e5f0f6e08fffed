"""A model of a folder over texts, in this process and without a network: it gives each classes or a vector. Pure."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.validators.kernels.model_folder import ClassifierFolder, ModelFolder, Pooling, SentenceFolder
from annotation.validators.kernels.near_vectors import Vectors, of_length_1

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when onnxruntime is imported: nothing is logged or sent elsewhere
import onnxruntime as ort
from tokenizers import Encoding, Tokenizer


class OnnxModel:
    """Loaded once; ``n_threads`` compute. Raises ValueError with what is wrong with the model or the tokenizer."""

    def __init__(self, folder: ModelFolder, *, n_threads: int = 1) -> None:
        self.tokenizer = _tokenizer(folder)
        self.session = _session(folder, n_threads)
        self._inputs = {one.name for one in self.session.get_inputs()}
        if not {"input_ids", "attention_mask"} <= self._inputs <= {"input_ids", "attention_mask", "token_type_ids"}:
            raise ValueError(f"its model asks for {', '.join(sorted(self._inputs))[:200]}, which is not known here")

    def output(self, name: str, read: Sequence[Encoding]) -> tuple[Any, Any]:
        """The named output for these texts, and the mask of their tokens. Raises ValueError."""
        mask = np.array([one.attention_mask for one in read], dtype=np.int64)
        given = {
            "input_ids": np.array([one.ids for one in read], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(mask),
        }
        try:
            (found,) = self.session.run([name], {one: given[one] for one in self._inputs})
        except Exception as error:  # its errors have no class of their own in common
            raise ValueError(f"its model fails: {str(error)[:200]}") from None
        return found, mask


def _tokenizer(folder: ModelFolder) -> Tokenizer:
    """Padding goes to the longest text of a batch, whatever the file says: the mask leaves it out.

    What is cut off a text comes in further pieces, each with an eighth of the one before.
    """
    try:
        read = Tokenizer.from_file(str(folder.tokenizer))
    except Exception as error:  # it raises no narrower class
        raise ValueError(f"its tokenizer.json cannot be used: {str(error)[:200]}") from None
    padding = read.padding or {}
    read.enable_padding(pad_id=padding.get("pad_id", 0), pad_token=padding.get("pad_token", "[PAD]"))
    read.enable_truncation(folder.longest, stride=folder.longest // 8)
    return read


def _session(folder: ModelFolder, n_threads: int) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = n_threads, 1
    options.log_severity_level = 4
    try:
        return ort.InferenceSession(str(folder.model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have no class of their own in common
        raise ValueError(f"its model.onnx cannot be used: {str(error)[:200]}") from None


class TextClassifier(OnnxModel):
    """Gives each text a probability of each class. Raises ValueError."""

    def __init__(self, folder: ClassifierFolder, *, n_threads: int = 1) -> None:
        super().__init__(folder, n_threads=n_threads)
        self._folder = folder
        named = {one.name: one.shape for one in self.session.get_outputs()}
        self._output = "logits" if "logits" in named else next(iter(named))
        if len(shape := named[self._output]) != 2 or (isinstance(shape[1], int) and shape[1] != len(folder.labels)):
            raise ValueError(f"it is no classifier of whole texts with the {len(folder.labels)} classes of config.json")

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Shape (texts, classes). A text that is too long is read in pieces, and a class has its highest of all."""
        read = self.tokenizer.encode_batch(list(texts))
        pieces = [piece for one in read for piece in (one, *one.overflowing)]
        logits, _mask = self.output(self._output, pieces)
        if logits.shape != (len(pieces), len(self._folder.labels)) or not np.isfinite(logits).all():
            raise ValueError("its model does not give each class a number")
        logits = logits.astype(np.float64)
        if self._folder.is_multi:
            found = 0.5 + 0.5 * np.tanh(logits / 2)
        else:
            raised = np.exp(logits - logits.max(axis=1, keepdims=True))
            found = raised / raised.sum(axis=1, keepdims=True)
        starts = np.cumsum([0, *(1 + len(one.overflowing) for one in read)])[:-1]
        return np.asarray(np.maximum.reduceat(found, starts, axis=0))


OUTPUTS = ("last_hidden_state", "token_embeddings")  # vectors of the tokens, as exporters name them


class SentenceModel(OnnxModel):
    """Raises ValueError with what is wrong with the model or the tokenizer."""

    def __init__(self, folder: SentenceFolder, *, n_threads: int = 1) -> None:
        super().__init__(folder, n_threads=n_threads)
        self._folder = folder
        named = {one.name: one.shape for one in self.session.get_outputs()}
        found = next((name for name in OUTPUTS if name in named), None) or next(
            (name for name, shape in named.items() if len(shape) == 3), None
        )
        if found is None:
            raise ValueError("its model gives no vectors of tokens, so that its pooling cannot be done")
        self._output = found

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Of length 1, in the order of the texts; what is too long is cut. Raises ValueError."""
        tokens, mask = self.output(self._output, self.tokenizer.encode_batch(list(texts)))
        if tokens.ndim != 3 or tokens.shape[2] != self._folder.dimension:
            raise ValueError(f"its vectors have not the {self._folder.dimension} numbers that 1_Pooling names")
        return of_length_1(tokens[:, 0] if self._folder.pooling == Pooling.CLS else _mean(tokens, mask))


def _mean(tokens: Any, mask: Any) -> Any:
    """Over the tokens of a text; every text has some, since the tokenizer adds its own."""
    weights = mask[:, :, np.newaxis].astype(np.float32)
    return (tokens * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
