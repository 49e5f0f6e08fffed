"""The documents of a design, its rules and lists of cases: read strictly, written as one text with its hash. Pure."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec
from msgspec import Meta
from msgspec.inspect import EnumType, FloatType, IntType, Metadata, NoneType, StrType, StructType, Type, UnionType
from msgspec.inspect import type_info as described
from msgspec.structs import asdict

from annotation.enums import LEAST_WINDOW, MOST_WINDOW, ViewerTool, _
from annotation.files.kernels.sent_tables import lines_of_csv, read_rows
from annotation.files.kernels.strictjson import FileRefused
from annotation.refusals import Refused
from readerstudy.enums import Block

FORMAT = "reader-study-protocol 1"


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
    stem: str, options: Sequence[str], images: Sequence[Mapping[str, Any]], information: Mapping[str, Any] | None = None
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


MAX_BYTES = 32 * 1024 * 1024
COLUMNS = ("case", "reason")
MOST_NAME, MOST_REASON = 1_000, 10_000


class VoidingRow(msgspec.Struct, frozen=True):
    """One row of a file: its number, the question by key or number, and why the case is left out."""

    row: int
    case: str
    reason: str


def storable_name(path: Path) -> str:
    """What a file is called; a question mark for each byte of its name that is no text."""
    return path.name.encode("utf-8", "replace").decode()


def parse_cases(data: bytes) -> list[str]:
    """The lines of a list of cases that are not empty; readerstudy.design.questions.listed_names reads them."""
    lines = [line.strip() for line in _text(data).splitlines()]
    found = [line for line in lines if line]
    if not found:
        raise DesignRefused(
            "bad_file", "The list of cases is empty: write ids, numbers or ranges of numbers such as 12-40."
        )
    return found


def parse_voidings(data: bytes) -> tuple[list[VoidingRow], list[tuple[int, str]]]:
    """The rows of a CSV with the columns case and reason, and (row, sentence) of each row that cannot be read.

    Rows count as a spreadsheet counts them: the header is row 1, and a cell may hold several lines.
    UTF-8, with or without byte order mark, separated by commas, semicolons or tabs; other columns are passed over.
    Refused where there is no such table.
    """
    rows: list[VoidingRow] = []
    bad: list[tuple[int, str]] = []
    try:
        for number, cells, fault in read_rows(lines_of_csv(io.BytesIO(_text(data).encode())), needed=COLUMNS):
            if fault:
                bad.append((number, fault))
            else:
                rows.append(VoidingRow(number, cells["case"].strip(), cells["reason"].strip()))
    except FileRefused as refusal:
        raise DesignRefused("bad_file", str(refusal)) from None
    bad += [(row.row, why) for row in rows if (why := _fault(row))]
    return [row for row in rows if not _fault(row)], bad


def _text(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise DesignRefused("bad_file", "The file is larger than 32 MB.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DesignRefused("bad_file", "The file is not UTF-8 text. Save it as UTF-8.") from None
    if "\0" in text:
        raise DesignRefused("bad_file", "The file holds zero bytes; it is not text.")
    return text


def _fault(row: VoidingRow) -> str:
    if not row.case:
        return "“case” is empty."
    if not row.reason:
        return "“reason” is empty: say why the case is left out."
    if len(row.case) > MOST_NAME or len(row.reason) > MOST_REASON:
        return "a field is too long."
    return ""


CHANCES = (25, 40, 60, 80, 95)  # percent; what a reader can say about the chance of being right
LEAST_READY, MOST_READY = 2, 10
GRACE_MS = 2_000  # over the limit, on the client's monotonic clock
QUIET_MS, MOST_QUIET_MS = 300, 1_000  # what new studies have, and the most
LATER = frozenset(
    {"reader_names", "quiet_ms", "questionnaire", "show_cases"}
)  # left out at their default, so that older plans keep their text and their hash
MOST_QUESTIONS, LONGEST_QUESTION = 20, 300  # of the questionnaire after the last case
TASK_LOAD = "NASA-TLX"  # this line of a questionnaire asks the six scales, unweighted
TOOLS = _("The hidden tools are a list of names.")


class Rules(Document, frozen=True, kw_only=True):
    """How a study is read. The defaults are those of docs/reader-studies.md."""

    UNKNOWN: ClassVar[str] = _("There is no such rule.")
    WRONG_KIND: ClassVar[str] = _("This rule has another kind of value.")
    OUT_OF_RANGE: ClassVar[str] = _("This number is out of range.")

    time_limit_s: Annotated[int, Meta(ge=5, le=3600)] | None = None  # per case; None: no limit and no clock on screen
    shuffle_options: bool = False  # "none of the above" and references to letters stay in place
    confidence: bool = False  # asked by key after the commit
    slips: bool = True  # a slip can be reported until the next commit
    cannot_tell: bool = False  # a best guess is asked after it
    n_ready: int = 2  # cases that a reader's page may hold ahead, of their own order
    break_every: Annotated[int, Meta(ge=1, le=1000)] | None = None  # cases, after which the page offers a break
    may_pause: bool = True
    practice_pass: Annotated[int, Meta(ge=1, le=100)] | None = None  # right answers needed in practice; None: none
    show_results: bool = False  # own results on the last page
    several_per_patient: bool = False
    hidden_tools: Annotated[tuple[str, ...], Meta(extra=expects(TOOLS))] = ()  # annotation.enums.ViewerTool values
    least_width: Annotated[int, Meta(ge=LEAST_WINDOW[0], le=MOST_WINDOW[0])] | None = None  # of the window, CSS pixels
    least_height: Annotated[int, Meta(ge=LEAST_WINDOW[1], le=MOST_WINDOW[1])] | None = None
    quiet_ms: Annotated[int, Meta(ge=0, le=MOST_QUIET_MS)] = 0  # keys choose nothing so long after a case appears
    questionnaire: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=LONGEST_QUESTION)], ...], Meta(max_length=MOST_QUESTIONS)
    ] = ()
    show_cases: bool = False  # own answer and key of each case, beside the own results
    reader_names: bool = False  # coordinators read names on results pages and in figures, else pseudonyms

    def as_json(self) -> dict[str, Any]:
        values = {**asdict(self), "hidden_tools": list(self.hidden_tools), "questionnaire": list(self.questionnaire)}
        return {name: value for name, value in values.items() if name not in LATER or value}

    @property
    def asks_after_the_answer(self) -> bool:
        """Whether the next case waits for what a reader says about the answer before it."""
        return self.confidence or self.cannot_tell

    @property
    def least_window(self) -> tuple[int, int] | None:
        return None if self.least_width is None or self.least_height is None else (self.least_width, self.least_height)

    def has_break_before(self, block: str, position: int) -> bool:
        """Whether a break is offered before this case: after every so many cases of the main block."""
        done = position - 1
        return self.break_every is not None and block == Block.MAIN and done > 0 and done % self.break_every == 0


def read_rules(data: Mapping[str, Any]) -> Rules:
    """Rules from JSON; what is not named keeps its default. Refused with the rule that cannot be so."""
    rules = decode(data, Rules)
    if set(rules.hidden_tools) - set(ViewerTool.values()):
        raise DesignRefused("bad_value", _("The images have no tool of this name."), field="hidden_tools")
    if not LEAST_READY <= rules.n_ready <= MOST_READY:
        raise DesignRefused("bad_value", _("Two to ten cases can be ready."), field="n_ready")
    if (rules.least_width is None) != (rules.least_height is None):
        raise DesignRefused("bad_value", _("A smallest window has a width and a height."), field="least_width")
    return rules
