"""A leaderboard of the site in which every page has something to show: one edition published, one to come."""

from __future__ import annotations

from datetime import date

from django.utils import timezone

from annotation.enums import QuestionState
from annotation.models import Question
from readerstudy.leaderboard.versions import add_note
from readerstudy.models import Edition
from tests.browser.pages.place import Place
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.leaderboard.made import keys_of, make_benchmark, make_submission, make_team, wrong_at
from tests.readerstudy.leaderboard.published import scored


def hold_board(place: Place) -> None:
    cora, bank = place.people["cora"], make_questions(12, name="Published questions", pixels=False)
    benchmark = make_benchmark(bank)
    benchmark.name, benchmark.slug = place.named("Published board")[:100], "published-board"
    benchmark.save()
    first, keys = benchmark.editions.get(number=1), keys_of(benchmark)
    team = make_team(benchmark, place.named("Team")[:100], place.people["mona"])
    for wrong in ((1, 2), (3,)):
        submission = make_submission(team, wrong_at(keys, wrong))
    submission.entries.create(edition=first, team=team, named_at=timezone.now())
    first.proposed_by, first.confirmed_by = cora, place.people["omni"]
    scored(first)
    Edition.objects.filter(benchmark=benchmark, number=2).update(due_on=date(2199, 1, 1))
    Question.objects.filter(bank=benchmark.bank, number=2).update(state=QuestionState.WITHDRAWN)
    add_note(benchmark, place.said("The second question is disputed."), actor=cora, at=timezone.now())
    place.things["benchmark"] = benchmark
