"""The earlier exam that stands beside an exam: named by questions in a file, found when the whole file is there."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from annotation.enums import IdentifierKind
from annotation.models import Exam, SourceIdentifier
from annotation.questionbank.known import exams_with_keys

AT_ONCE = 1_000


@dataclass(slots=True)
class PriorCounts:
    """Of the exams of a bank that name a prior: those whose prior is not in the bank, or is of another patient."""

    missing: int = 0
    other_patient: int = 0


def link_priors(bank_id: int) -> PriorCounts:
    """Give every exam of the bank the prior that was named last for it. Safe to run twice.

    A name that the bank does not hold waits for a later import. An exam of another patient is never a prior.
    """
    counts = PriorCounts()
    every = SourceIdentifier.objects.filter(bank=bank_id, kind=IdentifierKind.PRIOR_EXAM)
    later = every.filter(exam_id=OuterRef("exam_id"), pk__gt=OuterRef("pk"))
    rows = every.exclude(Exists(later)).order_by("pk")
    last = 0
    while page := list(rows.filter(pk__gt=last).values_list("pk", "exam_id", "digest", "value")[:AT_ONCE]):
        last = page[-1][0]
        named = {exam: (digest, key) for _pk, exam, digest, key in page if exam is not None}
        _link(bank_id, named, counts)
    return counts


def _link(bank_id: int, named: dict[int, tuple[int, str]], counts: PriorCounts) -> None:
    found = exams_with_keys(bank_id, list(named.values()))
    exams = Exam.objects.only("prior", "patient_pseudonym").in_bulk([*named, *found.values()])
    changed: list[Exam] = []
    for pk, (_digest, key) in named.items():
        exam, prior = exams.get(pk), exams.get(found.get(key, 0))
        if exam is None:
            continue
        if prior is None:
            counts.missing += 1
        elif not _are_of_one_patient(exam, prior):
            counts.other_patient += 1
            prior = None
        if exam.prior_id != (prior.pk if prior is not None else None):
            exam.prior = prior
            changed.append(exam)
    Exam.objects.bulk_update(changed, ["prior"], batch_size=AT_ONCE)


def _are_of_one_patient(exam: Exam, prior: Exam) -> bool:
    """As far as the file says."""
    known = {exam.patient_pseudonym, prior.patient_pseudonym} - {""}
    return len(known) <= 1
