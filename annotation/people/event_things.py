"""What events of the audit log are about: how such a thing is called, and where its page is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from django.db.models import Model, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from annotation.contributions import contributed
from annotation.models import (
    Assignment,
    AuditEvent,
    BankImport,
    Image,
    Invitation,
    Job,
    PromptVersion,
    Question,
    QuestionBank,
    ReviewRound,
    SamplingPlan,
    Upload,
    User,
)

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

NAMES = ("slug", "public_id", "name", "pseudonym", "email")  # columns by which people know a thing
MOST_NAMED = 4  # types of things that one page of the log looks up, a query each
MOST_FOUND = 50  # things of one name


class Thing(Struct, frozen=True):
    """A type of things. ``address``: of the page of a row, empty where it has none; ``beside``: what it reads too."""

    label: _StrPromise
    model: type[Model]
    address: Callable[[Any], str] | None = None
    beside: tuple[str, ...] = ()
    is_named: bool = False  # the log says its name, not only its type

    def rows(self) -> QuerySet[Any]:
        manager: Any = getattr(self.model, "everywhere", self.model._default_manager)  # also those in the bin
        rows: QuerySet[Any] = manager.select_related(*self.beside) if self.beside else manager.all()
        return rows

    def has(self, column: str) -> bool:
        return any(field.name == column for field in self.model._meta.concrete_fields)

    @property
    def key(self) -> str:
        """The column whose value an event holds."""
        return "public_id" if self.has("public_id") else "pk"


THINGS: dict[str, Thing] = {
    "assignment": Thing(_("assignment"), Assignment, lambda row: reverse("round", args=[row.round.slug]), ("round",)),
    "bankimport": Thing(_("import"), BankImport, lambda row: reverse("bank", args=[row.bank.slug]), ("bank",)),
    "image": Thing(_("image"), Image, lambda row: reverse("image", args=[row.public_id])),
    "invitation": Thing(_("invitation"), Invitation, lambda _row: f"{reverse('people')}#invitations"),
    "job": Thing(_("job"), Job, lambda row: reverse("job", args=[row.public_id])),
    "promptversion": Thing(_("prompt"), PromptVersion, lambda row: reverse("prompt", args=[row.public_id])),
    "question": Thing(
        _("question"), Question, lambda row: reverse("question", args=[row.bank.slug, row.number]), ("bank",), True
    ),
    "questionbank": Thing(_("bank"), QuestionBank, lambda row: reverse("bank", args=[row.slug]), is_named=True),
    "reviewround": Thing(_("round"), ReviewRound, lambda row: reverse("round", args=[row.slug]), is_named=True),
    "samplingplan": Thing(_("sample"), SamplingPlan, lambda row: reverse("sample", args=[row.slug])),
    "upload": Thing(_("upload"), Upload, lambda row: reverse("upload", args=[row.public_id])),
    "user": Thing(_("person"), User, lambda row: reverse("person", args=[row.pk]), is_named=True),
}


def things() -> dict[str, Thing]:
    """Of all apps."""
    return THINGS | contributed().things


def type_in_words(name: str) -> str:
    thing = things().get(name)
    return str(thing.label) if thing else name


def address_of(kind: str, name: str) -> str | None:
    """Where the page of a thing is, by its type and the name in an event; None: nowhere, or it is gone."""
    thing = things().get(kind)
    if thing is None or thing.address is None or (thing.key == "pk" and not _is_number(name)):
        return None
    row = thing.rows().filter(**{thing.key: name}).first()
    return (thing.address(row) or None) if row is not None else None


def names_of(events: Iterable[AuditEvent]) -> dict[tuple[str, str], str]:
    """How the things of these events are called: of types that are known by a name, the most frequent ones."""
    asked: dict[str, set[str]] = defaultdict(set)
    for event in events:
        if event.subject_type in things() and things()[event.subject_type].is_named:
            asked[event.subject_type].add(event.subject_id)
    found: dict[tuple[str, str], str] = {}
    for kind in sorted(asked, key=lambda one: -len(asked[one]))[:MOST_NAMED]:
        thing = things()[kind]
        for row in thing.rows().filter(**{f"{thing.key}__in": asked[kind]}):
            found[kind, str(getattr(row, thing.key))] = str(row)
    return found


def keys_of(kind: str, written: str) -> list[str] | None:
    """What events call the things of a type that somebody names: by address, id, name, pseudonym or number.

    None: a type that is not known, of which ``written`` is taken as it is.
    """
    thing = things().get(kind)
    if thing is None:
        return None
    named = Q()
    for column in NAMES:
        if thing.has(column):
            named |= Q(**{f"{column}__iexact": written})
    if _is_number(written):
        named |= Q(pk=written)
    rows = thing.rows().filter(named) if named else thing.rows().none()
    return [str(getattr(row, thing.key)) for row in rows[:MOST_FOUND]]


def _is_number(written: str) -> bool:
    return written.isascii() and written.isdigit() and len(written) < 19
