"""Hidden repeats: some questions come to the same reviewer twice, for the agreement with oneself.

A repeat is an assignment that names the first one. It looks like any other question, is answered blind again, and
enters neither outcomes nor settling. It stays with its reviewer: where the first one goes, it goes too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from annotation.enums import AssignmentState
from annotation.models import Assignment, ReviewRound
from annotation.review.kernels.allotment import repeats_in
from annotation.review.kernels.transitions import GONE, UNREVIEWED

BATCH = 2000
MOST_REPEATED = 20  # percent


def place_repeats(review_round: ReviewRound, reviewers: Collection[int]) -> int:
    """Put repeats among what these people have not opened yet; who has some already gets no more. Returns how many."""
    if not review_round.percent_repeated:
        return 0
    rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    columns = ("pk", "reviewer", "revision", "state", "opened_at", "position", "repeats", "revision__question__number")
    there = Assignment.objects.filter(round=review_round, reviewer__in=reviewers).exclude(state__in=GONE)
    for row in there.order_by("position").values(*columns):
        rows[row["reviewer"]].append(row)
    made: list[Assignment] = []
    moved: list[Assignment] = []
    for stream, (reviewer, theirs) in enumerate(sorted(rows.items())):
        if any(row["repeats"] for row in theirs):
            continue
        waiting = [row for row in theirs if row["state"] == AssignmentState.WAITING and row["opened_at"] is None]
        of_number = {row["revision__question__number"]: row for row in waiting}
        coming: dict[int, list[Assignment]] = defaultdict(list)
        for number, place in repeats_in(list(of_number), review_round.percent_repeated, review_round.seed, stream):
            first = of_number[number]
            again = Assignment(
                round=review_round, reviewer_id=reviewer, revision_id=first["revision"], repeats_id=first["pk"]
            )
            coming[place].append(again)
        if not coming:
            continue
        position = waiting[0]["position"]
        for place in range(len(waiting) + 1):
            for again in coming[place]:
                again.position = position
                made.append(again)
                position += 1
            if place < len(waiting):
                moved.append(Assignment(pk=waiting[place]["pk"], position=position))
                position += 1
    Assignment.objects.bulk_update(moved, ["position"], batch_size=BATCH)
    return len(Assignment.objects.bulk_create(made, batch_size=BATCH))


def withdraw_repeats(review_round: ReviewRound) -> None:
    """The repeats of questions that are no longer with their reviewer."""
    rows = Assignment.objects.filter(round=review_round, repeats__state__in=GONE, state__in=UNREVIEWED)
    rows.update(state=AssignmentState.WITHDRAWN)
