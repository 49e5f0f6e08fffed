from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from annotation.enums import Role
from annotation.models import AccessToken, User
from annotation.models.people import TokenScope
from readerstudy.enums import BenchmarkState
from readerstudy.leaderboard import benchmarks
from readerstudy.models import Benchmark
from tests.conftest import make_person
from tests.readerstudy.leaderboard.drafts import make_draft, make_public, make_whole
from tests.readerstudy.leaderboard.made import make_benchmark, make_team

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _few_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks, "FEWEST_IN_BENCHMARK", 3)


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def refused(*words: str) -> str:
    with pytest.raises(CommandError) as error:
        run(*words)
    assert error.value.returncode == 2
    return str(error.value)


def test_a_leaderboard_is_made_and_frozen_by_commands() -> None:
    bank = make_whole(40)
    days = [f"{timezone.now().date() + timedelta(days=n)}" for n in (30, 60)]
    made = run("create_benchmark", "Board", "--bank", bank.slug, "--edition", *days, "--contact", "c@example.org")
    assert "Leaderboard “Board” (board), a draft." in made
    assert "All questions (n = 40): edition 2" in made
    assert "plan at most this many editions: 1." in made
    make_public(bank, 3)
    bank.twins_sought_at = timezone.now()
    bank.save()
    with pytest.raises(CommandError, match="It cannot be frozen yet"):
        run("freeze_benchmark", "board", "--dry-run")
    assert "Question 3 stands nearly so" in refused("freeze_benchmark", "board")
    frozen = run("freeze_benchmark", "board", "--decide-all", "common wording")
    assert "“Board” is frozen: 40 questions." in frozen
    assert Benchmark.objects.get().decisions == {"all": "common wording"}
    assert "Nothing was frozen." in refused("freeze_benchmark", "board")


def test_what_is_refused_leaves_nothing() -> None:
    bank = make_whole()
    day = f"{timezone.now().date() + timedelta(days=30)}"
    common = ("--contact", "c")
    assert "Nothing was stored." in refused(
        "create_benchmark", "Board", "--bank", bank.slug, "--edition", "2020-01-01", *common
    )
    assert "There is no bank named" in refused("create_benchmark", "B", "--bank", "no", "--edition", day, *common)
    with pytest.raises(CommandError, match="invalid fromisoformat value"):
        run("create_benchmark", "Board", "--bank", bank.slug, "--edition", "tomorrow", *common)
    assert not Benchmark.objects.exists()
    assert "There is no leaderboard named 'no'. Leaderboards: none so far." in refused("freeze_benchmark", "no")


def test_a_decision_is_not_kept_where_freezing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    draft = make_draft()
    make_public(draft.bank, 2)
    monkeypatch.setattr(benchmarks, "FEWEST_IN_BENCHMARK", 300)
    assert "at least 300" in refused("freeze_benchmark", draft.slug, "--decide-all", "common wording")
    draft.refresh_from_db()
    assert (draft.decisions, draft.state) == ({}, BenchmarkState.DRAFT)


def test_a_dry_run_says_what_would_be_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    days = tuple(timezone.now().date() + timedelta(days=n) for n in (30, 60))
    draft = make_draft(editions=days)
    told = run("freeze_benchmark", draft.slug, "--dry-run")
    assert "8 of 8 questions; 0 nearly stand in a public bank" in told
    assert "All questions (n = 8): never: fewer than 30 questions" in told.splitlines()
    assert Benchmark.objects.get().state == BenchmarkState.DRAFT


def test_a_token_of_a_team_is_made_by_a_command() -> None:
    sam: User = make_person("Sam", Role.MODEL_SUBMITTER)
    team = make_team(make_benchmark(make_whole()), "One", sam)
    words = ("make_token", "--person", sam.email, "--name", "script", "--role", "model_submitter", "--team")
    assert run(*words, team.public_id).startswith("rexvqa_")
    token = AccessToken.objects.get()
    assert (token.scope, token.place_id, token.place_name) == (TokenScope.TEAM, team.pk, "One, Private test")
    assert "has no role in a team of a leaderboard" in refused(*words, "none")
