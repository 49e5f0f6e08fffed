"""The program of the child process that decodes one file after another. It knows no settings and no database.

Started by annotation.ingest.sandbox as a script: ``python -I decoding_child.py ROOT WORKPLACE ADDRESS_SPACE CPU``. For
each file it reads eight bytes of length and the bytes from its standard input, writes what it made into WORKPLACE,
and answers with one line of JSON. The limits are set before anything else is imported.
"""

from __future__ import annotations

import importlib
import json
import resource
import struct
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from annotation.imaging.kernels.image_files import SourceImage

PIXELS, FACTS = "pixels.raw", "facts.json"


def limit_process(address_space: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (256 * 1024 * 1024, 256 * 1024 * 1024))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


def limit_cpu_of_this_file(seconds: int) -> None:
    """Give the next file its own processor time: what the process has used so far, plus `seconds`."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def facts_of(source: SourceImage) -> bytes:
    """The facts beside the pixels, as JSON; look-up tables as lists of numbers."""
    import msgspec

    facts = {
        "kind": source.kind,
        "shape": source.pixels.shape,
        "dtype": source.pixels.dtype.str,
        "attributes": source.attributes,
        "identifiers": source.identifiers,
        "warnings": source.warnings,
    }
    return msgspec.json.encode(facts, enc_hook=lambda numbers: numbers.tolist())


def answer_for(data: bytes, workplace: Path) -> dict[str, str]:
    """Decode one file into the workplace. What it may not be is a refusal; what nobody foresaw ends the process."""
    from annotation.imaging.kernels.codestreams import ImageRefused
    from annotation.imaging.kernels.image_files import read_image

    try:
        source = read_image(data)
    except ImageRefused as refused:
        return {"refused": refused.code}
    source.pixels.tofile(workplace / PIXELS)
    (workplace / FACTS).write_bytes(facts_of(source))
    return {"done": "yes"}


def serve(questions: IO[bytes], answers: IO[bytes], workplace: Path, cpu_seconds: int) -> None:
    while len(head := questions.read(8)) == 8:
        limit_cpu_of_this_file(cpu_seconds)
        data = questions.read(struct.unpack(">Q", head)[0])
        answers.write(json.dumps(answer_for(data, workplace)).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    root, workplace_name, address_space_text, cpu_text = sys.argv[1:]
    limit_process(int(address_space_text))
    sys.path.insert(0, root)
    importlib.import_module("annotation.imaging.kernels.image_files")  # now: its time is not the first file's
    serve(sys.stdin.buffer, sys.stdout.buffer, Path(workplace_name), int(cpu_text))
