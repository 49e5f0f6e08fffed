"""How far the readers of a study are, and how fast: cases, times and sittings, never an answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Max, Q

from annotation.models import AuditEvent
from annotation.statistics.estimate import Estimate
from annotation.statistics.quantiles import median_estimate
from annotation.timing.durations import RULE, is_counted
from readerstudy.enrolling.standing import Standing, standings_of
from readerstudy.enums import Block, RemarkKind, SessionEnd
from readerstudy.models import Enrolment, ReaderStudy, ReadingSession, RefusedAnswer, Remark, Response

HERE = timedelta(seconds=45)  # a page that was heard of within this time is open now
MS_PER_HOUR = 3_600_000


@dataclass(frozen=True)
class Pace:
    """Of the cases of the main block whose time counts by ``rule``; the others are ``n_left_out``."""

    median: Estimate  # active ms of a case
    per_hour: float | None  # cases in an hour of active time
    n_left_out: int
    rule: str = RULE

    @property
    def n(self) -> int:
        return self.median.n


@dataclass(frozen=True)
class ReaderProgress:
    standing: Standing
    pace: Pace
    last_seen: datetime | None
    is_here: bool
    n_sessions: int
    n_takeovers: int
    n_breaks: int
    n_refused: int
    n_faults: int

    @property
    def enrolment(self) -> Enrolment:
        return self.standing.enrolment

    @property
    def has_problems(self) -> bool:
        return bool(self.n_refused or self.n_faults or self.n_takeovers or self.standing.is_stuck)


def progress_of(study: ReaderStudy, at: datetime) -> list[ReaderProgress]:
    """Every reader in the order of joining; eight queries, however many readers."""
    rows = study.enrolments.select_related("study", "reader", "case_set").order_by("enrolled_at", "pk")
    return progress_of_readers(list(rows), at)


def progress_of_readers(enrolments: Sequence[Enrolment], at: datetime) -> list[ReaderProgress]:
    keys = [one.pk for one in enrolments]
    paces, sessions = _paces(keys), _sessions(keys)
    breaks = _breaks([one.public_id for one in enrolments])
    reader = "presented__order__enrolment"
    refused = Counter(RefusedAnswer.objects.filter(**{f"{reader}__in": keys}).values_list(reader, flat=True))
    flagged = Remark.objects.filter(reading__enrolment__in=keys, kind=RemarkKind.FAULT).order_by()
    faults = Counter(pk for pk, _case in flagged.values_list("reading__enrolment", "reading").distinct())
    found = []
    for standing in standings_of(list(enrolments), at):
        enrolment = standing.enrolment
        seen = sessions.get(enrolment.pk, _Sessions())
        found.append(
            ReaderProgress(
                standing=standing,
                pace=paces.get(enrolment.pk) or _pace([], 0),
                last_seen=seen.last,
                is_here=seen.open_at is not None and at - seen.open_at <= HERE,
                n_sessions=seen.n,
                n_takeovers=seen.n_takeovers,
                n_breaks=breaks[enrolment.public_id],
                n_refused=refused[enrolment.pk],
                n_faults=faults[enrolment.pk],
            )
        )
    return found


def _paces(keys: Collection[int]) -> dict[int, Pace]:
    """From what the readers committed themselves: a time that ended at the limit says nothing of the pace."""
    rows = Response.objects.filter(
        reading__enrolment__in=keys, reading__case__block=Block.MAIN, is_confirmed=True, limit_ms__isnull=True
    ).order_by()
    counted: dict[int, list[int]] = defaultdict(list)
    n_left_out = Counter[int]()
    for pk, active_ms, rule, flags in rows.values_list("reading__enrolment", "active_ms", "time_rule", "time_flags"):
        if rule == RULE and active_ms is not None and is_counted(active_ms, flags):
            counted[pk].append(active_ms)
        else:
            n_left_out[pk] += 1
    return {pk: _pace(counted[pk], n_left_out[pk]) for pk in {*counted, *n_left_out}}


def _pace(times: Sequence[int], n_left_out: int) -> Pace:
    total = sum(times)
    return Pace(median_estimate(times), len(times) * MS_PER_HOUR / total if total else None, n_left_out)


@dataclass(frozen=True)
class _Sessions:
    n: int = 0
    n_takeovers: int = 0
    last: datetime | None = None
    open_at: datetime | None = None  # when the page that is open was last heard of


def _sessions(keys: Collection[int]) -> dict[int, _Sessions]:
    rows = (
        ReadingSession.objects.filter(enrolment__in=keys)
        .order_by()
        .values_list("enrolment")
        .annotate(
            n=Count("pk"),
            n_takeovers=Count("pk", filter=Q(end=SessionEnd.TAKEN_OVER)),
            last=Max("seen_at"),
            open_at=Max("seen_at", filter=Q(ended_at__isnull=True)),
        )
    )
    return {row[0]: _Sessions(*row[1:]) for row in rows}


def _breaks(names: Collection[str]) -> Counter[str]:
    rows = AuditEvent.objects.filter(act="reading.paused", subject_type="enrolment", subject_id__in=names)
    return Counter(rows.values_list("subject_id", flat=True))
