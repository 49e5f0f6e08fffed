"""What a team sent to a leaderboard of the site in which every page has something to show, and said of its model."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from readerstudy.leaderboard.statements import add_statement, pass_statement, refuse_statement
from readerstudy.leaderboard.submissions import (
    check_file,
    name_for_edition,
    receive_submission,
    store_check,
    withdraw_submission,
)
from readerstudy.models import Submission
from tests.browser.pages.place import Place
from tests.readerstudy.leaderboard.made import answer_file, statement_answers

N = 40  # questions of the board


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
    name = answer_file(board, "A" + "-" * (N - 1)).decode().split('"')[3]
    files = {
        "passed": answer_file(board, "ABC?" * 9 + "A---"),
        "wrong": answer_file(board, "A" * N) + f'{{"id": "{name}", "pred_answer": "B"}}\n{{"id": "x"}}\n'.encode(),
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
