"""Links by which results are looked at without an account. They show one stored analysis, end, and can be revoked."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.models import User
from annotation.people.links import token_sha256
from annotation.people.revived import Opener
from readerstudy.models import Analysis, ReaderStudy, ResultsLink
from readerstudy.results.looking import is_seen
from readerstudy.study.permissions import StudyRefused

DAYS = (1, 7, 30)
A_MINUTE = timedelta(minutes=1)
MADE, REVOKED, RESTORED = "results_link.made", "results_link.revoked", "results_link.restored"
FIRST_USED = "results_link.first_used"


class IssuedLink(Struct, frozen=True):
    """A link with its token. The token exists nowhere else: shown once, it cannot be shown again."""

    link: ResultsLink
    token: str


@transaction.atomic
def share_results(analysis: Analysis, *, days: int, note: str, actor: User, at: datetime) -> IssuedLink:
    """Raises StudyRefused for a study whose results nobody may see or has seen yet, and for other days than DAYS."""
    if days not in DAYS:
        raise StudyRefused("out_of_range", _("A link works for 1, 7 or 30 days."))
    if not is_seen(analysis.study):
        raise StudyRefused(
            "not_seen_yet", _("The results of this study have not been looked at yet: they cannot be shared.")
        )
    token = secrets.token_urlsafe(32)
    link = ResultsLink.objects.create(
        analysis=analysis,
        token_sha256=token_sha256(token),
        note=note.strip(),
        created_by=actor,
        created_at=at,
        expires_at=at + timedelta(days=days),
    )
    facts = {"link": link.pk, "analysis": analysis.public_id, "days": days}
    record(MADE, actor=actor, at=at, subject=analysis.study, facts=facts)
    return IssuedLink(link, token)


@transaction.atomic
def revoke_link(link: ResultsLink, *, actor: User | None, at: datetime, reason: str = "") -> None:
    """Make a link useless. One that is revoked or expired stays as it is."""
    link.refresh_from_db(from_queryset=ResultsLink.objects.select_for_update())
    if not link.is_open(at):
        return
    link.revoked_at = at
    link.save(update_fields=["revoked_at"])
    study = link.analysis.study
    facts = {"link": link.pk} | ({"reason": reason} if reason else {})
    record(REVOKED, actor=actor, at=at, subject=study, facts=facts)


def revoke_shared(links: QuerySet[ResultsLink], *, actor: User | None, at: datetime, reason: str) -> None:
    """All of these, in the transaction of the act that needs it."""
    for link in links:
        revoke_link(link, actor=actor, at=at, reason=reason)


@transaction.atomic
def restore_link(link: ResultsLink, *, actor: User, at: datetime) -> None:
    """Let a revoked link work again until its day. Raises StudyRefused where it has ended or is not revoked."""
    link.refresh_from_db(from_queryset=ResultsLink.objects.select_for_update())
    if link.revoked_at is None or link.expires_at <= at:
        raise StudyRefused("link_ended", _("This link is not revoked, or has ended: make a new one."))
    link.revoked_at = None
    link.save(update_fields=["revoked_at"])
    record(RESTORED, actor=actor, at=at, subject=link.analysis.study, facts={"link": link.pk})


SHARED = Opener(ResultsLink.objects.select_related("analysis__study").defer("analysis__result"), revoke_shared)


def find_link(token: str) -> ResultsLink | None:
    """The link of a token, whatever its standing; None for a token that was never given out."""
    rows = ResultsLink.objects.select_related("analysis__study").defer("analysis__result")
    return rows.filter(token_sha256=token_sha256(token)).first()


def is_good(link: ResultsLink, at: datetime) -> bool:
    """Neither expired nor revoked, and the results may still be seen."""
    return link.is_open(at) and is_seen(link.analysis.study)


def note_use(link: ResultsLink, *, at: datetime) -> None:
    """Remember when a link was used, at most once a minute; its first use is in the audit log."""
    is_due = Q(last_used_at__isnull=True) | Q(last_used_at__lt=at - A_MINUTE)
    if link.last_used_at is not None and at - link.last_used_at <= A_MINUTE:
        return
    with transaction.atomic():
        is_first = link.last_used_at is None
        n_noted = ResultsLink.objects.filter(is_due, pk=link.pk).update(last_used_at=at)
        if n_noted and is_first:
            record(FIRST_USED, actor=None, at=at, subject=link.analysis.study, facts={"link": link.pk})


def links_of(study: ReaderStudy) -> QuerySet[ResultsLink]:
    """All that were ever made, newest first."""
    return (
        ResultsLink.objects.filter(analysis__study=study)
        .select_related("created_by", "analysis")
        .defer("analysis__result")
    )
