"""The leaderboard of the demonstration: a private bank, five teams with simulated models, and two editions.

Of so few questions the first edition tells no number, and the second, which is the last, tells all. One of the models
was run here, with and without images, and simulated readers read some of the questions.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

from django.db import transaction

from annotation.call_enums import SentImages
from annotation.demonstration.simulated_exams import DemonstrationExam, Stage
from annotation.enums import Role
from annotation.models import QuestionBank, Revision, User
from annotation.people.roles import add_role
from readerstudy.analysis.storing import analyse_study, see_analysis
from readerstudy.conducting.lifecycle import close_study
from readerstudy.demonstration.finished import Predicted, asked_of, frozen_study, main_cases, read_by, simulate
from readerstudy.demonstration.models_at_work import (
    MODEL,
    administrator,
    fill_small_bank,
    run_simulated,
    simulated_models,
    small_exams,
)
from readerstudy.leaderboard.benchmarks import BenchmarkWanted, create_benchmark, current_version, freeze_benchmark
from readerstudy.leaderboard.edition_scoring import score_edition
from readerstudy.leaderboard.editions import confirm_edition, folder_here, propose_edition
from readerstudy.leaderboard.kernels.release_rule import FEWEST_IN_BENCHMARK
from readerstudy.leaderboard.kernels.statement import CHOICE, QUESTIONS, UNKNOWN
from readerstudy.leaderboard.public_board import publish_here
from readerstudy.leaderboard.running import hand_in
from readerstudy.leaderboard.submissions import check_file, name_for_edition, receive_submission, store_check
from readerstudy.leaderboard.teams import add_statement, approve_team, ask_for_team, pass_statement
from readerstudy.models import Benchmark, Edition, ReaderStudy, Submission, Team

BANK = "Private questions (simulated)"
NAME = "Private test (simulated)"
ABOUT = "Everything here is simulated: images, questions, teams, models and readers. It shows how a leaderboard works."
STUDY = "Readers of the private test (simulated)"
N_READ = 60
SHARE, FIRST_EXAM = 2.6, 401  # 62 exams for the 24 chests of the demonstration, and 310 questions
TEAMS = ("Maren's team", "Simulated team 2", "Simulated team 3", "Simulated team 4", "Simulated team 5")
MODELS = ("Simulated model A", "Simulated model C", "Simulated model E", "Simulated model G")  # the fifth was run here
SECOND, MEMBER = "clemens@demo.example", "maren@demo.example"
IN_FIRST = 3  # teams that named something for the first edition
DAY = timedelta(days=1)


def add_leaderboard(
    bank: QuestionBank,
    *,
    exams: Sequence[DemonstrationExam],
    folder: Path,
    coordinator: User,
    at: datetime,
    tell: Stage,
) -> None:
    """Add what is missing, dated some months before ``at``; nothing where so few chests give too few questions."""
    n_exams = round(SHARE * len(exams))
    if 5 * n_exams < FEWEST_IN_BENCHMARK:
        return
    begun = at - 200 * DAY
    shown = small_exams(exams, first=FIRST_EXAM, n=n_exams)
    own = fill_small_bank(BANK, shown, of=bank, folder=folder, coordinator=coordinator, at=begun, tell=tell)
    _readings(own, coordinator, begun + DAY)
    benchmark = _frozen(own, coordinator, begun + 2 * DAY, (at - 120 * DAY, at - 3 * DAY))
    teams = [_team(benchmark, place, coordinator, begun + 3 * DAY) for place in range(len(TEAMS))]
    sent = [_sent(team, name, coordinator, begun + 4 * DAY) for team, name in zip(teams, MODELS, strict=False)]
    tell("Asking a simulated model for the leaderboard", 0, 1)
    sent.append(_run_here(teams[-1], own, coordinator, at - 6 * DAY))  # as early as it has a price
    tell("Asking a simulated model for the leaderboard", 1, 1)
    for edition in benchmark.editions.filter(published_at=None):
        named = sent[:IN_FIRST] if edition.number == 1 else sent
        _scored(benchmark, edition, named, coordinator)
    if not folder_here(benchmark).exists():
        publish_here(benchmark, actor=coordinator, at=at)


def _readings(bank: QuestionBank, coordinator: User, at: datetime) -> None:
    """A closed study of some of the questions, whose results somebody has seen."""
    study = ReaderStudy.objects.filter(name=STUDY).first()
    if study is None:
        study = frozen_study(STUDY, bank, N_READ, coordinator=coordinator, at=at)
    readers, _models = simulate(asked_of(case.revision for case in main_cases(study)))
    if study.closed_at is None:
        read_by(study, readers, coordinator=coordinator, at=at)
        close_study(study, actor=coordinator, at=at)
    study.refresh_from_db()
    if study.unblinded_at is None:
        see_analysis(analyse_study(study, actor=coordinator, at=at), actor=coordinator, at=at)


def _frozen(bank: QuestionBank, coordinator: User, at: datetime, editions: Sequence[datetime]) -> Benchmark:
    benchmark = Benchmark.objects.filter(name=NAME).first()
    if benchmark is None:
        wanted = BenchmarkWanted(NAME, bank, coordinator.email, ABOUT, tuple(one.date() for one in editions))
        benchmark = create_benchmark(wanted, actor=coordinator, at=at)
    if benchmark.frozen_at is None:
        freeze_benchmark(benchmark, actor=coordinator, at=at)
    return benchmark


def _team(benchmark: Benchmark, place: int, coordinator: User, at: datetime) -> Team:
    team = Team.objects.filter(benchmark=benchmark, name=TEAMS[place]).first()
    if team is None:
        person = _member(place, at)
        asked = ask_for_team(
            benchmark, name=TEAMS[place], institution="Nowhere: simulated", contact=person.email, actor=person, at=at
        )
        team = approve_team(asked, actor=coordinator, at=at)
    return team


@transaction.atomic
def _member(place: int, at: datetime) -> User:
    """The first has an account that people can try, the others have no password."""
    email = MEMBER if place == 0 else f"team{place + 1}@demo.example"
    person = User.objects.filter(email=email).first()
    if person is None:
        person = User.objects.create_user(email, None, name=f"Simulated submitter {place + 1}")
        grants = administrator()
        add_role(person, Role.MODEL_SUBMITTER, None, granted_by=grants, actor=grants, at=at)
    return person


def _sent(team: Team, model: str, coordinator: User, at: datetime) -> Submission:
    """The file of a simulated model, checked, with its statement."""
    there = team.submissions.first()
    if there is not None:
        return there
    version = current_version(team.benchmark)
    names = dict(version.questions.values_list("revision__question__number", "name"))
    current = Revision.objects.in_bank(team.benchmark.bank).current().select_related("question")
    _readers, models = simulate(asked_of(current.order_by("question__number")))
    content = "".join(_line(names[one.asked.question], one) for one in models[model]).encode()
    member = team.members.get().user
    file = f"{model.lower().replace(' ', '_')}.jsonl"
    sent = receive_submission(team, [content], file, actor=member, at=at)
    store_check(sent, check_file(content, version), at=at)
    _state(team, model, coordinator, at)
    return sent


def _line(name: str, one: Predicted) -> str:
    return json.dumps({"id": name, "pred_answer": one.raw}) + "\n"


def _state(team: Team, model: str, coordinator: User, at: datetime) -> None:
    """What a team says of a model that there is not."""
    unknown = {one.name: "no" if one.kind == CHOICE else UNKNOWN for one in QUESTIONS}
    about = {"model": model, "version": "1", "link": "none", "contact": team.contact, "people": "none", "tools": "none"}
    member = team.members.get().user
    pass_statement(add_statement(team, unknown | about, actor=member, at=at), actor=coordinator, at=at)


def _run_here(team: Team, bank: QuestionBank, coordinator: User, at: datetime) -> Submission:
    there = team.submissions.first()
    if there is not None:
        return there
    with simulated_models([bank], at):
        run = run_simulated(bank, SentImages.ALL, coordinator, at)
        run_simulated(bank, SentImages.NONE, coordinator, at)
    _state(team, MODEL, coordinator, at)
    return hand_in(run, team, actor=coordinator, at=at)


def _scored(benchmark: Benchmark, edition: Edition, named: Sequence[Submission], coordinator: User) -> None:
    """Named on the day before its date, proposed and confirmed on the day after it by two coordinators."""
    due = datetime.combine(edition.due_on, time(12), tzinfo=UTC)
    if edition.proposed_at is None:
        for submission in named:
            name_for_edition(submission, edition, actor=submission.sent_by, at=due - DAY)
        propose_edition(edition, actor=coordinator, at=due + DAY)
    confirm_edition(edition, actor=User.objects.get(email=SECOND), at=due + DAY)
    edition.refresh_from_db()
    score_edition(edition, current_version(benchmark), actor=coordinator, at=due + DAY)
