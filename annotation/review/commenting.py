"""Comments on a question, with people whom they mention and perhaps something to do.

Who may know what was written about a question: rows for the rule in annotation.review.kernels.visibility.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import AssignmentState, Role, RoundState
from annotation.models import Assignment, Membership, Mention, Question, QuestionComment, User
from annotation.models.fields import AsRead
from annotation.people.mailing import can_send, send_email
from annotation.people.open_work import NextStep, WorkItem, WorkSection
from annotation.refusals import Refused
from annotation.review.kernels.transitions import GONE
from annotation.review.kernels.visibility import DiscussionPart, QuestionOnlooker, visible_of_discussion
from annotation.review.onlookers import QUESTION, withheld_questions
from annotation.site.permissions import is_coordinator


class DiscussionRefused(Refused):
    """Something cannot be written about a question, or not by this person; the sentence says why."""


def parts_of(person: User, question: Question) -> frozenset[DiscussionPart]:
    """What this person may know and do at the question."""
    rows = Assignment.objects.filter(reviewer=person, revision__question=question).exclude(state__in=GONE)
    states = list(rows.order_by().values_list("state", "round__state"))
    return visible_of_discussion(_onlooker(states, coordinates=is_coordinator(person)))


def _onlooker(states: Collection[tuple[str, str]], *, coordinates: bool) -> QuestionOnlooker:
    """``states``: of each assignment of the person at the question that is still theirs, and of its round."""
    return QuestionOnlooker(
        coordinates=coordinates,
        judges=any(of_round != RoundState.CLOSED for _state, of_round in states),
        has_judged=(AssignmentState.SUBMITTED, RoundState.CLOSED) in states,
    )


def people_of(question: Question) -> dict[User, frozenset[DiscussionPart]]:
    """Everybody who may read the comments of the question and can log in, by name, with what they may know of it."""
    rows = Assignment.objects.filter(revision__question=question).exclude(state__in=GONE).order_by()
    states: dict[int, list[tuple[str, str]]] = {}
    for person, *both in rows.values_list("reviewer", "state", "round__state"):
        states.setdefault(person, []).append((both[0], both[1]))
    coordinating = coordinators()
    people = User.objects.filter(Q(pk__in=coordinating) | Q(pk__in=states), is_active=True).order_by(
        AsRead("name"), "email"
    )
    found = {
        one: visible_of_discussion(_onlooker(states.get(one.pk, []), coordinates=one.pk in coordinating))
        for one in people
    }
    return {one: parts for one, parts in found.items() if DiscussionPart.COMMENTS in parts}


def coordinators() -> set[int]:
    """Those of the site, whose names everybody may read who may read their comments."""
    return set(Membership.objects.filter(role=Role.COORDINATOR, round=None).values_list("user", flat=True))


def open_questions(person: User) -> Q:
    """Of rows with a ``question``: those at which the person may read comments, as ``parts_of`` says."""
    open_to = ~Q(question__in=withheld_questions(person))
    if is_coordinator(person):
        return open_to
    over = {"reviewer": person, "state": AssignmentState.SUBMITTED, "round__state": RoundState.CLOSED}
    return open_to & Q(question__in=Assignment.objects.filter(**over).order_by().values(QUESTION))


# --- Comments on a question, with people whom they mention and perhaps something to do ------------
LONGEST = 5000  # characters of a comment
Parts = frozenset[DiscussionPart]


class ShownComment(Struct, frozen=True):
    """A comment as this person may read it: without the names of others who judged the question, where these are
    not theirs to know. A withdrawn one has no text.
    """

    comment: QuestionComment
    author: str
    text: str
    mentioned: list[str]
    done_by: str
    may_withdraw: bool
    may_finish: bool


def comments_of(question: Question, person: User, parts: Parts) -> list[ShownComment]:
    """In the order in which they were written; ``parts``: what the person may know. [] for whoever may read none."""
    return shown_to(person, parts, with_people(QuestionComment.objects.filter(question=question)))


def shown_to(person: User, parts: Parts, comments: Iterable[QuestionComment]) -> list[ShownComment]:
    """These comments on one question, which came ``with_people``; [] for whoever may read none."""
    if DiscussionPart.COMMENTS not in parts:
        return []
    named = _named(person, parts)
    return [_shown(one, person, parts, named) for one in comments]


def with_people(rows: QuerySet[QuestionComment]) -> QuerySet[QuestionComment]:
    return rows.select_related("author", "done_by").prefetch_related("mentions__person")


def _named(person: User, parts: Parts) -> set[int] | None:
    """The people whose names this person may read here; None: everybody's."""
    if DiscussionPart.NAMES in parts:
        return None
    return coordinators() | {person.pk}


