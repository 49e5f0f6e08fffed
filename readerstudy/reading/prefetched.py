"""Where a reader is in their order; taking hold of a reader, and the checks that every write of a page makes.

Practice comes before the main block. A place is done when its reading is closed, by the reader or by the program; one
whose time has run out counts as done as soon as the grace is over, although it is closed a moment later.

Whatever one reader does happens one after the other: the row of the enrolment is locked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import lock_log
from annotation.models import User
from annotation.refusals import Refused
from annotation.site.sorted_tables import KeptQuery, KeptSQL
from readerstudy.design.kernels.documents import MOST_READY, Rules, read_rules
from readerstudy.enrolment.participation import asks_consent, asks_instructions
from readerstudy.enums import Block, Refusal, StudyState
from readerstudy.models import (
    Enrolment,
    PresentationOrder,
    PresentedCase,
    ReaderStudy,
    Reading,
    ReadingSession,
    ShownImage,
)
from readerstudy.reading.kernels.visibility import is_over

_CHECKED_COLUMNS = (
    *("public_id", "reader_id", "study_id", "pseudonym"),
    *("consented_at", "instructed_at", "display_checked_at", "practised_at"),
    *("deadline_at", "finished_at", "declared_at", "withdrawn_at", "replaced_at", "paused_at"),
    *("study__name", "study__slug", "study__state", "study__rules", "study__deadline_at", "study__simulated"),
    *("facts", "study__protocol_sha256", "study__contact", "study__consent", "study__instructions"),
)
ENROLMENTS = Enrolment.objects.select_related("study").only(*_CHECKED_COLUMNS)
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


# What the page of a reader shows of a place, in one row. Nothing of a key, an explanation, a task or a category.
_COLUMNS = (
    *("public_id", "block", "position", "options", "case_id", "order__arm_id", "order__arm__information"),
    *("case__revision__stem", "case__revision__options", "case__information"),
    *("reading__public_id", "reading__enrolment_id", "reading__presented_id", "reading__position"),
    *("reading__opened_at", "reading__painted_at"),
    *("reading__deadline_at", "reading__choice", "reading__choice_sequence", "reading__closed_at"),
)
PRESENTED = PresentedCase.objects.select_related("order__arm", "case__revision", "reading").only(*_COLUMNS)
_OPEN = Q(reading__isnull=True) | Q(reading__closed_at__isnull=True)


Presented = TypeVar("Presented", bound=QuerySet[PresentedCase, Any])


def _next(cases: Presented, enrolment: int, block: str) -> Presented:
    return cases.filter(_OPEN, order__enrolment=enrolment, block=block).order_by("position")


def _last(cases: Presented, enrolment: int) -> Presented:
    return cases.filter(order__enrolment=enrolment, reading__closed_at__isnull=False).order_by("block", "-position")


def _whether(image: int) -> QuerySet[PresentedCase, tuple[bool]]:
    shows = ShownImage.objects.filter(case=OuterRef("case"), image=image)
    return PresentedCase.objects.values_list(Exists(shows))


_NEXT: KeptQuery[PresentedCase] = KeptQuery(
    lambda enrolment, block: _next(PRESENTED, enrolment, block)[: MOST_READY + 1], *(int, str)
)
_LAST: KeptQuery[PresentedCase] = KeptQuery(lambda enrolment: _last(PRESENTED, enrolment)[:1], int)
# What an image asks: the same places without all that a page shows, which takes PostgreSQL a fraction of the planning.
_NEXT_SHOW: KeptQuery[tuple[bool]] = KeptQuery(
    lambda image, enrolment, block: _next(_whether(image), enrolment, block)[: MOST_READY + 1], *(int, int, str)
)
_LAST_SHOWS: KeptQuery[tuple[bool]] = KeptQuery(
    lambda image, enrolment: _last(_whether(image), enrolment)[:1], *(int, int)
)
_NAMED = KeptQuery(lambda enrolment, name: PRESENTED.filter(order__enrolment=enrolment, public_id=name), int, str)
# By hand: the database needs a tenth of the time that it takes to build this query from models.
_COUNTS = KeptSQL(f"""
    SELECT place.block, COUNT(*), COUNT(reading.closed_at)
    FROM {PresentedCase._meta.db_table} place
    JOIN {PresentationOrder._meta.db_table} ordered ON ordered.id = place.order_id
    LEFT JOIN {Reading._meta.db_table} reading ON reading.presented_id = place.id
    WHERE ordered.enrolment_id = %s
    GROUP BY place.block
