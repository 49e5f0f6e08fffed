"""A real engine to ask: llama.cpp, as xllamacpp has it, serving a model of random weights in a process of its own.

``python -m tests.annotation.endpoints.llama_server MODEL PROJECTOR`` is that process.
"""

from __future__ import annotations

import faulthandler
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.processes import PATIENCE, ROOT

MODEL = "random-weights"
SAYS_ADDRESS = "serves at "
N_CONTEXT = 8192  # tokens for each of as many requests at once
N_SLOTS = 4
WIDTH, HIDDEN, N_HEADS, N_LAYERS = 64, 128, 4, 2
END, START = 256, 257  # tokens behind those of the 256 bytes
LIKELY = {'"': 3.0, " ": 1.0, "{": 2.0}  # so that texts end soon, and lists hold something
NEVER = -40.0
LENGTH_BEFORE_LAST = 7.4  # of the constant among the 64 numbers of a state, once the state is normalised
SEEN, TILE, PATCH, MERGED = 32, 64, 16, 2  # of the projector: width, pixels of a tile and of a patch, patches to one
OF_IMAGES = (  # tokens that llama.cpp puts around the tiles of a picture
    "<fake_token_around_image>",
    "<global-img>",
    *(f"<row_{row}_col_{column}>" for row in range(1, 5) for column in range(1, 5)),
)
TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m.role }}: {{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant: {% endif %}"
)


@contextmanager
def llama_server(folder: Path) -> Iterator[str]:
    """Its base URL. Skips the test where the packages are not installed."""
    if find_spec("xllamacpp") is None or find_spec("gguf") is None:
        pytest.skip("xllamacpp and gguf of requirements-dev.txt are not installed: there is no engine to ask")
    model, projector = folder / "model.gguf", folder / "projector.gguf"
    write_model(model, seed=1)
    write_projector(projector, seed=2)
    command = [sys.executable, "-m", __name__, str(model), str(projector)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            said = next((line for line in process.stdout if line.startswith(SAYS_ADDRESS)), "")
            assert said, "the server of llama.cpp ended before it said its address"
            yield f"{said.removeprefix(SAYS_ADDRESS).strip()}/v1"
        finally:
            process.kill()


def write_model(path: Path, *, seed: int) -> None:
    """Half a megabyte that reads and writes bytes; the same seed gives the same weights. What it says is nonsense.

    Only which characters it likes is not random: the first number of every state is a constant, by which the last layer
    prefers some of them. Without that it writes no UTF-8, and strings of thousands of characters.
    """
    import gguf

    rng = np.random.default_rng(seed)

    characters = _characters_of_bytes()
    line_break = characters[ord("\n")]
    tokens = [*characters, "<|end|>", "<|start|>", *OF_IMAGES, 2 * line_break]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("random weights")
    writer.add_context_length(N_CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(N_LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(N_HEADS)
    writer.add_head_count_kv(N_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // N_HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    is_control = [token in ("<|end|>", "<|start|>", *OF_IMAGES) for token in tokens]
    writer.add_token_types([gguf.TokenType.CONTROL if one else gguf.TokenType.NORMAL for one in is_control])
    writer.add_token_merges([f"{line_break} {line_break}"])
    writer.add_bos_token_id(START)
    writer.add_eos_token_id(END)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    embedding, last = _weights(rng, len(tokens), WIDTH), _weights(rng, len(tokens), WIDTH)
    embedding[:, 0], last[:, 0] = 1, _liking(len(tokens)) / LENGTH_BEFORE_LAST
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("output.weight", last)
    square = ("attn_q", "attn_k", "attn_v", "attn_output")
    shapes = {**dict.fromkeys(square, (WIDTH, WIDTH)), "ffn_gate": (HIDDEN, WIDTH), "ffn_up": (HIDDEN, WIDTH)}
    for layer in range(N_LAYERS):
        for name, shape in {**shapes, "ffn_down": (WIDTH, HIDDEN)}.items():
            writer.add_tensor(f"blk.{layer}.{name}.weight", _weights(rng, *shape))
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(WIDTH, np.float32))
    _write(writer)


def write_projector(path: Path, *, seed: int) -> None:
    """A tenth of a megabyte that makes tokens of pictures, as that of Idefics 3 does: 16 by 16 pixels at a time."""
    import gguf

    rng = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type("idefics3")
    writer.add_vision_projection_dim(WIDTH)
    writer.add_vision_image_size(TILE)
    writer.add_vision_preproc_image_size(4 * TILE)
    writer.add_vision_patch_size(PATCH)
    writer.add_vision_embedding_length(SEEN)
    writer.add_vision_feed_forward_length(HIDDEN)
    writer.add_vision_block_count(1)
    writer.add_vision_head_count(2)
    writer.add_vision_attention_layernorm_eps(1e-5)
    writer.add_vision_image_mean([0.5] * 3)
    writer.add_vision_image_std([0.5] * 3)
    writer.add_vision_use_gelu(True)
    writer.add_vision_projector_scale_factor(MERGED)
    square = dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_out"), (SEEN, SEEN))
    parts = {f"v.blk.0.{name}": shape for name, shape in square.items()}
    parts |= {"v.blk.0.ffn_up": (HIDDEN, SEEN), "v.blk.0.ffn_down": (SEEN, HIDDEN)}
    for name, shape in {"v.patch_embd": (SEEN, 3, PATCH, PATCH), **parts}.items():
        writer.add_tensor(f"{name}.weight", _weights(rng, *shape))
        writer.add_tensor(f"{name}.bias", np.zeros(shape[0], np.float32))
    for name in ("v.blk.0.ln1", "v.blk.0.ln2", "v.post_ln"):
        writer.add_tensor(f"{name}.weight", np.ones(SEEN, np.float32))
        writer.add_tensor(f"{name}.bias", np.zeros(SEEN, np.float32))
    writer.add_tensor("v.position_embd.weight", _weights(rng, (TILE // PATCH) ** 2, SEEN))
    writer.add_tensor("mm.model.fc.weight", _weights(rng, WIDTH, SEEN * MERGED**2))
    _write(writer)


def _weights(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.standard_normal(shape) * 0.05).astype(np.float32)


def _write(writer: Any) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _characters_of_bytes() -> list[str]:
    """The character by which each byte stands in a vocabulary of the GPT-2 kind: visible ones for themselves."""
    visible = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(256, 512))
    return [chr(byte) if byte in visible else chr(next(others)) for byte in range(256)]


def _liking(n_tokens: int) -> np.ndarray:
    liking = np.full(n_tokens, NEVER)
    liking[ord(" ") : ord("~") + 1] = 0
    for character, value in LIKELY.items():
        liking[ord(character)] = value
    liking[ord("\\")], liking[END] = NEVER, 1
    return liking


def serve(model: str, projector: str) -> None:
    """Until standard input ends, as it does when the process that started this one is gone."""
    import xllamacpp

    faulthandler.dump_traceback_later(PATIENCE, exit=True)  # whoever waits for the address is told when none comes
    params = xllamacpp.CommonParams()
    params.model.path, params.mmproj.path, params.mmproj_use_gpu = model, projector, False
    params.model_alias, params.port = {MODEL}, 0
    params.n_ctx, params.n_parallel, params.warmup = N_CONTEXT * N_SLOTS, N_SLOTS, False
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = 1  # several wait for each other, which takes minutes where the processors are busy
    server = xllamacpp.Server(params)
    print(f"{SAYS_ADDRESS}{server.listening_address}", flush=True)
    faulthandler.cancel_dump_traceback_later()
    sys.stdin.read()


if __name__ == "__main__":
    serve(*sys.argv[1:])
