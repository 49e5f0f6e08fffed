"""How far the readers of a study are, how fast, and what they flagged: cases, times and sittings, never an answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from itertools import groupby

from django.db.models import Count, Max, Q
from django.utils.translation import gettext as _
from msgspec import Struct, field

from annotation.case.kernels.display import is_passed
from annotation.case.kernels.durations import CLOCK_RULES, RULE, TimeFlag, is_counted
from annotation.models import AuditEvent, User
from annotation.questionbank.source_names import source_ids_shown_to
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import median_estimate
from readerstudy.design.kernels.ordering import group_size, spread_evenly
from readerstudy.enrolment.reader_status import ReaderStatus, statuses_of
from readerstudy.enums import Block, RemarkKind, SessionEnd
from readerstudy.models import (
    Enrolment,
    PresentedCase,
    ReaderStudy,
    ReadingSession,
    RefusedAnswer,
    Remark,
    Response,
    StudyCase,
    Voiding,
)

MOST_ROWS = 200  # of one reader, that a page shows
TOO_FAST_MS = 3_000  # active time in which nobody reads a question and looks at its images
LEAST_FAST = 3  # such answers, before they are an alert
LEAST_RUN = 10  # answers in a row at one place on screen, before they are an alert
HERE = timedelta(seconds=45)  # a page that was heard of within this time is open now
MS_PER_HOUR = 3_600_000


class Pace(Struct, frozen=True):
    """Of the cases of the main block whose time counts; the others are ``n_left_out``.

    ``rule`` names the rules by which the times of all readers were stored.
    """

    median: Estimate  # active ms of a case
    per_hour: float | None  # cases in an hour of active time
    n_left_out: int
    rule: str = RULE

    @property
    def n(self) -> int:
        return self.median.n


class Habits(Struct, frozen=True):
    """What speaks against reading, of the answers in the main block: how many, never which."""

    n_fast: int = 0  # answers faster than anybody reads, where there are several
    run: int = 0  # the longest run of answers at one place on screen, where it is long
    n_doubts: int = 0  # cases about whose time page and server part
    n_translated: int = 0  # cases whose question was on screen in other words


class ReaderProgress(Struct, frozen=True):
    status: ReaderStatus
    pace: Pace
    last_seen: datetime | None
    is_here: bool
    n_sessions: int
    n_takeovers: int
    n_breaks: int
    n_refused: int
    n_faults: int
    habits: Habits = Habits()

    @property
    def enrolment(self) -> Enrolment:
        return self.status.enrolment

    @property
    def has_problems(self) -> bool:
        problems = (self.n_refused, self.n_faults, self.n_takeovers, self.status.is_stuck, self.is_unseen)
        return any(problems) or self.habits != Habits()

    @property
    def is_unseen(self) -> bool:
        """The reader went on without having passed the display check."""
        return self.enrolment.display_checked_at is not None and not is_passed(self.enrolment.display)


def progress_of(study: ReaderStudy, at: datetime) -> list[ReaderProgress]:
    """Every reader in the order of joining; nine queries, however many readers."""
    rows = study.enrolments.select_related("study", "reader", "case_set").order_by("enrolled_at", "pk")
    return progress_of_readers(list(rows), at)


def progress_of_readers(enrolments: Sequence[Enrolment], at: datetime) -> list[ReaderProgress]:
    keys = [one.pk for one in enrolments]
    paces, sessions, habits = _paces(keys), _sessions(keys), _habits(keys)
    breaks = _breaks([one.public_id for one in enrolments])
    reader = "presented__order__enrolment"
    refused = Counter(RefusedAnswer.objects.filter(**{f"{reader}__in": keys}).values_list(reader, flat=True))
    flagged = Remark.objects.filter(reading__enrolment__in=keys, kind=RemarkKind.FAULT).order_by()
    faults = Counter(pk for pk, _case in flagged.values_list("reading__enrolment", "reading").distinct())
    found = []
    for status in statuses_of(list(enrolments), at):
        enrolment = status.enrolment
        seen = sessions.get(enrolment.pk, _Sessions())
        found.append(
            ReaderProgress(
                status=status,
                pace=paces.get(enrolment.pk) or _pace([], 0),
                last_seen=seen.last,
                is_here=seen.open_at is not None and at - seen.open_at <= HERE,
                n_sessions=seen.n,
                n_takeovers=seen.n_takeovers,
                n_breaks=breaks[enrolment.public_id],
                n_refused=refused[enrolment.pk],
                n_faults=faults[enrolment.pk],
                habits=habits.get(enrolment.pk, Habits()),
            )
        )
    return found


def order_balance(study: ReaderStudy, pseudonyms: Collection[str] | None = None) -> list[str]:
    """For each set a sentence on how evenly orders show its cases: of these readers, or of those who have not left.

    Before anybody has joined it is about the orders that the planned readers will take. Empty for a draft.
    """
    sets = list(study.sets.order_by("number"))
    group = group_size(study.n_readers, len(sets))
    there = Q(enrolment__withdrawn_at=None, enrolment__replaced_at=None)
    of_whom = there if pseudonyms is None else Q(enrolment__pseudonym__in=pseudonyms)
    used = list(study.orders.filter(of_whom, enrolment__isnull=False))
    is_used = pseudonyms is not None or bool(used)
    chosen = used if is_used else list(study.orders.filter(number__lte=group))
    cases: dict[int, list[int]] = {order.pk: [] for order in chosen}
    places = PresentedCase.objects.filter(order__in=cases, block=Block.MAIN).order_by("order", "position")
    for pk, case in places.values_list("order", "case"):
        cases[pk].append(case)
    sentences = []
    for case_set in sets:
        orders = [cases[order.pk] for order in chosen if order.case_set_id == case_set.pk]
        words = {
            "set": f"“{case_set.name}”: " if len(sets) > 1 else "",
            "share": f"{spread_evenly(orders, group):.0%}".replace("%", " %"),
            "parts": group,
            "orders": len(orders),
            "used": _("in use") if is_used else _("of the planned readers"),
        }
        sentence = _(
            "%(set)s%(share)s of the cases fall evenly on %(parts)s equal parts of the %(orders)s orders %(used)s"
        )
        sentences += [sentence % words] if orders else []
    return sentences


def _paces(keys: Collection[int]) -> dict[int, Pace]:
    """From what the readers committed themselves: a time that ended at the limit says nothing of the pace."""
    rows = Response.objects.filter(
        reading__enrolment__in=keys, reading__case__block=Block.MAIN, is_confirmed=True, limit_ms__isnull=True
    ).order_by()
    counted: dict[int, list[int]] = defaultdict(list)
    n_left_out = Counter[int]()
    rules: set[str] = set()
    for pk, active_ms, rule, flags in rows.values_list("reading__enrolment", "active_ms", "time_rule", "time_flags"):
        if rule in CLOCK_RULES and active_ms is not None and is_counted(active_ms, flags):
            counted[pk].append(active_ms)
            rules.add(rule)
        else:
            n_left_out[pk] += 1
    named = ", ".join(sorted(rules)) or RULE
    return {pk: _pace(counted[pk], n_left_out[pk], named) for pk in {*counted, *n_left_out}}


def _habits(keys: Collection[int]) -> dict[int, Habits]:
    """From the answers with an option that readers committed here, in their order; doubts of all that ended here."""
    rows = Response.objects.filter(
        reading__enrolment__in=keys, reading__case__block=Block.MAIN, reading__presented__isnull=False
    ).order_by("reading__enrolment", "reading__position")
    places: dict[int, list[int]] = defaultdict(list)
    flagged: dict[TimeFlag, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    n_fast = Counter[int]()
    columns = ("reading__enrolment", "option", "reading__presented__options", "active_ms")
    more = ("is_confirmed", "time_flags", "reading")
    for pk, option, order, active_ms, is_confirmed, flags, reading in rows.values_list(*columns, *more):
        for flag in (TimeFlag.APART, TimeFlag.TRANSLATED):
            if flag in flags:
                flagged[flag][pk].add(reading)
        if is_confirmed:
            places[pk].append(order.find(option) if option else -1)
            n_fast[pk] += active_ms is not None and active_ms < TOO_FAST_MS
    doubted, translated = flagged[TimeFlag.APART], flagged[TimeFlag.TRANSLATED]
    found = {}
    for pk in {*places, *doubted, *translated}:
        run, fast = longest_run(places[pk]), n_fast[pk]
        found[pk] = Habits(
            n_fast=fast if fast >= LEAST_FAST else 0,
            run=run if run >= LEAST_RUN else 0,
            n_doubts=len(doubted.get(pk, ())),
            n_translated=len(translated.get(pk, ())),
        )
    return found


def longest_run(places: Sequence[int]) -> int:
    """How often the same place comes in a row; -1 is no answer and ends a run."""
    return max((len(list(run)) for place, run in groupby(places) if place >= 0), default=0)


def _pace(times: Sequence[int], n_left_out: int, rule: str = RULE) -> Pace:
    total = sum(times)
    return Pace(median_estimate(times), len(times) * MS_PER_HOUR / total if total else None, n_left_out, rule)


class _Sessions(Struct, frozen=True):
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


def sittings(enrolment: Enrolment) -> list[ReadingSession]:
    """Newest first."""
    return list(ReadingSession.objects.filter(enrolment=enrolment).order_by("-started_at", "-pk")[:MOST_ROWS])


def refused_answers(enrolment: Enrolment) -> list[RefusedAnswer]:
    """When and why, newest first; the option stays out of the query."""
    rows = RefusedAnswer.objects.filter(presented__order__enrolment=enrolment).only("reason", "at")
    return list(rows.order_by("-at", "-pk")[:MOST_ROWS])


class FlaggedFault(Struct, frozen=True):
    pseudonym: str
    text: str
    at: datetime


class FlaggedCase(Struct, frozen=True):
    """A case with the remarks of its readers; ``voiding`` is None while it counts."""

    case: StudyCase
    voiding: Voiding | None
    faults: list[FlaggedFault] = field(default_factory=list)


def flagged_cases(study: ReaderStudy) -> list[FlaggedCase]:
    """The newest words of each reader about each case; most often flagged first. One query."""
    rows = (
        Remark.objects.filter(reading__enrolment__study=study, kind=RemarkKind.FAULT)
        .select_related("reading__enrolment", "reading__case__revision__question", "reading__case__voiding")
        .order_by("pk")
    )
    newest = {one.reading_id: one for one in rows}
    found: dict[int, FlaggedCase] = {}
    for one in newest.values():
        case = one.reading.case
        flagged = found.setdefault(case.pk, FlaggedCase(case, getattr(case, "voiding", None)))
        flagged.faults.append(FlaggedFault(one.reading.enrolment.pseudonym, one.text, one.at))
    return sorted(found.values(), key=lambda one: (one.voiding is not None, -len(one.faults), one.case.number))


def voidings_of(study: ReaderStudy, *, person: User) -> list[tuple[Voiding, str]]:
    """Each with the own id of its question, for coordinators who may see own ids; else with an empty word."""
    rows = Voiding.objects.filter(case__study=study).select_related("case__revision__question", "actor")
    voidings = list(rows.order_by("at", "pk"))
    questions = {one.case.revision.question_id for one in voidings}
    ids = source_ids_shown_to(person, study.bank_id, questions) if questions else {}
    return [(one, ids.get(one.case.revision.question_id, "")) for one in voidings]
