"""The expert review of the ReXVQA paper (section 3.3.3), from imported rows to its printed percents.

Three reviews of other questions each: 120 of the first, 200 of the alignment of images, 300 of the later reader study.
"""

from __future__ import annotations

from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from annotation.enums import Flag, RoundSteps
from annotation.models import ReviewRound, User
from annotation.review.outcomes import round_outcomes
from annotation.review.rounds import create_round, open_round
from annotation.review.samples import draw_sample
from annotation.statistics.kernels.issues import PaperOutcome
from tests.annotation.exports.review_files import file_of, review_cells
from tests.annotation.review.cases import images_are_there, make_bank, make_revisions

# Questions, how many have which flag, and the percents as they are printed (that of 2 of 300 follows from the counts).
PRINTED: dict[str, tuple[int, dict[Flag, int], dict[PaperOutcome, str]]] = {
    "First": (
        120,
        {Flag.SEVERAL_VALID: 13, Flag.NEEDS_PRIOR: 8, Flag.UNSOUND: 6, Flag.HALLUCINATED: 4},
        {
            PaperOutcome.SEVERAL_VALID: "10.8",
            PaperOutcome.COMPARISON: "6.7",
            PaperOutcome.VALIDITY: "5.0",
            PaperOutcome.HALLUCINATED: "3.3",
            PaperOutcome.MISALIGNED: "0.0",
        },
    ),
    "Alignment": (200, {Flag.OTHER_EXAM: 1}, {PaperOutcome.MISALIGNED: "0.5"}),
    "Later": (300, {Flag.UNSOUND: 2}, {PaperOutcome.VALIDITY: "0.7"}),
}


def make_imported(name: str, folder: Path, *, actor: User, reviewer: User, at: datetime) -> ReviewRound:
    n, flagged, _percents = PRINTED[name]
    bank = make_bank(name)
    make_revisions(bank, {number: {"difficulty": "easy"} for number in range(1, n + 1)})
    images_are_there(bank)
    plan = draw_sample(bank, per_thousand=1000, actor=None, at=at)
    made = create_round(plan, name=name, reviewers=[reviewer], steps=RoundSteps.OPEN, actor=actor, at=at)
    open_round(made, actor=actor, at=at)
    rows: list[dict[str, Any]] = [
        review_cells(number, blind_best=None, blind_difficulty=None)
        | {f"flag_{flag.value}": number <= n_flagged for flag, n_flagged in flagged.items()}
        for number in range(1, n + 1)
    ]
    call_command("import_reviews", str(file_of(folder, rows)), "--round", made.slug, verbosity=0)
    return made


@pytest.mark.parametrize("name", PRINTED)
def test_imported_rows_give_the_printed_percents(
    tmp_path: Path, client: Client, cora: User, rita: User, noon: datetime, name: str
) -> None:
    n, flagged, percents = PRINTED[name]
    made = make_imported(name, tmp_path, actor=cora, reviewer=rita, at=noon)
    found = round_outcomes(made)
    assert (found.n_reviewed, found.n_reviews) == (n, n)
    shares = {row.issue: row.rate.share for row in found.paper}
    assert sorted(share.count or 0 for share in shares.values() if share.count) == sorted(flagged.values())
    client.force_login(cora)
    page = client.get(f"/rounds/{made.slug}/").content.decode()
    figure = client.get(f"/rounds/{made.slug}/outcomes/one.svg").content.decode()
    for outcome, printed in percents.items():
        value = Decimal(100 * (shares[outcome].value or 0))
        assert str(value.quantize(Decimal("0.1"), ROUND_HALF_UP)) == printed
        assert f"{value:.2f}\N{NO-BREAK SPACE}%" in page
        assert f">{printed}<" in figure
        assert f">{shares[outcome].count} of {n}<" in figure
