"""Model entries: entered, edited, replaced, withdrawn; and who may be submitter of a bank.

Somebody submits for a bank who has sent predictions for it, or may send some: a submitter of models, while the bank is
open to submitters. Coordinators know the keys, and send what others hand them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.contributions import Conflict
from annotation.enums import AssignmentState, Role
from annotation.models import Assignment, AuditEvent, Membership, Question, QuestionBank, ReviewRound, Upload, User
from annotation.site.permissions import is_administrator, is_coordinator, site_roles
from readerstudy.enums import BenchmarkState, EntryState
from readerstudy.models import (
    DECLINED,
    Benchmark,
    Enrolment,
    ModelEntry,
    PredictionRun,
    ReaderStudy,
    SubmissionCall,
    TeamMember,
)
from readerstudy.predictions.kernels.records import PredictionsRefused

FIELDS = ("name", "version", "dated_on", "prompt", "decoding", "link")
ENTERED, EDITED, REPLACED, WITHDRAWN = "model.entered", "model.edited", "model.replaced", "model.withdrawn"
IMPORTED, NAMED, TAKEN_BACK = "predictions.imported", "predictions.named", "predictions.withdrawn"


def find_entry(name: str, version: str | None) -> ModelEntry | None:
    """The listed entry of that name and version; without a version the only one of that name.

    Refused where several versions of that name are listed and none is given.
    """
    named = ModelEntry.objects.filter(name=name, state=EntryState.LISTED)
    if version is not None:
        return named.filter(version=version).first()
    found = list(named[:20])
    if len(found) > 1:
        versions = ", ".join(repr(one.version) for one in found)
        sentence = _("Several versions of %(name)s are listed: %(versions)s. Say which.")
        raise PredictionsRefused("several_versions", sentence % {"name": name, "versions": versions})
    return found[0] if found else None


@transaction.atomic
def enter_model(fields: Mapping[str, Any], *, actor: User | None, at: datetime) -> ModelEntry:
    """A new entry. Refused where one of that name and version is listed."""
    entry = ModelEntry(submitter=actor, created_at=at, **fields)
    _check_free(entry)
    entry.save(force_insert=True)
    record(ENTERED, actor=actor, at=at, subject=entry, facts={"name": str(entry)})
    return entry


@transaction.atomic
def edit_model(entry: ModelEntry, fields: Mapping[str, Any], *, actor: User | None, at: datetime) -> ModelEntry:
    """Change what an entry says of its model. The same again changes nothing."""
    lock_entry(entry)
    changed = {name: value for name, value in fields.items() if getattr(entry, name) != value}
    if not changed:
        return entry
    facts = {name: [_plain(getattr(entry, name)), _plain(value)] for name, value in changed.items()}
    for name, value in changed.items():
        setattr(entry, name, value)
    _check_free(entry)
    if changed.keys() & {"name", "version"}:  # by which a plan may mean it
        entry.renamed_at = at
    entry.save(update_fields=[*changed, "renamed_at"])
    record(EDITED, actor=actor, at=at, subject=entry, facts={"changed": facts})
    return entry


@transaction.atomic
def replace_model(entry: ModelEntry, fields: Mapping[str, Any], *, actor: User | None, at: datetime) -> ModelEntry:
    """A new entry in the place of this one, whose runs leave the figures."""
    lock_entry(entry)
    entry.state = EntryState.REPLACED
    entry.save(update_fields=["state"])
    successor = enter_model(fields, actor=actor, at=at)
    entry.replaced_by = successor
    entry.save(update_fields=["replaced_by"])
    facts = {"by": str(successor), "successor": successor.public_id}
    record(REPLACED, actor=actor, at=at, subject=entry, facts=facts)
    return successor


@transaction.atomic
def withdraw_model(entry: ModelEntry, reason: str, *, actor: User | None, at: datetime) -> ModelEntry:
    """Take an entry and its runs out of the figures. Nothing is deleted."""
    lock_entry(entry)
    reason = reason.strip()
    if not reason:
        raise PredictionsRefused("no_reason", _("Say why the model is withdrawn."))
    entry.state, entry.withdrawn_because = EntryState.WITHDRAWN, reason
    entry.save(update_fields=["state", "withdrawn_because"])
    record(WITHDRAWN, actor=actor, at=at, subject=entry, facts={"reason": reason})
    return entry


def lock_entry(entry: ModelEntry) -> None:
    """Bring the row up to date and lock it until the transaction ends. Refused once it is not listed."""
    entry.refresh_from_db(from_queryset=ModelEntry.objects.select_for_update())
    if entry.state != EntryState.LISTED:
        sentence = _("“%(name)s” is %(state)s and cannot change any more.")
        raise PredictionsRefused("not_listed", sentence % {"name": entry, "state": entry.get_state_display()})


def has_named_runs(entry: ModelEntry) -> bool:
    """Whether replacing or withdrawing the entry takes something out of figures."""
    return PredictionRun.objects.filter(entry=entry, is_named=True).exists()


def _check_free(entry: ModelEntry) -> None:
    others = ModelEntry.objects.filter(name=entry.name, version=entry.version, state=EntryState.LISTED)
    if others.exclude(pk=entry.pk).exists():
        sentence = _("A model “%(name)s” is listed already: give another version, or edit that one.") % {"name": entry}
        raise PredictionsRefused("listed_already", sentence)


def _plain(value: Any) -> str:
    return "" if value is None else str(value)


# --- what happened to a model, from the audit log -------------------------------------------------
class Change(Struct, frozen=True):
    """One field of an entry, before and after."""

    field: str
    before: str
    after: str


class Happening(Struct, frozen=True):
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
    edited = AuditEvent.objects.filter(act=EDITED, subject_type="modelentry", subject_id=entry.public_id)
    for facts in edited.filter(at__gte=when).order_by("-pk").values_list("facts", flat=True):
        found |= {name: facts["changed"][name][0] for name in found.keys() & facts["changed"].keys()}
    return list(dict.fromkeys([found["name"], f"{found['name']} {found['version']}".strip()]))


def _words(act: str, facts: dict[str, Any]) -> str:
    sentences = {
        ENTERED: _("entered as “%(name)s”"),
        EDITED: _("edited"),
        REPLACED: _("replaced by “%(by)s”"),
        WITHDRAWN: _("withdrawn"),
        IMPORTED: _("run %(number)s on “%(on)s” imported from %(file)s: %(stored)s answers, %(failed)s failed"),
        NAMED: _("run %(number)s on “%(on)s” made the main run instead of run %(instead_of)s"),
        TAKEN_BACK: _("run %(number)s on “%(on)s” withdrawn"),
    }
    if act == NAMED and facts.get("instead_of") is None:
        return _("run %(number)s on “%(on)s” made the main run") % facts
    return sentences.get(act, act) % facts


def _changes(facts: dict[str, Any]) -> tuple[Change, ...]:
    labels = {name: capfirst(str(ModelEntry._meta.get_field(name).verbose_name)) for name in FIELDS}  # type: ignore[union-attr]
    return tuple(
        Change(labels.get(name, name), before, after) for name, (before, after) in facts.get("changed", {}).items()
    )


COORDINATOR, SUBMITTER = Role.COORDINATOR, Role.MODEL_SUBMITTER
UPLOADS = "predictions"  # purpose of an upload


def knows_scores(person: User) -> bool:
    """Whether scores of models on a bank are theirs to know: with them, whoever submits can find out the keys."""
    return is_coordinator(person) or (is_administrator(person) and SUBMITTER not in site_roles(person))


def banks_submitted_for(person: User) -> set[int]:
    return _banks_of_submitters([person.pk]).get(person.pk, set())


def _banks_of_submitters(people: Collection[int]) -> dict[int, set[int]]:
    """By person, also as members of teams; three queries, and a fourth where one of them holds the role."""
    found: dict[int, set[int]] = defaultdict(set)
    sent = PredictionRun.objects.filter(study=None).filter(Q(imported_by__in=people) | Q(entry__submitter__in=people))
    for bank, *who in sent.order_by().values_list("bank", "imported_by", "entry__submitter").distinct():
        for person in who:
            found[person].add(bank)
    for member, asked in TeamMember.objects.filter(user__in=people).values_list("user", "benchmark__bank"):
        found[member].add(asked)
    of_site = list(Membership.objects.filter(user__in=people, round=None).values_list("user", "role"))
    holders = {role: {person for person, its_role in of_site if its_role == role} for role in (SUBMITTER, COORDINATOR)}
    open_now = set(SubmissionCall.objects.values_list("bank", flat=True)) if holders[SUBMITTER] else set()
    for person in holders[SUBMITTER]:
        found[person] |= open_now
    return {person: found[person] for person in people if person in found and person not in holders[COORDINATOR]}


def banks_judged(person: User) -> set[int]:
    """Banks with a question that the person reads or reviews, or has read or reviewed."""
    enrolled = Enrolment.objects.filter(reader=person).exclude(DECLINED)
    assigned = Assignment.objects.filter(reviewer=person)
    assigned = assigned.exclude(state=AssignmentState.WITHDRAWN, opened_at=None)
    rounds = Membership.objects.filter(user=person, round__isnull=False)
    found = (
        enrolled.values_list("study__bank", flat=True),
        assigned.order_by().values_list("revision__bank", flat=True).distinct(),
        rounds.values_list("round__plan__bank", flat=True),
    )
    return {bank for banks in found for bank in banks}


def open_banks(person: User) -> set[int]:
    """The banks for which a submitter may send predictions now."""
    if SUBMITTER not in site_roles(person):
        return set()
    return set(SubmissionCall.objects.values_list("bank", flat=True)) - banks_judged(person)


def benchmarked_banks() -> QuerySet[Benchmark, int]:
    """Ids of those that a leaderboard asks: how models do on them is told by its editions alone."""
    return Benchmark.objects.filter(state=BenchmarkState.FROZEN).order_by().values_list("bank", flat=True)


def is_benchmarked(bank_id: int) -> bool:
    return benchmarked_banks().filter(bank=bank_id).exists()


def leaderboard_asking(bank: QuestionBank) -> Benchmark | None:
    """The one under way."""
    return Benchmark.objects.filter(bank=bank, state=BenchmarkState.FROZEN).first()


def check_is_no_benchmark(bank: QuestionBank) -> None:
    """Refused while a leaderboard asks its questions: between editions nobody learns a score."""
    if asking := leaderboard_asking(bank):
        sentence = _(
            "“%(bank)s” is asked by the leaderboard “%(name)s”: teams send their predictions there (%(page)s), and "
            "they are scored in its editions alone."
        )
        facts = {"bank": bank.name, "name": asking.name, "page": reverse("leaderboard", args=[asking.slug])}
        raise PredictionsRefused("benchmark", sentence % facts)


def check_may_store(person: User | None, bank: QuestionBank, study: ReaderStudy | None) -> None:
    """Refused for a bank that is closed to this person by now, and when they have sent enough for it.

    Locks the person until the transaction ends, so that two files at once count as two. None: the command line.
    """
    if person is None or study is not None or is_coordinator(person):
        return
    User.objects.select_for_update().get(pk=person.pk)
    if bank.pk not in open_banks(person):
        sentence = _("You may not send predictions for “%(bank)s”.") % {"bank": bank.name}
        raise PredictionsRefused("may_not_send", sentence)
    n_sent = PredictionRun.objects.filter(imported_by=person, bank=bank, study=None).count()
    if n_sent >= settings.SUBMITTER_RUNS:
        sentence = _("You have sent %(n)d runs for “%(bank)s”, withdrawn ones included: no more are taken.")
        raise PredictionsRefused("sent_enough", sentence % {"n": n_sent, "bank": bank.name})


def check_may_send_file(person: User, at: datetime) -> None:
    """Refused for a submitter who has sent enough files within a day."""
    if is_coordinator(person):
        return
    sent = Upload.objects.filter(created_by=person, purpose=UPLOADS, created_at__gt=at - timedelta(days=1))
    if sent.count() >= settings.SUBMITTER_FILES:
        sentence = _("You have sent %(n)d files within 24 hours. Send the next one later.")
        raise PredictionsRefused("sent_enough", sentence % {"n": settings.SUBMITTER_FILES})


def submitters_do_not_judge(person: User, role: Role, review_round: ReviewRound | None) -> str:
    """The rule for annotation.people.roles."""
    if review_round is not None:
        bank = review_round.plan.bank
        return _submits(person, bank) if bank.pk in banks_submitted_for(person) else ""
    if role != SUBMITTER:
        return ""
    open_to_all = QuestionBank.objects.filter(pk__in=SubmissionCall.objects.values("bank"))
    bank_judged = open_to_all.filter(pk__in=banks_judged(person)).first()
    if bank_judged is None:
        return ""
    return _(
        "%(name)s reads or reviews questions of the bank “%(bank)s”, or has done so, and that bank is open to "
        "submitters of models."
    ) % {"name": person, "bank": bank_judged.name}


def submitters_review_nothing(people: Collection[int], questions: Collection[int]) -> Iterator[Conflict]:
    """The rule for annotation.contributions: a question of a bank is not given to who submits models for that bank."""
    for pk, submitted in _banks_of_submitters(people).items():
        person = User.objects.get(pk=pk)
        for bank in QuestionBank.objects.filter(pk__in=submitted):
            of_bank = Question.objects.filter(bank=bank).order_by("number").values_list("pk", flat=True)
            for question in set(questions).intersection(of_bank):
                yield Conflict(person.pk, question, _submits(person, bank))


def _submits(person: User, bank: QuestionBank) -> str:
    return _("%(name)s submits predictions of models for the bank “%(bank)s”.") % {"name": person, "bank": bank.name}
