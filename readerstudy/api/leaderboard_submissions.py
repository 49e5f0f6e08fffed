"""What teams send to a leaderboard, and their statements; a token of a team reaches its own."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import Moment, SentBody, WordChoice, cleaned
from annotation.api.resources import ListOf, OneOf, Shown
from annotation.people.kept_answers import MadeAnswer
from readerstudy.acts.submissions import known_statement, known_submission
from readerstudy.api.model_list import OfModels
from readerstudy.api.model_run_list import AnswersSent
from readerstudy.enums import SubmissionState, SubmissionWay
from readerstudy.forms.models import AnswersForm
from readerstudy.leaderboard.access import known_benchmark, team_of
from readerstudy.leaderboard.kernels.statement import ASKED
from readerstudy.leaderboard.running import HERE
from readerstudy.leaderboard.statements import add_statement, statements_known_to
from readerstudy.leaderboard.submissions import receive_submission, submissions_known_to
from readerstudy.models import Statement, Submission


class SubmissionLine(Shown):
    id = serializers.CharField(source="public_id")
    number = serializers.IntegerField(help_text="1, 2, 3 of the team")
    team = serializers.CharField(source="team.public_id")
    team_name = serializers.CharField(source="team.name")
    version = serializers.IntegerField(source="version.number", help_text="of the benchmark")
    state = WordChoice(SubmissionState)
    way = WordChoice(SubmissionWay)
    file = serializers.CharField(source="file_name")
    sha256 = serializers.CharField(source="file_sha256")
    statement = serializers.IntegerField(source="statement.number", default=None, allow_null=True)
    editions = serializers.SerializerMethodField(help_text="for which it is named, by number")
    received_at = Moment()
    checked_at = Moment(allow_null=True, help_text="null: the check waits or runs; ask again")
    is_sound = serializers.BooleanField(help_text="the check passed")
    withdrawn_at = Moment(allow_null=True)
    withdrawn_because = serializers.CharField()

    def get_editions(self, row: Submission) -> list[int]:
        return [one.edition.number for one in row.entries.all()]


class SubmissionShape(SubmissionLine):
    report = serializers.DictField(
        help_text="of the check: counts (n_...), and the first of each list; empty before it"
    )


class BoardSubmissions(OfModels, ListOf[Submission]):
    """Submissions, the newest first: of the own team, for coordinators of all. A POST sends a file of the own team.
    202: a job checks it, and its address says what was found. The same file again is the same submission.
    """

    parser_classes = [MultiPartParser]
    shape, body = SubmissionLine, AnswersSent
    makes, status = True, 202
    summary, post_summary = "List submissions to a leaderboard", "Send a submission to a leaderboard"

    def rows(self) -> QuerySet[Submission]:
        return submissions_known_to(self.person, known_benchmark(self.person, self.kwargs["slug"]))

    def post(self, request: Request, **named: Any) -> Response:
        team = team_of(self.person, named["slug"])
        sent = self.sent(AnswersSent)
        chosen = cleaned(AnswersForm({"duplicates": sent.get("duplicates", "")}, {"file": sent["file"]}))

        def receive() -> MadeAnswer:
            file, way = chosen["file"], chosen["duplicates"]
            made = receive_submission(team, file.chunks(), file.name, duplicates=way, **self.by())
            address = reverse("api-leaderboard-submission", args=[named["slug"], made.public_id])
            return MadeAnswer(202, self.shown(made), address)

        return self.once(receive)


class OneBoardSubmission(OfModels, OneOf[Submission]):
    """One submission with the report of its check."""

    shape = SubmissionShape
    summary = "Read one submission to a leaderboard"
    locks = ("team",)

    def one(self) -> Submission:
        return known_submission(self.person, self.kwargs["slug"], self.kwargs["public_id"])


class HandInSent(SentBody):
    team = serializers.CharField(help_text="its id")
    way = serializers.ChoiceField(
        choices=[(way.value, way.label) for way in HERE],
        default=SubmissionWay.HERE.value,
        help_text="through an endpoint of the site, or the team's",
    )


class StatementShape(Shown):
    id = serializers.CharField(source="public_id")
    team = serializers.CharField(source="team.public_id")
    number = serializers.IntegerField(help_text="1, 2, 3 of the team")
    form = serializers.CharField(help_text="the list of questions")
    answers = serializers.DictField(child=serializers.CharField())
    made_at = Moment()
    passed_at = Moment(allow_null=True, help_text="null: a coordinator has not passed it, and it does not show")
    refused_because = serializers.CharField()


class StatementSent(SentBody):
    answers = serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False),
        help_text="“unknown” is an answer where it can be true. Each of: " + ", ".join(ASKED),
    )


class TeamStatements(OfModels, ListOf[Statement]):
    """Statements on models, the newest first: of the own team, for coordinators of all. A POST adds one of the own
    team; an unanswered line is refused by its name.
    """

    shape, body = StatementShape, StatementSent
    makes, status = True, 201
    summary, post_summary = "List statements of teams", "Add a statement of a team"

    def rows(self) -> QuerySet[Statement]:
        return statements_known_to(self.person, known_benchmark(self.person, self.kwargs["slug"]))

    def post(self, request: Request, **named: Any) -> Response:
        team = team_of(self.person, named["slug"])
        answers = self.sent(StatementSent)["answers"]

        def add() -> MadeAnswer:
            made = add_statement(team, answers, **self.by())
            return MadeAnswer(
                201, self.shown(made), reverse("api-leaderboard-statement", args=[named["slug"], made.public_id])
            )

        return self.once(add)


class OneTeamStatement(OfModels, OneOf[Statement]):
    """One statement of a team."""

    shape = StatementShape
    summary = "Read one statement of a team"

    def one(self) -> Statement:
        return known_statement(self.person, self.kwargs["slug"], self.kwargs["public_id"])
