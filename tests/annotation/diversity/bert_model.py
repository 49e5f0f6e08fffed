"""A sentence model as an ONNX folder, written from weights: tiny ones drawn by a seed, or those of a real model."""

from __future__ import annotations

import json
import shutil
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Weights = dict[str, NDArray[Any]]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = [*SPECIAL, "is", "there", "a", "left", "right", "pneumothorax", "tube", "where", "the", "effusion", "?"]
SIZE, HEADS, LAYERS, LONGEST = 8, 2, 2, 16


def safetensors(path: Path) -> Weights:
    """The float32 tensors of a file: a length, a JSON header, then bytes."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    found: Weights = {}
    for name, said in json.loads(raw[8:start]).items():
        if said.get("dtype") == "F32":
            first, last = (start + place for place in said["data_offsets"])
            found[name] = np.frombuffer(raw[first:last], "<f4").reshape(said["shape"])
    return found


def drawn_weights(seed: int) -> Weights:
    """Of a tiny BERT with the words above."""
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> NDArray[Any]:
        return rng.standard_normal(shape).astype(np.float32)

    found = {
        "embeddings.word_embeddings.weight": drawn(len(WORDS), SIZE),
        "embeddings.position_embeddings.weight": drawn(LONGEST, SIZE) / 4,
        "embeddings.token_type_embeddings.weight": drawn(2, SIZE) / 4,
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        norms += [f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"]
        shapes = {f"attention.self.{one}": (SIZE, SIZE) for one in ("query", "key", "value")}
        shapes |= {"attention.output.dense": (SIZE, SIZE), "intermediate.dense": (16, SIZE), "output.dense": (SIZE, 16)}
        for name, shape in shapes.items():
            found[f"{at}.{name}.weight"], found[f"{at}.{name}.bias"] = drawn(*shape) / 3, drawn(shape[0]) / 3
    for name in norms:
        found[f"{name}.weight"], found[f"{name}.bias"] = np.ones(SIZE, np.float32), np.zeros(SIZE, np.float32)
    return found


@dataclass
class _Graph:
    weights: Weights
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(np.array(value), name)
        return name

    def weight(self, name: str) -> str:
        return self.constant(self.weights[name])

    def dense(self, x: str, name: str) -> str:
        matrix = self.constant(np.ascontiguousarray(self.weights[f"{name}.weight"].T))
        return self.op("Add", self.op("MatMul", x, matrix), self.weight(f"{name}.bias"))

    def norm(self, x: str, name: str) -> str:
        parts = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("LayerNormalization", x, *parts, axis=-1, epsilon=1e-12)

    def embedded(self) -> str:
        words = self.op("Gather", self.weight("embeddings.word_embeddings.weight"), "input_ids")
        kinds = self.op("Gather", self.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
        length = self.op("Gather", self.op("Shape", "input_ids"), self.constant(np.int64(1)))
        places = self.op("Range", self.constant(np.int64(0)), length, self.constant(np.int64(1)))
        where = self.op("Gather", self.weight("embeddings.position_embeddings.weight"), places)
        return self.norm(self.op("Add", self.op("Add", words, kinds), where), "embeddings.LayerNorm")

    def attention(self, x: str, at: str, heads: int, size: int, away: str) -> str:
        shape = self.constant(np.array([0, 0, heads, size // heads], np.int64))
        query, key, value = (
            self.op("Reshape", self.dense(x, f"{at}.attention.self.{one}"), shape) for one in ("query", "key", "value")
        )
        query, value = (self.op("Transpose", one, perm=[0, 2, 1, 3]) for one in (query, value))
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 2, 3, 1]))
        scores = self.op("Div", scores, self.constant(np.float32(np.sqrt(size / heads))))
        seen = self.op("MatMul", self.op("Softmax", self.op("Add", scores, away), axis=-1), value)
        joined = self.constant(np.array([0, 0, size], np.int64))
        return self.op("Reshape", self.op("Transpose", seen, perm=[0, 2, 1, 3]), joined)

    def gelu(self, x: str) -> str:
        bent = self.op("Erf", self.op("Div", x, self.constant(np.float32(np.sqrt(2)))))
        half = self.op("Mul", x, self.constant(np.float32(0.5)))
        return self.op("Mul", half, self.op("Add", bent, self.constant(np.float32(1))))


def write_model(path: Path, weights: Weights, *, heads: int) -> None:
    """A BERT encoder whose output are the vectors of the tokens."""
    graph, size = _Graph(weights), weights["embeddings.word_embeddings.weight"].shape[1]
    mask = graph.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    mask = graph.op("Unsqueeze", mask, graph.constant(np.array([1, 2], np.int64)))
    away = graph.op("Mul", graph.op("Sub", graph.constant(np.float32(1)), mask), graph.constant(np.float32(-1e9)))
    x, layer = graph.embedded(), 0
    while f"encoder.layer.{layer}.output.dense.weight" in weights:
        at = f"encoder.layer.{layer}"
        seen = graph.dense(graph.attention(x, at, heads, size, away), f"{at}.attention.output.dense")
        x = graph.norm(graph.op("Add", x, seen), f"{at}.attention.output.LayerNorm")
        bent = graph.gelu(graph.dense(x, f"{at}.intermediate.dense"))
        x = graph.norm(graph.op("Add", x, graph.dense(bent, f"{at}.output.dense")), f"{at}.output.LayerNorm")
        layer += 1
    graph.nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"]))
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [helper.make_tensor_value_info(one, TensorProto.INT64, ["batch", "length"]) for one in names]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "length", size])
    made = helper.make_graph(graph.nodes, "bert", inputs, [output], list(graph.constants.values()))
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def tiny_folder(path: Path, *, seed: int = 1, pooling: str = "mean_tokens") -> Path:
    (path / "1_Pooling").mkdir(parents=True)
    write_model(path / "model.onnx", drawn_weights(seed), heads=HEADS)
    said = {"word_embedding_dimension": SIZE, f"pooling_mode_{pooling}": True}
    (path / "1_Pooling" / "config.json").write_text(json.dumps(said))
    (path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": LONGEST}))
    write_tokenizer(path, WORDS)
    return path


def refuse_network(patch: pytest.MonkeyPatch) -> None:
    """Whoever opens a socket fails: a folder asks nobody."""

    def refuse(*_arguments: Any) -> None:
        raise AssertionError("a folder asks the network")

    patch.setattr(socket.socket, "connect", refuse)


def write_tokenizer(path: Path, words: list[str]) -> None:
    """Of whole words in small letters, the special ones first."""
    ends = [{"SpecialToken": {"id": one, "type_id": 0}} for one in ("[CLS]", "[SEP]")]
    special = {one: {"id": one, "ids": [words.index(one)], "tokens": [one]} for one in ("[CLS]", "[SEP]")}
    template = {
        "type": "TemplateProcessing",
        "single": [ends[0], {"Sequence": {"id": "A", "type_id": 0}}, ends[1]],
        "pair": [ends[0], {"Sequence": {"id": "A", "type_id": 0}}, ends[1]],
        "special_tokens": special,
    }
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": template,
        "model": {"type": "WordLevel", "vocab": {word: n for n, word in enumerate(words)}, "unk_token": "[UNK]"},
    }
    (path / "tokenizer.json").write_text(json.dumps(tokenizer))


def real_folder(path: Path, packaged: Path) -> Path:
    """all-MiniLM-L6-v2 from the files that sentence-transformers reads; nothing of the package is run."""
    shutil.copytree(packaged, path, ignore=shutil.ignore_patterns("*.safetensors"))
    weights, heads = safetensors(packaged / "model.safetensors"), json.loads((path / "config.json").read_bytes())
    write_model(path / "model.onnx", weights, heads=heads["num_attention_heads"])
    return path
