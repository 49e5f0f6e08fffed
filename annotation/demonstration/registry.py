"""What a demonstration holds: its people, what other apps add to it, and whether it is there.

Asked at every start of the program, so it loads nothing of what builds one. The passwords are known to everybody: a
demonstration serves one machine only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from annotation.contributions import contributed, contributing_apps
from annotation.enums import Role
from annotation.models import AuditEvent, QuestionBank, User

if TYPE_CHECKING:
    from annotation.demonstration.simulated_exams import DemonstrationExam, Stage


@dataclass(frozen=True)
class Account:
    name: str
    email: str
    password: str
    role: Role


ACCOUNTS: tuple[Account, ...] = (
    Account("Ada Brandt", "ada@demo.example", "demo-ada-2026", Role.ADMINISTRATOR),
    Account("Cora Lindqvist", "cora@demo.example", "demo-cora-2026", Role.COORDINATOR),
    Account("Rita Okafor", "rita@demo.example", "demo-rita-2026", Role.REVIEWER),
    Account("Remo Castelli", "remo@demo.example", "demo-remo-2026", Role.REVIEWER),
    Account("Ruth Nakamura", "ruth@demo.example", "demo-ruth-2026", Role.REVIEWER),
    Account("Judith Mwangi", "judith@demo.example", "demo-judith-2026", Role.ADJUDICATOR),
)


def all_accounts() -> list[Account]:
    """Everybody of the demonstration, as they are printed."""
    return [*ACCOUNTS, *contributed().accounts]


class DemonstrationPart(Protocol):
    """Adds what is missing; safe to run again. ``exams`` are what the bank shows, ``folder`` is for files meanwhile."""

    def __call__(
        self,
        bank: QuestionBank,
        *,
        exams: Sequence[DemonstrationExam],
        folder: Path,
        coordinator: User,
        at: datetime,
        tell: Stage,
    ) -> None: ...


def build_parts(
    bank: QuestionBank,
    *,
    exams: Sequence[DemonstrationExam],
    folder: Path,
    coordinator: User,
    at: datetime,
    tell: Stage,
) -> None:
    for part in (part for app in contributing_apps() for part in app.background_work().demonstration):
        part(bank, exams=exams, folder=folder, coordinator=coordinator, at=at, tell=tell)


BUILT = "demonstration.built"


def is_complete() -> bool:
    """Whether a build came to its end here, whatever people have done with it since."""
    return AuditEvent.objects.filter(act=BUILT).exists()
