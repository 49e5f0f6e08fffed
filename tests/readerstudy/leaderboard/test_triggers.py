"""The database itself refuses to change what a leaderboard froze or published."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from annotation.models import AnswerKey, Revision
from readerstudy.models import (
    BenchmarkQuestion,
    BenchmarkVersion,
    BoardNote,
    Edition,
    EditionResult,
    PublishedNumber,
    Submission,
)
from readerstudy.triggers import add_board_triggers
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.leaderboard.made import FROZEN_AT, make_published

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]


@pytest.fixture
def held() -> None:
    """A published board, with the triggers of the migration."""
    benchmark = make_published(n=40)
    BoardNote.objects.create(benchmark=benchmark, text="Disputed.", made_at=FROZEN_AT)
    with connection.cursor() as cursor:
        editor: Any = SimpleNamespace(connection=connection, execute=cursor.execute)
        add_board_triggers(None, editor)


def refused(act: Any) -> None:
    with pytest.raises(DatabaseError, match=r"insert-only|is frozen"), transaction.atomic():
        act()


@pytest.mark.parametrize(
    ("rows", "changed"),
    [
        (BenchmarkVersion, {"keys_salt": "0"}),
        (BenchmarkQuestion, {"name": "other"}),
        (EditionResult, {"result": "{}"}),
        (PublishedNumber, {"value": 100}),
        (BoardNote, {"text": "Settled."}),
    ],
)
def test_what_was_frozen_or_published_neither_changes_nor_goes(held: None, rows: Any, changed: dict[str, Any]) -> None:
    assert rows.objects.exists()
    refused(lambda: rows.objects.update(**changed))
    refused(lambda: rows.objects.all()._raw_delete("default"))


def test_wordings_and_keys_of_a_frozen_question_do_not_change(held: None) -> None:
    refused(lambda: Revision.objects.update(stem="Which other finding?"))
    refused(lambda: AnswerKey.objects.update(key="C"))
    refused(lambda: AnswerKey.objects.update(explanation="Another one."))


def test_what_goes_on_still_changes(held: None) -> None:
    """A withdrawal, the next edition, and the questions of other banks."""
    Submission.objects.update(withdrawn_because="asked for")
    Edition.objects.update(due_on="2027-01-01")
    other = make_questions(2, name="Other", pixels=False)
    assert Revision.objects.filter(bank=other).update(stem="Which finding?") == 2
    assert AnswerKey.objects.filter(revision__bank=other).update(key="C") == 2
