"""The open work of a person: the content of the home page."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Case, Count, F, Q, QuerySet, When
from django.utils.translation import gettext
from msgspec import Struct, field

from annotation.backup.taking import is_backup_due, kept_backups
from annotation.contributions import contributed
from annotation.enums import AssignmentState, ImageState, Role, RoundState
from annotation.models import Assignment, Image, Job, ReviewRound, User
from annotation.people.invitations import open_invitations
from annotation.questionbank.listing import ImageCounts
from annotation.site.permissions import site_roles
from annotation.site.zones import time_text

SHOWN = 8  # rounds, banks, studies and jobs named on the home page; the rest is on their own pages


class RoundWork(Struct, frozen=True):
    """Progress in one round, of one reviewer or of all. ``n_left`` includes skipped questions, which come back."""

    slug: str
    name: str
    state: str
    n_done: int
    n_total: int
    due: str = ""  # for the reviewer, in their time zone
    is_overdue: bool = False

    @property
    def state_label(self) -> str:
        return gettext(RoundState(self.state).label)

    @property
    def n_left(self) -> int:
        return self.n_total - self.n_done


class Coordination(Struct, frozen=True):
    """What a coordinator looks after."""

    rounds: list[RoundWork]
    jobs: list[Job]


class Administration(Struct, frozen=True):
    n_people: int
    n_invitations: int
    is_backup_due: bool = False


class NextStep(Struct, frozen=True):
    """The one thing to do next. Home says what it is about; on the page of that thing the sentence stands alone."""

    label: str
    sentence: str
    url: str
    about: str = ""  # the name of the thing
    is_act: bool = False  # asked for by POST, and confirmed there
    is_due: bool = True  # up to who reads it; otherwise it says whom or what everything waits for


def first_due(steps: Iterable[NextStep | None]) -> NextStep | None:
    """The first that is up to the person, otherwise the first that says what everything waits for."""
    return min(filter(None, steps), key=lambda step: not step.is_due, default=None)


class WorkItem(Struct, frozen=True):
    """One line of a section; ``words`` are shown in place of "3 of 12", ``tone`` is that of the tag with the state."""

    name: str
    url: str
    n_done: int = 0
    n_total: int = 0
    words: str = ""
    state: str = ""
    tone: str = ""


class WorkSection(Struct, frozen=True):
    """Work that another app knows of. ``is_own``: this person's own cases, which come before what they look after."""

    title: str
    items: list[WorkItem]
    step: NextStep | None = None
    is_own: bool = False
    empty: str = ""  # what to say without an item; a section that has neither is not shown
    url: str = ""  # of the page that lists them all


class OpenWork(Struct, frozen=True):
    reviews: list[RoundWork] = field(default_factory=list)
    coordination: Coordination | None = None
    administration: Administration | None = None
    images: ImageCounts | None = None  # in quarantine, and whether any can be seen; None: not for this person to know
    decides_quarantine: bool = False
    work: list[WorkSection] = field(default_factory=list)  # of other apps

    @property
    def own_work(self) -> list[WorkSection]:
        return [section for section in self.work if section.is_own]

    @property
    def other_work(self) -> list[WorkSection]:
        return [section for section in self.work if not section.is_own]


def open_work_of(person: User, at: datetime) -> OpenWork:
    """Own reviews for everybody, what the roles of the person add (at most eight queries), and work of other apps."""
    roles = site_roles(person)
    coordinates = Role.COORDINATOR in roles
    own_rounds = None if coordinates else _coordinated_rounds(person)
    return OpenWork(
        reviews=_own_reviews(person, at),
        coordination=_coordination(person, own_rounds) if coordinates or own_rounds else None,
        administration=_administration(at) if Role.ADMINISTRATOR in roles else None,
        images=_quarantine() if coordinates or Role.DEIDENTIFIER in roles else None,
        decides_quarantine=Role.DEIDENTIFIER in roles,
        work=_work(person, at),
    )


def _work(person: User, at: datetime) -> list[WorkSection]:
    found = (work_of(person, at) for work_of in contributed().work)
    return [section for section in found if section and (section.items or section.empty or section.step)]


def _own_reviews(person: User, at: datetime) -> list[RoundWork]:
    """Open rounds of this reviewer: those with something left first; what is due first, then the longest open."""
    rows = (
        Assignment.objects.filter(reviewer=person, round__state=RoundState.OPEN, round__archived_at__isnull=True)
        .filter(round__adjudicates=None)  # adjudicators have a section of their own
        .exclude(state__in=(AssignmentState.RETURNED, AssignmentState.WITHDRAWN))
        .values("round__slug", "round__name", "round__opened_at", "round__due_at")
        .annotate(n_total=Count("pk"), n_done=Count("pk", filter=Q(state=AssignmentState.SUBMITTED)))
        .order_by(F("round__due_at").asc(nulls_last=True), "round__opened_at", "round__slug")
    )
    work = [
        RoundWork(
            r["round__slug"],
            r["round__name"],
            RoundState.OPEN,
            r["n_done"],
            r["n_total"],
            due=time_text(due_at, person.time_zone) if (due_at := r["round__due_at"]) else "",
            is_overdue=due_at is not None and due_at <= at and r["n_done"] < r["n_total"],
        )
        for r in rows
    ]
    return sorted(work, key=lambda one: one.n_left == 0)


def n_open_assignments(person: User) -> int:
    """Questions in open rounds that wait for this person."""
    rows = Assignment.objects.filter(reviewer=person, round__state=RoundState.OPEN)
    over = (AssignmentState.SUBMITTED, AssignmentState.RETURNED, AssignmentState.WITHDRAWN)
    return rows.exclude(state__in=over).count()


def _coordinated_rounds(person: User) -> list[int]:
    rows = person.memberships.filter(role=Role.COORDINATOR, round__isnull=False)
    return [pk for pk in rows.values_list("round_id", flat=True) if pk is not None]


def _coordination(person: User, only_rounds: list[int] | None) -> Coordination:
    """Everything for a coordinator of the site; only their rounds for a coordinator of rounds."""
    rounds = ReviewRound.objects.filter(archived_at__isnull=True)
    if only_rounds is not None:
        return Coordination(_rounds(rounds.filter(pk__in=only_rounds)), [])
    jobs = Job.objects.unfinished().order_by("created_at")[:SHOWN]
    return Coordination(_rounds(rounds), list(jobs))


def _rounds(rows: QuerySet[ReviewRound]) -> list[RoundWork]:
    """Rounds under way, then drafts, then the newest closed ones, with the progress of all reviewers together."""
    there = ~Q(assignments__state=AssignmentState.WITHDRAWN)
    rows = rows.annotate(
        n_total=Count("assignments", filter=there),
        n_done=Count("assignments", filter=Q(assignments__state=AssignmentState.SUBMITTED)),
        rank=Case(When(state=RoundState.CLOSED, then=2), When(state=RoundState.DRAFT, then=1), default=0),
    ).order_by("rank", "-created_at")[:SHOWN]
    return [RoundWork(r.slug, r.name, r.state, r.n_done, r.n_total) for r in rows]


def _quarantine() -> ImageCounts:
    n = Image.objects.filter(state=ImageState.QUARANTINED).count()
    return ImageCounts(
        n_quarantined=n, n_available=int(n and Image.objects.filter(state=ImageState.AVAILABLE).exists())
    )


def _administration(at: datetime) -> Administration:
    return Administration(
        User.objects.filter(is_active=True).count(),
        open_invitations(at).values("token_sha256").distinct().count(),
        is_backup_due(kept_backups(), at=at),
    )
