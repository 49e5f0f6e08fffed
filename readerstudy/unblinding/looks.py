"""Results are seen for the first time; or before closing, with a reason that is kept and reported."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import AuditEvent, User
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from readerstudy.predictions.study_runs import mark_planned
from readerstudy.study.locking import StudyRefused, lock_study
from readerstudy.study.tallies import ReaderTally, tallies

SHORTEST_REASON = 20  # characters
GLASS_BROKEN = "study.glass_broken"
UNBLINDED = "study.unblinded"


def unblind(study: ReaderStudy, *, actor: User | None, at: datetime, because: str) -> None:
    """Note that a result is seen, if it is the first time; what is chosen after it is post hoc, in every study.

    The runs that stand for their models now are the planned ones, whatever becomes of them.
    Runs in the transaction of the act that shows the result, before that act writes anything of its own to the audit
    log: whoever holds the log waits for no study.
    """
    if ReaderStudy.objects.filter(pk=study.pk, unblinded_at__isnull=True).update(unblinded_at=at):
        study.unblinded_at = at
        mark_planned(study)
        record(UNBLINDED, actor=actor, at=at, subject=study, facts={"by": because})


@dataclass(frozen=True)
class Look:
    """Results were seen before closing: by whom, when, why."""

    who: str
    at: datetime
    reason: str


def looks_before_closing(study: ReaderStudy) -> list[Look]:
    """Every time that the glass was broken, oldest first; one query, none for a study that nobody looked into."""
    if study.unblinded_at is None:
        return []
    rows = AuditEvent.objects.filter(act=GLASS_BROKEN, subject_type="readerstudy", subject_id=str(study.pk))
    return [
        Look(one.actor.name if one.actor else "", one.at, one.facts.get("reason", ""))
        for one in rows.select_related("actor").order_by("pk")
    ]


def is_over(study: ReaderStudy) -> bool:
    return study.state in {StudyState.CLOSED, StudyState.ANALYSED}


def may_see_results(study: ReaderStudy) -> bool:
    """After closing; and where nobody reads here, because all readings were made elsewhere and imported."""
    return is_over(study) or is_read_elsewhere(study)


def is_read_elsewhere(study: ReaderStudy) -> bool:
    """Frozen, never opened, with readings from files only: there is nobody whom a result could influence."""
    if study.state != StudyState.FROZEN:
        return False
    return study.enrolments.exists() and not study.enrolments.filter(reader__isnull=False).exists()


@transaction.atomic
def view_interim_results(study: ReaderStudy, reason: str, *, actor: User, at: datetime) -> list[ReaderTally]:
    """Interim results of an open study. Each look is logged with its reason; the first one unblinds the study.

    Raises StudyRefused for a reason that is too short, and for a study that is not open.
    """
    lock_study(study)
    reason = " ".join(reason.split())
    if study.state != StudyState.OPEN:
        raise StudyRefused("not_open", _("Only an open study has interim results."))
    if len(reason) < SHORTEST_REASON:
        raise StudyRefused(
            "reason_too_short",
            _("Give a reason of at least %(n)s characters: it is kept and reported.") % {"n": SHORTEST_REASON},
        )
    unblind(study, actor=actor, at=at, because="glass broken")
    record(GLASS_BROKEN, actor=actor, at=at, subject=study, facts={"reason": reason})
    return tallies(study)
