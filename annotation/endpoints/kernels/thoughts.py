"""What a model says, without what it thinks aloud and without the marks of its chat template: one closed list. Pure.

Asked by whatever reads an answer: extraction of letters, and the rule of refusals. Sources: chat templates that put the
opening mark into the prompt, so that only the closing one is in the answer (vLLM issue 13125, DeepSeek-R1 issue 352);
an opening one that never closes (vLLM issue 52640); MedGemma's own marks (Ollama issue 15754).
"""

from __future__ import annotations

import re

THOUGHTS_RULE = "thoughts-1"  # change the version with the list: rules that use it name it

_NAMES = r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|rationale|scratchpad|seed:think|longcat_think)"
_OPENING = "|".join(
    (
        rf"<{_NAMES}>",
        r"<(?:summary|caption|reasoning)>",  # LLaVA-CoT
        r"◁think▷",  # Kimi-VL
        r"\[think\]",  # Magistral
        r"<\|begin_of_thought\|>",  # Sky-T1
        r"<\|start_thinking\|>",  # Command A Reasoning
        r"<unused94>(?:thought)?",  # MedGemma 1.5
        r"<\|channel\|>\s*(?:analysis|commentary)",  # gpt-oss
        r"\A\s*analysis(?=[A-Z](?-i:[a-z' ]))",  # the same, where the server dropped the marks
        r"^#+ *(?:thinking|thought process)\W*$",  # HuatuoGPT-o1
        r"\Ahere(?:'s| is) my thought process:",  # Granite
    )
)
_CLOSING = "|".join(
    (
        rf"</{_NAMES}>",
        r"</(?:summary|caption)>",
        r"◁/think▷",
        r"\[/think\]",
        r"<\|end_of_thought\|>",
        r"<\|end_thinking\|>",
        r"<unused95>",
        r"<\|channel\|>\s*final(?:\s*<\|constrain\|>\w+)?",
        r"assistantfinal",
        r"^#+ *final response\W*$",
        r"here(?:'s| is) my response:",
    )
)
_MARKS = re.compile(rf"(?P<opening>{_OPENING})|(?:{_CLOSING})", re.IGNORECASE | re.MULTILINE)
_TURNS = re.compile(
    r"<\|(?!channel|im_start\|>\s*user|start(?:_header_id)?\|>\s*user)[a-z0-9_▁]{1,40}\|>(?:\s*assistant\b)?"
    r"|</?s>|<(?:end_of_turn|end_of_utterance|eos|bos|pad|unk)>|<start_of_turn>\s*model\b|\[/?INST\]",
    re.IGNORECASE,
)
_HIDDEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe0e\ufe0f\ufeff]")  # zero width, directions
_ROLE = re.compile(r"\A\s*(?:assistant|model)\s*(?:\n|:\s)", re.IGNORECASE)


def spoken(text: str) -> str:
    """Without thoughts, marks of turns and characters that nobody sees; empty where a thought never ends."""
    if not text.isascii():
        text = _HIDDEN.sub("", text.replace("\uff5c", "|"))
    parts, place, is_thinking = list[str](), 0, False
    for mark in _MARKS.finditer(text):
        is_opening = mark["opening"] is not None
        if not is_thinking and is_opening:
            parts.append(text[place : mark.start()])
        elif not is_thinking:
            parts.clear()  # only its end is here: all before it was thought
        is_thinking, place = is_opening, mark.end()
    if not is_thinking:
        parts.append(text[place:])
    text = _TURNS.sub("\n", " ".join(parts)) if "<" in text or "[" in text else " ".join(parts)
    return _ROLE.sub("", text).strip()
