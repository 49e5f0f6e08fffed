"""What the paper counted in two reviews, as it is printed there; neither is a trial of a prompt. Pure.

ReXVQA (arXiv 2506.04353), section 3.3.3 prints 10.8, 6.7, 5 and 3.3 % of 120 questions of its first expert review; the
counts follow from these. Its later reader study found errors in 2 of 300 questions, as its text says.
"""

from __future__ import annotations

from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share
from annotation.statistics.kernels.issues import PaperOutcome

N_FIRST = 120
FIRST_REVIEW: dict[PaperOutcome, int] = {
    PaperOutcome.SEVERAL_VALID: 13,
    PaperOutcome.COMPARISON: 8,
    PaperOutcome.VALIDITY: 6,
    PaperOutcome.HALLUCINATED: 4,
}
LATER_ERRORS, N_LATER = 2, 300


def first_review() -> list[tuple[PaperOutcome, Estimate]]:
    """With Wilson's intervals, which the paper does not print."""
    return [(outcome, share(k, N_FIRST)) for outcome, k in FIRST_REVIEW.items()]


def later_errors() -> Estimate:
    return share(LATER_ERRORS, N_LATER)
