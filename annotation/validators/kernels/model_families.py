"""Whether two models are of one family, by their names. Pure.

The rule, ``family-1``. A name belongs to every family whose word is in it, so that "deepseek-r1-distill-qwen-7b"
is of two. Some words are those of a family with another name, such as "medgemma". A name without any known word is of
the family of its first word, behind the last slash: "Acme/radmodel-2" is of "radmodel". Simulated models are each a
family of their own. A name says what its owner wants: who renames a model gets past this.
"""

from __future__ import annotations

import re

FAMILY_RULE = "family-1"
SIMULATED = "stand-in-"  # see annotation/endpoints/simulated_endpoint.py
_FAMILIES = (
    "aya", "bloom", "chameleon", "claude", "command", "deepseek", "falcon", "gemini", "gemma", "gpt", "granite", "grok",
    "idefics", "internlm", "internvl", "kimi", "llama", "llava", "minicpm", "mistral", "molmo", "nemotron", "olmo",
    "phi", "qwen", "smolvlm", "yi",
)  # fmt: skip
_OTHER_WORDS = {
    "medgemma": "gemma",
    "paligemma": "gemma",
    "txgemma": "gemma",
    "chatgpt": "gpt",
    "o1": "gpt",
    "o3": "gpt",
    "o4": "gpt",
    "mixtral": "mistral",
    "ministral": "mistral",
    "magistral": "mistral",
    "pixtral": "mistral",
    "vicuna": "llama",
    "codellama": "llama",
    "janus": "deepseek",
    "qwq": "qwen",
    "qvq": "qwen",
}
_word = re.compile(r"[a-z]+(?:\d(?![a-z0-9]))?|[a-z]+")
_letters, _own = re.compile(r"[a-z]+"), re.compile(r"[a-z]{2,}")


def families_of(model: str) -> frozenset[str]:
    """By the rule above; never empty."""
    name = model.strip().lower()
    if name.startswith(SIMULATED):
        return frozenset({name})
    words = [*_word.findall(name), *_letters.findall(name)]
    found = {_OTHER_WORDS.get(word, word) for word in words if word in _FAMILIES or word in _OTHER_WORDS}
    if found:
        return frozenset(found)
    own = _own.search(name.rpartition("/")[2])
    return frozenset({own[0] if own else name})


def shared_family(one: str, other: str) -> str:
    """The family that both are of, empty where there is none; equal names always share theirs."""
    return min(families_of(one) & families_of(other), default="")
