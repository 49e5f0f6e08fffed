"""The open work of a person: the content of the home page."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, F, Max, Q, Subquery, When
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from msgspec import Struct, field

from annotation.backup.taking import is_backup_due, kept_backups
from annotation.contributions import contributed
from annotation.enums import AssignmentState, ImageState, Role, RoundState
from annotation.ingest.completeness import ImageCounts
from annotation.models import Assignment, Image, Job, ReviewRound, User
from annotation.people.invitations import open_invitations
from annotation.people.open_work import SHOWN, NextStep, WorkItem, WorkSection
from annotation.site.permissions import site_roles
from annotation.site.sentences import time_text


class Administration(Struct, frozen=True):
    n_people: int
    n_invitations: int
    is_backup_due: bool = False


class OpenWork(Struct, frozen=True):
    work: list[WorkSection] = field(default_factory=list)  # own first
    reviews: bool = False  # whether this person has any in open rounds
    coordinates: bool = False
    administration: Administration | None = None
    images: ImageCounts | None = None  # in quarantine, and whether any can be seen; None: not for this person to know
    decides_quarantine: bool = False


def open_work_of(person: User, at: datetime) -> OpenWork:
    """Own reviews for everybody, what the roles of the person add (at most eight queries), and work of other apps."""
    roles = site_roles(person)
    is_coordinator = Role.COORDINATOR in roles
    own_rounds = None if is_coordinator else _coordinated_rounds(person)
    coordinates = is_coordinator or bool(own_rounds)
    reviews = _own_reviews(person, at)
    sections = [
        reviews,
        _rounds(own_rounds) if coordinates else None,
        *(work_of(person, at) for work_of in contributed().work),
        _jobs() if is_coordinator else None,
    ]
    shown = [section for section in sections if section and (section.items or section.empty or section.step)]
    return OpenWork(
        work=sorted(shown, key=lambda section: not section.is_own),
        reviews=reviews is not None,
        coordinates=coordinates,
        administration=_administration(at) if Role.ADMINISTRATOR in roles else None,
        images=_quarantine() if is_coordinator or Role.DEIDENTIFIER in roles else None,
        decides_quarantine=Role.DEIDENTIFIER in roles,
    )


def _own_reviews(person: User, at: datetime) -> WorkSection | None:
    """Open rounds of this reviewer: those with something left first; what is due first, then the longest open.

    What is left includes skipped questions, which come back.
    """
    rows = (
        Assignment.objects.filter(reviewer=person, round__state=RoundState.OPEN, round__archived_at__isnull=True)
        .filter(round__adjudicates=None)  # adjudicators have a section of their own
        .exclude(state__in=(AssignmentState.RETURNED, AssignmentState.WITHDRAWN))
        .values("round__slug", "round__name", "round__opened_at", "round__due_at")
        .annotate(n_total=Count("pk"), n_done=Count("pk", filter=Q(state=AssignmentState.SUBMITTED)))
        .order_by(F("round__due_at").asc(nulls_last=True), "round__opened_at", "round__slug")
    )
    found = sorted(rows, key=lambda row: row["n_done"] == row["n_total"])
    if not found:
        return None
    step = _review_step(found[0]) if found[0]["n_done"] < found[0]["n_total"] else None
    return WorkSection(gettext("Your reviews"), [_own_review(row, person, at) for row in found], step, is_own=True)


def _own_review(row: Mapping[str, Any], person: User, at: datetime) -> WorkItem:
    n_done, n_total, due_at = row["n_done"], row["n_total"], row["round__due_at"]
    url = reverse("review-continue", args=[row["round__slug"]])
    if n_done == n_total:
        return WorkItem(row["round__name"], url, n_done, n_total, gettext("all done"))
    words = gettext("overdue since %(when)s") if due_at and due_at <= at else gettext("due %(when)s")
    due = words % {"when": time_text(due_at, person.time_zone)} if due_at else ""
    return WorkItem(row["round__name"], url, n_done, n_total, state=due, tone="bad" if due_at and due_at <= at else "")


def _review_step(row: Mapping[str, Any]) -> NextStep:
    n_left = row["n_total"] - row["n_done"]
    sentence = ngettext("%(n)d question left in “%(round)s”.", "%(n)d questions left in “%(round)s”.", n_left)
    label = gettext("Continue") if row["n_done"] else gettext("Start")
    url = reverse("review-continue", args=[row["round__slug"]])
    return NextStep(label, sentence % {"n": n_left, "round": row["round__name"]}, url)


def _coordinated_rounds(person: User) -> list[int]:
    rows = person.memberships.filter(role=Role.COORDINATOR, round__isnull=False)
    return [pk for pk in rows.values_list("round_id", flat=True) if pk is not None]


def _rounds(only_rounds: list[int] | None) -> WorkSection:
    """Rounds under way, then drafts, then the newest closed ones, with the progress of all reviewers together.

    ``only_rounds``: of a coordinator of rounds; None: of one of the site.
    """
    rounds = ReviewRound.objects.filter(archived_at__isnull=True)
    rows = rounds if only_rounds is None else rounds.filter(pk__in=only_rounds)
    there = ~Q(assignments__state=AssignmentState.WITHDRAWN)
    rows = rows.annotate(
        n_total=Count("assignments", filter=there),
        n_done=Count("assignments", filter=Q(assignments__state=AssignmentState.SUBMITTED)),
        rank=Case(When(state=RoundState.CLOSED, then=2), When(state=RoundState.DRAFT, then=1), default=0),
    ).order_by("rank", "-created_at")[:SHOWN]
    items = [
        WorkItem(
            one.name,
            reverse("round", args=[one.slug]),
            one.n_done,
            one.n_total,
            "" if one.n_total else gettext("nothing assigned"),
            state=one.get_state_display(),
            tone="good" if one.state == RoundState.OPEN else "",
        )
        for one in rows
    ]
    empty = gettext("No round yet. A round is a sample of questions that reviewers work through.")
    return WorkSection(gettext("Review rounds"), items, empty=empty)


def _jobs() -> WorkSection:
    items = [
        WorkItem(
            job.title,
            reverse("job", args=[job.public_id]),
            job.progress_done,
            job.progress_total,
            "" if job.progress_total else job.get_state_display(),
            state=job.get_state_display() if job.progress_total else "",
        )
        for job in Job.objects.unfinished().order_by("created_at")[:SHOWN]
    ]
    return WorkSection(gettext("Work in the background"), items, empty=gettext("Nothing is running."))


def _quarantine() -> ImageCounts:
    n = Image.objects.filter(state=ImageState.QUARANTINED).count()
    return ImageCounts(
        n_quarantined=n, n_available=int(n and Image.objects.filter(state=ImageState.AVAILABLE).exists())
    )


def _administration(at: datetime) -> Administration:
    links = open_invitations(at).order_by().values("kind").annotate(n=Count("token_sha256", distinct=True)).values("n")
    counts = User.objects.filter(is_active=True).aggregate(people=Count("pk"), links=Max(Subquery(links)))
    return Administration(counts["people"], counts["links"] or 0, is_backup_due(kept_backups(), at=at))
