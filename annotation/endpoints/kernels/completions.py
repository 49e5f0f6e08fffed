"""The exact bytes that are sent to a model endpoint, and what its answer to them counts as. Pure.

vLLM, llama.cpp, Ollama and hosted endpoints send the same document with other parts left out. Whatever is missing or of
another type is read as not given: the raw answer is kept, so nothing is lost by that.

What a model says, without what it thinks aloud and without the marks of its chat template, is one closed list, asked by
whatever reads an answer: extraction of letters, and the rule of refusals. Sources: chat templates that put the opening
mark into the prompt, so that only the closing one is in the answer (vLLM issue 13125, DeepSeek-R1 issue 352); an
opening one that never closes (vLLM issue 52640); MedGemma's own marks (Ollama issue 15754).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from annotation.call_enums import CallOutcome, Ending
from annotation.enums import Word, _

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


REFUSAL_RULE = "refusal-2"  # change the version with the rule: stored outcomes name it
FILTERED = {"content_filter", "safety", "refusal"}  # finish reasons
AT_THE_LIMIT = {"length", "max_tokens"}
NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")  # NUL, and halves of a character that is written as two

BUSY = (429, 503, 529)  # statuses: come back later
FOR_GOOD = (400, 413, 422)  # statuses: the same request gets the same again
_SORRY = (
    r"(?:(?:i am|i'm|we are|we're) (?:very |so |really )?sorry|i apologi[sz]e|sorry|unfortunately)[,.;:!]?\s*(?:but )?"
)
_AS_AN_AI = r"as an ai\b[^.,]{0,80},\s*"
_WILL_NOT = (
    r"(?:can't|cannot|can not|won't|will not|am unable to|'m unable to|am not able to|'m not able to|must decline to)"
)
_DO_SO = (
    r"(?:help|assist|provide|answer|interpret|analy[sz]e|diagnose|comply|fulfil+|give|offer|do that|view|see|read"
    r"|access|determine|process|open|make|discuss)\b"
)
_LACKS = (
    r"(?:(?:don't|do not) (?:see|have)|(?:didn't|did not) receive|(?:haven't|have not) (?:received|been given)) "
    r"(?:any|an|the|a|access to|the ability to)\b"
    r"|(?:there is )?no (?:image|picture|x-ray|radiograph)s? (?:(?:was|were|is|has been) )?"
    r"(?:provided|attached|given|visible|shown)"
)
_ELSEWHERE = (  # Spanish, Portuguese, French, Italian, German, Chinese, Japanese, Korean
    r"(?:lo siento|desculpe|désolée?|je suis désolée?|mi dispiace|(?:es )?tut mir leid)\b|no puedo\b|não posso\b"
    r"|je ne peux pas\b|je ne suis pas en mesure\b|non posso\b|ich kann (?:\w+ ){0,4}(?:nicht|keine)\b"
    r"|(?:很)?(?:抱歉|对不起|對不起)|我?(?:无法|無法|不能)|申し訳|죄송"
)
_REFUSES = re.compile(
    rf"\W*(?:{_SORRY})?(?:{_AS_AN_AI})?(?:(?:i|we)\s*{_WILL_NOT}\s+(?:\w+ly\s+)?{_DO_SO}|(?:i |we )?(?:{_LACKS})"
    rf"|{_ELSEWHERE})",
    re.IGNORECASE,
)
_CHOOSES = re.compile(
    r"(?i:answer|option|choice|respuesta|resposta|réponse|risposta|antwort|答案|答え|정답)\W{0,12}"
    r"(?:(?:is|es|é|è|est|ist|lautet|是|は|은)\W{0,12})?[A-D]\b|^\W{0,12}[A-D](?:[.):]|\s*$)",
    re.MULTILINE,
)


class Trouble(Word):
    """Why an answer is none of the model: what the server did, and which setting of it does so."""

    ERROR = "error", _("The server ended the answer with an error of its own.")
    REASONING = (
        "reasoning",
        _(
            "The text stands in a field for reasoning alone, and the answer is empty: the server takes all of it for "
            "thoughts. Switch its reasoning parser off, or set the one of this model."
        ),
    )
    TOOLS = ("tools", _("The answer is a call of a tool, not a text: switch automatic tool choice off at the server."))
    EMPTY = (
        "empty",
        _("The answer is empty: the server may use the chat template of another model, or too short a stop word."),
    )
    NO_MESSAGE = (
        "no_message",
        _("The answer is no chat: the address of the endpoint may be that of plain completions."),
    )


class Usage(Struct, frozen=True):
    """Tokens as the endpoint counts them; ``n_cached`` are among ``n_input``."""

    n_input: int | None = None
    n_cached: int | None = None
    n_output: int | None = None


class Completion(Struct, frozen=True):
    """``has_choice``: whether there was an answer at all; an error with status 200 and an empty list have none.

    ``error``: what the server says in its place, as code and sentence; ``trouble``: why an answer says nothing.
    """

    has_choice: bool = False
    text: str = ""
    finish_reason: str = ""
    refusal: str = ""
    model: str = ""
    fingerprint: str = ""
    usage: Usage | None = None
    error: str = ""
    trouble: Trouble | None = None


def read_completion(body: bytes) -> Completion:
    """Never fails: what is no such document has no choice."""
    try:
        answer = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return Completion()
    choices = _part(answer, "choices")
    listed = [one for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []
    choice = next((one for one in listed if one.get("index") == 0), listed[0] if listed else None)
    message = _part(choice, "message")
    text, refusal_in_parts = _text_of(_part(message, "content"))
    finish_reason, refusal = _word(_part(choice, "finish_reason")), _word(_part(message, "refusal")) or refusal_in_parts
    return Completion(
        has_choice=choice is not None,
        error=_error_in(answer),
        trouble=None if text.strip() or refusal else _trouble(message),
        text=text,
        finish_reason=finish_reason,
        refusal=refusal,
        model=_word(_part(answer, "model")),
        fingerprint=_word(_part(answer, "system_fingerprint")),
        usage=_usage_of(_part(answer, "usage")),
    )


def is_text(body: bytes) -> bool:
    """UTF-8 without NUL, which no database takes."""
    try:
        return "\0" not in body.decode()
    except UnicodeDecodeError:
        return False


def outcome_of(ending: Ending, completion: Completion, status: int | None = None) -> CallOutcome:
    """By what the endpoint says first: status, field, finish reason; then by ``REFUSAL_RULE`` on the text."""
    if completion.error and not completion.has_choice and _is_for_good(status, completion.error):
        return CallOutcome.REFUSED if "content_filter" in completion.error else CallOutcome.REJECTED
    if ending != Ending.ANSWERED or not completion.has_choice:
        return CallOutcome.REJECTED if ending == Ending.HTTP_ERROR and status in FOR_GOOD else CallOutcome.NOT_ASKED
    reason = completion.finish_reason.lower()
    if completion.refusal or reason in FILTERED:
        return CallOutcome.REFUSED
    if reason in AT_THE_LIMIT:
        return CallOutcome.CUT
    if reason == "error" or completion.trouble:
        return CallOutcome.BROKEN
    return CallOutcome.REFUSED if is_refusal(completion.text) else CallOutcome.ANSWERED


def _is_for_good(status: int | None, error: str) -> bool:
    """Some servers say with status 200 that they refuse: then the code in the document counts."""
    return status in FOR_GOOD or (status == 200 and error.partition(":")[0] in map(str, FOR_GOOD))


def is_refusal(text: str) -> bool:
    """Rule refusal-2: what is spoken begins by saying that it will not, or sees nothing, and names no option."""
    said = spoken(text).replace("’", "'")
    return bool(_REFUSES.match(said)) and not _CHOOSES.search(said)


def _error_in(answer: Any) -> str:
    """``code: sentence`` of an error document in one line; empty where it is none."""
    error = _part(answer, "error") or _part(answer, "detail")  # that of "transformers serve"
    if isinstance(error, str):
        error = {"message": error}
    if not isinstance(error, dict):
        error = answer if _part(answer, "object") == "error" else {}
    code, message = error.get("code") or error.get("type") or "", error.get("message") or ""
    return " ".join(f"{code}: {_word(message)}".split()).removeprefix(": ")[:400] if code or message else ""


def _trouble(message: Any) -> Trouble:
    if not isinstance(message, dict):
        return Trouble.NO_MESSAGE
    if message.get("tool_calls"):
        return Trouble.TOOLS
    is_thought = any(message.get(name) for name in ("reasoning_content", "reasoning", "thinking"))
    return Trouble.REASONING if is_thought or isinstance(message.get("content"), list) else Trouble.EMPTY


def _part(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _word(value: Any) -> str:
    return NOT_STORABLE.sub("\ufffd", value) if isinstance(value, str) else ""


def _text_of(content: Any) -> tuple[str, str]:
    """Text and refusal of a content, which is a string or a list of parts."""
    if not isinstance(content, list):
        return _word(content), ""
    said = [part for part in content if _part(part, "type") not in ("reasoning", "thinking")]
    text, refusal = ("".join(_word(_part(part, name)) for part in said) for name in ("text", "refusal"))
    return text, refusal


def _usage_of(usage: Any) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    return Usage(
        n_input=_count(usage.get("prompt_tokens")),
        n_cached=_count(_part(usage.get("prompt_tokens_details"), "cached_tokens")),
        n_output=_count(usage.get("completion_tokens")),
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


class Route(StrEnum):
    """The path of the request, behind the base URL."""

    CHAT = "chat/completions"
    EMBEDDINGS = "embeddings"
    MODELS = "models"  # the names that an endpoint lists; read with an empty body


class ModelRequest(Struct, frozen=True):
    route: Route
    body: bytes

    @property
    def sha256(self) -> str:
        """Of the body."""
        return hashlib.sha256(self.body).hexdigest()


class Message(Struct, frozen=True):
    """``parts`` in the order in which the model gets them: a text, or the bytes of a picture as PNG."""

    role: str
    parts: tuple[str | bytes, ...]


class ChatSettings(Struct, frozen=True):
    """None: not sent, so that the endpoint takes its own default.

    ``max_completion_tokens`` is what newer hosted models call ``max_tokens``. ``schema`` is the text of a JSON schema:
    a text keeps the order of its properties, in which an engine makes the model fill them, and a JSON column of
    PostgreSQL does not.
    """

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    logprobs: bool | None = None
    schema: str = ""

    def kept(self) -> dict[str, Any]:
        """What is sent, but for the schema: a batch keeps it, and its prompt keeps the schema."""
        return {name: value for name, value in asdict(self).items() if name != "schema" and value is not None}


def chat_request(model: str, messages: Sequence[Message], settings: ChatSettings) -> ModelRequest:
    """Raises ValueError for a schema that is not JSON."""
    values = settings.kept()
    if settings.schema:
        schema = {"name": "answer", "strict": True, "schema": json.loads(settings.schema)}
        values["response_format"] = {"type": "json_schema", "json_schema": schema}
    texts = b",".join(
        b'{"role":%b,"content":%b}' % (_json_bytes(message.role), _content_of(message.parts)) for message in messages
    )
    rest = _json_bytes(values)[1:-1]
    body = b'{"model":%b,"messages":[%b]%b}' % (_json_bytes(model), texts, b"," + rest if rest else b"")
    return ModelRequest(Route.CHAT, body)


def embeddings_request(model: str, texts: Sequence[str]) -> ModelRequest:
    return ModelRequest(Route.EMBEDDINGS, _json_bytes({"model": model, "input": list(texts)}))


def _content_of(parts: tuple[str | bytes, ...]) -> bytes:
    """A single text is sent as such: some servers without pictures know no list of parts."""
    if len(parts) == 1 and isinstance(parts[0], str):
        return _json_bytes(parts[0])
    return b"[%b]" % b",".join(_bytes_of(part) for part in parts)


def _bytes_of(part: str | bytes) -> bytes:
    """Nothing in base64 is escaped in JSON: looking for it in pictures took half of the time of a request."""
    if isinstance(part, str):
        return b'{"type":"text","text":%b}' % _json_bytes(part)
    return b'{"type":"image_url","image_url":{"url":"data:image/png;base64,%b"}}' % base64.b64encode(part)


def _json_bytes(value: str | dict[str, Any]) -> bytes:
    """Fields in the order given: sorting would turn the properties of a schema around."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
