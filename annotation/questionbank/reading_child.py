"""Reads a large question file in a process of its own, so that checking and storing run at the same time.

Run as ``python -m annotation.questionbank.reading_child``; the order comes as one JSON line on standard input,
the batches go to standard output, each as its length (8 bytes) and its :mod:`marshal` text.
"""

from __future__ import annotations

import gc
import json
import marshal
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

from annotation.questionbank.kernels.batches import BATCH, Batch, ExamRow, ImageRow, QuestionRow, read_batches
from annotation.questionbank.kernels.difficulties import read_difficulties
from annotation.questionbank.kernels.records import RecordProblem, RecordRules

WORTH_A_PROCESS = 4_000_000  # bytes; starting a process takes as long as reading them
AHEAD = 3  # batches waiting
PROJECT = Path(__file__).resolve().parent.parent.parent


class ReaderStopped(RuntimeError):
    """The reading process ended before the file did."""


def read_file(
    path: Path, *, folder: str, root: str, min_explanation: int, difficulties: Path | None, size: int = BATCH
) -> Generator[Batch]:
    """The batches of a file: read here when it is small, by a child process when that pays.

    Raises DifficultiesUnreadable for the side file and OSError for a file that cannot be opened.
    """
    known = read_difficulties(difficulties) if difficulties else {}
    if path.stat().st_size < WORTH_A_PROCESS:
        with path.open("rb") as stream:
            yield from read_batches(stream, RecordRules(folder, min_explanation, known), root, size=size)
        return
    del known  # the child reads its own
    order = {
        "path": str(path),
        "folder": folder,
        "root": root,
        "min_explanation": min_explanation,
        "size": size,
        "difficulties": str(difficulties) if difficulties else "",
    }
    yield from _read_in_child(order)


def _read_in_child(order: dict[str, Any]) -> Generator[Batch]:
    command = [sys.executable, "-m", "annotation.questionbank.reading_child"]
    with subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:  # noqa: S603
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(order).encode() + b"\n")
        child.stdin.close()
        texts: SimpleQueue[bytes] = SimpleQueue()
        room = threading.Semaphore(AHEAD)
        receiver = threading.Thread(target=_receive, args=(child.stdout, texts, room), daemon=True)
        receiver.start()
        try:
            while text := texts.get():
                room.release()
                yield _as_batch(marshal.loads(text))  # noqa: S302 - written by our own child
            if child.wait() != 0:
                raise ReaderStopped("the process that reads the file was stopped")
        finally:
            child.kill()
            room.release(100)
            receiver.join()


def _receive(stream: IO[bytes], texts: SimpleQueue[bytes], room: threading.Semaphore) -> None:
    """Take batches from the pipe while the last one is being stored; b"" says that no more come."""
    while size := int.from_bytes(stream.read(8), "big"):
        text = stream.read(size)
        if len(text) < size:
            break
        texts.put(text)
        room.acquire()
    texts.put(b"")


def _as_batch(parts: tuple[Any, ...]) -> Batch:
    """The named tuples of a batch again; marshal sends them plain."""
    n_read, n_refused, bytes_read, exams, questions, problems, unreadable = parts
    return Batch(
        *(n_read, n_refused, bytes_read),
        [ExamRow._make([*exam[:-1], tuple(map(ImageRow._make, exam[-1]))]) for exam in exams],
        list(map(QuestionRow._make, questions)),
        [RecordProblem(*problem) for problem in problems],
        unreadable,
    )


def main() -> None:
    gc.disable()  # nothing here is cyclic but a few errors
    order = json.loads(sys.stdin.buffer.readline())
    side_file = order["difficulties"]
    rules = RecordRules(
        order["folder"], order["min_explanation"], read_difficulties(Path(side_file)) if side_file else {}
    )
    out = sys.stdout.buffer
    with Path(order["path"]).open("rb") as stream:
        for batch in read_batches(stream, rules, order["root"], size=order["size"]):
            text = marshal.dumps(_plain(batch), 2)
            out.write(len(text).to_bytes(8, "big") + text)
            out.flush()


def _plain(batch: Batch) -> tuple[Any, ...]:
    exams = [(*exam[:-1], [tuple(image) for image in exam.images]) for exam in batch.exams]
    return (*batch[:3], exams, list(map(tuple, batch.questions)), list(map(tuple, batch.problems)), batch.unreadable)


if __name__ == "__main__":
    main()
