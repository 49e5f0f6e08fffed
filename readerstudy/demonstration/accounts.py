"""The readers of the demonstration, apart from what builds it: every start of the site reads them.

They have no role: the study that they are enrolled in is what they have.
"""

from __future__ import annotations

from annotation.demonstration.registry import Account
from annotation.enums import Role

ACCOUNTS = (
    Account("Rosa Adeyemi", "rosa@demo.example", "demo-rosa-2026", Role.READER),
    Account("Robin Haas", "robin@demo.example", "demo-robin-2026", Role.READER),
)
