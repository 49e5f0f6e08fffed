"""Who looks at an analysis sees results: after closing, or behind glass; the first look unblinds the study."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.enums import StudyState
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.study.locking import StudyRefused
from readerstudy.unblinding.looks import GLASS_BROKEN, SHORTEST_REASON, may_see_results, unblind


class ResultsHidden(StudyRefused):
    """Results of a study that is read at present were asked for without a reason."""


def check_may_see(study: ReaderStudy, before_closing: str = "") -> bool:
    """True where the glass has to be broken.

    Raises ResultsHidden without a reason of SHORTEST_REASON characters, StudyRefused for a draft.
    """
    if study.state == StudyState.DRAFT:
        raise StudyRefused(_("The study is a draft: there is nothing to analyse."))
    if may_see_results(study):
        return False
    if len(" ".join(before_closing.split())) < SHORTEST_REASON:
        raise ResultsHidden(
            _("Results are hidden until the study is closed. A look before that needs a reason of %(n)s characters.")
            % {"n": SHORTEST_REASON}
        )
    return True


@transaction.atomic
def see_analysis(analysis: Analysis, *, actor: User | None, at: datetime, before_closing: str = "") -> str:
    """The stored JSON. Raises ResultsHidden as ``check_may_see`` does; every look is in the audit log."""
    study = analysis.study
    breaks_glass = check_may_see(study, before_closing)
    facts = {"analysis": analysis.public_id, "result_sha256": analysis.result_sha256}
    unblind(study, actor=actor, at=at, because="analysis")
    if breaks_glass:
        reason = " ".join(before_closing.split())
        record(GLASS_BROKEN, actor=actor, at=at, subject=study, facts={"reason": reason, **facts})
    record("study.analysis_seen", actor=actor, at=at, subject=study, facts=facts)
    return analysis.result
