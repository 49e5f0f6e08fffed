"""The whole life of a question, in order: what was stored about it, and what other apps add.

For whoever may read the history at all (DiscussionPart.HISTORY). What others did in a round is shown as far as
``visible_of_others`` lets this person see it; what reviewers say is shown of closed rounds only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from annotation.contributions import contributed
from annotation.enums import AssignmentState, HistoryKind, QuestionState, RoundState
from annotation.models import (
    Assignment,
    AuditEvent,
    Finding,
    Question,
    QuestionComment,
    QuestionTag,
    Review,
    ReviewRound,
    Revision,
    SampledQuestion,
    Settlement,
    User,
)
from annotation.questionbank.editing import PastRevision, history_of
from annotation.questionbank.kernels.question_checks import PARTS
from annotation.questionbank.kernels.rules import RULES
from annotation.review.ending import reasons_text
from annotation.review.kernels.visibility import OthersPart, visible_of_others
from annotation.review.onlookers import onlookers, similarity_hidden_from

Kind = HistoryKind
THERE = {"round__deleted_at": None}


class Event(Struct, frozen=True, kw_only=True):
    """One thing that happened to a question."""

    at: datetime
    kind: HistoryKind
    sentence: str
    url: str = ""
    actor: str = ""  # a name; empty where nobody did it or it is not to be known
    words: str = ""  # what a person wrote
    past: PastRevision | None = None  # of a wording: what it changed


def life_of(question: Question, revisions: Sequence[Revision], person: User) -> list[Event]:
    """Newest first. ``revisions``: those of published imports, newest first, whose keys the person may read."""
    found = [
        *_wordings(revisions),
        *_checks(revisions, person),
        *_states(question),
        *_samples(question),
        *_rounds(question, person),
        *_comments(question),
        *_tags(question),
    ]
    for events_of in contributed().question_events:
        found.extend(events_of(question, person))
    order = list(HistoryKind)
    return sorted(found, key=lambda one: (one.at, order.index(one.kind)), reverse=True)


def _wordings(revisions: Sequence[Revision]) -> Iterator[Event]:
    for past in history_of(revisions):
        brought, edit = past.revision.bank_import, past.edit
        if edit is not None:
            sentence = _("Revision %(n)s was written.") % {"n": past.revision.number}
            if edit.settlement:
                sentence = _("Revision %(n)s was written in the adjudication of “%(round)s”.") % {
                    "n": past.revision.number,
                    "round": edit.settlement.round.name,
                }
            yield Event(
                at=edit.made_at,
                kind=Kind.WORDING,
                sentence=sentence,
                actor=edit.author.name,
                words=edit.reason,
                past=past,
            )
            continue
        facts = {"n": past.revision.number, "file": brought.file_name}
        yield Event(
            at=brought.finished_at or brought.started_at,
            kind=Kind.WORDING,
            sentence=_("Revision %(n)s was imported from %(file)s.") % facts,
            actor=brought.actor.name if brought.actor else _("command line"),
            past=past,
        )


def _checks(revisions: Sequence[Revision], person: User) -> Iterator[Event]:
    """What one run found in one wording is one line; each dismissal is another."""
    number_of = {one.pk: one.number for one in revisions}
    rows = Finding.objects.against().filter(revision__in=number_of).exclude(similarity_hidden_from(person))
    rows = rows.select_related("dismissed_by").order_by("pk")
    found: dict[tuple[int, datetime], list[str]] = defaultdict(list)
    for row in rows:
        label = RULES[row.rule].label if row.rule in RULES else _(PARTS[row.rule].label)
        found[row.revision_id, row.found_at].append(label)
        if row.dismissed_at is not None:
            yield Event(
                at=row.dismissed_at,
                kind=Kind.CHECK,
                sentence=_("Finding dismissed: %(rule)s.") % {"rule": label},
                actor=row.dismissed_by.name if row.dismissed_by else "",
                words=row.dismiss_reason,
            )
    for (revision, at), labels in found.items():
        facts = {"n": number_of[revision], "rules": ", ".join(dict.fromkeys(labels))}
        yield Event(at=at, kind=Kind.CHECK, sentence=_("Found in revision %(n)s: %(rules)s.") % facts)


def _states(question: Question) -> Iterator[Event]:
    sentences = {"question.withdrawn": _("Withdrawn."), "question.brought_back": _("Brought back.")}
    rows = AuditEvent.objects.filter(subject_type="question", subject_id=question.public_id, act__in=sentences)
    for row in rows.select_related("actor"):
        yield Event(
            at=row.at,
            kind=Kind.STATE,
            sentence=sentences[row.act],
            actor=row.actor.name if row.actor else "",
            words=row.facts.get("reason", ""),
        )


def _samples(question: Question) -> Iterator[Event]:
    rows = SampledQuestion.objects.filter(revision__question=question, plan__deleted_at=None)
    for row in rows.select_related("plan__created_by"):
        plan = row.plan
        yield Event(
            at=plan.created_at,
            kind=Kind.SAMPLE,
            sentence=_("Drawn into the sample “%(name)s”.") % {"name": plan.name},
            url=reverse("sample", args=[plan.slug]),
            actor=plan.created_by.name if plan.created_by else "",
        )


def _rounds(question: Question, person: User) -> Iterator[Event]:
    """Rounds that were opened, their reviews, and what settled the question in them."""
    rows = Assignment.objects.filter(revision__question=question, round__calibrates=None, **THERE)
    rows = rows.exclude(state=AssignmentState.WITHDRAWN)
    assignments = list(
        rows.select_related("round__adjudicates", "round__plan", "reviewer", "revision").order_by("round", "pk")
    )
    if not assignments:
        return
    visible = _visible_rounds(assignments, person)
    opened: dict[int, list[Assignment]] = defaultdict(list)
    for one in assignments:
        if one.round.adjudicates_id is None and one.repeats_id is None and one.round.opened_at is not None:
            opened[one.round_id].append(one)
    for theirs in opened.values():
        review_round = theirs[0].round
        sentence = ngettext(
            "The round “%(name)s” was opened, with %(n)s review of this question.",
            "The round “%(name)s” was opened, with %(n)s reviews of this question.",
            len(theirs),
        ) % {"name": review_round.name, "n": len(theirs)}
        assert review_round.opened_at is not None
        url = reverse("round", args=[review_round.slug])
        yield Event(at=review_round.opened_at, kind=Kind.REVIEW, sentence=sentence, url=url)
    of_question = [one for one in assignments if not one.round.grades_explanations]
    yield from _reviews([one for one in of_question if one.round.state == RoundState.CLOSED], visible)
    yield from _settlements(question, visible)


def _visible_rounds(assignments: Iterable[Assignment], person: User) -> dict[int, frozenset[OthersPart]]:
    """What this coordinator may see of others in each round, and in the cases of its adjudicators."""
    rounds = ReviewRound.everywhere.filter(pk__in={one.round.adjudicates_id or one.round_id for one in assignments})
    return {pk: visible_of_others(one) for pk, one in onlookers(person, rounds).items()}


def _reviews(assignments: Sequence[Assignment], visible: dict[int, frozenset[OthersPart]]) -> Iterator[Event]:
    of = {one.pk: one for one in assignments}
    for review in Review.objects.filter(assignment__in=of).order_by("assignment", "version"):
        one = of[review.assignment_id]
        review_round = one.round.adjudicates or one.round
        parts = visible[review_round.pk]
        if OthersPart.REVIEWS not in parts:
            continue
        facts = {"n": one.revision.number, "round": review_round.name, "verdict": review.get_verdict_display()}
        sentence = (
            _("Revision %(n)s was reviewed by the adjudicator of “%(round)s”: %(verdict)s.")
            if one.round.adjudicates_id
            else _("Revision %(n)s was reviewed in “%(round)s”: %(verdict)s.")
            if review.version == 1
            else _("A review of revision %(n)s in “%(round)s” was changed: %(verdict)s.")
        )
        yield Event(
            at=review.submitted_at,
            kind=Kind.REVIEW,
            sentence=sentence % facts,
            url=reverse("round", args=[review_round.slug]),
            actor=one.reviewer.name if OthersPart.NAMES in parts else "",
            words=review.comment,
        )


def _settlements(question: Question, visible: dict[int, frozenset[OthersPart]]) -> Iterator[Event]:
    rows = Settlement.objects.filter(revision__question=question, **THERE)
    for row in rows.select_related("round", "assignment__reviewer"):
        if OthersPart.OUTCOMES not in visible.get(row.round_id, frozenset()):
            continue
        name, url = row.round.name, reverse("round", args=[row.round.slug])
        if row.reasons:
            why = reasons_text(row.reasons, row.round.reviewers_per_question)
            sentence = _("Not settled in “%(round)s”: %(why)s.") % {"round": name, "why": why}
        else:
            state = _(QuestionState(row.outcome).label)
            sentence = _("Settled in “%(round)s”: %(state)s.") % {"round": name, "state": state}
        yield Event(at=row.settled_at, kind=Kind.SETTLED, sentence=sentence, url=url)
        if row.decided_at is not None:
            facts = {"round": name, "decision": row.get_decision_display()}
            yield Event(
                at=row.decided_at,
                kind=Kind.SETTLED,
                sentence=_("Decided in the adjudication of “%(round)s”: %(decision)s.") % facts,
                url=url,
                actor=row.assignment.reviewer.name if row.assignment else "",
                words=row.reason,
            )


def _comments(question: Question) -> Iterator[Event]:
    for row in QuestionComment.objects.filter(question=question).select_related("author", "done_by"):
        name = row.author.name
        sentence, words = (_("To do."), row.text) if row.is_todo else (_("Comment."), row.text)
        if row.withdrawn_at is not None:
            words = ""
            yield Event(at=row.withdrawn_at, kind=Kind.COMMENT, sentence=_("Comment withdrawn."), actor=name)
        yield Event(at=row.at, kind=Kind.COMMENT, sentence=sentence, actor=name, words=words)
        if row.done_at is not None:
            done_by = row.done_by.name if row.done_by else ""
            yield Event(at=row.done_at, kind=Kind.COMMENT, sentence=_("Done."), actor=done_by, words=words)


def _tags(question: Question) -> Iterator[Event]:
    for row in QuestionTag.objects.filter(question=question).select_related("by", "removed_by"):
        sentence = _("Tag added: %(tag)s.") % {"tag": row.word}
        yield Event(at=row.at, kind=Kind.TAG, sentence=sentence, actor=row.by.name)
        if row.removed_at is not None:
            removed_by = row.removed_by.name if row.removed_by else ""
            sentence = _("Tag removed: %(tag)s.") % {"tag": row.word}
            yield Event(at=row.removed_at, kind=Kind.TAG, sentence=sentence, actor=removed_by)
