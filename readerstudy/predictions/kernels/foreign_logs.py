"""Logs of other programs whose records keep their parts elsewhere: each record as one of our forms. Pure.

Logs of inspect_ai (JSON and ``.eval``, tried with 0.3.285), log-likelihoods of lm-eval (tried with 0.4.13), batch
output as OpenAI and vLLM write it.
"""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from annotation.call_enums import OF_SERVER, CallOutcome, Ending
from annotation.endpoints.kernels.completions import outcome_of, read_completion
from annotation.model_calls.kernels.extraction import LETTERS

MOST_BYTES = 256 * 1024 * 1024  # of a log, unpacked
ZSTANDARD = 93  # as a ZIP file names it
NOT_WHOLE = "\0not whole"  # a key that no file can have: refused, or cut at the token limit
_log = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:')
_sample = re.compile(r"samples/[^/]+\.json")
Content = bytes | Path


class UnreadableLog(ValueError):
    """The log as a whole cannot be read; says why."""


def inspect_samples(content: Content) -> Iterator[Any] | None:
    """The samples of a log of inspect_ai, one after the other; None where the file is something else.

    Raises UnreadableLog where it is one that cannot be read.
    """
    with opened(content) as file:
        head = file.read(4096)
    if head.startswith(b"PK\x03\x04"):
        return _unpacked(content) if _is_packed_log(content) else None
    if not _log.match(head):
        return None
    with opened(content) as file:
        try:
            samples = msgspec.json.decode(file.read()).get("samples")
        except (msgspec.DecodeError, AttributeError) as error:
            raise UnreadableLog(f"The log cannot be read: {error}.") from None
    return iter(samples if isinstance(samples, list) else ())


def opened(content: Content) -> io.BytesIO | io.BufferedReader:
    return content.open("rb") if isinstance(content, Path) else io.BytesIO(content)


def _is_packed_log(content: Content) -> bool:
    try:
        with opened(content) as file, zipfile.ZipFile(file) as log:
            return any(_sample.fullmatch(name) for name in log.namelist())
    except zipfile.BadZipFile:
        return False


def _unpacked(content: Content) -> Iterator[Any]:
    with opened(content) as file, zipfile.ZipFile(file) as log:
        samples = sorted(
            (one for one in log.infolist() if _sample.fullmatch(one.filename)), key=lambda one: one.filename
        )
        if sum(one.file_size for one in samples) > MOST_BYTES:
            raise UnreadableLog("The log is too large, unpacked. Split it.")
        for one in samples:
            try:
                yield msgspec.json.decode(_member(log, file, one))
            except (NotImplementedError, zipfile.BadZipFile, msgspec.DecodeError) as error:
                raise UnreadableLog(f"{one.filename} cannot be read: {error}. Write the log as JSON.") from None


def _member(log: zipfile.ZipFile, file: IO[bytes], one: zipfile.ZipInfo) -> bytes:
    """The bytes of one member. inspect_ai packs by Zstandard, which Python's own module reads from 3.14 on."""
    if one.compress_type != ZSTANDARD:
        with log.open(one) as part:
            return part.read(one.file_size)
    file.seek(one.header_offset + 26)
    n_name, n_extra = struct.unpack("<HH", file.read(4))
    file.seek(n_name + n_extra, io.SEEK_CUR)
    packed = io.BytesIO(file.read(one.compress_size))
    import zstandard  # no start needs it

    try:
        return zstandard.ZstdDecompressor().stream_reader(packed).read(one.file_size)
    except zstandard.ZstdError as error:
        raise zipfile.BadZipFile(str(error)) from None


def as_record(value: Any) -> Any:
    """A record of such a log as one of our forms, any other as it is; None where a server failed to answer."""
    if not isinstance(value, Mapping):
        return value
    if "custom_id" in value and ("response" in value or "error" in value):
        return _of_batch(value)
    if "output" in value and "epoch" in value:
        return _of_sample(value)
    return value


def _of_batch(value: Mapping[str, Any]) -> Any:
    response = value.get("response")
    found = response if isinstance(response, Mapping) else {}
    completion = read_completion(json.dumps(found.get("body")).encode())
    outcome = outcome_of(Ending.ANSWERED, completion, found.get("status_code"))
    if outcome in OF_SERVER:
        return None
    said = {"id": value["custom_id"], "pred_answer": completion.text or completion.refusal}
    return said if outcome == CallOutcome.ANSWERED else {**said, NOT_WHOLE: True}


