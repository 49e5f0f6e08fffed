"""How far a reader is in a study, from which the next step follows; and what waits for a reader on the home page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import User
from annotation.people.open_work import NextStep, WorkItem, WorkSection
from readerstudy.enrolment.kernels.steps import Facts, Step, next_step
from readerstudy.enrolment.participation import asks_consent, asks_instructions
from readerstudy.enums import Block
from readerstudy.models import Enrolment, PresentedCase, Reading
from readerstudy.study.deadlines import deadline_text, is_past

QUIET = {Step.DONE, Step.LEFT, Step.OVER}


@dataclass(frozen=True)
class ReaderStatus:
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
    rows = Enrolment.objects.select_related("study", "reader")
    return rows.filter(reader=reader, study__slug=slug).first()


def status_of(enrolment: Enrolment, at: datetime) -> ReaderStatus:
    """Two queries."""
    [status] = statuses_of([enrolment], at)
    return status


def studies_of(reader: User, at: datetime) -> list[ReaderStatus]:
    """All studies of a reader: those with something to do first, then the newest; three queries."""
    rows = Enrolment.objects.filter(reader=reader).select_related("study", "reader").order_by("-enrolled_at", "-pk")
    found = statuses_of(list(rows), at)
    return sorted(found, key=lambda one: one.step in {Step.DONE, Step.LEFT, Step.OVER})


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
    label = _("Continue") if status.facts.consented else _("Start")
    return NextStep(label, sentence, _url(status))


def _url(status: ReaderStatus) -> str:
    return reverse("reading", args=[status.enrolment.study.slug])
