"""The draft of the reason for the next version of a prompt: what was counted, and what reviewers wrote. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.statistics.kernels.estimate import Estimate

LONGEST_QUOTE = 400  # characters of one comment


def draft_reason(version: str, counted: Sequence[tuple[str, Estimate]], quotes: Sequence[str], *, most: int) -> str:
    """Each flag with its count, n and interval, then the comments word by word.

    At most ``most`` characters: comments that do not fit are left out, and the last line says how many.
    """
    lines = [f"{version}, questions flagged by reviewers:"] if counted else [f"{version}:"]
    lines += [f"- {label}: {_share(share)}" for label, share in counted]
    if quotes:
        lines.append("Comments of reviewers:")
    for place, quote in enumerate(quotes):
        line = f"- “{_short(quote)}”"
        left = len(quotes) - place
        rest = f"({left} more not quoted)"
        if len("\n".join([*lines, line, rest])) > most:
            return "\n".join([*lines, rest])
        lines.append(line)
    return "\n".join(lines)[:most]


def _share(share: Estimate) -> str:
    text = f"{share.count} of {share.n}"
    if share.value is None or share.ci95 is None:
        return text
    low, high = share.ci95
    return f"{text} ({100 * share.value:.1f} %, 95 % CI {100 * low:.1f} to {100 * high:.1f})"


def _short(quote: str) -> str:
    words = " ".join(quote.split())
    return words if len(words) <= LONGEST_QUOTE else words[: LONGEST_QUOTE - 1].rstrip() + "…"
