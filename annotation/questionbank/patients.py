"""Who is one patient: exams with one pseudonym of a patient and, where it is not known, exams that a prior links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Q

from annotation.models import Exam

Link = tuple[str, str, str, str]  # pseudonyms of the patient and of the exam, then those of its prior


@dataclass(frozen=True)
class Patients:
    """What stands for the patient of an exam; the exam itself, where nothing else is known."""

    linked: Mapping[str, str]

    def name(self, patient: str, exam: str) -> str:
        own = _own_name(patient, exam)
        return self.linked.get(own, own)

    def is_known(self, patient: str, exam: str) -> bool:
        return bool(patient) or _own_name(patient, exam) in self.linked


def patients_of(bank_id: int) -> Patients:
    """By the priors that the bank names now. One query."""
    unknown = Q(patient_pseudonym="") | Q(prior__patient_pseudonym="")
    exams = Exam.objects.filter(unknown, bank=bank_id, prior__isnull=False).order_by("pk")
    return patients_by(
        exams.values_list("patient_pseudonym", "pseudonym", "prior__patient_pseudonym", "prior__pseudonym")
    )


def patients_by(links: Iterable[Link]) -> Patients:
    """Exams that share a prior, or follow each other as priors, are of one patient."""
    before: dict[str, str] = {}

    def first(name: str) -> str:
        while before.setdefault(name, name) != name:
            name = before[name]
        return name

    for patient, exam, prior_patient, prior in links:
        one, other = sorted((first(_own_name(patient, exam)), first(_own_name(prior_patient, prior))))
        before[other] = one
    return Patients({name: first(name) for name in list(before)})


def _own_name(patient: str, exam: str) -> str:
    return patient or f"exam {exam}"