def _of_sample(value: Mapping[str, Any]) -> Any:
    """The score is never read: its "C" means correct."""
    output = value["output"]
    choices = output.get("choices") if isinstance(output, Mapping) else None
    body = {"choices": [{**choices[0], "finish_reason": choices[0].get("stop_reason")}]} if choices else {}
    completion = read_completion(json.dumps(body).encode())
    outcome = outcome_of(Ending.ANSWERED, completion)
    if value.get("error") or outcome in OF_SERVER:
        return None
    doc = {"id": value.get("id"), "choices": value.get("choices")}
    said = {"doc": doc, "resps": [[completion.text or completion.refusal]]}
    return said if outcome == CallOutcome.ANSWERED else {**said, NOT_WHOLE: True}


SCORES: Mapping[str, Callable[[str], int]] = {  # of lm-eval: by what each divides
    "acc": lambda _text: 1,
    "acc_norm": len,
    "acc_bytes": lambda text: len(text.encode()),
}


def likeliest(value: Mapping[str, Any]) -> tuple[str, str] | str | None:
    """Of a record with log-likelihoods of the options and no text: the letter, and what was found, in words.

    None where the record is no such one; a sentence where nothing says how they are compared. Normalised means by the
    characters of what was scored (``acc_norm`` of lm-eval) or its bytes (``acc_bytes``), without the space before it.
    lmms-eval writes losses, of which the smallest counts.
    """
    found = value.get("filtered_resps") or value.get("resps")
    pairs = [_pair(one) for one in found] if isinstance(found, Sequence) and not isinstance(found, str) else []
    if not pairs or None in pairs:
        return None
    numbers = [one for one in pairs if one is not None]
    if not 2 <= len(numbers) <= len(LETTERS):
        return "The record holds log-likelihoods, which are not those of its options."
    are_losses = all(number >= 0 for number in numbers)
    if not are_losses and not all(number <= 0 for number in numbers):
        return "Its numbers are neither log-likelihoods, which are never above 0, nor losses, which are never below."
    score = next((name for name in SCORES if name in value or name in (value.get("metrics") or ())), None)
    if score is None:
        return "The record holds log-likelihoods, and no field says whether they are normalised: acc or acc_norm."
    if score != "acc":
        scored = _scored(value.get("arguments"))
        if len(scored) != len(numbers) or not all(scored) or len(set(scored)) == 1:
            return "The record holds normalised log-likelihoods without the texts that were scored."
        numbers = [number / SCORES[score](text) for number, text in zip(numbers, scored, strict=True)]
    letter = LETTERS[numbers.index((min if are_losses else max)(numbers))]
    named = f"{'losses' if are_losses else 'log-likelihoods'} of A to {LETTERS[len(numbers) - 1]}"
    return letter, f"{named}: {', '.join(f'{one:g}' for one in numbers)}"


def _pair(one: Any) -> float | None:
    """The number of ``[-0.4, true]`` or ``[[-0.4, true]]``, also where both are texts, as lm-eval writes them."""
    while isinstance(one, list) and len(one) == 1:
        one = one[0]
    if not isinstance(one, list) or len(one) != 2 or one[1] not in (True, False, "True", "False"):
        return None
    try:
        return float(one[0])
    except (TypeError, ValueError):
        return None


def _scored(arguments: Any) -> list[str]:
    """The texts whose likelihoods these are: of ``[[context, text], ...]``, or of an object of objects."""
    listed = list(arguments.values()) if isinstance(arguments, Mapping) else arguments or ()
    pairs = [list(one.values()) if isinstance(one, Mapping) else one for one in listed]
    return [str(one[1]).strip() if isinstance(one, Sequence) and len(one) > 1 else "" for one in pairs]


def options_in(about: Mapping[str, Any]) -> tuple[str, ...]:
    """As a list under ``options`` or ``choices``, as an object by letters there, or in fields A to D."""
    for value in (about.get("options"), about.get("choices"), about):
        if isinstance(value, Mapping) and isinstance(value.get("text"), list):
            value = value["text"]  # {"text": [...], "label": [...]}
        if isinstance(value, Mapping):
            value = [value.get(letter, value.get(letter.lower())) for letter in LETTERS]
        if isinstance(value, list) and value and all(isinstance(one, str) and one for one in value):
            return tuple(value)
    return ()
