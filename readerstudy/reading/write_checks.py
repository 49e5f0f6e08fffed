"""Taking hold of a reader inside a transaction, and the checks that everything that a reader's page writes makes first.

Whatever one reader does happens one after the other: the row of the enrolment is locked.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from annotation.audit.recording import lock_log
from annotation.models import User
from annotation.refusals import Refused
from annotation.site.kept_queries import KeptQuery
from readerstudy.design.kernels.rules import Rules, read_rules
from readerstudy.enrolment.participation import asks_consent, asks_instructions
from readerstudy.enums import Refusal, StudyState
from readerstudy.models import Enrolment, ReaderStudy, ReadingSession

_COLUMNS = (
    *("public_id", "reader_id", "study_id", "pseudonym"),
    *("consented_at", "instructed_at", "display_checked_at", "practised_at"),
    *("deadline_at", "finished_at", "declared_at", "withdrawn_at", "replaced_at", "paused_at"),
    *("study__name", "study__slug", "study__state", "study__rules", "study__deadline_at", "study__simulated"),
    *(
        "facts",
        "study__protocol_sha256",
        "study__contact",
        "study__consent",
        "study__instructions",
    ),
)
ENROLMENTS = Enrolment.objects.select_related("study").only(*_COLUMNS)
_OWN = KeptQuery(lambda user, slug: ENROLMENTS.filter(reader=user, study__slug=slug), int, str)
_LOCKED = KeptQuery(lambda pk: ENROLMENTS.filter(pk=pk).select_for_update(of=("self",)), int)
_STATE: KeptQuery[tuple[str]] = KeptQuery(lambda pk: ReaderStudy.objects.filter(pk=pk).values_list("state"), int)
_LIVE = KeptQuery(lambda pk: ReadingSession.objects.filter(enrolment=pk, ended_at__isnull=True), int)
SEEN_EVERY = timedelta(seconds=5)  # so fine is noted when a page was heard of
_KEY = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class ReadingRefused(Refused):
    """Something that a reader's page sends or asks for is not taken; docs/reading.md lists the codes."""


def not_taken(reason: Refusal) -> ReadingRefused:
    """The study takes nothing from this page. An answer that is refused so is kept, under this reason."""
    return ReadingRefused(reason.value, _(reason.label))


def not_prefetched() -> ReadingRefused:
    """The case is not shown to this reader now; the answer does not say whether it exists."""
    return ReadingRefused("not_prefetched", status=404)


def malformed(sentence: str = "") -> ReadingRefused:
    """Nonsense, which no page of ours sends."""
    return ReadingRefused("malformed", sentence or _("The data sent do not match this case."), status=422)


def own_enrolment(user: User, slug: str) -> Enrolment:
    """The enrolment of this person in the study of that name. Refused where there is none, also for a draft."""
    found = _OWN.first(user.pk, slug)
    if found is None or found.study.state in (StudyState.DRAFT, StudyState.FROZEN):
        raise ReadingRefused("not_enrolled", status=404)
    return found


def lock_enrolment(enrolment: Enrolment, *, actor: User) -> Enrolment:
    """The enrolment as stored now, locked until the transaction ends. Refused to everybody but its reader."""
    locked = _LOCKED.first(enrolment.pk)
    if locked is None or locked.reader_id != actor.pk:
        raise ReadingRefused("not_the_reader", status=404)
    return locked


def rules_of(enrolment: Enrolment) -> Rules:
    return read_rules(enrolment.study.rules)


def why_not(enrolment: Enrolment, at: datetime) -> Refusal | None:
    """Why nothing is taken from this reader; None when reading goes on."""
    if enrolment.withdrawn_at is not None or enrolment.replaced_at is not None:
        return Refusal.WITHDRAWN
    if enrolment.study.state != StudyState.OPEN:
        return Refusal.STUDY_CLOSED
    deadline = enrolment.deadline_at or enrolment.study.deadline_at
    if deadline is not None and at > deadline:
        return Refusal.DEADLINE_PASSED
    return None


def is_prepared(enrolment: Enrolment) -> bool:
    """The steps before the first case are done: consent and instructions where there are any, facts, display check."""
    has_agreed = enrolment.consented_at is not None or not asks_consent(enrolment.study)
    has_read = enrolment.instructed_at is not None or not asks_instructions(enrolment.study)
    return has_agreed and has_read and enrolment.display_checked_at is not None and bool(enrolment.facts)


def may_read(enrolment: Enrolment, at: datetime) -> bool:
    return why_not(enrolment, at) is None and is_prepared(enrolment)


def check_key(key: str) -> None:
    """What a page sends once has a key: a UUID in small letters."""
    if not _KEY.fullmatch(key):
        raise malformed()


def check_still_open(enrolment: Enrolment) -> None:
    """Right before an answer is stored. Refused where the study was closed since this act began.

    Closing writes to the log too, and one act at a time does: it has ended and is seen here, or it comes after this
    answer and counts it.
    """
    lock_log()
    if _STATE.first(enrolment.study_id) != (StudyState.OPEN,):
        raise not_taken(Refusal.STUDY_CLOSED)


def check_may_read(enrolment: Enrolment, at: datetime) -> None:
    """Refused with the reason; before the steps in front of the first case are done nothing is there."""
    if (reason := why_not(enrolment, at)) is not None:
        raise not_taken(reason)
    if not is_prepared(enrolment):
        raise not_prefetched()


def live_session(enrolment: Enrolment) -> ReadingSession | None:
    """The page that holds the write lease."""
    return _LIVE.first(enrolment.pk)


def check_write_lease(enrolment: Enrolment, token: str, *, at: datetime) -> ReadingSession:
    """The session of the page that writes, noted as seen. Every other page is refused."""
    session = live_session(enrolment)
    if session is None or session.public_id != token:
        raise not_taken(Refusal.NOT_THE_WRITER)
    if at - session.seen_at >= SEEN_EVERY:
        ReadingSession.objects.filter(pk=session.pk).update(seen_at=at)
    return session
