"""What people say about a question: comments read, written, withdrawn, ticked off; those that mention a person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import SentBody
from annotation.api.resources import ListOf, OneOf, Resource, Shown
from annotation.api.shown_fields import Moment, PersonName
from annotation.discussion.commenting import (
    LONGEST,
    add_comment,
    check_reads,
    finish_todo,
    mentionable,
    note_seen,
    shown_to,
    waiting_for,
    with_people,
    withdraw_comment,
)
from annotation.enums import Role
from annotation.models import Question, QuestionComment, Revision
from annotation.people.kept_answers import MadeAnswer
from annotation.questionbank.answers import read_truth
from annotation.site.permissions import within_reach


class CommentShape(Shown):
    id = serializers.CharField(source="comment.public_id")
    author = serializers.CharField()
    text = serializers.CharField(help_text="empty: it was withdrawn")
    at = Moment(source="comment.at")
    mentions = serializers.ListField(source="mentioned", child=serializers.CharField(), help_text="names")
    is_todo = serializers.BooleanField(source="comment.is_todo")
    done_by = serializers.CharField(help_text="empty: nobody so far")
    done_at = Moment(source="comment.done_at", allow_null=True)
    withdrawn_at = Moment(source="comment.withdrawn_at", allow_null=True)


class CommentSent(SentBody):
    text = serializers.CharField(max_length=LONGEST, trim_whitespace=False)
    is_todo = serializers.BooleanField(default=False, help_text="something is to be done")
    mentions = serializers.ListField(
        child=serializers.EmailField(), default=list, max_length=100, help_text="e-mail addresses of who may read it"
    )


class _OfComments(Resource):
    """Comments may tell the key: reading them is noted as having read it, refused to whoever judges the question."""

    roles = (Role.COORDINATOR,)
    reach = {"bank": "question__bank"}
    shape: ClassVar[type[Shown]] = CommentShape

    def rows(self) -> QuerySet[QuestionComment]:
        self.question = self.question_named()
        self.parts = check_reads(self.question, self.person)
        return with_people(QuestionComment.objects.filter(question=self.question))

    def question_named(self) -> Question:
        rows = within_reach(self.person, Revision.objects.current().select_related("question__bank"), bank="bank")
        place = {"question__bank__slug": self.kwargs["slug"], "question__number": self.kwargs["number"]}
        self.current = get_object_or_404(rows, **place)
        return self.current.question

    def note_reading(self) -> None:
        read_truth(self.current, person=self.person, at=timezone.now())

    def shown(self, row: Any, only: Sequence[str] | None = None) -> Any:
        """As it is now: an act may have changed the row."""
        now = with_people(QuestionComment.objects.filter(pk=row.pk))
        [found] = shown_to(self.person, self.parts, now)
        return super().shown(found, only)


class QuestionComments(_OfComments, ListOf[QuestionComment]):
    """Comments on a question, the oldest first; whoever reads them is noted as having read its key. A POST adds one:
    who is mentioned finds it on the home page.
    """

    body = CommentSent
    newest_first = False
    makes, status = True, 201
    summary, post_summary = "List comments on a question", "Comment a question"

    def listed(self, rows: Sequence[Any], cursor: str, only: Sequence[str] | None) -> Response:
        self.note_reading()
        response = super().listed(shown_to(self.person, self.parts, rows), cursor, only)
        note_seen(self.question, self.person, self.parts, timezone.now())
        return response

    def post(self, request: Request, **named: Any) -> Response:
        self.rows()
        sent = self.sent(CommentSent)
        addresses = sent.pop("mentions")

        def add() -> MadeAnswer:
            made = add_comment(self.question, mentioned=self._people(addresses), **sent, **self.by())
            return MadeAnswer(201, self.shown(made))

        return self.once(add)

    def _people(self, addresses: Sequence[str]) -> list[int]:
        """Raises ValidationError for an address of nobody who may read it."""
        people = {one.email: one.pk for one in mentionable(self.question, self.person, self.parts)}
        if unknown := [one for one in addresses if one.lower() not in people]:
            sentence = _("Nobody of this address may read it: %(addresses)s.") % {"addresses": ", ".join(unknown)}
            raise serializers.ValidationError({"mentions": [sentence]})
        return [people[one.lower()] for one in addresses]


class _CommentAct(_OfComments, OneOf[QuestionComment]):
    """Answers with the comment as it is after the act."""

    act: ClassVar[Callable[..., None]]
    http_method_names = ["post"]

    def post(self, request: Request, **named: Any) -> Response:
        comment = self.one()
        self.note_reading()
        type(self).act(comment, **self.by())
        return Response(self.shown(comment))


class WithdrawComment(_CommentAct):
    """Nobody reads it any more; that there was one stays. For its author alone."""

    act = withdraw_comment
    summary = "Withdraw a comment"


class FinishComment(_CommentAct):
    """What it asks for is done. Twice changes nothing."""

    act = finish_todo
    summary = "Tick off what a comment asks for"


# --- what mentions a person -----------------------------------------------------------------------
class MentionShape(Shown):
    id = serializers.CharField(source="public_id")
    bank = serializers.SlugField(source="question.bank.slug")
    question = serializers.IntegerField(source="question.number")
    author = PersonName()
    at = Moment()
    is_todo = serializers.BooleanField(source="is_open", help_text="something is still to be done")


class Mentions(ListOf[QuestionComment]):
    """Comments that mention you and wait: to be done, or not read so far. Their text is shown with the question."""

    roles = (Role.COORDINATOR,)
    reach = {"bank": "question__bank"}
    shape = MentionShape
    newest_first = False
    summary = "List comments that mention you"

    def rows(self) -> QuerySet[QuestionComment]:
        return waiting_for(self.person).select_related("question__bank", "author")
