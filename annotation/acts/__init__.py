"""Acts of people on one thing, each declared once.

The act itself is an ordinary function of a room, ``(thing, *, actor, at, ...)``, which a test calls. A subclass of
``Act`` says what surrounds it. From it come the page that it is sent to (``annotation/views/site/confirming.py``), its
address in the API with its description (``annotation/api/acting.py``), its row in the table of permissions and
``manage.py act``. What does not fit, such as an act that makes a thing in a list, is a plain view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Generic, TypedDict, TypeVar

from django import forms
from django.db.models import Model, QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.functional import Promise
from msgspec import Struct, field

from annotation.enums import Role
from annotation.models import User
from annotation.refusals import Refused
from annotation.site.permissions import within_reach

Thing = TypeVar("Thing", bound=Model)


class By(TypedDict):
    """Who acts, and when: the parameters that every act takes."""

    actor: User
    at: datetime


class Confirmation(Struct, frozen=True, kw_only=True):
    """What the page asks: a title, what follows from the act, and the button that does it."""

    title: str
    sentences: list[str]
    label: str
    back: str  # the address to which "Cancel" leads
    about: str = ""  # the name of what it is about, shown above the title
    is_danger: bool = True
    sent: Mapping[str, int | str | Sequence[int]] = field(default_factory=dict)  # goes back with the answer

    @property
    def fields(self) -> list[tuple[str, int | str]]:
        """What is sent, one field for each value of a list."""
        listed = ((name, [value] if isinstance(value, int | str) else value) for name, value in self.sent.items())
        return [(name, value) for name, values in listed for value in values]


class Act(Generic[Thing]):
    """One act of one person on one thing. The docstring of a subclass is what programs read of it."""

    name: ClassVar[str]  # of the page's address, and with "api-" before it of that in the API: "round-open"
    route: ClassVar[str]  # below the address of the thing: "open/"
    api_route: ClassVar[str] = ""  # where it is another one in the API
    roles: ClassVar[tuple[Role, ...]] = ()  # of the site; none: every person, find() decides
    found_by: ClassVar[tuple[str, ...]] = ("slug",)  # the names that find() takes
    rows: ClassVar[Callable[[], QuerySet[Any]]]  # that find() looks through, where it is not written anew
    reach: ClassVar[Mapping[str, str]] = {}  # of a token into them, as of a resource of the API
    then: ClassVar[str]  # the page of the thing, on which one reads what was done
    summary: ClassVar[str]  # for programs
    do: ClassVar[Callable[..., Any]]  # the act
    done: ClassVar[str | Promise] = ""  # the sentence that is read afterwards
    form: ClassVar[type[forms.Form] | None] = None  # of the page, and what programs send
    prefix: ClassVar[str | None] = None  # of the form, where its page has several
    misread: ClassVar[str | Promise] = ""  # read in place of the errors of the form, where it is not on that page
    asking: ClassVar[str] = "annotation/confirm.html"  # the template of a confirmation

    def __init__(self, thing: Thing, person: User) -> None:
        self.thing, self.person = thing, person

    @classmethod
    def find(cls, person: User, **named: Any) -> Thing:
        """The thing that an address names. Raises Http404 for strangers, PermissionDenied for who may not act."""
        found: Thing = get_object_or_404(within_reach(person, cls.rows(), **cls.reach), **named)
        return found

    def form_for(self, sent: Mapping[str, Any]) -> forms.Form | None:
        return self.form(sent, prefix=self.prefix) if self.form else None

    def arguments(self, data: dict[str, Any]) -> dict[str, Any]:
        """For the act, from what the form holds."""
        return data

    def confirmation(self, arguments: dict[str, Any], at: datetime) -> Confirmation | None:
        """What the page asks before; None where it does not. Raises Refused where the act would."""
        return None

    def confirmation_after(self, refusal: Refused) -> Confirmation | None:
        """What the page asks where the act was refused because something is to be confirmed."""
        return None

    def run(self, arguments: dict[str, Any], at: datetime) -> Any:
        """Raises Refused."""
        return type(self).do(self.thing, **arguments, actor=self.person, at=at)

    def says(self, arguments: dict[str, Any], result: Any) -> str:
        """Nothing, where nothing changed."""
        return str(self.done)

    def page(self) -> str:
        """The address to which the page goes on."""
        return reverse(self.then, args=[getattr(self.thing, name) for name in self.found_by])

    def around(self) -> dict[str, Any]:
        """What the template of a confirmation needs beside it."""
        return {}
