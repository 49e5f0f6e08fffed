"""The answer of ``/v1/embeddings`` as vectors of length 1. Pure."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]  # shape (n, dimension)


def unit_vectors(body: bytes, n_texts: int) -> Vectors:
    """In the order of the texts, whatever the order of the answer.

    Raises ValueError with what is wrong: another number of vectors, of different lengths, not finite, or all zero.
    """
    try:
        rows = sorted(json.loads(body)["data"], key=lambda row: int(row["index"]))
        numbers, lists = [int(row["index"]) for row in rows], [row["embedding"] for row in rows]
    except (KeyError, TypeError, ValueError):
        raise ValueError("it is no list of embeddings") from None
    if numbers != list(range(n_texts)):
        raise ValueError(f"{n_texts} texts were sent, and {len(rows)} vectors came")
    if not all(isinstance(one, list) and one and len(one) == len(lists[0]) for one in lists):
        raise ValueError("its vectors are no lists of numbers of one length")
    return of_length_1(lists)


def of_length_1(rows: Any) -> Vectors:
    """Raises ValueError for a vector that holds no number, is zero or not finite."""
    try:
        vectors = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("its vectors hold what is no number") from None
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise ValueError("a vector is zero or not finite")
    return np.asarray(vectors / lengths, dtype=np.float32)
