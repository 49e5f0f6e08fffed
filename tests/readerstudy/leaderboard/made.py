"""Benchmarks in their states, as rows: drafts, frozen ones with teams and submissions, published ones; and who asks.

For tests that are about something else than how they came about.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django.fixtures import Settings

from annotation.call_enums import SentImages
from annotation.enums import FindingPlace, ImageState, Role
from annotation.models import AnswerKey, BankImport, Finding, Image, QuestionBank, Revision, User
from annotation.models.fields import public_id
from annotation.models.people import TokenScope
from annotation.questionbank.kernels.rules import PUBLIC_TWIN
from readerstudy.design.kernels.documents import canonical, sha256_of
from readerstudy.enums import BenchmarkState, TeamState
from readerstudy.leaderboard.benchmarks import BenchmarkWanted, _protocol, create_benchmark
from readerstudy.leaderboard.edition_scoring import score_edition
from readerstudy.leaderboard.kernels.statement import CHOICE, FORM, QUESTIONS
from readerstudy.models import (
    Benchmark,
    BenchmarkQuestion,
    BenchmarkVersion,
    Edition,
    EditionEntry,
    EditionResult,
    ModelRun,
    Statement,
    Submission,
    Team,
    TeamMember,
)
from readerstudy.predictions.listing import Target
from tests.annotation.api.asking import Program, program_of
from tests.annotation.review.cases import images_are_there
from tests.conftest import make_person
from tests.made_once import made_once
from tests.readerstudy.design.made import make_questions, revision_of
from tests.readerstudy.model_runs.made import answer, make_prompt, name_endpoints, planned
from tests.readerstudy.predictions.made import keyed_bank

FROZEN_AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
FIRST_EDITION = date(2026, 6, 1)
AT = datetime(2026, 5, 1, 12, tzinfo=UTC)  # while teams send, before the first edition
NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)  # while drafts are made
DATES = (date(2027, 3, 1), date(2027, 9, 1))
SHARES = {"Team One": 10, "Team Two": 3, "Team Three": 2}  # wrong is every so manieth answer


# --- drafts ---------------------------------------------------------------------------------------
def wanted(bank: QuestionBank, **fields: object) -> BenchmarkWanted:
    named = {"name": "Private test", "bank": bank, "contact": "board@example.org", "editions": DATES}
    return BenchmarkWanted(**{**named, **fields})  # type: ignore[arg-type]


def make_whole(n: int = 8, **fields: Any) -> QuestionBank:
    """Questions with all of their images, of which no pixels are stored."""
    bank = make_questions(n, pixels=False, **fields)
    Image.objects.filter(exam__bank=bank).update(state=ImageState.AVAILABLE)
    return bank


def make_draft(bank: QuestionBank | None = None, **fields: object) -> Benchmark:
    bank = bank or make_whole()
    return create_benchmark(wanted(bank, **fields), actor=None, at=NOW)


def make_public(bank: QuestionBank, *numbers: int, at: datetime = NOW) -> QuestionBank:
    """A public bank with which ``bank`` was compared: these of its questions nearly stand there."""
    public = make_questions(2, name="Public", pixels=False)
    QuestionBank.objects.filter(pk=public.pk).update(is_public=True)
    BankImport.objects.filter(bank__in=(bank, public)).update(finished_at=NOW - timedelta(days=2))
    find_twins(bank, numbers, other=revision_of(public, 1), at=at)
    return public


def find_twins(
    bank: QuestionBank,
    numbers: Sequence[int],
    *,
    other: Revision,
    detail: str = "like question 1 of Public",
    at: datetime,
) -> None:
    """These of its questions nearly stand in a public bank, with which it was compared."""
    Finding.objects.bulk_create(
        Finding(
            bank=bank,
            revision=revision_of(bank, number),
            rule=PUBLIC_TWIN,
            rule_version=1,
            place=FindingPlace.QUESTION,
            detail=detail,
            other=other,
            found_at=at,
        )
        for number in numbers
    )
    bank.twins_sought_at = at
    bank.save(update_fields=["twins_sought_at"])


# --- frozen ---------------------------------------------------------------------------------------


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


@made_once
def make_named(n: int, *, n_editions: int = 1, shares: Mapping[str, int] = SHARES) -> Benchmark:
    """Each of these teams named a submission for its first edition."""
    benchmark = make_benchmark(n=n, n_editions=n_editions)
    edition, keys = benchmark.editions.get(number=1), keys_of(benchmark)
    for name, every in shares.items():
        make_submission(make_team(benchmark, name), wrong_at(keys, range(0, n, every)), edition=edition)
    return benchmark


def run_for_team(settings: Settings, n: int) -> tuple[ModelRun, Team]:
    """A model that was asked on this site, right everywhere, and is not ended; and the team it is for."""
    name_endpoints(settings)
    make_prompt(images=SentImages.ALL)
    bank = keyed_bank(n)
    images_are_there(bank)
    team, run = make_team(make_benchmark(bank)), planned(Target(bank))
    answer(run)
    return run, team


# --- published ------------------------------------------------------------------------------------
def after(edition: Edition) -> datetime:
    return datetime.combine(edition.due_on + timedelta(days=1), time(12), UTC)


def scored(edition: Edition) -> EditionResult:
    """Confirmed and scored the day after its date."""
    edition.proposed_at = edition.confirmed_at = after(edition)
    edition.save()
    version = edition.benchmark.versions.order_by("-number")[0]
    return score_edition(edition, version, actor=None, at=after(edition))


def name_again(edition: Edition, submissions: Sequence[Submission]) -> None:
    for one in submissions:
        one.entries.create(edition=edition, team=one.team, named_at=FROZEN_AT)


@made_once
def make_published(n: int = 320, *, n_editions: int = 1, shares: Mapping[str, int] = SHARES) -> Benchmark:
    """Its first edition is published."""
    benchmark = make_named(n, n_editions=n_editions, shares=shares)
    scored(benchmark.editions.get(number=1))
    return benchmark


# --- who asks -------------------------------------------------------------------------------------
class Clock:
    """The time that the site reads."""

    def __init__(self) -> None:
        self.at = AT

    def __call__(self) -> datetime:
        return self.at


def program_of_team(team: Team) -> Program:
    """With a token of its first member."""
    person = team.members.select_related("user").order_by("pk")[0].user
    return program_of(person, Role.MODEL_SUBMITTER, TokenScope.TEAM, team.public_id)


def browser_of(person: User) -> Client:
    browser = Client()
    browser.force_login(person)
    return browser


def send_file(program: Program, content: bytes, **more: str) -> Any:
    """The answers of a team, by its program."""
    headers = {"authorization": f"Bearer {program.token}"}
    sent = {"file": SimpleUploadedFile("a.jsonl", content), **more}
    return program.client.post("/api/v1/leaderboards/private-test/submissions/", sent, headers=headers)


def read(person: User, address: str, status: int = 200) -> str:
    """The page in one line."""
    answer = browser_of(person).get(address)
    assert answer.status_code == status, answer.content.decode()[:500]
    return " ".join(answer.content.decode().split())


def post(person: User, address: str, **data: Any) -> tuple[int, str]:
    """The status, and in one line what is read afterwards."""
    answer = browser_of(person).post(address, data, follow=True)
    return answer.status_code, " ".join(answer.content.decode().split())
