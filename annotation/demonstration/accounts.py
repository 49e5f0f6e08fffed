"""The people of the demonstration. Their passwords are known to everybody: a demonstration serves one machine only."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.enums import Role


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
)
_further: list[Account] = []


def register(*accounts: Account) -> None:
    """Add people of another app, which gives them what they may do. Apps call this when they start."""
    _further.extend(account for account in accounts if account not in _further)


def all_accounts() -> list[Account]:
    """Everybody of the demonstration, as they are printed."""
    return [*ACCOUNTS, *_further]
