"""What waits for a reader, on the home page."""

from __future__ import annotations

from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import User
from annotation.people.waiting import Step as HomeStep
from annotation.people.waiting import WorkItem, WorkSection
from readerstudy.enrolment.kernels.steps import Step
from readerstudy.enrolment.reader_status import Standing, studies_of

QUIET = {Step.DONE, Step.LEFT, Step.OVER}


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


def _item(standing: Standing) -> WorkItem:
    return WorkItem(
        name=standing.enrolment.study.name,
        url=_url(standing),
        n_done=standing.n_done,
        n_total=standing.n,
        words="" if standing.facts.consented and standing.step is not Step.DONE else _(standing.step.label),
    )


def _step(standing: Standing) -> HomeStep:
    name = standing.enrolment.study.name
    if standing.step is Step.MAIN:
        sentence = ngettext(
            "%(n)d case waits for you in “%(study)s”.", "%(n)d cases wait for you in “%(study)s”.", standing.n_left
        ) % {"n": standing.n_left, "study": name}
    else:
        sentence = _("The next step in “%(study)s”: %(step)s.") % {"study": name, "step": _(standing.step.label)}
    label = _("Continue") if standing.facts.consented else _("Start")
    return HomeStep(label, sentence, _url(standing))


def _url(standing: Standing) -> str:
    return reverse("reading", args=[standing.enrolment.study.slug])
