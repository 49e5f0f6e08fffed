"""How far a round is, reviewer by reviewer: who is behind its due date and is reminded, and how long reviews took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Max, Prefetch, Q, QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct
from msgspec.structs import replace

from annotation.audit.recording import record
from annotation.case.kernels.durations import CLOCK_RULES, EXCLUDING, RULE, TimeFlag, is_counted
from annotation.enums import FINAL_STATES, AssignmentState, KeySource, RoundState
from annotation.models import AnswerKey, Assignment, AuditEvent, Question, Review, ReviewRound, User
from annotation.people.mailing import can_send, send_email
from annotation.questionbank.answers import note_seen_keys
from annotation.review.assigning import lock_round, reviewers_of
from annotation.review.kernels.transitions import UNREVIEWED, ReviewRefused
from annotation.review.outcomes import newest_reviews
from annotation.site.sentences import time_text
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import median_estimate

REMINDED = "reviewer.reminded"
NOT_AGAIN_FOR = timedelta(days=1)
State = AssignmentState


class Lag(Struct, frozen=True):
    """Fewer reviews are in than somebody who works evenly until the due date would have submitted."""

    n_expected: int
    is_overdue: bool


class ReviewerProgress(Struct, frozen=True):
    """One reviewer in one round. ``last_seen`` is when they last opened, answered, skipped or submitted a question."""

    person: User
    n_all: int
    n_submitted: int
    n_answered: int
    n_skipped: int
    n_waiting: int
    n_returned: int
    last_seen: datetime | None
    has_left: bool
    lag: Lag | None = None  # where the round has a due date; see with_lags

    @property
    def n_to_do(self) -> int:
        """What waits for the person; what was handed back waits for somebody else."""
        return self.n_answered + self.n_skipped + self.n_waiting

    @property
    def n_open(self) -> int:
        return self.n_to_do + self.n_returned


def reviewer_progress(review_round: ReviewRound) -> list[ReviewerProgress]:
    """Everybody who has, had or may be given questions in the round, by name; four queries."""
    rows = Assignment.objects.filter(round=review_round).order_by().values("reviewer")
    counted = {
        row["reviewer"]: row
        for row in rows.annotate(
            **{f"n_{state.value}": Count("pk", filter=Q(state=state)) for state in State},
            **{f"last_{place}": Max(field) for place, field in enumerate(_MOMENTS)},
        )
    }
    submitted = dict(rows.values_list("reviewer").annotate(Max("reviews__submitted_at")))
    present = {person.pk: person for person in reviewers_of(review_round)}
    everybody = {**User.objects.in_bulk(set(counted) - set(present)), **present}
    return sorted(
        (_progress(person, counted.get(pk, {}), submitted.get(pk), pk in present) for pk, person in everybody.items()),
        key=lambda one: (one.has_left, one.person.name, one.person.email),
    )


COUNTED = (State.SUBMITTED, State.ANSWERED, State.SKIPPED, State.WAITING, State.RETURNED)
_MOMENTS = ("opened_at", "skipped_at", "report_opened_at", "blind_answer__answered_at")


def _progress(
    person: User, row: Mapping[str, object], submitted: datetime | None, is_present: bool
) -> ReviewerProgress:
    def n(state: State) -> int:
        count = row.get(f"n_{state.value}", 0)
        return count if isinstance(count, int) else 0

    moments = [row.get(f"last_{place}") for place in range(len(_MOMENTS))] + [submitted]
    numbers = {state: n(state) for state in COUNTED}
    return ReviewerProgress(
        person=person,
        n_all=sum(numbers.values()),
        n_submitted=numbers[State.SUBMITTED],
        n_answered=numbers[State.ANSWERED],
        n_skipped=numbers[State.SKIPPED],
        n_waiting=numbers[State.WAITING],
        n_returned=numbers[State.RETURNED],
        last_seen=max((moment for moment in moments if isinstance(moment, datetime)), default=None),
        has_left=not is_present,
    )


def open_assignments(review_round: ReviewRound, person: User) -> QuerySet[Assignment]:
    """What this reviewer still has to do or handed back and others could take, in their order."""
    rows = Assignment.objects.filter(round=review_round, reviewer=person, state__in=UNREVIEWED, repeats=None)
    return rows.select_related("revision__question").order_by("position")


def read_keys(
    review_round: ReviewRound, reviews: Sequence[Assignment], *, person: User, at: datetime
) -> dict[int, str]:
    """The keys of these reviews by revision, for a coordinator of the round; who has read them is noted."""
    revisions = [one.revision_id for one in reviews]
    questions = Question.objects.filter(pk__in={one.revision.question_id for one in reviews})
    note_seen_keys(person, questions, source=KeySource.REVIEWS, subject=review_round, at=at)
    return dict(AnswerKey.objects.filter(revision__in=revisions).values_list("revision_id", "key"))


def past_reviews(review_round: ReviewRound, person: User) -> QuerySet[Assignment]:
    """What this reviewer submitted, newest first; ``versions`` holds the versions of each review, newest first."""
    versions = Prefetch("reviews", Review.objects.order_by("-version"), to_attr="versions")
    return (
        Assignment.objects.filter(round=review_round, reviewer=person, state=State.SUBMITTED)
        .select_related("revision__question__bank", "blind_answer")
        .annotate(last_submitted_at=Max("reviews__submitted_at"))
        .order_by("-last_submitted_at", "-pk")
        .prefetch_related(versions)
    )


class RoundTimes(Struct, frozen=True):
    """Active times in ms, each by the rule under which it was stored.

    A time without a value or with an excluding flag is counted beside them.
    """

    rule: str
    active: Estimate
    n_undefined: int
    excluded: list[tuple[TimeFlag, int]]  # a review may carry several of the flags
    n_unreadable: int  # reviews with an image that could not be read


def round_times(*rounds: ReviewRound) -> RoundTimes:
    """From the newest version of each submitted review, in one query."""
    columns = ("active_ms", "time_rule", "time_flags", "unreadable")
    rows = list(newest_reviews(*rounds).order_by().values_list(*columns))
    flags = Counter(flag for _ms, _rule, stored, _images in rows for flag in stored)
    timed = [(ms, rule) for ms, rule, stored, _images in rows if rule in CLOCK_RULES and is_counted(ms, stored)]
    return RoundTimes(
        rule=", ".join(sorted({rule for _ms, rule in timed})) or RULE,
        active=median_estimate([ms for ms, _rule in timed if ms is not None]),
        n_undefined=sum(ms is None for ms, *_rest in rows),
        excluded=[(flag, flags[flag]) for flag in TimeFlag if flag in EXCLUDING and flags[flag]],
        n_unreadable=sum(bool(images) for *_rest, images in rows),
    )


class Reminded(Struct, frozen=True):
    """Who got an e-mail, and who had one within a day."""

    sent: list[User]
    too_soon: list[User]


@transaction.atomic
def set_due(review_round: ReviewRound, due_at: datetime | None, *, actor: User, at: datetime) -> bool:
    """Say until when the reviews are to be in, None: no longer; False where nothing is new. Nothing ends by itself.

    Raises ReviewRefused for a round that is closed, and for a moment that is past.
    """
    lock_round(review_round)
    if review_round.due_at == due_at:
        return False
    if review_round.state in FINAL_STATES:
        raise ReviewRefused("round_closed", _("The reviews of the round are final: its due date stays as it is."))
    if due_at is not None and due_at <= at:
        raise ReviewRefused("due_past", _("This moment is past. Choose a later one."), field="due_at")
    before, review_round.due_at = review_round.due_at, due_at
    review_round.save(update_fields=["due_at"])
    facts = {"before": before.isoformat() if before else None, "after": due_at.isoformat() if due_at else None}
    record("round.due_changed", actor=actor, at=at, subject=review_round, facts=facts)
    return True


def n_expected(n_all: int, opened_at: datetime, due_at: datetime, at: datetime) -> int:
    """How many reviews are in when somebody works evenly from opening to due date; whole ones."""
    if at >= due_at:
        return n_all
    return max(0, int(n_all * ((at - opened_at) / (due_at - opened_at))))


def with_lags(progress: Iterable[ReviewerProgress], review_round: ReviewRound, at: datetime) -> list[ReviewerProgress]:
    """The same people, with who is behind or overdue. Nobody is in a round that is not open or has no due date."""
    opened_at, due_at = review_round.opened_at, review_round.due_at
    if review_round.state != RoundState.OPEN or opened_at is None or due_at is None:
        return list(progress)
    return [replace(one, lag=_lag(one, opened_at, due_at, at)) for one in progress]


def not_done(progress: Iterable[ReviewerProgress]) -> list[ReviewerProgress]:
    """Reviewers of the round who may log in and have questions left."""
    return [one for one in progress if one.n_to_do and one.person.is_active and not one.has_left]


@transaction.atomic
def remind_reviewers(review_round: ReviewRound, *, actor: User, at: datetime) -> Reminded:
    """An e-mail to everybody who is not done and had none within a day; each is noted.

    Raises ReviewRefused unless the round is open, and without a mail server.
    """
    lock_round(review_round)
    if review_round.state != RoundState.OPEN:
        raise ReviewRefused("round_not_open", _("Only reviewers of an open round are reminded."))
    waiting = not_done(reviewer_progress(review_round))
    if not can_send():
        addresses = ", ".join(one.person.email for one in waiting)
        raise ReviewRefused(
            "no_mail_server",
            _("No e-mail was sent: no mail server is configured. Write to: %(addresses)s.") % {"addresses": addresses}
            if waiting
            else _("Everybody is done: there is nobody to remind."),
        )
    lately = _reminded_lately(review_round, [one.person for one in waiting], at)
    reminded = Reminded([], [])
    for one in waiting:
        if one.person.pk in lately:
            reminded.too_soon.append(one.person)
            continue
        record(REMINDED, actor=actor, at=at, subject=one.person, facts={"round": review_round.slug})
        _send(review_round, one)
        reminded.sent.append(one.person)
    return reminded


def due_text(review_round: ReviewRound, person: User) -> str:
    """The due date in the zone of this person, which is named; empty without one."""
    return time_text(review_round.due_at, person.time_zone) if review_round.due_at else ""


def _lag(one: ReviewerProgress, opened_at: datetime, due_at: datetime, at: datetime) -> Lag | None:
    if not one.n_to_do or one.has_left:
        return None
    expected = n_expected(one.n_submitted + one.n_to_do, opened_at, due_at, at)
    return Lag(expected, at >= due_at) if one.n_submitted < expected else None


def _reminded_lately(review_round: ReviewRound, people: Sequence[User], at: datetime) -> set[int]:
    events = AuditEvent.objects.filter(
        act=REMINDED,
        subject_type="user",
        subject_id__in=[str(person.pk) for person in people],
        at__gt=at - NOT_AGAIN_FOR,
    )
    return {int(pk) for pk, facts in events.values_list("subject_id", "facts") if facts["round"] == review_round.slug}


def _send(review_round: ReviewRound, one: ReviewerProgress) -> None:
    context = {
        "round": review_round,
        "n": one.n_to_do,
        "due": due_text(review_round, one.person),
        "link": f"{settings.PUBLIC_URL}{reverse('review-worklist', args=[review_round.slug])}",
    }
    body = render_to_string("annotation/rounds/_reminder_mail.txt", context)
    name = " ".join(review_round.name.split())
    send_email(_("Reminder: “%(round)s”") % {"round": name}, body, one.person.email)
