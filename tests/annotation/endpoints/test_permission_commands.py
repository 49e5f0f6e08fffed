"""The commands that give and withdraw a permission keep the rules of the pages, with exit status 2."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.models import QuestionBank, SendingPermission
from tests.annotation.endpoints.test_permissions import NAMED, TERMS
from tests.annotation.review.cases import make_bank

pytestmark = pytest.mark.django_db


@pytest.fixture
def bank(settings: Settings) -> QuestionBank:
    settings.MODEL_ENDPOINTS = NAMED
    made = make_bank("Chest")
    made.terms = TERMS
    made.save()
    return made


def run(command: str, *args: str) -> str:
    told = StringIO()
    call_command(command, *args, stdout=told)
    return told.getvalue()


def give(*args: str, until: str = "", endpoint: str = "local") -> str:
    last = until or f"{timezone.now() + timedelta(days=30):%Y-%m-%d}"
    words = ("--reason", "compare models", "--agreement", "vote 12/2026", "--until", last)
    return run("give_permission", "--bank", "chest", "--endpoint", endpoint, *words, *args)


def refused(*args: Any, **fields: Any) -> str:
    with pytest.raises(CommandError) as caught:
        give(*args, **fields)
    assert caught.value.returncode == 2
    assert not SendingPermission.objects.exists()
    return str(caught.value)


def test_given_and_withdrawn(bank: QuestionBank) -> None:
    facts = json.loads(give("--questions", "--images", "--json"))
    row = SendingPermission.objects.get()
    assert (facts["id"], facts["endpoint"], facts["images"], facts["reports"]) == (row.public_id, "local", True, False)
    assert row.given_by is None
    assert (
        run("withdraw_permission", row.public_id, "--because", "over") == f"permission {row.public_id} is withdrawn\n"
    )
    for key, said in ((row.public_id, "withdrawn already"), ("planted", "“planted”")):
        with pytest.raises(CommandError, match=said) as caught:
            run("withdraw_permission", key, "--because", "again")
        assert caught.value.returncode == 2


def test_bad_input(bank: QuestionBank) -> None:
    assert "Choose what may be sent." in refused()
    assert "over already" in refused("--questions", until="0001-12-31")
    assert "a year at most" in refused("--questions", until="9999-12-31")
    assert "not a day" in refused("--questions", until="soon")
    assert "no model endpoint named" in refused("--questions", endpoint="planted")


def test_the_terms_are_printed_and_accepted_as_a_file(bank: QuestionBank, tmp_path: Path) -> None:
    told, file = StringIO(), tmp_path / "terms.txt"
    last = f"{timezone.now() + timedelta(days=30):%Y-%m-%d}"
    with pytest.raises(CommandError, match="read the terms") as caught:
        call_command(
            "give_permission",
            *("--bank", "chest", "--endpoint", "hosted", "--questions", "--until", last),
            *("--reason", "r", "--agreement", "a"),
            stdout=told,
        )
    assert caught.value.returncode == 2
    assert told.getvalue().strip() == TERMS
    file.write_text("Something else.")
    assert "no longer those" in refused("--questions", "--accept-terms", str(file), endpoint="hosted")
    file.write_bytes(b"\xff\xfe")
    assert "not a text" in refused("--questions", "--accept-terms", str(file), endpoint="hosted")
    assert "No such file" in refused("--questions", "--accept-terms", str(tmp_path / "none"), endpoint="hosted")
    file.write_text(told.getvalue())
    give("--questions", "--accept-terms", str(file), endpoint="hosted")
    assert SendingPermission.objects.get().terms == TERMS
