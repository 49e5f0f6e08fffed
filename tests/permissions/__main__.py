"""``python -m tests.permissions`` writes docs/permissions.md, by the test that compares it; the others then ask it."""

from __future__ import annotations

import os
import sys

import pytest

WRITE = "REXVQA_WRITE_PERMISSIONS"


def should_write() -> bool:
    return WRITE in os.environ


if __name__ == "__main__":
    os.environ[WRITE] = "1"
    sys.exit(pytest.main(["-q", "-n0", "-p", "no:cacheprovider", "tests/permissions", "-k", "every_address_answers"]))