""")  # noqa: S608 - tables of ours


class ReaderPosition(Struct, frozen=True):
    """How far a reader has come: the block, its counts, and the places that a page may hold, the current one first."""

    block: Block
    n: int
    done: int
    prefetched: tuple[PresentedCase, ...]
    run_out: PresentedCase | None = None  # its time has ended; whatever comes next closes it
    is_undecided: bool = False  # the practice block is done and was not passed
    has_practice: bool = False

    @property
    def current(self) -> PresentedCase | None:
        return self.prefetched[0] if self.prefetched else None

    @property
    def is_finished(self) -> bool:
        return self.block == Block.MAIN and self.n > 0 and self.done >= self.n and self.run_out is None


def position_of(enrolment: Enrolment, rules: Rules, *, at: datetime) -> ReaderPosition:
    counts = counts_of(enrolment)
    n_practice, n_practised = counts.get(Block.PRACTICE, (0, 0))
    practises = enrolment.practised_at is None and n_practice > 0
    block = Block.PRACTICE if practises else Block.MAIN
    n, done = counts.get(block, (0, 0))
    run_out, prefetched = _split(prefetched_cases(enrolment, block, rules), at)
    return ReaderPosition(
        block=block,
        n=n,
        done=done + (run_out is not None),
        prefetched=tuple(prefetched),
        run_out=run_out,
        is_undecided=practises and n_practised >= n_practice,
        has_practice=n_practice > 0,
    )


def prefetched_cases(enrolment: Enrolment, block: Block, rules: Rules) -> list[PresentedCase]:
    """The first case of the block that is not closed, and the next ones that the rules let a page hold."""
    return _NEXT(enrolment.pk, str(block))[: 1 + rules.n_ready]


def is_prefetched_image(image: int, enrolment: Enrolment, block: Block, rules: Rules) -> bool:
    """Whether one of prefetched_cases() shows this image."""
    return any(shows for (shows,) in _NEXT_SHOW(image, enrolment.pk, str(block))[: 1 + rules.n_ready])


def counts_of(enrolment: Enrolment) -> dict[str, tuple[int, int]]:
    """For each block how many cases there are, and how many of them are closed."""
    return {block: (n, done) for block, n, done in _COUNTS(enrolment.pk)}


def find_presented(enrolment: Enrolment, public_id: str) -> PresentedCase | None:
    """A case of this reader's own order, whether it is shown or not."""
    return _NAMED.first(enrolment.pk, public_id) if public_id.isprintable() else None


def presented_case(enrolment: Enrolment, public_id: str) -> PresentedCase:
    """The same; refused where there is none."""
    presented = find_presented(enrolment, public_id)
    if presented is None:
        raise not_prefetched()
    return presented


def last_presented(enrolment: Enrolment) -> PresentedCase | None:
    """The case that was closed last: the highest of the main block, before it of the practice block."""
    return _LAST.first(enrolment.pk)


def last_answered(enrolment: Enrolment) -> PresentedCase | None:
    """The same of those that the reader answered; the time of a later one may have ended."""
    answered = PRESENTED.filter(order__enrolment=enrolment, reading__responses__is_confirmed=True)
    return answered.order_by("block", "-position").first()


def is_last_image(image: int, enrolment: Enrolment) -> bool:
    """Whether last_presented() shows this image."""
    return any(shows for (shows,) in _LAST_SHOWS(image, enrolment.pk))


def reading_of(presented: PresentedCase) -> Reading | None:
    """The reading of a case as PRESENTED loads it; None while nobody has opened it."""
    return getattr(presented, "reading", None)


def _split(following: Sequence[PresentedCase], at: datetime) -> tuple[PresentedCase | None, list[PresentedCase]]:
    """The first place apart, when its time has run out."""
    cases = list(following)
    reading = reading_of(cases[0]) if cases else None
    if reading is not None and is_over(reading.deadline_at, at):
        return cases[0], cases[1:]
    return None, cases
