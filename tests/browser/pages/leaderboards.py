"""Leaderboards of the site in which every page has something to show: a draft, a frozen one with what a team sent and
said of its model, one of others, and one with an edition published and one to come.
"""

from __future__ import annotations

from datetime import date, timedelta

from django.utils import timezone

from annotation.enums import QuestionState, Role
from annotation.models import Question, Revision
from readerstudy.enums import TeamState
from readerstudy.leaderboard.benchmarks import BenchmarkWanted, create_benchmark
from readerstudy.leaderboard.public_twins import decide
from readerstudy.leaderboard.submissions import (
    check_file,
    name_for_edition,
    receive_submission,
    store_check,
    withdraw_submission,
)
from readerstudy.leaderboard.teams import add_statement, pass_statement, refuse_statement
from readerstudy.leaderboard.versions import add_note
from readerstudy.models import Benchmark, Edition, Submission
from tests.browser.pages.place import Place
from tests.conftest import make_person
from tests.readerstudy.leaderboard.made import (
    answer_file,
    find_twins,
    keys_of,
    make_benchmark,
    make_submission,
    make_team,
    make_whole,
    names_of,
    scored,
    statement_answers,
    wrong_at,
)

N = 40  # questions of the board


def hold_leaderboards(place: Place) -> None:
    cora, now = place.people["cora"], timezone.now()
    days = tuple((now + timedelta(days=n)).date() for n in (60, 240))
    bank, about = make_whole(12, name="Planned questions"), place.said("Films of one hospital.")
    wanted = BenchmarkWanted(place.named("Planned board")[:90], bank, "board@example.org", about, days)
    draft = place.things["board draft"] = create_benchmark(wanted, actor=cora, at=now)
    beside = Revision.objects.in_bank(place.things["public bank"]).current().order_by("pk")[0]
    detail = place.said("Question 1 of a public bank says nearly the same.")
    find_twins(bank, (2, 5), other=beside, detail=detail, at=now)
    decide(draft, [2], reason=place.said("another film")[:900], actor=cora, at=now)
    board = place.things["board"] = _board(place, "Board", n=N)
    others = place.things["board of others"] = _board(place, "Other board", n=3)
    place.things["team"] = make_team(board, place.named("Own team")[:90], place.people["mona"])
    toni, tara = (make_person(name, Role.MODEL_SUBMITTER) for name in ("Toni", "Tara"))
    place.things["team of others"] = make_team(others, place.named("Other team")[:90], toni)
    waiting = place.things["team waiting"] = make_team(board, place.named("New team")[:90], tara)
    waiting.state, waiting.link = TeamState.ASKED, "https://example.org/models"
    waiting.save()


def _board(place: Place, name: str, n: int) -> Benchmark:
    made = make_benchmark(make_whole(n, name=f"{name} questions"))
    made.name, made.slug = place.named(name)[:90], name.lower().replace(" ", "-")
    made.save()
    return made


def send_to_board(place: Place) -> None:
    """By Mona; Cora passes one statement and refuses another."""
    now, mona, cora = timezone.now(), place.people["mona"], place.people["cora"]
    board, team = place.things["board"], place.things["team"]
    for edition in board.editions.all():
        edition.due_on = now.date() + timedelta(days=90 * edition.number)
        edition.save()
    said = [statement_answers(prompt=place.said(f"Answer with a letter.\nVersion {n}")) for n in (1, 2, 3)]
    first, second, third = (add_statement(team, one, actor=mona, at=now) for one in said)
    pass_statement(first, actor=cora, at=now)
    refuse_statement(second, place.said("It advertises"), actor=cora, at=now)
    files = {
        "passed": answer_file(board, "ABC?" * 9 + "A---"),
        "wrong": answer_file(board, "A" * N)
        + f'{{"id": "{names_of(board)[0]}", "pred_answer": "B"}}\n{{"id": "x"}}\n'.encode(),
        "withdrawn": answer_file(board, "D" * N),
        "waiting": b"waits",
    }
    for number, (state, content) in enumerate(files.items()):
        at = now + timedelta(seconds=number)
        made: Submission = receive_submission(team, [content], f"{state}.jsonl", actor=mona, at=at)
        if state != "waiting":
            store_check(made, check_file(content, made.version), at=at)
        place.things[f"submission {state}"] = made
    now += timedelta(minutes=1)
    name_for_edition(place.things["submission passed"], board.editions.get(number=1), actor=mona, at=now)
    withdraw_submission(place.things["submission withdrawn"], place.said("Wrong weights"), actor=mona, at=now)
    place.things |= {"statement passed": first, "statement refused": second, "statement new": third}


def hold_board(place: Place) -> None:
    cora, benchmark = place.people["cora"], _board(place, "Published board", n=12)
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
