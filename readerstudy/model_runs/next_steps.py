"""What comes next with runs of models: the sentence of a run's own page, at home."""

from __future__ import annotations

from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.call_enums import BatchState
from annotation.models import User
from annotation.people.open_work import SHOWN, NextStep, WorkItem, WorkSection, first_due
from annotation.site.permissions import is_coordinator
from readerstudy.model_runs.following import RunProgress
from readerstudy.model_runs.planning import runs_seen_by
from readerstudy.model_runs.publishing import is_plain

LOOKED_AT = 3 * SHOWN  # the newest runs, of which those with something left are shown


def next_of_run(found: RunProgress) -> NextStep | None:
    """None once it was stopped, is published or handed in, and where it is complete and only compared."""
    state, run = found.state, found.run
    page = reverse("model-run", args=[run.batch.public_id])

    def step(label: str, *, is_due: bool = True) -> NextStep:
        return NextStep(label, found.sentence, page, about=str(run.entry), is_due=is_due)

    if state in (BatchState.TRYING, BatchState.RUNNING) or found.is_being_published:
        return step(_("Progress"), is_due=False)
    if state == BatchState.PLANNED:
        return step(_("Start") if found.tally.n_done else _("Ask the first questions"))
    if state == BatchState.PAUSED:
        return step(_("Resume"))
    if found.may_publish:
        return step(_("Publish its answers"))
    is_complete = state == BatchState.COMPLETE and is_plain(run)
    if is_complete and found.is_for_benchmark and not run.submissions.exists():
        return step(_("Hand it in"))
    return None


def runs_looked_after(person: User, at: datetime) -> WorkSection | None:
    """The section of the home page of a coordinator of the site: the newest runs with something left to do."""
    if not is_coordinator(person):
        return None
    found = [RunProgress(run) for run in runs_seen_by(person).exclude(batch__state=BatchState.STOPPED)[:LOOKED_AT]]
    steps = [(one, step) for one in found if (step := next_of_run(one))][:SHOWN]
    items = [
        WorkItem(
            step.about,
            step.url,
            one.tally.n_done,
            one.run.batch.n_calls,
            state=one.run.batch.get_state_display(),
            tone="" if one.is_at_work else "warn",
        )
        for one, step in steps
    ]
    first = first_due(step for _one, step in steps)
    return WorkSection(_("Runs of models"), items, first, url=reverse("model-runs")) if items else None
