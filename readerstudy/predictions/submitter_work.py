"""The models of a submitter, on the home page."""

from __future__ import annotations

from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.enums import Role
from annotation.models import User
from annotation.people.waiting import SHOWN, Step, WorkItem, WorkSection
from annotation.site.permissions import site_roles
from readerstudy.predictions.listing import EntryLine, entries_known_to, lines_of


def models_of_submitter(person: User, at: datetime) -> WorkSection | None:
    """None for people who do not submit models."""
    if Role.MODEL_SUBMITTER not in site_roles(person):
        return None
    lines = lines_of(entries_known_to(person).order_by("-created_at")[:SHOWN], person)
    step = None
    if not lines:
        step = Step(_("Enter a model"), _("Enter your model, then send its predictions."), reverse("model-new"))
    return WorkSection(
        _("Your models"),
        [_item(line) for line in lines],
        step,
        is_own=True,
        empty=_("No model yet."),
        url=reverse("models"),
    )


def _item(line: EntryLine) -> WorkItem:
    n_runs = len(line.runs)
    return WorkItem(
        name=str(line.entry),
        url=reverse("model", args=[line.entry.public_id]),
        words=ngettext("%(n)d run", "%(n)d runs", n_runs) % {"n": n_runs},
        state=line.entry.get_state_display(),
        tone="good" if line.entry.state == "listed" else "warn",
    )
