"""Benchmarks, teams and submissions as rows, for tests that are about something else than how they came about."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from annotation.enums import Role
from annotation.models import AnswerKey, QuestionBank, Revision, User
from annotation.models.fields import public_id
from readerstudy.design.kernels.documents import canonical, sha256_of
from readerstudy.enums import BenchmarkState, TeamState
from readerstudy.leaderboard.benchmarks import _protocol
from readerstudy.leaderboard.kernels.statement import CHOICE, FORM, QUESTIONS
from readerstudy.models import (
    Benchmark,
    BenchmarkQuestion,
    BenchmarkVersion,
    Edition,
    EditionEntry,
    Statement,
    Submission,
    Team,
    TeamMember,
)
from tests.conftest import make_person
from tests.readerstudy.design.made import make_questions

FROZEN_AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
FIRST_EDITION = date(2026, 6, 1)


def make_benchmark(bank: QuestionBank | None = None, *, n: int = 12, n_editions: int = 2) -> Benchmark:
    """Frozen, without asking whether it is large enough. The key of each question of a made bank is B."""
    bank = bank or make_questions(n, pixels=False)
    made = Benchmark.objects.create(
        name="Private test",
        slug="private-test",
        about="Chest radiographs of one hospital.",
        contact="board@example.org",
        bank=bank,
        state=BenchmarkState.FROZEN,
        created_at=FROZEN_AT,
        frozen_at=FROZEN_AT,
    )
    for number in range(1, n_editions + 1):
        due = FIRST_EDITION + timedelta(days=180 * (number - 1))
        Edition.objects.create(benchmark=made, number=number, due_on=due)
    wordings = Revision.objects.in_bank(bank).current().order_by("question__number")
    questions = [(public_id(), pk) for pk in wordings.values_list("pk", flat=True)]
    version = BenchmarkVersion(benchmark=made, number=1, keys_salt="1" * 64, made_at=FROZEN_AT)
    version.protocol = canonical(_protocol(version, questions))
    version.protocol_sha256 = sha256_of(version.protocol)
    version.save()
    BenchmarkQuestion.objects.bulk_create(
        BenchmarkQuestion(version=version, place=place, name=name, revision_id=revision)
        for place, (name, revision) in enumerate(questions)
    )
    return made


def make_team(benchmark: Benchmark, name: str = "Team One", *people: User) -> Team:
    """Approved; of one new person, unless others are given."""
    team = Team.objects.create(
        benchmark=benchmark,
        name=name,
        institution="Example University",
        contact="team@example.org",
        state=TeamState.APPROVED,
        asked_at=FROZEN_AT,
        decided_at=FROZEN_AT,
    )
    for person in people or (make_person(name.replace(" ", "").lower(), Role.MODEL_SUBMITTER),):
        TeamMember.objects.create(team=team, benchmark=benchmark, user=person, added_at=FROZEN_AT)
    return team


def keys_of(benchmark: Benchmark) -> str:
    """The right letters in the order of the first version."""
    rows = BenchmarkQuestion.objects.filter(version__benchmark=benchmark, version__number=1).order_by("place")
    keys = dict(AnswerKey.objects.values_list("revision_id", "key"))
    return "".join(keys[pk] for pk in rows.values_list("revision_id", flat=True))


def make_submission(team: Team, answers: str, *, edition: Edition | None = None) -> Submission:
    """Checked, with a passed statement; named for the edition, where one is given."""
    number = team.submissions.count() + 1
    statement = Statement.objects.create(
        team=team,
        number=team.statements.count() + 1,
        form=FORM,
        answers={"model": f"{team.name} {number}", "version": "1.0"},
        made_at=FROZEN_AT,
        passed_at=FROZEN_AT,
    )
    made = Submission.objects.create(
        team=team,
        version=team.benchmark.versions.get(number=1),
        number=number,
        statement=statement,
        file_name="predictions.json",
        file_sha256=hashlib.sha256(f"{team.pk} {number} {answers}".encode()).hexdigest(),
        rule="extract-made",
        is_sound=True,
        answers=answers,
        answers_sha256=hashlib.sha256(answers.encode()).hexdigest(),
        received_at=FROZEN_AT,
        checked_at=FROZEN_AT,
    )
    if edition is not None:
        EditionEntry.objects.create(edition=edition, team=team, submission=made, named_at=FROZEN_AT)
    return made


def wrong_at(answers: str, places: Sequence[int]) -> str:
    """The same with another letter at these places."""
    letters = list(answers)
    for place in places:
        letters[place] = "A" if letters[place] != "A" else "C"
    return "".join(letters)


def statement_answers(**said: str) -> dict[str, str]:
    """A whole statement; each line can be said otherwise."""
    lines = {one.name: "no" if one.kind == CHOICE else "none" for one in QUESTIONS}
    about = {"model": "MedGemma", "version": "4b-it", "dated_on": "2026-05", "licence": "Apache-2.0"}
    return {**lines, **about, "contact": "team@example.org", **said}


def names_of(benchmark: Benchmark) -> list[str]:
    """As teams know the questions of the newest version, in its order."""
    return list(benchmark.versions.order_by("-number")[0].questions.order_by("place").values_list("name", flat=True))


def answer_file(benchmark: Benchmark, answers: str) -> bytes:
    """A file of these letters in the order of the newest version; none for a question at "-"."""
    pairs = zip(names_of(benchmark), answers, strict=True)
    return "".join(f'{{"id": "{name}", "pred_answer": "{one}"}}\n' for name, one in pairs if one != "-").encode()
