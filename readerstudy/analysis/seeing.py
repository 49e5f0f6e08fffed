"""Who looks at an analysis sees results: after closing, or behind glass; the first look unblinds the study."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.core.cache import cache
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record, record_once
from annotation.models import User
from readerstudy.enums import StudyState
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.study.locking import StudyRefused
from readerstudy.unblinding.looks import GLASS_BROKEN, SHORTEST_REASON, may_see_results, unblind

A_DAY = 86_400  # seconds


def check_may_see(study: ReaderStudy, before_closing: str = "") -> bool:
    """True where the glass has to be broken.

    Refused (``results_hidden``) without a reason of SHORTEST_REASON characters, and for a draft.
    """
    if study.state == StudyState.DRAFT:
        raise StudyRefused("draft", _("The study is a draft: there is nothing to analyse."))
    if may_see_results(study):
        return False
    if len(" ".join(before_closing.split())) < SHORTEST_REASON:
        sentence = _(
            "Results are hidden until the study is closed. A look before that needs a reason of %(n)s characters."
        )
        raise StudyRefused("results_hidden", sentence % {"n": SHORTEST_REASON}, status=403)
    return True


@transaction.atomic
def see_analysis(analysis: Analysis, *, actor: User | None, at: datetime, before_closing: str = "") -> str:
    """The stored JSON. Refused as by ``check_may_see``; every look is in the audit log."""
    study = analysis.study
    breaks_glass = check_may_see(study, before_closing)
    facts = {"analysis": analysis.public_id, "result_sha256": analysis.result_sha256}
    unblind(study, actor=actor, at=at, because="analysis")
    if breaks_glass:
        reason = " ".join(before_closing.split())
        record(GLASS_BROKEN, actor=actor, at=at, subject=study, facts={"reason": reason, **facts})
    record("study.analysis_seen", actor=actor, at=at, subject=study, facts=facts)
    return analysis.result


def note_opened(analysis: Analysis, *, actor: User, at: datetime) -> None:
    """Somebody reads results that were looked at before: each person is noted once for each analysis."""
    known = f"analysis.opened:{analysis.pk}:{actor.pk}"
    if cache.get(known) is None:  # else a query for every page
        record_once("analysis.opened", actor=actor, at=at, subject=analysis)
        cache.set(known, True, A_DAY)


def inputs_now(study: ReaderStudy) -> str:
    """The hash of what an analysis would read now. All of it is read only where something was stored since it was."""
    from readerstudy.analysis.marking import gathered, kept_inputs

    return kept_inputs(study) or gathered(study)[1]


def has_earlier_rule(analysis: Analysis) -> bool:
    """Whether this program would compute other numbers from the same inputs."""
    from readerstudy.analysis.kernels.computing import RULE  # loads numpy: not at every start

    return bool(analysis.software.get("rule") != RULE)


def is_stale(analysis: Analysis) -> bool:
    """True when an answer, a voiding, a prediction or a rater has changed since, or the rule of the program."""
    return has_earlier_rule(analysis) or inputs_now(analysis.study) != analysis.inputs_sha256


def stale_among(study: ReaderStudy, analyses: Sequence[Analysis]) -> set[int]:
    """The ids of the stale ones of a study; nothing is read where there is none."""
    if not analyses:
        return set()
    now = inputs_now(study)
    return {one.pk for one in analyses if has_earlier_rule(one) or one.inputs_sha256 != now}
