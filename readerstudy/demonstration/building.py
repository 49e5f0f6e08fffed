"""Builds the studies of the demonstration, with their readers.

The open one is made by the ordinary acts from the questions that the reviewers of the finished round accept.

Readers have no role: the study that they are enrolled in is what they have.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from annotation.demonstration.registry import all_accounts
from annotation.demonstration.simulated_exams import DemonstrationExam, Stage
from annotation.enums import Role
from annotation.models import QuestionBank, User
from readerstudy.conducting.lifecycle import open_study
from readerstudy.demonstration.finished import LIMIT_S, add_finished_study
from readerstudy.design.case_selection import preview_draw
from readerstudy.design.creating import create_study
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.documents import QUIET_MS, Rules
from readerstudy.design.kernels.drawing import DrawRequest
from readerstudy.design.kernels.plan import Plan
from readerstudy.design.questions import pool_of
from readerstudy.enrolment.joining import enrol_reader
from readerstudy.models import ReaderStudy
from readerstudy.study.permissions import StudyRefused

OPEN_STUDY = "Reader study"
N_CASES, N_PRACTICE, SEED = 20, 2, 11
INSTRUCTIONS = "Choose the best of four options for each case. Everything here is simulated."
CONSENT = (
    "This is a demonstration. You agree that your answers and the time that you take are stored on this machine. "
    "You can withdraw at any moment."
)


def add_studies(
    bank: QuestionBank,
    *,
    exams: Sequence[DemonstrationExam],
    folder: Path,
    coordinator: User,
    at: datetime,
    tell: Stage,
) -> None:
    """Add what is missing; no open study where the bank holds too few patients for one."""
    add_finished_study(bank, exams, folder, coordinator=coordinator, at=at, tell=tell)
    patients = {candidate.patient for candidate in pool_of(bank)}
    n_practice = N_PRACTICE if len(patients) > 2 * N_PRACTICE else 0
    n_cases = _most_cases(bank, n_practice, min(N_CASES, len(patients) - n_practice))
    if n_cases and not ReaderStudy.objects.filter(name=OPEN_STUDY).exists():
        _open(bank, n_cases, n_practice, coordinator=coordinator, at=at)


def _most_cases(bank: QuestionBank, n_practice: int, most: int) -> int:
    """So many can be drawn with one question per patient."""
    for n in range(most, 0, -1):
        with suppress(StudyRefused):
            preview_draw(bank, DrawRequest(n=n, n_practice=n_practice), seed=SEED)
            return n
    return 0


def _open(bank: QuestionBank, n_cases: int, n_practice: int, *, coordinator: User, at: datetime) -> None:
    plan = Plan(
        name=OPEN_STUDY,
        bank=bank.name,
        seed=SEED,
        draw={"n": n_cases, "n_practice": n_practice},
        rules=Rules(confidence=True, quiet_ms=QUIET_MS, time_limit_s=LIMIT_S),
        n_readers=3,
        instructions=INSTRUCTIONS,
        consent=CONSENT,
        contact=coordinator.email,
        deadline_at=at + timedelta(days=60),
    )
    study = freeze_study(create_study(plan, actor=coordinator, at=at), actor=coordinator, at=at)
    open_study(study, actor=coordinator, at=at)
    for account in (one for one in all_accounts() if one.role == Role.READER):
        reader = User.objects.get(email=account.email)
        enrol_reader(study, reader, study.sets.get(), actor=coordinator, at=at)
