"""The ground that every room stands on."""

import subprocess
import sys

import pytest
from django.test import Client

from annotation import call_enums, enums
from annotation.enums import Role, Word
from annotation.models import Membership, User
from readerstudy import enums as study_enums
from tests.bench.__main__ import ON_REQUEST, SUBJECTS
from tests.processes import ROOT


def is_vocabulary(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, Word) and found is not Word


@pytest.mark.parametrize(
    "words",
    {w: None for module in (enums, call_enums, study_enums) for w in vars(module).values() if is_vocabulary(w)},
)
def test_words_are_unique_and_labelled(words: type[Word]) -> None:
    assert len(set(words.values())) == len(list(words))
    assert all(word.label for word in words if word)  # the empty word: none of them


def test_home_greets_a_person(client: Client, rita: User) -> None:
    client.force_login(rita)
    assert client.get("/").status_code == 200
    assert Membership.objects.filter(user=rita, role=Role.REVIEWER).exists()


def test_every_measurement_of_make_bench_can_be_started() -> None:
    """As ``make bench`` does, which sets up no Django."""
    names = [f"tests.bench.{subject}" for subject in SUBJECTS + ON_REQUEST]
    command = [sys.executable, "-c", f"from importlib import import_module as one; [one(name) for name in {names}]"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
