"""Who asks: one person for each role, with a part in some things of the site and none in the others."""

from __future__ import annotations

from enum import StrEnum

from django.utils import timezone

from annotation.enums import Role
from annotation.models import Membership, User
from readerstudy.models import StudyRole
from tests.browser.pages.place import Place
from tests.conftest import make_person
from tests.readerstudy.studies import enrol


class Asker(StrEnum):
    """The columns of the table."""

    NOBODY = "not logged in"
    STRANGER = "no role"
    READER = "reader"
    REVIEWER = "reviewer"
    ADJUDICATOR = "adjudicator"
    OF_ROUND = "coordinator of a round"
    OF_STUDY = "coordinator of a study"
    COORDINATOR = "coordinator"
    ADMINISTRATOR = "administrator"
    SUBMITTER = "model submitter"
    DEIDENTIFIER = "de-identification"


OWN_ROUNDS = ("draft", "open", "disputed", "closed")
OWN_STUDIES = ("study draft", "study frozen", "trial", "over", "study results")
READ = ("trial", "over", "study results")


def people_of(place: Place) -> dict[Asker, User | None]:
    """Some live in the place already; the others hold nothing but what their column says."""
    cora, now = place.people["cora"], timezone.now()
    of_round, of_study, reader, dee = (make_person(name) for name in ("Rosa", "Stuart", "Rhea", "Dee"))
    for name in OWN_ROUNDS:
        Membership.objects.create(
            user=of_round, role=Role.COORDINATOR, round=place.things[name], granted_by=cora, granted_at=now
        )
    for name in OWN_STUDIES:
        StudyRole.objects.create(study=place.things[name], user=of_study, granted_by=cora, granted_at=now)
    for name in READ:
        enrol(place.things[name], reader)
    Membership.objects.create(user=dee, role=Role.DEIDENTIFIER, granted_at=now)
    return {
        Asker.NOBODY: None,
        Asker.STRANGER: make_person("Una"),
        Asker.READER: reader,
        Asker.REVIEWER: place.people["rita"],
        Asker.ADJUDICATOR: place.people["judy"],
        Asker.OF_ROUND: of_round,
        Asker.OF_STUDY: of_study,
        Asker.COORDINATOR: cora,
        Asker.ADMINISTRATOR: place.people["ada"],
        Asker.SUBMITTER: place.people["mona"],
        Asker.DEIDENTIFIER: dee,
    }
