"""A classifier of texts as an ONNX folder, made on the spot: each known word adds to a class."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from tests.annotation.diversity.bert_model import SPECIAL, write_tokenizer

LABELS = ("PHI", "bias")
WEIGHTS = {"quill": (8.0, 0.0), "smith": (4.5, 0.0), "elderly": (0.0, 8.0), "what": (0.0, 0.0)}
BASE = -4.0  # of every class, so that a text without these words has P = 0.018
LONGEST = 16


def write_classifier(path: Path, words: Mapping[str, tuple[float, ...]] = WEIGHTS, n_classes: int = 2) -> None:
    """Words of a text, summed where the mask is, plus BASE: the numbers before the probabilities."""
    rows = [(0.0,) * n_classes] * len(SPECIAL) + list(words.values())
    constants: dict[str, NDArray[Any]] = {
        "table": np.array(rows, np.float32),
        "last": np.array([2], np.int64),
        "first": np.array([1], np.int64),
        "base": np.full(n_classes, BASE, np.float32),
    }
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["each"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
        helper.make_node("Mul", ["each", "wide"], ["seen"]),
        helper.make_node("ReduceSum", ["seen", "first"], ["sum"], keepdims=0),
        helper.make_node("Add", ["sum", "base"], ["logits"]),
    ]
    inputs = [
        helper.make_tensor_value_info(one, TensorProto.INT64, ["batch", "length"])
        for one in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", n_classes])
    made = helper.make_graph(
        nodes, "words", inputs, [output], [numpy_helper.from_array(value, name) for name, value in constants.items()]
    )
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def classifier_folder(path: Path, **config: Any) -> Path:
    """Of several classes at once, unless the ``config`` says otherwise."""
    path.mkdir(parents=True)
    write_classifier(path / "model.onnx")
    write_tokenizer(path, [*SPECIAL, *WEIGHTS])
    said = {
        "architectures": ["BertForSequenceClassification"],
        "id2label": {str(n): label for n, label in enumerate(LABELS)},
        "problem_type": "multi_label_classification",
    }
    (path / "config.json").write_text(json.dumps({**said, **config}))
    (path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": LONGEST}))
    return path
