"""The documents of a design: read strictly, value by value, and written as one canonical text with its hash. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec
from msgspec import Meta
from msgspec.inspect import EnumType, FloatType, IntType, Metadata, NoneType, StrType, StructType, Type, UnionType
from msgspec.inspect import type_info as described

from annotation.refusals import Refused

FORMAT = "reader-study-protocol 1"


def _(text: str) -> str:
    """Mark a sentence for translation; pages translate it where it is shown."""
    return text


class DesignRefused(Refused):
    """A plan, a list, a file or a draw cannot be what it says; the sentence says what would do.

    ``field`` is the place in the document ("cases 3, question"). ``template``: the sentence before its facts are in it.
    """

    def __init__(self, code: str, sentence: str, *, field: str = "", **facts: Any) -> None:
        super().__init__(code, sentence % facts if facts else sentence, status=422, field=field, **facts)
        self.template = sentence


# --- reading ------------------------------------------------------------------------------------------
class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One object of a document. The types of its values say what is expected of them."""

    UNKNOWN: ClassVar[str] = _("A plan has no such value.")
    WRONG_KIND: ClassVar[str] = ""  # otherwise what the type says
    OUT_OF_RANGE: ClassVar[str] = ""


Kind = TypeVar("Kind", bound=Document)
# What every database can keep: without zero bytes, and without halves of characters.
Text = Annotated[str, Meta(pattern=r"\A[^\x00\ud800-\udfff]*\Z")]
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


def expects(sentence: str) -> dict[str, str]:
    """For the ``extra`` of a type: the sentence for a value that is not of it."""
    return {"sentence": sentence}


def decode(data: object, kind: type[Kind]) -> Kind:
    """The values of a document; what is not named keeps its default. Refused with the place of what is wrong."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        fault, _at, path = str(error).partition(" - at `$")
        raise _refused(fault, path, kind) from None


@contextmanager
def within(place: str) -> Iterator[None]:
    """What is refused in this block is refused at that place of a larger document."""
    try:
        yield
    except DesignRefused as refusal:
        refusal.field = ", ".join(filter(None, (place, refusal.field)))
        raise


def bounds_of(kind: type[Document]) -> dict[str, tuple[float, float]]:
    """The least and the most that the type of each number lets through."""
    found = {one.name: _opened(one.type)[0] for one in _fields(described(kind))}
    return {name: (node.ge, node.le) for name, node in found.items() if isinstance(node, IntType | FloatType)}  # type: ignore[misc]


def _refused(fault: str, path: str, kind: type[Document]) -> DesignRefused:
    """What msgspec says, in the words that people read."""
    node, owner, place, sentence = described(kind), kind, "", ""
    for name, number in _STEP.findall(path):
        place = f"{place} {int(number) + 1}" if number else ", ".join(filter(None, (place, name)))
        types = {one.name: one.type for one in _fields(node)}
        node, own = _opened(types[name] if name else node.item_type)  # type: ignore[attr-defined]
        sentence = own or sentence
        if isinstance(node, StructType) and issubclass(node.cls, Document):
            owner = node.cls
    if fault.startswith("Object "):  # contains unknown field `x`, missing required field `x`
        place = ", ".join(filter(None, (place, fault.partition("`")[2].rpartition("`")[0])))
        sentence = owner.UNKNOWN if "unknown" in fault else _("This value is missing.")
    elif not sentence:
        is_of_kind = ", got `" not in fault and "regex" not in fault
        sentence = (owner.OUT_OF_RANGE if is_of_kind else owner.WRONG_KIND) or _expected(node)
    return DesignRefused("bad_value", sentence, field=place)


def _fields(node: Type) -> Sequence[Any]:
    return node.fields if isinstance(node, StructType) else ()


def _opened(node: Type) -> tuple[Type, str]:
    """A type without what is around it, the first of several, None aside; and the sentence that belongs to it."""
    sentence = ""
    while isinstance(node, Metadata | UnionType):
        if isinstance(node, Metadata):
            sentence = (node.extra or {}).get("sentence", sentence)
            node = node.type
        else:
            kinds = [one for one in node.types if not isinstance(one, NoneType)]
            node = next((one for one in kinds if isinstance(one, FloatType)), kinds[0])
    return node, sentence


def _expected(node: Type) -> str:
    if isinstance(node, FloatType):
        return f"A number from {node.ge:g} to {node.le:g} is expected."
    if isinstance(node, IntType):
        return f"A whole number from {node.ge} to {node.le} is expected."
    if isinstance(node, EnumType):
        return f"One of: {', '.join(one.value for one in node.cls)}."
    if isinstance(node, StrType):
        return _("A text is expected.")
    if isinstance(node, msgspec.inspect.BoolType):
        return _("True or false is expected.")
    if hasattr(node, "item_type"):
        return _("A list is expected.")
    return _("An object with named values is expected.")


# --- writing ------------------------------------------------------------------------------------------
def canonical(data: Any) -> str:
    """One text for one content: sorted names, no spaces, plain ASCII. Raises ValueError for nan and infinity."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def commitment(salt: str, sealed: Any) -> str:
    """SHA-256 over the salt and the canonical text of what is sealed. Without the salt it tells nothing about it."""
    return sha256_of(salt + canonical(sealed))


def shown_sha256(
    stem: str,
    options: Sequence[str],
    images: Sequence[Mapping[str, Any]],
    information: Mapping[str, Any] | None = None,
) -> str:
    """Of what a reader is shown of a case: stem, options in the bank's order, each image with its pixels, view and
    caption, and what the arm tells beside them, if anything.
    """
    shown: dict[str, Any] = {"stem": stem, "options": list(options), "images": [dict(one) for one in images]}
    return sha256_of(canonical({**shown, "information": dict(information)} if information else shown))


def earlier_shown_sha256(
    stem: str, options: Sequence[str], pixels: Sequence[str], information: Mapping[str, Any] | None = None
) -> str:
    """The same as it was once hashed: of an image its pixels alone. Studies that were frozen so keep their hash."""
    shown: dict[str, Any] = {"stem": stem, "options": list(options), "pixels": list(pixels)}
    return sha256_of(canonical({**shown, "information": dict(information)} if information else shown))


def text_sha256(stem: str, options: Sequence[str]) -> str:
    """Of the wording alone: by this a plan notices that a bank holds another one."""
    return sha256_of(canonical({"stem": stem, "options": list(options)}))
