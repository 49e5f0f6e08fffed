"""The reading page of a dry run: it answers like that of a reader, and nothing of it stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.test import Client

from annotation.ingest.serving import may_see
from annotation.models import Image, Report, User
from readerstudy.design.kernels.documents import Rules
from readerstudy.models import ReaderStudy
from tests.annotation.review.cases import NOON
from tests.readerstudy.design.drafts import make_draft, study_coordinator
from tests.readerstudy.studies import enrol, keep_again, make_study

ROOM = "/studies/trial/dry-run/"
UNCOUNTED = {"Session"}  # the log-in of the person
Ask = Callable[..., dict[str, Any]]


def rows() -> dict[str, int]:
    """How many rows every table has."""
    return {m.__name__: m._default_manager.count() for m in apps.get_models() if m.__name__ not in UNCOUNTED}


@pytest.fixture
def study(cora: User) -> ReaderStudy:
    return make_study("Trial", n_cases=3, n_practice=2, pixels=True, rules=Rules(confidence=True, n_ready=2))


@pytest.fixture
def ask(client: Client, cora: User, study: ReaderStudy) -> Ask:
    """Ask the dry run and read what it says."""
    client.force_login(cora)

    def asking(address: str, method: str = "post", **sent: str) -> dict[str, Any]:
        answer = getattr(client, method)(ROOM + address, sent)
        assert answer.status_code == 200, (address, answer.status_code)
        assert "no-store" in answer["Cache-Control"]
        told: dict[str, Any] = answer.json()
        return told

    return asking


def walk(ask: Ask, option: str = "B") -> list[dict[str, Any]]:
    """Answer every case; what came of each."""
    state = ask("session/", session="", device="{}")["state"]
    told = []
    while not state["finished"]:
        case = state["cases"][0]
        ask(f"cases/{case['id']}/open/")
        answer = ask(f"cases/{case['id']}/commit/", key="k", option=option, events="[]")
        ask(f"cases/{case['id']}/remark/", key="r", kind="confidence", value="80")
        told.append({**answer, "block": state["block"]})
        state = answer["state"]
    assert state["next"] == f"{ROOM}?done"
    return told


def test_a_whole_walk_leaves_nothing_but_whose_keys_were_seen(client: Client, ask: Ask, study: ReaderStudy) -> None:
    before, columns = rows(), ReaderStudy.objects.values().get()
    client.get(ROOM)
    client.get(f"{ROOM}room/?start", follow=True)
    told = walk(ask)
    ask("pause/")
    ask("resume/")
    ask("state/", "get")
    for act in ("choice", "events"):
        assert client.post(f"{ROOM}cases/dry-1/{act}/", {"option": "A", "sequence": "1"}).status_code == 204
    client.get(f"{ROOM}?done")
    assert len(told) == 5
    n_practice = sum(one["feedback"] is not None for one in told)
    seen = {"SeenKey": n_practice, "AuditEvent": n_practice}
    assert rows() == {name: n + seen.get(name, 0) for name, n in before.items()}
    assert ReaderStudy.objects.values().get() == columns


def test_practice_comes_first_and_only_it_tells_the_key(ask: Ask) -> None:
    told = walk(ask)
    assert [one["block"] for one in told] == ["practice"] * 2 + ["main"] * 3
    assert [one["feedback"] is not None for one in told] == [True] * 2 + [False] * 3
    assert told[0]["feedback"]["correct"] is True
    assert "EXPLANATION-WORDS" in told[0]["feedback"]["explanation"]


def test_what_is_prefetched_is_what_a_reader_would_have(ask: Ask, study: ReaderStudy) -> None:
    state = ask("session/")["state"]
    assert [case["id"] for case in state["cases"]] == ["dry-1", "dry-2"]
    assert (state["n"], state["done"], state["writer"], state["rules"]["confidence"]) == (2, 0, True, True)
    case = state["cases"][0]
    assert len(case["views"]) == 2
    assert [option["id"] for option in case["options"]] == ["A", "B", "C", "D"]
    assert case["information"] is None
    assert case["urls"]["commit"] == f"{ROOM}cases/dry-1/commit/"
    assert not {"key", "explanation", "task", "category", "difficulty"} & set(case)


def test_the_arm_says_what_is_shown_beside_the_images(ask: Ask, study: ReaderStudy) -> None:
    study.arms.update(information="age_sex")
    keep_again(study)
    told = {"age": 58, "sex": "F", "indication": ""}
    assert ask("session/")["state"]["cases"][0]["information"] == told
    study.arms.update(information="indication")
    Report.objects.update(indication="cough")
    keep_again(study)
    assert ask("session/")["state"]["cases"][0]["information"] == {**told, "indication": "cough"}


def test_the_place_is_kept_by_the_browser_and_starts_again(client: Client, ask: Ask) -> None:
    ask("cases/dry-1/commit/", key="k", option="A")
    assert ask("state/", "get")["done"] == 1
    cookie = client.cookies["dry_run"]
    assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == (ROOM, True, "Strict")
    client.get(f"{ROOM}room/?start")
    assert ask("state/", "get")["done"] == 0
    for nonsense in ("x", "-1", "9" * 30, "²"):
        client.cookies["dry_run"] = nonsense
        assert client.get(f"{ROOM}state/").status_code == 200


def test_where_time_ran_out_the_walk_goes_on(ask: Ask, study: ReaderStudy) -> None:
    ReaderStudy.objects.update(rules=Rules(time_limit_s=10).as_json())
    ask("cases/dry-1/open/")
    assert ask("state/", "get")["done"] == 1
    assert ask("state/", "get")["done"] == 1


def test_breaks_are_offered_as_the_rules_say(ask: Ask) -> None:
    ReaderStudy.objects.update(rules=Rules(break_every=2).as_json())
    states = [ask("session/")["state"], *(one["state"] for one in walk(ask))]
    before = {case["id"] for state in states for case in state["cases"] if case["break_before"]}
    assert before == {"dry-5"}  # two practice cases, then two of the main block


def test_the_page_is_that_of_readers_with_a_ribbon(client: Client, cora: User, study: ReaderStudy) -> None:
    client.force_login(cora)
    page = client.get(f"{ROOM}room/").content.decode()
    assert 'class="dark"' in page
    assert "Dry run: nothing is stored." in page
    assert f'data-session-url="{ROOM}session/"' in page
    assert "/read/" not in page.partition('id="room-data"')[2].partition("></div>")[0]


@pytest.mark.parametrize("tail", ["cases/dry-6/open/", "cases/dry-0/commit/", "cases/x/open/", "cases/dry-1/peek/"])
def test_what_is_not_there(client: Client, study: ReaderStudy, cora: User, tail: str) -> None:
    client.force_login(cora)
    assert client.post(ROOM + tail).status_code == 404


def test_without_cases_there_is_nothing_to_walk_through(client: Client, cora: User) -> None:
    draft = make_draft(cora)
    draft.cases.all().delete()
    client.force_login(cora)
    assert client.get(f"{ROOM}room/").url == ROOM  # type: ignore[attr-defined]


def test_coordinators_of_one_study_see_the_images_of_its_cases(study: ReaderStudy, stan: User) -> None:
    other = make_study("Other", n_cases=1, pixels=True)
    ruth = study_coordinator(study)
    mine = Image.objects.filter(exam__bank=study.bank).first()
    foreign = Image.objects.filter(exam__bank=other.bank).first()
    assert mine is not None
    assert foreign is not None
    seen = [may_see(who, what, at=NOON) for who, what in ((ruth, mine), (ruth, foreign), (stan, mine))]
    assert seen == [True, False, False]
    enrol(study, ruth, ready=False)
    assert not may_see(ruth, mine, at=NOON)


def test_its_page_must_not_be_translated_and_says_so_without_noting_it(client: Client, ask: Ask) -> None:
    page = client.get(f"{ROOM}room/").content.decode()
    assert 'translate="no"' in page.split("<head>")[0]
    assert 'id="case-translated"' in page
    assert "It is noted with this case" not in page  # a dry run stores nothing


# --- The dry run: what a reader goes through, with nothing stored ---
ADDRESS = "/studies/trial/dry-run/"


def test_the_way_of_a_reader_stands_on_the_page(client: Client, draft: ReaderStudy, cora: User) -> None:
    client.force_login(cora)
    page = client.get(ADDRESS).content.decode()
    for words in ("You agree to take part.", "Choose one option.", "4 cases in all sets together"):
        assert words in page
