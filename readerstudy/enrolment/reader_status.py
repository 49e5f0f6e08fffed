"""How far a reader is in a study, from which the next step follows; what waits for a reader on the home page;
and readers who have not finished: more time for one or for all, and reminders.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from annotation.audit.recording import record
from annotation.models import User
from annotation.people.mailing import can_send
from annotation.people.open_work import NextStep, WorkItem, WorkSection
from readerstudy.enrolment.kernels.steps import Facts, Step, next_step
from readerstudy.enrolment.participation import asks_consent, asks_instructions, send_reminder
from readerstudy.enums import Block, StudyState
from readerstudy.models import Enrolment, PresentedCase, ReaderStudy, Reading
from readerstudy.study.overview import deadline_of, deadline_text, is_past, unfinished
from readerstudy.study.permissions import StudyRefused, lock_reader, lock_study

QUIET = {Step.DONE, Step.LEFT, Step.OVER}


class ReaderStatus(Struct, frozen=True):
    """A reader's progress through one study. ``n_done`` of ``n`` cases of the main block have their answer."""

    enrolment: Enrolment
    facts: Facts
    step: Step
    n: int
    n_done: int
    n_practice: int = 0
    n_practised: int = 0

    @property
    def deadline(self) -> str:
        return deadline_text(self.enrolment)

    @property
    def is_stuck(self) -> bool:
        """The practice block is answered and was not passed: a coordinator decides."""
        return self.step is Step.PRACTICE and self.n_practised >= self.n_practice

    @property
    def n_left(self) -> int:
        return self.n - self.n_done


def own_enrolment(reader: User, slug: str) -> Enrolment | None:
    return Enrolment.objects.select_related("study", "reader").filter(reader=reader, study__slug=slug).first()


def status_of(enrolment: Enrolment, at: datetime) -> ReaderStatus:
    """Two queries."""
    [status] = statuses_of([enrolment], at)
    return status


def studies_of(reader: User, at: datetime) -> list[ReaderStatus]:
    """All studies of a reader: those with something to do first, then the newest; three queries."""
    rows = Enrolment.objects.filter(reader=reader).select_related("study", "reader").order_by("-enrolled_at", "-pk")
    return sorted(statuses_of(list(rows), at), key=lambda one: one.step in {Step.DONE, Step.LEFT, Step.OVER})


def statuses_of(enrolments: list[Enrolment], at: datetime) -> list[ReaderStatus]:
    """Two queries, however many readers."""
    keys = [one.pk for one in enrolments]
    places = (
        PresentedCase.objects.filter(order__enrolment__in=keys)
        .order_by()
        .values_list("order__enrolment")
        .annotate(n=Count("pk", filter=Q(block=Block.MAIN)), n_practice=Count("pk", filter=Q(block=Block.PRACTICE)))
    )
    n_of = {pk: (n, n_practice) for pk, n, n_practice in places}
    done = (
        Reading.objects.filter(enrolment__in=keys, closed_at__isnull=False)
        .order_by()
        .values_list("enrolment")
        .annotate(
            n=Count("pk", filter=Q(case__block=Block.MAIN)),
            n_practised=Count("pk", filter=Q(case__block=Block.PRACTICE)),
        )
    )
    done_of = {pk: (n, n_practised) for pk, n, n_practised in done}
    found = []
    for enrolment in enrolments:
        n, n_practice = n_of.get(enrolment.pk, (0, 0))
        n_done, n_practised = done_of.get(enrolment.pk, (0, 0))
        facts = facts_of(enrolment, at, has_practice=n_practice > 0)
        found.append(ReaderStatus(enrolment, facts, next_step(facts), n, n_done, n_practice, n_practised))
    return found


def facts_of(enrolment: Enrolment, at: datetime, *, has_practice: bool) -> Facts:
    return Facts(
        state=enrolment.study.state,
        has_left=enrolment.withdrawn_at is not None or enrolment.replaced_at is not None,
        has_practice=has_practice,
        asks_consent=asks_consent(enrolment.study),
        asks_instructions=asks_instructions(enrolment.study),
        is_past_deadline=is_past(enrolment, at),
        consented=enrolment.consented_at is not None,
        has_given_facts=bool(enrolment.facts),
        instructed=enrolment.instructed_at is not None,
        display_checked=enrolment.display_checked_at is not None,
        practised=enrolment.practised_at is not None,
        finished=enrolment.finished_at is not None,
        declared=enrolment.declared_at is not None,
    )


def waiting_studies(person: User, at: datetime) -> WorkSection | None:
    """A person's own studies; None for somebody who reads in none."""
    found = [one for one in studies_of(person, at) if one.step is not Step.LEFT]
    if not found:
        return None
    return WorkSection(
        title=_("Your reader studies"),
        items=[_item(one) for one in found],
        step=next((_step(one) for one in found if one.step not in QUIET | {Step.NOT_YET}), None),
        is_own=True,
        url=reverse("readings"),
    )


def _item(status: ReaderStatus) -> WorkItem:
    return WorkItem(
        name=status.enrolment.study.name,
        url=_url(status),
        n_done=status.n_done,
        n_total=status.n,
        words="" if status.facts.consented and status.step is not Step.DONE else _(status.step.label),
    )


def _step(status: ReaderStatus) -> NextStep:
    name = status.enrolment.study.name
    if status.step is Step.MAIN:
        sentence = ngettext("%(n)d case left in “%(study)s”.", "%(n)d cases left in “%(study)s”.", status.n_left) % {
            "n": status.n_left,
            "study": name,
        }
    else:
        sentence = _("Next step in “%(study)s”: %(step)s") % {"study": name, "step": _(status.step.label)}
    return NextStep(_("Continue") if status.facts.consented else _("Start"), sentence, _url(status))


