"""Taking hold of a reader inside a transaction, and the checks that everything that a reader's page writes makes first.

Whatever one reader does happens one after the other: the row of the enrolment is locked.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from annotation.audit.recording import lock_log
from annotation.models import User
from annotation.site.kept_queries import KeptQuery
from readerstudy.design.kernels.rules import Rules, read_rules
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
    ),
)
ENROLMENTS = Enrolment.objects.select_related("study").only(*_COLUMNS)
_OWN = KeptQuery(lambda user, slug: ENROLMENTS.filter(reader=user, study__slug=slug), int, str)
_HELD = KeptQuery(lambda pk: ENROLMENTS.filter(pk=pk).select_for_update(of=("self",)), int)
_STATE: KeptQuery[tuple[str]] = KeptQuery(lambda pk: ReaderStudy.objects.filter(pk=pk).values_list("state"), int)
_LIVE = KeptQuery(lambda pk: ReadingSession.objects.filter(enrolment=pk, ended_at__isnull=True), int)
SEEN_EVERY = timedelta(seconds=5)  # so fine is noted when a page was heard of
_KEY = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class NotTheReader(Exception):
    """The person is not the reader of this enrolment."""


class KeyMissing(Exception):
    """What a page sends once has no key: a UUID in small letters."""


class NotPrefetched(Exception):
    """This place is not shown to this reader now; nobody is told whether it exists."""


class NotYet(Exception):
    """The place is prefetched, and it is not its turn."""


class NotOpened(Exception):
    """The place was never opened."""


class ReadingRefused(Exception):
    """The study does not take anything from this page; ``reason`` says why."""

    def __init__(self, reason: Refusal) -> None:
        super().__init__(reason.value)
        self.reason = reason


def own_enrolment(user: User, slug: str) -> Enrolment:
    """The enrolment of this person in the study of that name. Raises Enrolment.DoesNotExist, also for a draft."""
    found = _OWN.first(user.pk, slug)
    if found is None or found.study.state in (StudyState.DRAFT, StudyState.FROZEN):
        raise Enrolment.DoesNotExist(f"no enrolment in {slug}")
    return found


def lock_enrolment(enrolment: Enrolment, *, actor: User) -> Enrolment:
    """The enrolment as stored now, locked until the transaction ends. Raises NotTheReader."""
    held = _HELD.first(enrolment.pk)
    if held is None:
        raise Enrolment.DoesNotExist(f"enrolment {enrolment.pk} is gone")
    if held.reader_id != actor.pk:
        raise NotTheReader(f"enrolment {held.public_id} is not of this person")
    return held


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
    """The steps before the first case are done: consent, facts, instructions, display check."""
    done_at = (enrolment.consented_at, enrolment.instructed_at, enrolment.display_checked_at)
    return None not in done_at and bool(enrolment.facts)


def may_read(enrolment: Enrolment, at: datetime) -> bool:
    return why_not(enrolment, at) is None and is_prepared(enrolment)


def check_key(key: str) -> None:
    """Raises KeyMissing."""
    if not _KEY.fullmatch(key):
        raise KeyMissing("no key")


def check_still_open(enrolment: Enrolment) -> None:
    """Right before an answer is stored. Raises ReadingRefused where the study was closed since this act began.

    Closing writes to the log too, and one act at a time does: it has ended and is seen here, or it comes after this
    answer and counts it.
    """
    lock_log()
    if _STATE.first(enrolment.study_id) != (StudyState.OPEN,):
        raise ReadingRefused(Refusal.STUDY_CLOSED)


def check_may_read(enrolment: Enrolment, at: datetime) -> None:
    """Raises ReadingRefused, and NotPrefetched before the steps in front of the first case are done."""
    if (reason := why_not(enrolment, at)) is not None:
        raise ReadingRefused(reason)
    if not is_prepared(enrolment):
        raise NotPrefetched(f"enrolment {enrolment.public_id} is not prepared")


def live_session(enrolment: Enrolment) -> ReadingSession | None:
    """The page that holds the write lease."""
    return _LIVE.first(enrolment.pk)


def check_write_lease(enrolment: Enrolment, token: str, *, at: datetime) -> ReadingSession:
    """The session of the page that writes, noted as seen. Raises ReadingRefused for every other page."""
    session = live_session(enrolment)
    if session is None or session.public_id != token:
        raise ReadingRefused(Refusal.NOT_THE_WRITER)
    if at - session.seen_at >= SEEN_EVERY:
        ReadingSession.objects.filter(pk=session.pk).update(seen_at=at)
    return session
