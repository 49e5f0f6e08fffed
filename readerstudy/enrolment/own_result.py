"""A reader's own result, on the last page, where the study shows it; not before closing: the others still read."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from annotation.statistics.kernels.estimate import Estimate
from readerstudy.enrolment.preparing import rules_of
from readerstudy.models import Enrolment
from readerstudy.study.tallies import accuracy_of
from readerstudy.unblinding.looks import is_over, unblind


def may_see_results(enrolment: Enrolment) -> bool:
    """After closing, where the rules of the study say so, for readers who declared that they used no other source."""
    return is_over(enrolment.study) and rules_of(enrolment.study).show_results and enrolment.declared_at is not None


@transaction.atomic
def see_own_results(enrolment: Enrolment, *, at: datetime) -> Estimate:
    """Right answers of the cases that count, with Wilson's interval. Seeing it unblinds the study."""
    unblind(enrolment.study, actor=enrolment.reader, at=at, because="a reader's own results")
    return accuracy_of(enrolment)