def _url(status: ReaderStatus) -> str:
    return reverse("reading", args=[status.enrolment.study.slug])


# --- Readers who have not finished: more time for one or for all, and reminders -------------------
# --- more time: a deadline moves only later, only while the study is open, and every move is logged
@transaction.atomic
def extend_study(study: ReaderStudy, deadline: datetime, *, actor: User, at: datetime) -> None:
    """For everybody; who had more time keeps it."""
    lock_study(study)
    before = study.deadline_at
    check_extends(study, deadline, at)
    study.deadline_at = deadline
    study.save(update_fields=["deadline_at"])
    Enrolment.objects.filter(study=study, deadline_at__lte=deadline).update(deadline_at=None)  # theirs is later now
    record("study.deadline_extended", actor=actor, at=at, subject=study, facts=_facts(before, deadline))


@transaction.atomic
def extend_reader(enrolment: Enrolment, deadline: datetime, *, actor: User, at: datetime) -> None:
    """For one reader."""
    lock_study(enrolment.study)
    lock_reader(enrolment, also_left=True)
    before = deadline_of(enrolment)
    check_extends_reader(enrolment, deadline, at)
    enrolment.deadline_at = deadline
    enrolment.save(update_fields=["deadline_at"])
    record("reader.deadline_extended", actor=actor, at=at, subject=enrolment, facts=_facts(before, deadline))


def check_extends(study: ReaderStudy, deadline: datetime, at: datetime) -> None:
    """Refused where the deadline of the study cannot move there."""
    _check(study, study.deadline_at, deadline, at)


def check_extends_reader(enrolment: Enrolment, deadline: datetime, at: datetime) -> None:
    """Refused where this reader cannot get more time until then."""
    if enrolment.withdrawn_at is not None or enrolment.replaced_at is not None:
        raise StudyRefused("has_left", _("%(reader)s has left the study.") % {"reader": enrolment.pseudonym})
    if enrolment.finished_at is not None:
        raise StudyRefused("finished", _("%(reader)s has finished already.") % {"reader": enrolment.pseudonym})
    _check(enrolment.study, deadline_of(enrolment), deadline, at)


def _check(study: ReaderStudy, before: datetime | None, deadline: datetime, at: datetime) -> None:
    if study.state != StudyState.OPEN:
        raise StudyRefused("not_open", _("Only an open study has deadlines that can move."))
    if before is None:
        raise StudyRefused("no_deadline", _("There is no deadline: nothing ends, and nothing can be extended."))
    if deadline <= before:
        raise StudyRefused("not_later", _("A deadline only moves later: choose a time after the present one."))
    if deadline <= at:
        raise StudyRefused("in_the_past", _("This time is over already."))


def _facts(before: datetime | None, deadline: datetime) -> dict[str, str]:
    return {"before": before.isoformat() if before else "", "after": deadline.isoformat()}


# --- reminders: on request, and without one 7 days and 1 day before the deadline ------------------
BEFORE = (timedelta(days=7), timedelta(days=1))


def remind_unfinished(study: ReaderStudy, *, actor: User, at: datetime) -> int:
    """Everybody who has not finished; how many e-mails went out.

    Raises StudyRefused unless the study is open, and without a mail server.
    """
    return _remind_all(study, unfinished(study), actor=actor, at=at)


def remind_reader(enrolment: Enrolment, *, actor: User, at: datetime) -> int:
    """The same for one reader, who gets no e-mail after the end."""
    study = enrolment.study
    return _remind_all(study, unfinished(study).filter(pk=enrolment.pk), actor=actor, at=at)


def _remind_all(study: ReaderStudy, readers: QuerySet[Enrolment], *, actor: User, at: datetime) -> int:
    if study.state != StudyState.OPEN:
        raise StudyRefused("not_open", _("Only readers of an open study are reminded."))
    if not can_send():
        raise StudyRefused("no_mail_server", _("No e-mail was sent: no mail server is configured."))
    return sum(_remind(one, actor=actor, at=at) for one in readers.select_related("study", "reader"))


def sweep_reminders(at: datetime) -> int:
    """Send what is due: one e-mail 7 days and one 1 day before a reader's deadline. Several workers may run it."""
    if not can_send():
        return 0
    rows = (
        Enrolment.objects.filter(
            study__state=StudyState.OPEN, finished_at=None, withdrawn_at=None, replaced_at=None, reader__isnull=False
        )
        .annotate(until=Coalesce("deadline_at", "study__deadline_at"))
        .filter(until__gt=at, until__lte=at + max(BEFORE))
        .select_related("study", "reader")
    )
    return sum(_remind(one, actor=None, at=at) for one in rows if is_due(one, at))


def is_due(enrolment: Enrolment, at: datetime) -> bool:
    """Whether a moment of reminding has passed after the reader joined and after the last e-mail."""
    deadline = deadline_of(enrolment)
    if deadline is None or at >= deadline:
        return False
    passed = [deadline - before for before in BEFORE if deadline - before <= at]
    last = max([enrolment.enrolled_at, *filter(None, [enrolment.reminded_at])])
    return bool(passed) and last < max(passed)


def _remind(enrolment: Enrolment, *, actor: User | None, at: datetime) -> bool:
    """Note the e-mail first, so that no other worker sends it again; then send it."""
    with transaction.atomic():
        same = Enrolment.objects.filter(pk=enrolment.pk, reminded_at=enrolment.reminded_at)
        if not same.update(reminded_at=at):
            return False
        record("reader.reminded", actor=actor, at=at, subject=enrolment)
    return send_reminder(enrolment, n_left=status_of(enrolment, at).n_left)
