"""Spans of a time line, and what is left of some when others are taken off. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Span = tuple[int, int]  # from, to, in milliseconds


def merged(spans: Iterable[Span]) -> list[Span]:
    """Overlapping and touching spans as one, in order."""
    found: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def clip(span: Span, window: Span) -> Span | None:
    start, end = max(span[0], window[0]), min(span[1], window[1])
    return (start, end) if start < end else None


def take(rest: Sequence[Span], spans: Iterable[Span]) -> tuple[list[Span], list[Span]]:
    """What of the rest lies in the spans, and what is left of it. Both are in order; the rest does not overlap."""
    taken: list[Span] = []
    left: list[Span] = []
    covering, n = merged(spans), 0
    for begin, end in rest:
        at = begin
        while n < len(covering) and covering[n][1] <= at:
            n += 1
        while n < len(covering) and covering[n][0] < end:
            start, stop = covering[n]
            if start > at:
                left.append((at, start))
            taken.append((max(at, start), min(end, stop)))
            at = min(end, stop)
            if stop > end:
                break  # it may reach into the next of the rest
            n += 1
        if at < end:
            left.append((at, end))
    return taken, left


def length(spans: Iterable[Span]) -> int:
    return sum(end - start for start, end in spans)
