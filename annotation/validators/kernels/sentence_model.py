"""A sentence model of a folder turns texts into vectors, in this process and without a network. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from annotation.validators.kernels.model_folder import Pooling, SentenceFolder
from annotation.validators.kernels.near_vectors import Vectors, of_length_1
from annotation.validators.kernels.onnx_model import OnnxModel

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
