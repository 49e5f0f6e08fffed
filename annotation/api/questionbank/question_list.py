"""Questions of a bank, by the filters and orders of its page; and what people say about each."""

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

from annotation.api.bodies import Moment, PersonName, SentBody, WordChoice
from annotation.api.cursors import bad_cursor, read_cursor, sorting_named, write_cursor
from annotation.api.resources import ListOf, OneOf, OnlyPost, Resource, Shown
from annotation.enums import Difficulty, ImportState, OptionLetter, QuestionState, Role, Split, Task
from annotation.forms.bank import QuestionSearchForm
from annotation.models import AnswerKey, Question, QuestionBank, QuestionComment, Revision, User
from annotation.people.kept_answers import MadeAnswer
from annotation.questionbank.answers import read_truth
from annotation.questionbank.filters import bank_filters
from annotation.questionbank.listing import SORTED_BY, PageStart, questions_page
from annotation.review.commenting import (
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
from annotation.review.onlookers import withheld_questions
from annotation.review.selected_questions import tags_of
from annotation.site.permissions import within_reach
from annotation.site.sorted_tables import Sorting

READERS: tuple[Role, ...] = (Role.COORDINATOR, Role.ADMINISTRATOR)


class WordingShape(Shown):
    """What a revision says, without key, explanation and report."""

    stem = serializers.CharField()
    options = serializers.ListField(child=serializers.CharField(), min_length=4, max_length=4)
    task = WordChoice(Task)
    category = serializers.CharField()
    subcategory = serializers.CharField()
    question_class = serializers.CharField()
    difficulty = WordChoice(Difficulty)


class QuestionShape(WordingShape):
    number = serializers.IntegerField(source="question.number")
    id = serializers.CharField(source="question.public_id")
    state = WordChoice(QuestionState, source="question.state")
    split = WordChoice(Split, source="question.split", allow_blank=True, help_text="as imported; empty: none")
    revision = serializers.IntegerField(source="number")
    exam = serializers.CharField(source="question.exam.public_id")
    images = serializers.SerializerMethodField(help_text="images that count, in the order of the exam")
    tags = serializers.SerializerMethodField()

    def get_images(self, revision: Revision) -> list[dict[str, Any]]:
        return [
            {"id": image.public_id, "view_position": image.view_position, "state": image.state}
            for image in revision.question.exam.images.all()
            if image.public_id not in revision.left_out
        ]

    def get_tags(self, revision: Revision) -> list[str]:
        return list(self.context["tags"].get(revision.question_id, []))


def bank_named(person: User, slug: str) -> QuestionBank:
    """The bank of an address; 404 for one that a token does not reach."""
    return get_object_or_404(within_reach(person, QuestionBank.objects.all(), bank="pk"), slug=slug)


class Questions(ListOf[Revision]):
    """Questions of a bank in their current wording. Filters are those of the page of the bank: what a filter finds, and
    which values it takes, is the same there. ``looked_to`` is given with a page that is not full, and whose ``next``
    goes on: so far the bank was looked through.
    """

    roles = READERS
    shape = QuestionShape
    sorted_by = SORTED_BY
    summary = "List questions of a bank"

    beside_results = {
        "looked_to": {"type": "integer", "description": "the number up to which the bank was looked through"}
    }

    @classmethod
    def free_filters(cls) -> Sequence[str]:
        return sorted(bank_filters())

    def get(self, request: Request, **named: Any) -> Response:
        bank = bank_named(self.person, named["slug"])
        only, query = self.only(), request.query_params
        form = QuestionSearchForm(query, bank, self.person, offers_all=False)
        search = form.search()
        if dropped := form.dropped():
            message = _("This bank knows no such value.")
            raise serializers.ValidationError({name: [message] for name in dropped})
        sort = query.get("sort", "")
        sorting = sorting_named(sort, SORTED_BY)
        sorting = sorting if sorting.column else Sorting("number")
        place = _place(query.get("cursor", ""), sort)
        page = questions_page(search, sorting, place, per_page=self.number("limit", 100, 1000))
        self.tags = tags_of([row.question_id for row in page.revisions], self.person)
        cursor = write_cursor(sort, [page.next.after, page.next.group]) if page.next else ""
        response = self.listed(page.revisions, cursor, only)
        if page.looked_to is not None:
            response.data["looked_to"] = page.looked_to
        return response

    def context(self) -> dict[str, Any]:
        return {"view": self, "tags": self.tags}


def _place(cursor: str, sort: str) -> PageStart:
    if not cursor:
        return PageStart()
    place = read_cursor(cursor, sort)
    if len(place) != 2 or not isinstance(place[0], int) or not isinstance(place[1], str):
        raise bad_cursor()
    return PageStart(after=place[0], group=place[1])


class OfQuestion(OneOf[Revision]):
    roles = READERS
    reach = {"bank": "bank"}
    lookup = "question__number"
    locks = ("question.bank", "question")

    def rows(self) -> QuerySet[Revision]:
        rows = Revision.objects.current().select_related("question__bank", "question__exam", "bank_import")
        return rows.prefetch_related("question__exam__images")

    def one(self) -> Revision:
        place = {"question__bank__slug": self.kwargs["slug"], "question__number": self.kwargs["number"]}
        bank = bank_named(self.person, self.kwargs["slug"])
        return get_object_or_404(self.in_reach(self.rows()).filter(bank=bank), **place)

    def context(self) -> dict[str, Any]:
        question = self.one_shown.question_id
        return {"view": self, "tags": tags_of([question], self.person)}

    def shown(self, row: Any, only: Any = None) -> Any:
        self.one_shown = row
        return super().shown(row, only)


class OneQuestion(OfQuestion):
    """One question in its current wording."""

    shape = QuestionShape
    summary = "Read one question"


class KeyShape(Shown):
    key = WordChoice(OptionLetter)
    explanation = serializers.CharField()
    indication = serializers.CharField(source="report.indication", default="")
    comparison = serializers.CharField(source="report.comparison", default="")
    findings = serializers.CharField(source="report.findings", default="")
    impression = serializers.CharField(source="report.impression", default="")


class KeyOfQuestion(OfQuestion):
    """Key, explanation and report. Whoever reads them is noted, and never judges the question blind again."""

    roles = (Role.COORDINATOR,)
    shape = KeyShape
    summary = "Read the key of a question"

    def get(self, request: Request, **named: Any) -> Response:
        truth: AnswerKey = read_truth(self.one(), person=self.person, at=timezone.now())
        response = Response(self.shape(truth, only=self.only()).data)
        response["Cache-Control"] = "private, no-store"
        return response


class RevisionShape(WordingShape):
    number = serializers.IntegerField()
    images_left_out = serializers.ListField(source="left_out", child=serializers.CharField())
    file_name = serializers.CharField(source="bank_import.file_name")
    author = PersonName(source="edit.author", default=None)
    reason = serializers.CharField(source="edit.reason", default=None, allow_null=True)
    made_at = Moment(
        source="edit.made_at", default=None, allow_null=True, help_text="of a wording by hand; null: of an import"
    )


def revisions_of(person: User, slug: str, number: int) -> QuerySet[Revision]:
    """All published wordings; of a question that the person judges in a round under way none."""
    rows = Revision.objects.filter(bank=bank_named(person, slug), question__number=number)
    rows = rows.filter(bank_import__state=ImportState.PUBLISHED)
    return rows.exclude(question__in=withheld_questions(person)).select_related("bank_import", "edit__author")


class Revisions(ListOf[Revision]):
    """The wordings of a question, the newest first."""

    roles = READERS
    reach = {"bank": "bank"}
    shape = RevisionShape
    summary = "List revisions of a question"

    def rows(self) -> QuerySet[Revision]:
        return revisions_of(self.person, self.kwargs["slug"], self.kwargs["number"])


class OneRevision(OneOf[Revision]):
    """One wording. It never changes."""

    roles = READERS
    reach = {"bank": "bank"}
    shape = RevisionShape
    lookup = "revision"
    summary = "Read one revision"

    def one(self) -> Revision:
        rows = revisions_of(self.person, self.kwargs["slug"], self.kwargs["number"])
        return get_object_or_404(self.in_reach(rows), number=self.kwargs["revision"])


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
            return self.made(made)

        return self.once(add)

    def _people(self, addresses: Sequence[str]) -> list[int]:
        """Raises ValidationError for an address of nobody who may read it."""
        people = {one.email: one.pk for one in mentionable(self.question, self.person, self.parts)}
        if unknown := [one for one in addresses if one.lower() not in people]:
            sentence = _("Nobody of this address may read it: %(addresses)s.") % {"addresses": ", ".join(unknown)}
            raise serializers.ValidationError({"mentions": [sentence]})
        return [people[one.lower()] for one in addresses]


class _CommentAct(OnlyPost, _OfComments, OneOf[QuestionComment]):
    """Answers with the comment as it is after the act."""

    act: ClassVar[Callable[..., None]]

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
