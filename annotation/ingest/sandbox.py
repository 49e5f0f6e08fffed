"""Decoding in a child process with limits: whatever a file does to its decoder, the parent only sees a refusal.

The child gets no environment, no settings and no database; its memory, and per file its processor time and its wall
time, are limited. It is used for many files and replaced after RECYCLE_AFTER of them, and at once when it dies or
breaks a limit. Its answer is JSON and raw numbers in a private folder, checked here; nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import msgspec
import numpy as np

from annotation.imaging.kernels.attributes import Attributes, Identifiers
from annotation.imaging.kernels.codestreams import SENTENCES, ImageRefused
from annotation.imaging.kernels.image_files import SourceImage, SourceKind
from annotation.ingest.decoding_child import FACTS, PIXELS

ADDRESS_SPACE = 512 * 1024 * 1024
CPU_SECONDS = 10
WALL_SECONDS = 30
RECYCLE_AFTER = 200
PIPE_BYTES = 1024 * 1024  # with the usual 64 kB a film goes to the child in twice the time

_ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = Path(__file__).with_name("decoding_child.py")
_ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",  # threads would each take address space
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
}


def _bytecode_place() -> list[str]:
    """The isolated child knows no environment: where this process keeps bytecode, or that it keeps none."""
    return ["-X", f"pycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else ["-B"]


class Decoder:
    """A child process that decodes; use it as a context manager, from one thread.

    `home` is the folder under which its private working folder is made and removed.
    """

    def __init__(
        self,
        home: Path,
        *,
        address_space: int = ADDRESS_SPACE,
        cpu_seconds: int = CPU_SECONDS,
        wall_seconds: float = WALL_SECONDS,
    ) -> None:
        self.home = home
        self.address_space = address_space
        self.cpu_seconds = cpu_seconds
        self.wall_seconds = wall_seconds
        self._child: subprocess.Popen[bytes] | None = None
        self._n_decoded = 0

    def __enter__(self) -> Self:
        self.home.mkdir(parents=True, exist_ok=True)
        self._workplace = Path(tempfile.mkdtemp(prefix="decoding-", dir=self.home))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_child()
        shutil.rmtree(self._workplace, ignore_errors=True)

    def decode(self, data: bytes) -> SourceImage:
        """Decode one file. Raises ImageRefused, also when the child died (decoder_died) or took too long (timeout)."""
        if self._n_decoded >= RECYCLE_AFTER:
            self._end_child()
        self._n_decoded += 1
        answer = self._ask(data)
        if refused := answer.get("refused"):
            raise ImageRefused(refused if refused in SENTENCES else "decoder_died")
        try:
            return self._take_result()
        except (OSError, ValueError, KeyError, TypeError):
            self._end_child()
            raise ImageRefused("decoder_died") from None

    def _ask(self, data: bytes) -> dict[str, Any]:
        child = self._child or self._start_child()
        timed_out = threading.Event()

        def give_up() -> None:
            timed_out.set()
            child.kill()

        watch = threading.Timer(self.wall_seconds, give_up)
        watch.start()
        try:
            assert child.stdin
            assert child.stdout
            child.stdin.write(struct.pack(">Q", len(data)))
            child.stdin.write(data)
            child.stdin.flush()
            line = child.stdout.readline(4096)
            answer = json.loads(line) if line else None
        except (OSError, ValueError):
            answer = None
        finally:
            watch.cancel()
        if not isinstance(answer, dict):
            raise ImageRefused(self._cause_of_death(timed_out.is_set()))
        return answer

    def _cause_of_death(self, timed_out: bool) -> str:
        """Why a child gave no answer. It has closed its end of the pipe, so it ends within a moment."""
        status = None
        if self._child:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = self._child.wait(timeout=2.0)
        self._end_child()
        return "timeout" if timed_out or status == -signal.SIGXCPU else "decoder_died"

    def _start_child(self) -> subprocess.Popen[bytes]:
        self._child = subprocess.Popen(  # noqa: S603
            [
                sys.executable,
                "-I",
                *_bytecode_place(),
                str(_PROGRAM),
                str(_ROOT),
                str(self._workplace),
                str(self.address_space),
                str(self.cpu_seconds),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a traceback could quote the file
            env=_ENVIRONMENT,
            cwd=self._workplace,
            close_fds=True,
        )
        with contextlib.suppress(OSError):  # only for speed; a system may allow less
            assert self._child.stdin
            fcntl.fcntl(self._child.stdin, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._n_decoded = 1
        return self._child

    def _end_child(self) -> None:
        child, self._child = self._child, None
        self._n_decoded = 0
        if child is None:
            return
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _take_result(self) -> SourceImage:
        facts_file, pixels_file = self._workplace / FACTS, self._workplace / PIXELS
        try:
            return source_from(facts_file.read_bytes(), pixels_file)
        finally:
            facts_file.unlink(missing_ok=True)
            pixels_file.unlink(missing_ok=True)


@dataclass(frozen=True)
class Facts:
    """What the child says of an image beside its pixels."""

    kind: SourceKind
    shape: tuple[int, int]
    dtype: Literal["|u1", "|i1", "<u2", "<i2"]
    attributes: Attributes
    identifiers: Identifiers
    warnings: tuple[str, ...]


def source_from(answer: bytes, pixels_file: Path) -> SourceImage:
    """The image of the child's facts and raw pixels. Raises ValueError when they do not fit each other."""
    facts = msgspec.json.decode(answer, type=Facts, dec_hook=lambda _type, numbers: np.asarray(numbers, np.uint16))
    dtype, (rows, columns) = np.dtype(facts.dtype), facts.shape
    if pixels_file.stat().st_size != rows * columns * dtype.itemsize:
        raise ValueError("size")
    pixels = np.fromfile(pixels_file, dtype).reshape(rows, columns)
    return SourceImage(facts.kind, pixels, facts.attributes, facts.identifiers, facts.warnings)
