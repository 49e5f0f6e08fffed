"""Leaderboards, their teams, and what teams take away. A token of a team reaches its own."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import Moment, SentBody, WordChoice, cleaned
from annotation.api.resources import ListOf, OneOf, OnlyPost, Resource, Shown
from annotation.enums import Role
from annotation.people.kept_answers import MadeAnswer
from readerstudy.acts.benchmarks import known_team, run_benchmark, taken_benchmark
from readerstudy.enums import BenchmarkState, TeamState
from readerstudy.forms.leaderboard import BenchmarkForm
from readerstudy.leaderboard.access import (
    benchmarks_known_to,
    known_benchmark,
    looks_on,
    runs_leaderboards,
)
from readerstudy.leaderboard.benchmarks import (
    change_benchmark,
    create_benchmark,
    current_version,
    planned_cells,
    problems_of,
)
from readerstudy.leaderboard.inputs import packed_inputs
from readerstudy.models import Benchmark, Team
from readerstudy.views.leaderboard.benchmarks import check_knows_leaderboards, inputs_response


class OfLeaderboards(Resource):
    """The functions that say which leaderboards and teams somebody knows say what a token reaches, too."""

    reach = None


class PlannedEditionShape(Shown):
    number = serializers.IntegerField()
    date = serializers.DateField(source="due_on", help_text="until its end, in UTC, teams name a submission")
    published_at = Moment(allow_null=True)


class CellShape(Shown):
    name = serializers.CharField(help_text="all, task:..., category:... or difficulty:...")
    n = serializers.IntegerField(help_text="questions")
    editions = serializers.ListField(
        child=serializers.IntegerField(), help_text="that tell it; none: too few questions"
    )


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
    protocol_sha256 = serializers.SerializerMethodField(help_text="of what protocol/ answers; null: a draft")
    inputs_bytes = serializers.SerializerMethodField(help_text="null: not written yet; pack/ has it written")

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
        return found.n_bytes if found else None


class BenchmarkSent(SentBody):
    name = serializers.CharField()
    bank = serializers.SlugField(help_text="that is not public")
    contact = serializers.CharField(help_text="whom teams write to")
    about = serializers.CharField(default="", allow_blank=True)
    editions = serializers.ListField(child=serializers.DateField(), help_text="dates, ascending")


def _as_typed(sent: dict[str, Any]) -> dict[str, Any]:
    return {**sent, "editions": "\n".join(f"{one}" for one in sent["editions"])}


class Benchmarks(OfLeaderboards, ListOf[Benchmark]):
    """Leaderboards: all for coordinators and administrators, for people who submit models the frozen and closed ones,
    for a token of a team its own. A POST makes a draft.
    """

    writers = (Role.COORDINATOR,)
    shape, body = BenchmarkShape, BenchmarkSent
    makes, status = True, 201
    summary, post_summary = "List leaderboards", "Make a leaderboard"

    def rows(self) -> QuerySet[Benchmark]:
        check_knows_leaderboards(self.person)
        return benchmarks_known_to(self.person).prefetch_related("editions")

    def post(self, request: Request, **named: Any) -> Response:
        if not runs_leaderboards(self.person):
            raise PermissionDenied(_("This is for the coordinators of the site."))
        form = BenchmarkForm(_as_typed(self.sent(BenchmarkSent)))
        cleaned(form)

        def make() -> MadeAnswer:
            made = create_benchmark(form.wanted(), **self.by())
            return MadeAnswer(201, self.shown(made), reverse("api-leaderboard", args=[made.slug]))

        return self.once(make)


class OneBenchmark(OfLeaderboards, OneOf[Benchmark]):
    """One leaderboard: its editions and what they tell."""

    shape = OneBenchmarkShape
    summary = "Read one leaderboard"
    locks = ("bank",)

    def one(self) -> Benchmark:
        return known_benchmark(self.person, self.kwargs["slug"])


class EditBenchmark(OnlyPost, OneBenchmark):
    """Change a draft; all of it is sent."""

    body = BenchmarkSent
    summary = "Change the draft of a leaderboard"

    def post(self, request: Request, **named: Any) -> Response:
        row = run_benchmark(self.person, named["slug"])
        form = BenchmarkForm(_as_typed(self.sent(BenchmarkSent)))
        cleaned(form)
        change_benchmark(row, form.wanted(), **self.by())
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
        return inputs_response(request._request, taken_benchmark(self.person, named["slug"]), self.person)  # type: ignore[arg-type]


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
