"""Editions of a leaderboard and what they published, by the rules of their pages."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from annotation.api.bodies import Moment
from annotation.api.resources import ListOf, OneOf, Resource, Shown
from readerstudy.api.study_list import StoredFile
from readerstudy.leaderboard.access import known_benchmark
from readerstudy.leaderboard.benchmarks import current_version
from readerstudy.models import Benchmark, Edition, EditionResult


class EditionShape(Shown):
    number = serializers.IntegerField()
    due_on = serializers.DateField(help_text="until its end, in UTC, teams name a submission")
    proposed_at = Moment(allow_null=True, help_text="by the first of two persons")
    confirmed_at = Moment(allow_null=True, help_text="by the second")
    published_at = Moment(allow_null=True)
    versions = serializers.SerializerMethodField(help_text="on which versions of the benchmark it is scored")

    def get_versions(self, row: Edition) -> list[int]:
        return [one.version.number for one in row.results.all()]


class BoardShape(Shown):
    slug = serializers.SlugField()
    name = serializers.CharField()
    version = serializers.SerializerMethodField(help_text="number of the newest version")
    editions = serializers.SerializerMethodField(help_text="numbers of those that are published")
    notes = serializers.SerializerMethodField(help_text="disputes and corrections, as everybody reads them")

    def get_version(self, row: Benchmark) -> int:
        return current_version(row).number

    def get_notes(self, row: Benchmark) -> list[str]:
        return list(row.notes.values_list("text", flat=True))

    def get_editions(self, row: Benchmark) -> list[int]:
        return list(row.editions.filter(published_at__isnull=False).values_list("number", flat=True))


class OfBenchmark(Resource):
    reach = None  # a token of a team knows its benchmark alone

    @property
    def benchmark(self) -> Benchmark:
        return known_benchmark(self.person, self.kwargs["slug"])


class Editions(OfBenchmark, ListOf[Edition]):
    """All planned editions of a benchmark. There are no numbers before one is published."""

    shape = EditionShape
    summary = "List the editions of a leaderboard"

    def rows(self) -> QuerySet[Edition]:
        return self.benchmark.editions.prefetch_related("results__version")


class OneEdition(OfBenchmark, OneOf[Edition]):
    """One edition: how far it is, and on which versions it is published."""

    shape = EditionShape
    summary = "Read one edition of a leaderboard"
    lookup = "number"
    locks = ("benchmark",)

    def rows(self) -> QuerySet[Edition]:
        return self.benchmark.editions.select_related("benchmark").prefetch_related("results__version")


class OneEditionResult(OfBenchmark, StoredFile[EditionResult]):
    """What an edition published on a version, byte by byte: as in ``board.json`` of the public board."""

    content_types = ("application/json",)
    summary = "Read what an edition of a leaderboard published"

    def get(self, request: Request, **named: Any) -> HttpResponse:  # type: ignore[override]  # a file, not a document
        rows = EditionResult.objects.filter(edition__benchmark=self.benchmark, edition__number=named["number"])
        found = get_object_or_404(rows, version__number=named["version"])
        known = self.known(found.result_sha256)
        return known or self.file(found.result, found.result_sha256, "application/json")


class OneBoard(OfBenchmark, OneOf[Benchmark]):
    """What the public board of a benchmark holds: the editions that are published, and its notes."""

    shape = BoardShape
    summary = "Read what the public board of a leaderboard holds"

    def one(self) -> Benchmark:
        return self.benchmark
