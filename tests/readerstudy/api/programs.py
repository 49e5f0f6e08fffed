"""Programs of everybody who could ask about a study: who of them is let in is one table for each resource."""

from __future__ import annotations

from collections.abc import Mapping

from annotation.enums import Role
from annotation.models import User
from annotation.models.people import TokenScope
from readerstudy.models import Enrolment, ReaderStudy, StudyRole
from tests.annotation.api.asking import Program, program_of
from tests.conftest import NOON, make_person
from tests.readerstudy.studies import enrol, make_study

FOUND = {"site", "bank", "study", "own"}  # programs of coordinators that reach the study
OVERSEES = "administrator"


def coordinating(person: User, study: ReaderStudy) -> Program:
    """Works in the bank of the study for a coordinator of the site."""
    return program_of(person, Role.COORDINATOR, TokenScope.BANK, study.bank.slug)


def everybody(study: ReaderStudy) -> Mapping[str, Program]:
    """By a word for the token; the study gets a reader where it has none."""
    cora, ada = (
        User.objects.filter(name=name).first() or make_person(name, role)
        for name, role in (("Cora", Role.COORDINATOR), ("Ada", Role.ADMINISTRATOR))
    )
    other = make_study("Elsewhere")
    head = make_person("Hedda")
    StudyRole.objects.create(study=study, user=head, granted_at=NOON)
    StudyRole.objects.create(study=other, user=head, granted_at=NOON)
    enrolled = Enrolment.objects.filter(study=study, reader__isnull=False, withdrawn_at=None).select_related("reader")
    reader = next((one.reader for one in enrolled), None)
    if reader is None:
        reader = make_person("Lena")
        enrol(study, reader)
    return {
        "site": program_of(cora, Role.COORDINATOR),
        "bank": coordinating(cora, study),
        "study": program_of(cora, Role.COORDINATOR, TokenScope.STUDY, study.slug),
        "own": program_of(head, Role.COORDINATOR, TokenScope.STUDY, study.slug),
        OVERSEES: program_of(ada, Role.ADMINISTRATOR),
        "other bank": coordinating(cora, other),
        "other study": program_of(cora, Role.COORDINATOR, TokenScope.STUDY, other.slug),
        "own other": program_of(head, Role.COORDINATOR, TokenScope.STUDY, other.slug),
        "reader": program_of(reader, Role.READER, TokenScope.STUDY, study.slug),
        "reviewer": program_of(make_person("Vera", Role.REVIEWER), Role.REVIEWER),
        "submitter": program_of(make_person("Mona", Role.MODEL_SUBMITTER), Role.MODEL_SUBMITTER),
    }


def statuses(programs: Mapping[str, Program], address: str, method: str = "GET", body: object = None) -> dict[str, int]:
    return {name: one.ask(method, address, body).status_code for name, one in programs.items()}


def read_as(programs: Mapping[str, Program], *, overseer: int) -> dict[str, int]:
    """What these programs are answered where the pages let coordinators in, and administrators or not."""
    return {name: 200 if name in FOUND else overseer if name == OVERSEES else 404 for name in programs}