def _shown(one: QuestionComment, person: User, parts: Parts, named: set[int] | None) -> ShownComment:
    mentions = list(one.mentions.all())
    is_theirs = one.author_id == person.pk
    concerned = is_theirs or DiscussionPart.CHANGE in parts or person.pk in {row.person_id for row in mentions}
    there = one.withdrawn_at is None
    return ShownComment(
        comment=one,
        author=_name(one.author, named),
        text=one.text if there else "",
        mentioned=[row.person.name for row in mentions if named is None or row.person_id in named] if there else [],
        done_by=_name(one.done_by, named) if one.done_by else "",
        may_withdraw=is_theirs and there,
        may_finish=one.is_open and concerned,
    )


def _name(person: User, named: set[int] | None) -> str:
    return person.name if named is None or person.pk in named else _("a colleague")


def mentionable(question: Question, person: User, parts: Parts) -> list[User]:
    """Whom a comment of this person may mention: who may read it, and of whom they may know that."""
    if DiscussionPart.COMMENTS not in parts:
        return []
    everybody = people_of(question).items()
    return [
        one
        for one, theirs in everybody
        if one != person and (DiscussionPart.NAMES in parts or DiscussionPart.NAMES in theirs)
    ]


@transaction.atomic
def add_comment(
    question: Question, text: str, *, mentioned: Collection[int] = (), is_todo: bool = False, actor: User, at: datetime
) -> QuestionComment:
    """Store a comment; who is mentioned finds it on the home page, and gets an e-mail where a mail server is set up.

    Refused: without text or with more than 5,000 characters, a mention of somebody who may not read it, and for
    anybody who may not read the comments of the question.
    """
    parts = check_reads(question, actor)
    text = text.replace("\x00", "").replace("\r\n", "\n").strip()
    if not text:
        raise DiscussionRefused("no_text", _("Write a comment first."), status=422, field="text")
    if len(text) > LONGEST:
        sentence = _("The comment has %(n)s characters: shorten it to 5,000.") % {"n": len(text)}
        raise DiscussionRefused("too_long", sentence, status=422, field="text")
    people = [one for one in mentionable(question, actor, parts) if one.pk in set(mentioned)]
    if len(people) < len(set(mentioned)):
        sentence = _("Somebody whom you mention may not read comments on this question any more. Choose again.")
        raise DiscussionRefused("not_mentionable", sentence, status=422, field="mentioned")
    made = QuestionComment.objects.create(question=question, author=actor, text=text, at=at, is_todo=is_todo)
    Mention.objects.bulk_create(Mention(comment=made, person=one) for one in people)
    facts = {"comment": made.public_id, "todo": is_todo, "mentioned": [one.pk for one in people]}
    record("question.commented", actor=actor, at=at, subject=question, facts=facts)
    for one in people:
        _send(made, one)
    return made


@transaction.atomic
def withdraw_comment(comment: QuestionComment, *, actor: User, at: datetime) -> None:
    """Nobody reads it any more, and it mentions nobody; that there was one stays. Twice changes nothing.

    Refused for anybody but its author.
    """
    locked = QuestionComment.objects.select_for_update().get(pk=comment.pk)
    check_reads(locked.question, actor)
    if locked.author_id != actor.pk:
        raise DiscussionRefused("not_yours", _("Only who wrote a comment withdraws it."), status=403)
    if locked.withdrawn_at is None:
        QuestionComment.objects.filter(pk=locked.pk).update(withdrawn_at=at)
        facts = {"comment": locked.public_id}
        record("comment.withdrawn", actor=actor, at=at, subject=locked.question, facts=facts)


