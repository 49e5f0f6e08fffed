"""What happened to a model entry: who, when, what. Read from the audit log."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext as _

from annotation.models import AuditEvent
from readerstudy.models import ModelEntry
from readerstudy.predictions import entries, importing, runs


@dataclass(frozen=True)
class Change:
    """One field of an entry, before and after."""

    field: str
    before: str
    after: str


@dataclass(frozen=True)
class Happening:
    who: str  # "" for the command line
    at: datetime
    words: str
    reason: str = ""
    changes: tuple[Change, ...] = ()


def history_of(entry: ModelEntry, known_runs: Collection[str]) -> list[Happening]:
    """Newest first; of runs only those whose public id is known to the person who looks. One query."""
    events = AuditEvent.objects.filter(subject_type="modelentry", subject_id=entry.public_id)
    return [
        Happening(
            who=event.actor.name if event.actor else "",
            at=event.at,
            words=_words(event.act, event.facts),
            reason=event.facts.get("reason", ""),
            changes=_changes(event.facts),
        )
        for event in events.select_related("actor").order_by("-pk")
        if "run" not in event.facts or event.facts["run"] in known_runs
    ]


def names_at(entry: ModelEntry, when: datetime) -> list[str]:
    """What the model was called then: its name, and its name and version; from what was edited afterwards."""
    found = {"name": entry.name, "version": entry.version}
    edited = AuditEvent.objects.filter(act=entries.EDITED, subject_type="modelentry", subject_id=entry.public_id)
    for facts in edited.filter(at__gte=when).order_by("-pk").values_list("facts", flat=True):
        found |= {name: facts["changed"][name][0] for name in found.keys() & facts["changed"].keys()}
    return list(dict.fromkeys([found["name"], f"{found['name']} {found['version']}".strip()]))


def _words(act: str, facts: dict[str, Any]) -> str:
    sentences = {
        entries.ENTERED: _("entered as “%(name)s”"),
        entries.EDITED: _("edited"),
        entries.REPLACED: _("replaced by “%(by)s”"),
        entries.WITHDRAWN: _("withdrawn"),
        importing.IMPORTED: _(
            "run %(number)s on “%(on)s” imported from %(file)s: %(stored)s answers, %(failed)s failed"
        ),
        runs.NAMED: _("run %(number)s on “%(on)s” named for the figures instead of run %(instead_of)s"),
        runs.TAKEN_BACK: _("run %(number)s on “%(on)s” withdrawn"),
    }
    if act == runs.NAMED and facts.get("instead_of") is None:
        return _("run %(number)s on “%(on)s” named for the figures") % facts
    return sentences.get(act, act) % facts


def _changes(facts: dict[str, Any]) -> tuple[Change, ...]:
    labels = {name: capfirst(str(ModelEntry._meta.get_field(name).verbose_name)) for name in entries.FIELDS}  # type: ignore[union-attr]
    return tuple(
        Change(labels.get(name, name), before, after) for name, (before, after) in facts.get("changed", {}).items()
    )
