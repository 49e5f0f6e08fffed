"""The earlier exam that is shown beside an exam: named by questions in a file, found when the whole file is there.

And who is one patient: exams with one pseudonym of a patient and, where it is not known, exams that a prior links.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q

from annotation.enums import IdentifierKind
from annotation.models import Exam, Question, SourceIdentifier
from annotation.questionbank.known import exams_with_keys

Link = tuple[str, str, str, str]  # pseudonyms of the patient and of the exam, then those of its prior
AT_ONCE = 1_000

# Exams of a bank that name a prior and have none, by the reason; what did not happen is not counted.
MISSING = "priors_missing"  # it is not in the bank
OTHER_PATIENT = "priors_of_other_patients"
UNKNOWN_PATIENT = "priors_of_unknown_patients"  # of one of the two the patient is not known
IN_A_CIRCLE = "priors_in_a_circle"  # each of several names the next as earlier, and the last the first


def link_priors(bank_id: int) -> Counter[str]:
    """Give every exam of the bank the prior that was named last for it. Safe to run twice.

    A name that the bank does not hold waits for a later import. An exam of another patient is never a prior, nor one
    of which it is not known, nor one that comes later by its own prior.
    """
    counts: Counter[str] = Counter()
    every = SourceIdentifier.objects.filter(bank=bank_id, kind=IdentifierKind.PRIOR_EXAM)
    later = every.filter(exam_id=OuterRef("exam_id"), pk__gt=OuterRef("pk"))
    rows = every.exclude(Exists(later)).order_by("pk")
    changed: list[Exam] = []
    prior_of: dict[int, int] = {}
    last = 0
    while page := list(rows.filter(pk__gt=last).values_list("pk", "exam_id", "value")[:AT_ONCE]):
        last = page[-1][0]
        named = {exam: key for _pk, exam, key in page if exam is not None}
        for exam, prior in _named(bank_id, named, counts):
            if prior is not None:
                prior_of[exam.pk] = prior
            if exam.prior_id != prior:
                exam.prior_id = prior
                changed.append(exam)
    circling = in_circles(prior_of)
    counts[IN_A_CIRCLE] = len(circling)
    straight = [exam for exam in changed if exam.pk not in circling]
    Exam.objects.bulk_update(straight, ["prior"], batch_size=AT_ONCE)
    Exam.objects.filter(pk__in=circling, prior__isnull=False).update(prior=None)
    return +counts


def _named(bank_id: int, named: dict[int, str], counts: Counter[str]) -> Iterator[tuple[Exam, int | None]]:
    """Each of these exams with its prior; None, and counted, where it is refused."""
    found = exams_with_keys(bank_id, named.values())
    exams = Exam.objects.only("prior", "patient_pseudonym").in_bulk([*named, *found.values()])
    for pk, key in named.items():
        exam, prior = exams.get(pk), exams.get(found.get(key, 0))
        if exam is None:
            continue
        if prior is None:
            counts[MISSING] += 1
        elif exam.patient_pseudonym == prior.patient_pseudonym:  # of neither known, or of both
            yield exam, prior.pk
            continue
        elif exam.patient_pseudonym and prior.patient_pseudonym:
            counts[OTHER_PATIENT] += 1
        else:
            counts[UNKNOWN_PATIENT] += 1
        yield exam, None


def questions_showing(exams: Collection[int]) -> Mapping[int, set[int]]:
    """By exam: the questions that show its images, as their own or as a prior. One query for every thousand exams."""
    found: dict[int, set[int]] = defaultdict(set)
    ids = sorted(exams)
    for start in range(0, len(ids), AT_ONCE):
        part = ids[start : start + AT_ONCE]
        showing = Exam.objects.filter(Q(pk__in=part) | Q(prior__in=part))
        rows = Question.objects.filter(exam__in=showing.values("pk")).order_by("pk")
        for question, exam, prior in rows.values_list("pk", "exam", "exam__prior"):
            for shown in (exam, prior):
                if shown is not None:
                    found[shown].add(question)
    return found


def in_circles(prior_of: Mapping[int, int]) -> set[int]:
    """The exams to which one comes back from prior to prior. What only leads to such exams is not among them."""
    found: set[int] = set()
    done: set[int] = set()
    for exam in prior_of:
        path: dict[int, None] = {}  # in the order of going
        while exam in prior_of and exam not in done:
            if exam in path:
                found.update(list(path)[list(path).index(exam) :])
                break
            path[exam] = None
            exam = prior_of[exam]
        done.update(path)
    return found


@dataclass(frozen=True)
class Patients:
    """What identifies the patient of an exam; the exam itself, where nothing else is known."""

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
