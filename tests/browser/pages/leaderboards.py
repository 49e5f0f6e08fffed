"""Leaderboards of the site in which every page has something to show: a draft, a frozen one, one of others."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from annotation.enums import FindingPlace, ImageState, Role
from annotation.models import Finding, Image, QuestionBank, Revision, User
from annotation.quality.kernels.rules import PUBLIC_TWIN
from readerstudy.enums import TeamState
from readerstudy.leaderboard.benchmarks import BenchmarkWanted, create_benchmark
from readerstudy.leaderboard.public_twins import decide
from readerstudy.models import Benchmark
from tests.browser.pages.place import Place
from tests.conftest import make_person
from tests.readerstudy.design.made import make_questions, revision_of
from tests.readerstudy.leaderboard.made import make_benchmark, make_team


def hold_leaderboards(place: Place) -> None:
    cora, now = place.people["cora"], timezone.now()
    days = tuple((now + timedelta(days=n)).date() for n in (60, 240))
    bank, about = _bank("Planned questions", n=12), place.said("Films of one hospital.")
    wanted = BenchmarkWanted(place.named("Planned board")[:90], bank, "board@example.org", about, days)
    draft = place.things["board draft"] = create_benchmark(wanted, actor=cora, at=now)
    _find_twins(place, bank)
    decide(draft, [2], reason=place.said("another film")[:900], actor=cora, at=now)
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


def _find_twins(place: Place, bank: QuestionBank) -> None:
    now, beside = timezone.now(), Revision.objects.in_bank(place.things["public bank"]).current().order_by("pk")[0]
    Finding.objects.bulk_create(
        Finding(
            bank=bank,
            revision=revision_of(bank, number),
            rule=PUBLIC_TWIN,
            rule_version=1,
            place=FindingPlace.QUESTION,
            detail=place.said("Question 1 of a public bank says nearly the same."),
            other=beside,
            found_at=now,
        )
        for number in (2, 5)
    )
    bank.twins_sought_at = now
    bank.save()


def _bank(name: str, n: int) -> QuestionBank:
    bank = make_questions(n, name=name, pixels=False)
    Image.objects.filter(exam__bank=bank).update(state=ImageState.AVAILABLE)
    return bank


def _board(place: Place, name: str, n: int) -> Benchmark:
    made = make_benchmark(_bank(f"{name} questions", n))
    made.name, made.slug = place.named(name)[:90], name.lower().replace(" ", "-")
    made.save()
    return made
