"""Leaderboards, their teams, what these take away, send and say, and their editions, by the rules of their pages."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import Moment, SentBody, WordChoice, cleaned
from annotation.api.resources import ListOf, OneOf, OnlyPost, Resource, Shown
from annotation.enums import Role
from annotation.people.kept_answers import MadeAnswer
from readerstudy.acts.files import inputs_response
from readerstudy.acts.leaderboards import (
    check_runs_leaderboards,
    known_statement,
    known_submission,
    known_team,
    run_benchmark,
    taken_benchmark,
)
from readerstudy.api.model_run_list import AnswersSent
from readerstudy.api.study_list import StoredFile
from readerstudy.enums import BenchmarkState, SubmissionState, SubmissionWay, TeamState
from readerstudy.forms.leaderboard import WAYS, BenchmarkForm
from readerstudy.forms.models import AnswersForm
from readerstudy.leaderboard.access import ROLES, benchmarks_known_to, known_benchmark, looks_on, team_of
from readerstudy.leaderboard.benchmarks import (
    BenchmarkWanted,
    change_benchmark,
    create_benchmark,
    current_version,
    planned_cells,
    problems_of,
)
from readerstudy.leaderboard.kernels.statement import ASKED
from readerstudy.leaderboard.submissions import receive_submission, submissions_known_to
from readerstudy.leaderboard.teams import add_statement, statements_known_to
from readerstudy.leaderboard.versions import packed_inputs
from readerstudy.models import Benchmark, Edition, EditionResult, Statement, Submission, Team


class OfLeaderboards(Resource):
    """The functions that say which leaderboards and teams somebody knows say what a token reaches, too."""

    reach = None

    @property
    def benchmark(self) -> Benchmark:
        return known_benchmark(self.person, self.kwargs["slug"])


class PlannedEditionShape(Shown):
    number = serializers.IntegerField()
    date = serializers.DateField(source="due_on", help_text="until its end, in UTC, teams name a submission")
    published_at = Moment(allow_null=True)


class CellShape(Shown):
    name = serializers.CharField(help_text="all, task:..., category:... or difficulty:...")
    n = serializers.IntegerField(help_text="questions")
    editions = serializers.ListField(child=serializers.IntegerField(), help_text="that tell it; none: too few")


class BenchmarkShape(Shown):
    slug = serializers.SlugField()
    name = serializers.CharField()
    about = serializers.CharField()
    contact = serializers.CharField()
    state = WordChoice(BenchmarkState)
    editions = PlannedEditionShape(many=True)
    created_at = Moment()
    frozen_at = Moment(allow_null=True)
    closed_at = Moment(allow_null=True)


class OneBenchmarkShape(BenchmarkShape):
    bank = serializers.SerializerMethodField(help_text="null: for coordinators and administrators")
    decisions = serializers.SerializerMethodField(help_text="about near-duplicates; null, as bank")
    problems = serializers.SerializerMethodField(help_text="what is in the way of freezing; null, as bank")
    cells = serializers.SerializerMethodField(help_text="which numbers are told in which edition")
    version = serializers.SerializerMethodField(help_text="the newest; null: a draft")
    protocol_sha256 = serializers.SerializerMethodField(help_text="null: a draft")
    inputs_bytes = serializers.SerializerMethodField(help_text="null: not written yet; pack/ has it written")
    notes = serializers.SerializerMethodField(help_text="disputes and corrections, as everybody reads them")

    def _looks_on(self) -> bool:
        return looks_on(self.context["view"].person)

    def get_bank(self, row: Benchmark) -> str | None:
        return row.bank.slug if self._looks_on() else None

    def get_decisions(self, row: Benchmark) -> dict[str, str] | None:
        return row.decisions if self._looks_on() else None

    def get_problems(self, row: Benchmark) -> list[str] | None:
        is_draft = row.state == BenchmarkState.DRAFT
        return problems_of(row, self.context["view"].by()["at"]) if is_draft and self._looks_on() else None

    def get_cells(self, row: Benchmark) -> list[Any]:
        return list(CellShape(planned_cells(row), many=True).data)

    def get_version(self, row: Benchmark) -> int | None:
        return None if row.state == BenchmarkState.DRAFT else current_version(row).number

    def get_protocol_sha256(self, row: Benchmark) -> str | None:
        return None if row.state == BenchmarkState.DRAFT else current_version(row).protocol_sha256

    def get_inputs_bytes(self, row: Benchmark) -> int | None:
        found = None if row.state == BenchmarkState.DRAFT else packed_inputs(row)
        return found.stat().st_size if found else None

    def get_notes(self, row: Benchmark) -> list[str]:
        return list(row.notes.values_list("text", flat=True))


class BenchmarkSent(SentBody):
    name = serializers.CharField()
    bank = serializers.SlugField(help_text="that is not public")
    contact = serializers.CharField(help_text="whom teams write to")
    about = serializers.CharField(default="", allow_blank=True)
    editions = serializers.ListField(child=serializers.DateField(), help_text="dates, ascending")


def _wanted(sent: dict[str, Any]) -> BenchmarkWanted:
    """Raises ValidationError with what the form of the page says."""
    form = BenchmarkForm({**sent, "editions": "\n".join(f"{one}" for one in sent["editions"])})
    cleaned(form)
    return form.wanted()


class Benchmarks(OfLeaderboards, ListOf[Benchmark]):
    """Leaderboards: all for coordinators and administrators, for people who submit models the frozen and closed ones,
    for a token of a team its own. A POST makes a draft.
    """

    roles, writers = ROLES, (Role.COORDINATOR,)
    shape, body = BenchmarkShape, BenchmarkSent
    makes, status = True, 201
    summary, post_summary = "List leaderboards", "Make a leaderboard"

    def rows(self) -> QuerySet[Benchmark]:
        return benchmarks_known_to(self.person).prefetch_related("editions")

    def post(self, request: Request, **named: Any) -> Response:
        check_runs_leaderboards(self.person)
        wanted = _wanted(self.sent(BenchmarkSent))

        def make() -> MadeAnswer:
            made = create_benchmark(wanted, **self.by())
            return self.made(made, "api-leaderboard", made.slug)

        return self.once(make)


class OneBenchmark(OfLeaderboards, OneOf[Benchmark]):
    """One leaderboard: its editions and what they tell."""

    shape = OneBenchmarkShape
    summary = "Read one leaderboard"
    locks = ("bank",)

    def one(self) -> Benchmark:
        return self.benchmark


class EditBenchmark(OnlyPost, OneBenchmark):
    """Change a draft; all of it is sent."""

    body = BenchmarkSent
    summary = "Change the draft of a leaderboard"

    def post(self, request: Request, **named: Any) -> Response:
        row = run_benchmark(self.person, named["slug"])
        change_benchmark(row, _wanted(self.sent(BenchmarkSent)), **self.by())
        return Response(self.shown(self.one()))


class Inputs(OfLeaderboards):
    """Questions and images as one ZIP file, for members of approved teams. Answers a Range, so that a download goes on
    where it broke off; taking it is noted. 409 until it is written.
    """

    content_types = ("application/zip",)
    may_conflict = is_resumable = True
    summary = "Take the questions of a leaderboard"
    http_method_names = ["get", "head"]

    def get(self, request: Request, **named: Any) -> HttpResponse | StreamingHttpResponse:
        return inputs_response(request._request, taken_benchmark(self.person, named["slug"]), self.person)


class MemberShape(Shown):
    email = serializers.EmailField(source="user.email")
    name = serializers.CharField(source="user.name")
    added_at = Moment()


class TeamShape(Shown):
    id = serializers.CharField(source="public_id")
    leaderboard = serializers.SlugField(source="benchmark.slug")
    name = serializers.CharField()
    institution = serializers.CharField()
    contact = serializers.CharField()
    link = serializers.CharField()
    anonymous_until = serializers.DateField(allow_null=True)
    state = WordChoice(TeamState)
    refused_because = serializers.CharField()
    members = MemberShape(many=True)
    asked_at = Moment()
    decided_at = Moment(allow_null=True)


class OneTeam(OfLeaderboards, OneOf[Team]):
    """One team with its members."""

    shape = TeamShape
    summary = "Read one team"
    locks = ("benchmark",)

    def one(self) -> Team:
        return known_team(self.person, self.kwargs["slug"], self.kwargs["public_id"])


# --- what teams send and say ----------------------------------------------------------------------
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
    report = serializers.DictField(help_text="counts (n_...), and the first of each list; empty before the check")


class BoardSubmissions(OfLeaderboards, ListOf[Submission]):
    """Submissions, the newest first: of the own team, for coordinators of all. A POST sends a file of the own team.
    202: a job checks it, and its address says what was found. The same file again is the same submission.
    """

    parser_classes = [MultiPartParser]
    shape, body = SubmissionLine, AnswersSent
    makes, status = True, 202
    summary, post_summary = "List submissions to a leaderboard", "Send a submission to a leaderboard"

    def rows(self) -> QuerySet[Submission]:
        return submissions_known_to(self.person, self.benchmark)

    def post(self, request: Request, **named: Any) -> Response:
        team = team_of(self.person, named["slug"])
        sent = self.sent(AnswersSent)
        chosen = cleaned(AnswersForm({"duplicates": sent.get("duplicates", "")}, {"file": sent["file"]}))

        def receive() -> MadeAnswer:
            file, way = chosen["file"], chosen["duplicates"]
            made = receive_submission(team, file.chunks(), file.name, duplicates=way, **self.by())
            return self.made(made, "api-leaderboard-submission", named["slug"], made.public_id)

        return self.once(receive)


class OneBoardSubmission(OfLeaderboards, OneOf[Submission]):
    """One submission with the report of its check."""

    shape = SubmissionShape
    summary = "Read one submission to a leaderboard"
    locks = ("team",)

    def one(self) -> Submission:
        return known_submission(self.person, self.kwargs["slug"], self.kwargs["public_id"])


class HandInSent(SentBody):
    team = serializers.CharField(help_text="its id")
    way = serializers.ChoiceField(
        choices=WAYS, default=SubmissionWay.HERE.value, help_text="through an endpoint of the site, or the team's"
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


class TeamStatements(OfLeaderboards, ListOf[Statement]):
    """Statements on models, the newest first: of the own team, for coordinators of all. A POST adds one of the own
    team; an unanswered line is refused by its name.
    """

    shape, body = StatementShape, StatementSent
    makes, status = True, 201
    summary, post_summary = "List statements of teams", "Add a statement of a team"

    def rows(self) -> QuerySet[Statement]:
        return statements_known_to(self.person, self.benchmark)

    def post(self, request: Request, **named: Any) -> Response:
        team = team_of(self.person, named["slug"])
        answers = self.sent(StatementSent)["answers"]

        def add() -> MadeAnswer:
            made = add_statement(team, answers, **self.by())
            return self.made(made, "api-leaderboard-statement", named["slug"], made.public_id)

        return self.once(add)


class OneTeamStatement(OfLeaderboards, OneOf[Statement]):
    """One statement of a team."""

    shape = StatementShape
    summary = "Read one statement of a team"

    def one(self) -> Statement:
        return known_statement(self.person, self.kwargs["slug"], self.kwargs["public_id"])


# --- editions -------------------------------------------------------------------------------------
class EditionShape(Shown):
    number = serializers.IntegerField()
    due_on = serializers.DateField(help_text="until its end, in UTC, teams name a submission")
    proposed_at = Moment(allow_null=True, help_text="by the first of two persons")
    confirmed_at = Moment(allow_null=True, help_text="by the second")
    published_at = Moment(allow_null=True)
    versions = serializers.SerializerMethodField(help_text="on which versions of the benchmark it is scored")

    def get_versions(self, row: Edition) -> list[int]:
        return [one.version.number for one in row.results.all()]


class OfEditions(OfLeaderboards):
    shape = EditionShape

    def rows(self) -> QuerySet[Edition]:
        return self.benchmark.editions.select_related("benchmark").prefetch_related("results__version")


class Editions(OfEditions, ListOf[Edition]):
    """All planned editions of a benchmark. There are no numbers before one is published."""

    summary = "List the editions of a leaderboard"


class OneEdition(OfEditions, OneOf[Edition]):
    """One edition: how far it is, and on which versions it is published."""

    summary = "Read one edition of a leaderboard"
    lookup = "number"
    locks = ("benchmark",)


class OneEditionResult(OfLeaderboards, StoredFile[EditionResult]):
    """What an edition published on a version, byte by byte: as in ``board.json`` of the public board."""

    summary = "Read what an edition of a leaderboard published"

    def get(self, request: Request, **named: Any) -> HttpResponse:  # type: ignore[override]  # a file, not a document
        rows = EditionResult.objects.filter(edition__benchmark=self.benchmark, edition__number=named["number"])
        found = get_object_or_404(rows, version__number=named["version"])
        return self.known(found.result_sha256) or self.file(found.result, found.result_sha256)
