"""A reader study is opened for its readers, and closed."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import ngettext

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.conducting.analysing import ask_for_analysis
from readerstudy.design.checking import hindrances_of
from readerstudy.design.freezing import commitment_holds
from readerstudy.enums import Block, StudyState
from readerstudy.models import ReaderStudy, Response
from readerstudy.study.deadlines import unfinished
from readerstudy.study.locking import StudyRefused, check_not_archived, check_transition, lock_study


@transaction.atomic
def open_study(study: ReaderStudy, *, actor: User | None, at: datetime) -> None:
    """Readers read from now on. Opening an open study changes nothing.

    Refused for a draft, a closed and an archived study, and while an image is missing or not the one that was frozen.
    """
    lock_study(study)
    if study.state == StudyState.OPEN:
        return
    check_transition(study, StudyState.OPEN)
    check_not_archived(study)
    hindrances = hindrances_of(study)
    if hindrances:
        raise StudyRefused("has_problems", " ".join(hindrances))
    study.state, study.opened_at = StudyState.OPEN, at
    study.save(update_fields=["state", "opened_at"])
    record("study.opened", actor=actor, at=at, subject=study)


@transaction.atomic
def close_study(study: ReaderStudy, *, actor: User | None, at: datetime, confirmed_open: int = 0) -> None:
    """Nothing is read from now on, and what was read is analysed in the background. Closing twice changes nothing.

    ``confirmed_open`` is the number of readers without an end that the person was shown and agreed to leave. Refused
    (``not_complete``, with ``n_open``) when another number is unfinished.
    """
    lock_study(study)
    if study.state in (StudyState.CLOSED, StudyState.ANALYSED):
        return
    check_transition(study, StudyState.CLOSED)
    n_open = unfinished(study).count()
    if n_open != confirmed_open:
        sentence = ngettext(
            "%(n)s reader has not finished yet. Close the study without the rest?",
            "%(n)s readers have not finished yet. Close the study without the rest?",
            n_open,
        )
        raise StudyRefused("not_complete", sentence % {"n": n_open}, n_open=n_open)
    study.state, study.closed_at = StudyState.CLOSED, at
    study.save(update_fields=["state", "closed_at"])
    facts: dict[str, object] = {"n_open": n_open}
    if study.protocol:
        facts["commitment_holds"] = commitment_holds(study)
    record("study.closed", actor=actor, at=at, subject=study, facts=facts)
    if Response.objects.filter(reading__enrolment__study=study, reading__case__block=Block.MAIN).exists():
        ask_for_analysis(study, actor=actor, at=at)
