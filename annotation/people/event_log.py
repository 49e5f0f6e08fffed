"""The audit log as people read it: which events a person may see, found by person, thing, act and time; its export."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict

from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from msgspec import Struct

from annotation.audit.acts_in_words import act_in_words
from annotation.audit.recording import FIRST, AuditRefused, checked_head, events_in_order, record, verify
from annotation.contributions import contributed
from annotation.enums import FINAL_STATES, AssignmentState, JobState, Role
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue_once
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
from annotation.people.accounts import people_matching
from annotation.site.permissions import is_administrator, is_coordinator, reaches
from annotation.site.sentences import number_written

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

PER_PAGE = 50
MOST_PEOPLE = 200  # whom a search names at most


class LogCheckParams(TypedDict):
    head: str


CHECK: JobKind[LogCheckParams] = JobKind("check_audit_log")


def is_blinded(person: User) -> bool:
    """Whether the person reads in a study or reviews in a round that is not over: the work of others stays hidden."""
    rows = Assignment.objects.filter(reviewer=person).exclude(round__state__in=FINAL_STATES)
    gone = (AssignmentState.RETURNED, AssignmentState.WITHDRAWN)
    return rows.exclude(state__in=gone).exists() or any(reads(person) for reads in contributed().reads_blind)


def sees_all(person: User) -> bool:
    """Administrators, with the facts of each event, unless they are blinded themselves."""
    return is_administrator(person) and not is_blinded(person)


def check_sees_all(person: User) -> None:
    """Raises AuditRefused for whoever may not read the log as a whole."""
    if not reaches(person):
        sentence = _("This token is for one place; the audit log is of the whole site.")
        raise AuditRefused("out_of_reach", sentence, status=403)
    if not sees_all(person):
        sentence = _(
            "You read or review blind at the moment: the log holds what is hidden from you. Ask somebody else."
        )
        raise AuditRefused("blinded", sentence, status=403)


def visible_events(person: User, *, all_of_them: bool) -> QuerySet[AuditEvent]:
    """All for whom ``sees_all`` is true; for others what they did, and what happened to what they coordinate.

    Who is blinded sees the own events alone, whatever else they are.
    """
    if all_of_them:
        return AuditEvent.objects.all()
    own = Q(actor=person)
    if not is_blinded(person):
        own |= _coordinated_rounds(person)
        for scope in contributed().event_scopes:
            own |= scope(person)
    return AuditEvent.objects.filter(own)


def _coordinated_rounds(person: User) -> Q:
    if is_coordinator(person):
        return Q(subject_type="reviewround")
    rounds = person.memberships.filter(role=Role.COORDINATOR, round__isnull=False).values_list("round_id", flat=True)
    return Q(subject_type="reviewround", subject_id__in=[str(pk) for pk in rounds])


class Wanted(Struct, frozen=True, kw_only=True):
    """What somebody looks for; empty: everything."""

    person: str = ""
    kind: str = ""
    thing: str = ""
    act: str = ""
    since: datetime | None = None
    until: datetime | None = None


def matching(rows: QuerySet[AuditEvent], wanted: Wanted) -> QuerySet[AuditEvent]:
    if wanted.person:
        rows = rows.filter(actor__in=list(people_matching(wanted.person).values_list("pk", flat=True)[:MOST_PEOPLE]))
    if wanted.kind:
        rows = rows.filter(subject_type=wanted.kind)
    if wanted.thing:
        kinds = [wanted.kind] if wanted.kind else list(things())
        about = Q(subject_id=wanted.thing)
        for kind in kinds:
            if keys := keys_of(kind, wanted.thing):
                about |= Q(subject_type=kind, subject_id__in=keys)
        rows = rows.filter(about)
    if wanted.act:
        rows = rows.filter(act=wanted.act)
    if wanted.since:
        rows = rows.filter(at__gte=wanted.since)
    return rows.filter(at__lte=wanted.until) if wanted.until else rows


class EventLine(Struct, frozen=True):
    """An event in words. ``name``: of the thing, where it is known by one; ``facts``: for administrators."""

    event: AuditEvent
    words: str
    kind: str
    name: str
    has_page: bool
    facts: str


class Lines(Struct, frozen=True):
    """One page; ``next``: the number of the event after which the following page begins, 0: there is none."""

    rows: list[EventLine]
    next: int


def lines(rows: QuerySet[AuditEvent], *, after: int, oldest_first: bool, with_facts: bool) -> Lines:
    """The same time for every page, however long the log is: it goes on from a number."""
    if after:
        rows = rows.filter(pk__gt=after) if oldest_first else rows.filter(pk__lt=after)
    ordered = rows.select_related("actor").order_by("pk" if oldest_first else "-pk")
    found = list(ordered[: PER_PAGE + 1])
    shown = found[:PER_PAGE]
    names = names_of(shown) if with_facts else {}
    return Lines([_line(one, names, with_facts) for one in shown], shown[-1].pk if len(found) > PER_PAGE else 0)


def _line(event: AuditEvent, names: dict[tuple[str, str], str], with_facts: bool) -> EventLine:
    thing = things().get(event.subject_type)
    return EventLine(
        event,
        act_in_words(event.act),
        type_in_words(event.subject_type),
        names.get((event.subject_type, event.subject_id), ""),
        with_facts and thing is not None and thing.address is not None,
        json.dumps(event.facts, ensure_ascii=False, indent=1) if with_facts and event.facts else "",
    )


def head() -> str:
    """The hash of the newest event."""
    return AuditEvent.objects.order_by("-pk").values_list("sha256", flat=True).first() or FIRST


# --- checking it from the page -------------------------------------------------------------------
def last_check() -> Job | None:
    """The newest check that came to an end."""
    return Job.objects.filter(kind=CHECK, state=JobState.SUCCEEDED).order_by("-finished_at").first()


@transaction.atomic
def begin_check(*, actor: User, at: datetime) -> Job:
    """Check the log in the background, against the head that the check before found. One at a time."""
    last = last_check()
    before = (last.result or {}).get("head", "") if last is not None else ""
    return enqueue_once(
        CHECK, _("Check of the audit log"), LogCheckParams(head=before), about="head", actor=actor, at=at
    )


def run_check(progress: Progress, params: LogCheckParams) -> Result:
    """The handler."""
    found = verify(checked_head(params["head"]), report=progress.report)
    result: Result = {"events": found.n_events, "head": found.head_sha256}
    if found.fault is not None:
        result["fault"] = f"{_(found.fault.kind.label)}: {found.fault.sentence}"
        result["head"] = params["head"]  # what the next check asks for stays
    return result


# --- export ---------------------------------------------------------------------------------------
@transaction.atomic
def export_log(*, after: int, actor: User | None, at: datetime) -> Iterator[bytes]:
    """Every event after a number as a line of JSON, the oldest first; the last line is the event of this export.

    Raises AuditRefused for a person who may not see all of it.
    """
    if actor is not None:
        check_sees_all(actor)
    own = record("audit.exported", actor=actor, at=at, facts={"after": after})
    return _json_lines(after, own.pk)


def _json_lines(after: int, last: int) -> Iterator[bytes]:
    for event in events_in_order(after):
        if event.pk > last:
            return
        yield json.dumps(as_json(event), ensure_ascii=False).encode() + b"\n"


def as_json(event: AuditEvent) -> dict[str, Any]:
    """The fields are described in docs/audit.md. People appear by the number of their account."""
    return {
        "id": event.pk,
        "at": event.at.isoformat() if event.at else None,
        "actor": event.actor_id,
        "act": event.act,
        "subject_type": event.subject_type,
        "subject_id": event.subject_id,
        "facts": event.facts,
        "previous_sha256": event.previous_sha256,
        "sha256": event.sha256,
    }


# --- what events are about: how such a thing is called, and where its page is ------------------------
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
    "assignment": Thing(
        _lazy("assignment"), Assignment, lambda row: reverse("round", args=[row.round.slug]), ("round",)
    ),
    "bankimport": Thing(_lazy("import"), BankImport, lambda row: reverse("bank", args=[row.bank.slug]), ("bank",)),
    "image": Thing(_lazy("image"), Image, lambda row: reverse("image", args=[row.public_id])),
    "invitation": Thing(_lazy("invitation"), Invitation, lambda _row: f"{reverse('people')}#invitations"),
    "job": Thing(_lazy("job"), Job, lambda row: reverse("job", args=[row.public_id])),
    "promptversion": Thing(_lazy("prompt"), PromptVersion, lambda row: reverse("prompt", args=[row.public_id])),
    "question": Thing(
        _lazy("question"), Question, lambda row: reverse("question", args=[row.bank.slug, row.number]), ("bank",), True
    ),
    "questionbank": Thing(_lazy("bank"), QuestionBank, lambda row: reverse("bank", args=[row.slug]), is_named=True),
    "reviewround": Thing(_lazy("round"), ReviewRound, lambda row: reverse("round", args=[row.slug]), is_named=True),
    "samplingplan": Thing(_lazy("sample"), SamplingPlan, lambda row: reverse("sample", args=[row.slug])),
    "upload": Thing(_lazy("upload"), Upload, lambda row: reverse("upload", args=[row.public_id])),
    "user": Thing(_lazy("person"), User, lambda row: reverse("person", args=[row.pk]), is_named=True),
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
    if thing is None or thing.address is None or (thing.key == "pk" and number_written(name, digits=18) is None):
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
    if number_written(written, digits=18) is not None:
        named |= Q(pk=written)
    rows = thing.rows().filter(named) if named else thing.rows().none()
    return [str(getattr(row, thing.key)) for row in rows[:MOST_FOUND]]
