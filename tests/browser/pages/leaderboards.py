"""Leaderboards of the site in which every page has something to show: a draft, a frozen one, one of others."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from annotation.enums import ImageState, Role
from annotation.models import Image, User
from readerstudy.enums import TeamState
from readerstudy.leaderboard.benchmarks import BenchmarkWanted, create_benchmark
from readerstudy.models import Benchmark
from tests.browser.pages.place import Place
from tests.conftest import make_person
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.leaderboard.made import make_benchmark, make_team


def hold_leaderboards(place: Place) -> None:
    now, bank = timezone.now(), place.things["generated bank"]
    days = tuple((now + timedelta(days=n)).date() for n in (60, 240))
    about = place.said("Films of one hospital.")
    wanted = BenchmarkWanted(place.named("Planned board")[:90], bank, "board@example.org", about, days)
    place.things["board draft"] = create_benchmark(wanted, actor=place.people["cora"], at=now)
    place.things["board"] = _board(place, "Board", n=40)
    place.things["board of others"] = _board(place, "Other board", n=3)
    place.things["team"] = make_team(place.things["board"], place.named("Own team")[:90], place.people["mona"])
    other = make_team(place.things["board of others"], place.named("Other team")[:90], _submitter("Toni"))
    waiting = make_team(place.things["board"], place.named("New team")[:90], _submitter("Tara"))
    waiting.state, waiting.link = TeamState.ASKED, "https://example.org/models"
    waiting.save()
    place.things["team of others"], place.things["team waiting"] = other, waiting


def _submitter(name: str) -> User:
    return make_person(name, Role.MODEL_SUBMITTER)


def _board(place: Place, name: str, n: int) -> Benchmark:
    bank = make_questions(n, name=f"{name} questions", pixels=False)
    Image.objects.filter(exam__bank=bank).update(state=ImageState.AVAILABLE)
    made = make_benchmark(bank)
    made.name, made.slug = place.named(name)[:90], name.lower().replace(" ", "-")
    made.save()
    return made
