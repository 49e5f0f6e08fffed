"""A large frame spares what it calls the pieces of stack that Python would take and give back at every call."""

from __future__ import annotations

import resource
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.large_frames import with_large_frame

DEPTHS = range(0, 300, 3)  # a piece of 16 kB holds about a hundred frames of `call_deep`
TIMES = 100


def call_deep(depth: int) -> None:
    if depth:
        call_deep(depth - 1)


def page_faults() -> int:
    """How often the kernel had to map a page of memory while a loop called to each of these depths."""
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for depth in DEPTHS:
        for _ in range(TIMES):
            call_deep(depth)
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


@with_large_frame
def page_faults_in_a_large_frame() -> int:
    return page_faults()


def in_a_thread(function: Callable[[], int]) -> int:
    """In a stack of its own: that of the test has a large frame at its bottom."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def test_what_a_large_frame_calls_takes_no_memory_anew() -> None:
    plain, large = in_a_thread(page_faults), in_a_thread(page_faults_in_a_large_frame)
    assert plain > TIMES, "this Python keeps its pieces of stack: tests/large_frames.py can go"
    assert large < TIMES


def test_tests_have_one() -> None:
    assert page_faults() < TIMES
