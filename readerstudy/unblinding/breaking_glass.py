"""Looking at results while readers still read: possible, with a reason, and never unseen."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from readerstudy.study.locking import StudyRefused, lock_study
from readerstudy.study.tallies import Tally, tallies
from readerstudy.unblinding.looks import GLASS_BROKEN, unblind

SHORTEST_REASON = 20  # characters


@transaction.atomic
def break_glass(study: ReaderStudy, reason: str, *, actor: User, at: datetime) -> list[Tally]:
    """Interim results of an open study. Each look is logged with its reason; the first one unblinds the study.

    Raises StudyRefused for a reason that is too short, and for a study that is not open.
    """
    lock_study(study)
    reason = " ".join(reason.split())
    if study.state != StudyState.OPEN:
        raise StudyRefused(_("Only an open study has interim results."))
    if len(reason) < SHORTEST_REASON:
        raise StudyRefused(
            _("Give a reason of at least %(n)s characters: it is kept and reported.") % {"n": SHORTEST_REASON}
        )
    unblind(study, actor=actor, at=at, because="glass broken")
    record(GLASS_BROKEN, actor=actor, at=at, subject=study, facts={"reason": reason})
    return tallies(study)