@transaction.atomic
def finish_todo(comment: QuestionComment, *, actor: User, at: datetime) -> None:
    """Tick what a comment asks for. Twice changes nothing: the first tick stays.

    Refused for anybody but its author, whom it mentions, and coordinators, and where nothing is to be done.
    """
    locked = QuestionComment.objects.select_for_update().get(pk=comment.pk)
    parts = check_reads(locked.question, actor)
    if not locked.is_todo or locked.withdrawn_at is not None:
        raise DiscussionRefused("no_todo", _("Nothing is to be done here."))
    if locked.done_at is not None:
        return
    if not _shown(locked, actor, parts, None).may_finish:
        raise DiscussionRefused("not_concerned", _("This is for whoever it mentions."), status=403)
    QuestionComment.objects.filter(pk=locked.pk).update(done_at=at, done_by=actor)
    record("comment.done", actor=actor, at=at, subject=locked.question, facts={"comment": locked.public_id})


def check_reads(question: Question, person: User) -> Parts:
    """What the person may know at the question. Raises DiscussionRefused where its comments are not for them."""
    parts = parts_of(person, question)
    if DiscussionPart.COMMENTS not in parts:
        sentence = _("Comments are read once every round in which you judge the question is closed.")
        raise DiscussionRefused("withheld", sentence, status=403)
    return parts


def note_seen(question: Question, person: User, parts: Parts, at: datetime) -> None:
    """The person reads the comments now: what mentions them is new no more."""
    if DiscussionPart.COMMENTS in parts:
        new = Mention.objects.filter(comment__question=question, person=person, seen_at=None)
        if new.exists():  # most looks at a question write nothing
            new.update(seen_at=at)


def waiting_for(person: User) -> QuerySet[QuestionComment]:
    """What mentions this person and is still to be done, or was not read by them; oldest first."""
    mine = Mention.objects.filter(person=person)
    todo = Q(is_todo=True, done_at=None, pk__in=mine.values("comment"))
    rows = QuestionComment.objects.filter(todo | Q(pk__in=mine.filter(seen_at=None).values("comment")))
    return rows.filter(open_questions(person), withdrawn_at=None)


def places_of(questions: Collection[Question], person: User) -> dict[int, str]:
    """The address at which this person reads the comments of each question, all of which they may read."""
    if is_coordinator(person):
        return {one.pk: f"{reverse('question', args=[one.bank.slug, one.number])}#comments" for one in questions}
    over = {"state": AssignmentState.SUBMITTED, "round__state": RoundState.CLOSED}
    theirs = Assignment.objects.filter(reviewer=person, revision__question__in=[one.pk for one in questions], **over)
    rows = theirs.order_by("pk").values_list("revision__question", "public_id")
    return {question: reverse("review-comments", args=[public_id]) for question, public_id in rows}


class Waiting(Struct, frozen=True):
    """A comment that mentions somebody, as they may know it."""

    comment: QuestionComment
    author: str
    url: str


def mentions_of(person: User, most: int) -> list[Waiting]:
    """What waits for the person, the oldest first; whoever coordinates nothing reads names of coordinators only."""
    rows = list(waiting_for(person).select_related("question__bank", "author")[:most])
    places = places_of([one.question for one in rows], person)
    named = None if is_coordinator(person) else coordinators() | {person.pk}
    return [Waiting(one, _name(one.author, named), places[one.question_id]) for one in rows]


def mentions_work(person: User, at: datetime) -> WorkSection | None:
    """The line of the home page, where anything waits."""
    waiting = list(waiting_for(person).order_by().values_list("is_todo", "done_at"))
    if not waiting:
        return None
    n_todo = sum(is_todo and done_at is None for is_todo, done_at in waiting)
    words = []
    if n_todo:
        words.append(_("%(n)s to do") % {"n": n_todo})
    if len(waiting) > n_todo:
        words.append(_("%(n)s new") % {"n": len(waiting) - n_todo})
    url, counts = reverse("mentions"), ", ".join(words)
    step = NextStep(_("Read them"), _("Comments on questions mention you: %(n)s.") % {"n": counts}, url)
    return WorkSection(
        _("To do and mentions"), [WorkItem(_("Comments that mention you"), url, words=counts)], step, True
    )


def _send(comment: QuestionComment, person: User) -> None:
    """Without what the comment says: the e-mail leaves the house."""
    if not can_send():
        return
    context = {"link": f"{settings.PUBLIC_URL}{reverse('mentions')}", "is_todo": comment.is_todo}
    body = render_to_string("annotation/discussion/_mention_mail.txt", context)
    send_email(_("A comment mentions you"), body, person.email)
