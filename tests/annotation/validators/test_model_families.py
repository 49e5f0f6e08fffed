"""Which models are of one family, by their names."""

from __future__ import annotations

import pytest

from annotation.validators.kernels.model_families import families_of, shared_family


@pytest.mark.parametrize(
    ("one", "other", "family"),
    [
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen3-8b", "qwen"),
        ("google/medgemma-4b-it", "gemma-3-27b", "gemma"),
        ("deepseek-r1-distill-qwen-7b", "Qwen2.5-VL-3B", "qwen"),
        ("gpt-4o", "o3", "gpt"),
        ("meta-llama/Llama-3.2-11B-Vision", "llava-llama-3", "llama"),
        ("Acme/radmodel-2", "other/RadModel-7", "radmodel"),
        ("7b", "7b", "7b"),
    ],
)
def test_of_one_family(one: str, other: str, family: str) -> None:
    assert shared_family(one, other) == shared_family(other, one) == family


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("gpt-4o", "claude-opus-4"),
        ("medgemma-4b-it", "Qwen2.5-VL-7B"),
        ("stand-in-json", "stand-in-judge"),
        ("phi-4", "sophia-2"),
        ("google/radmodel", "google/other"),
    ],
)
def test_not_of_one_family(one: str, other: str) -> None:
    assert shared_family(one, other) == ""
    assert families_of(one)
    assert families_of(other)
