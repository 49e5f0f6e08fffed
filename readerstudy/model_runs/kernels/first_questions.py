"""Which questions of a run are asked first, so that they tell what the others will cost. Pure."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping

N_FIRST = 20


def first_questions(n_images: Mapping[int, int], *, seed: int, n: int = N_FIRST) -> list[int]:
    """``n`` of the questions, drawn at random, spread over the numbers of images that they are asked with.

    ``n_images``: of each question. Every number of images gets two questions, or all where it has fewer, and one where
    there are more than ``n / 2`` such numbers; the rest goes to them in proportion. The same seed draws the same, in
    whatever order the questions come.
    """
    alike: dict[int, list[int]] = defaultdict(list)
    for question in sorted(n_images):
        alike[n_images[question]].append(question)
    shares = _shares({images: len(questions) for images, questions in alike.items()}, min(n, len(n_images)))
    draw = random.Random(seed)  # noqa: S311 - a draw that can be repeated
    return [question for images in sorted(alike) for question in draw.sample(alike[images], shares[images])]


def _shares(sizes: Mapping[int, int], n: int) -> dict[int, int]:
    """How many of each number of images; never more than there are."""
    common_first = sorted(sizes, key=lambda images: (-sizes[images], images))
    least = 2 if 2 * len(sizes) <= n else 1
    shares: dict[int, int] = {}
    for images in common_first:
        shares[images] = min(least, sizes[images], n - sum(shares.values()))
    total = sum(sizes.values())
    while sum(shares.values()) < n:
        not_all = [images for images in common_first if shares[images] < sizes[images]]
        furthest_below = max(not_all, key=lambda images: sizes[images] / total * n - shares[images])
        shares[furthest_below] += 1
    return shares
