"""People of every role and what they work on, in a site in which every page has something to show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from annotation.enums import Role
from annotation.models import User
from tests.conftest import make_person

LONG = "a rather long description of what is meant, in the words of somebody who does not stop early, "


@dataclass
class Place:
    """People by name, things by what they are. ``words`` makes every text of a person longer."""

    words: str = ""
    people: dict[str, User] = field(default_factory=dict)
    things: dict[str, Any] = field(default_factory=dict)

    def said(self, text: str) -> str:
        return f"{text} {self.words}".strip()

    def named(self, text: str) -> str:
        return self.said(text)[:190]


def cast(place: Place) -> None:
    roles: dict[str, tuple[Role, ...]] = {
        "ada": (Role.ADMINISTRATOR,),
        "cora": (Role.COORDINATOR,),
        "rita": (Role.REVIEWER,),
        "remo": (Role.REVIEWER,),
        "dina": (Role.DEIDENTIFIER,),
        "mona": (Role.MODEL_SUBMITTER,),
        "stan": (),
        "judy": (),
        "nora": (Role.REVIEWER,),
        "nils": (Role.REVIEWER,),
        "omni": (Role.ADMINISTRATOR, Role.COORDINATOR, Role.REVIEWER, Role.DEIDENTIFIER),
    }
    place.people = {name: make_person(name.capitalize(), *given) for name, given in roles.items()}
    for person in place.people.values():
        person.name = place.named(person.name)
        person.save()
