"""The page of the audit log: who sees which events, how they are found, and how the log is checked and taken."""

from __future__ import annotations

import ast
import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.audit.acts_in_words import all_acts
from annotation.audit.recording import record, verify
from annotation.enums import AssignmentState, JobState, Role, RoundState
from annotation.jobs import running
from annotation.models import AuditEvent, Job, User
from annotation.models.people import TokenScope
from annotation.people import event_log
from readerstudy.models import StudyRole
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.annotation.audit.removed_calls import sites
from tests.annotation.review.cases import make_bank, make_round
from tests.architecture.source import ROOT
from tests.conftest import NOON
from tests.readerstudy.studies import enrol, make_study

PAGE = "/audit/"


@pytest.fixture
def log(ada: User, rita: User, noon: datetime) -> list[AuditEvent]:
    """Rita submits, Ada adds Rita, the program does something."""
    with transaction.atomic():
        return [
            record("review.submitted", actor=rita, at=noon, facts={"version": 1}),
            record("person.added", actor=ada, at=noon + timedelta(days=1), subject=rita, facts={"n": 7}),
            record("test.unknown_act", actor=None, at=noon + timedelta(days=2)),
        ]


def acts(client: Client, query: str = "") -> list[str]:
    page = client.get(PAGE + query)
    assert page.status_code == 200
    return [line.event.act for line in page.context["found"].rows]


def test_administrators_see_every_event_in_words(client: Client, ada: User, log: list[AuditEvent]) -> None:
    client.force_login(ada)
    assert acts(client) == ["test.unknown_act", "person.added", "review.submitted"]
    page = client.get(PAGE)
    text = page.content.decode()
    assert "added an account" in text
    assert "test.unknown_act" in text
    assert log[-1].sha256 in text
    assert "never from this page" in text
    assert client.get("/audit/things/user/" + log[1].subject_id + "/")["Location"] == f"/people/{log[1].subject_id}/"
    for address in ("user/x", "user/999999", "nothing/1", "question/nothing"):
        assert client.get(f"/audit/things/{address}/").status_code == 404


def test_events_are_found(client: Client, ada: User, log: list[AuditEvent]) -> None:
    wanted = [
        ("?person=rita", ["review.submitted"]),
        ("?person=nobody", []),
        ("?kind=user", ["person.added"]),
        ("?kind=user&thing=rita@example.org", ["person.added"]),
        ("?thing=Rita", ["person.added"]),
        ("?kind=user&thing=nobody", []),
        ("?act=person.added", ["person.added"]),
        ("?since=2026-11-22", ["test.unknown_act", "person.added"]),
        ("?since=2026-11-22&until=2026-11-22", ["person.added"]),
        ("?sort=when", ["review.submitted", "person.added", "test.unknown_act"]),
    ]
    client.force_login(ada)
    assert [(query, acts(client, query)) for query, _found in wanted] == wanted
    for query in ("?since=soon", "?act=nothing", "?kind=x", "?since=2026-11-22&until=2026-11-21"):
        page = client.get(PAGE + query)
        assert (page.status_code, page.context["found"].rows) == (422, []), query


def test_others_see_what_they_did_without_its_facts(client: Client, rita: User, log: list[AuditEvent]) -> None:
    client.force_login(rita)
    assert acts(client) == ["review.submitted"]
    text = client.get(PAGE).content.decode()
    assert "<details><summary>facts" not in text
    assert log[-1].sha256 not in text


def test_coordinators_see_what_happened_to_what_they_coordinate(
    client: Client, ada: User, stan: User, noon: datetime
) -> None:
    study, other = make_study(), make_study(name="Other")
    StudyRole.objects.create(user=stan, study=study, granted_at=noon)
    with transaction.atomic():
        for one in (study, other):
            record("study.opened", actor=ada, at=noon, subject=one)
    client.force_login(stan)
    [line] = client.get(PAGE).context["found"].rows
    assert line.event.subject_id == str(study.pk)


def test_an_administrator_who_reviews_blind_sees_the_own_events_alone(
    client: Client, ada: User, log: list[AuditEvent]
) -> None:
    made = make_round(ada, n_questions=1)
    client.force_login(ada)
    assert acts(client) == ["person.added"]
    assert "While you read or review blind" in client.get(PAGE).content.decode()
    assert client.post(PAGE + "export/")["Location"] == PAGE
    assert not AuditEvent.objects.filter(act="audit.exported").exists()
    made.assignments.update(state=AssignmentState.SUBMITTED)
    assert len(acts(client)) == 1
    made.state = RoundState.CLOSED
    made.save()
    assert len(acts(client)) == 3


def test_an_administrator_who_reads_in_a_study_sees_the_own_events_alone(ada: User, log: list[AuditEvent]) -> None:
    enrol(make_study(), ada)
    assert not event_log.sees_all(ada)
    assert list(event_log.visible_events(ada, all_of_them=False)) == [log[1]]


def test_pages_go_on_from_a_number(client: Client, ada: User, noon: datetime) -> None:
    with transaction.atomic():
        made = [record("person.added", actor=ada, at=noon, facts={"n": n}).pk for n in range(120)]
    client.force_login(ada)
    shown, query = list[int](), ""
    while True:
        found = client.get(PAGE + query).context["found"]
        shown += [line.event.pk for line in found.rows]
        if not found.next:
            break
        query = f"?after={found.next}"
    assert shown == made[::-1]
    assert acts(client, "?after=nonsense") == ["person.added"] * 50


def test_a_page_costs_few_queries(
    client: Client, ada: User, cora: User, noon: datetime, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    study, made = make_study(), make_round(cora, n_questions=1)
    question = made.assignments.get().revision.question
    subjects = [ada, cora, study, made, question, question.bank, question.exam.images.first(), made.plan, None]
    with transaction.atomic():
        for n in range(60):
            record("person.added", actor=(ada, cora)[n % 2], at=noon, subject=subjects[n % len(subjects)])
    client.force_login(ada)
    client.get(PAGE)
    with django_assert_num_queries(12):
        client.get(PAGE)


def test_the_log_is_checked_by_a_job(client: Client, ada: User, log: list[AuditEvent]) -> None:
    client.force_login(ada)
    job = Job.objects.get(public_id=client.post(PAGE + "verify/")["Location"].rstrip("/").rpartition("/")[2])
    running.run_job(job.public_id)
    job.refresh_from_db()
    assert (job.state, job.result) == (JobState.SUCCEEDED, {"events": 3, "head": log[-1].sha256})
    assert "3 events, all as they were written" in client.get(PAGE).content.decode()
    AuditEvent.objects.filter(pk=log[-1].pk).delete()  # the end is cut off: the head of the check before tells
    client.post(PAGE + "verify/")
    running.run_job(Job.objects.filter(state=JobState.QUEUED).get().public_id)
    assert "was cut off or rewritten" in client.get(PAGE).content.decode()


def test_the_log_is_taken_as_json_lines(client: Client, ada: User, log: list[AuditEvent]) -> None:
    client.force_login(ada)
    taken = client.post(PAGE + "export/")
    rows = [json.loads(line) for line in b"".join(taken).splitlines()]
    assert [row["act"] for row in rows] == [*(one.act for one in log), "audit.exported"]
    assert rows[1]["actor"] == ada.pk
    assert rows[-1]["sha256"] == verify().head_sha256
    assert rows[0]["facts"] == {"version": 1}
    assert "example.org" not in json.dumps(rows)


def test_the_command_writes_what_came_after_an_event(
    log: list[AuditEvent], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.jsonl"
    call_command("export_audit", output=path, after=log[1].pk)
    assert "2 events" in capsys.readouterr().out
    assert [json.loads(row)["act"] for row in path.read_text().splitlines()] == ["test.unknown_act", "audit.exported"]
    call_command("export_audit")
    assert len(capsys.readouterr().out.splitlines()) == 5
    with pytest.raises(CommandError, match="0 or more"):
        call_command("export_audit", after=-1)


def test_every_act_has_words() -> None:
    """Those that a call spells out; the others are put together of a word and an ending."""
    written = set()
    for site in sites():
        for node in ast.walk(ast.parse((ROOT / site.path).read_text())):
            if isinstance(node, ast.Call) and node.lineno == site.first and node.args:
                first = node.args[0]
                written |= {first.value} if isinstance(first, ast.Constant) else set()
    assert {one for one in written if isinstance(one, str) and "." in one} - set(all_acts()) == set()
    kinds = ("bank", "round", "sample", "study", "upload")
    ends = ("binned", "restored", "deleted", "archived")
    assert {f"{kind}.{end}" for kind in kinds for end in ends} <= set(all_acts())


# --- the audit log over the API: for administrators who see all of it, by page and as a file ---
@pytest.fixture
def archived(ada: User, cora: User) -> list[AuditEvent]:
    bank = make_bank("Chest")
    return [
        record("bank.archived", actor=(ada, cora)[n % 2], at=NOON + timedelta(days=n), subject=bank, facts={"n": n})
        for n in range(5)
    ]


@pytest.fixture
def script(ada: User, archived: list[AuditEvent]) -> Program:
    return program_of(ada, Role.ADMINISTRATOR)


def numbers(script: Program, query: str = "") -> list[int]:
    rows = script.get(f"audit-events/?act=bank.archived&{query}").json()["results"]
    return [row["facts"]["n"] for row in rows]


def test_events_by_page_and_filter(
    script: Program, cora: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    assert numbers(script) == [4, 3, 2, 1, 0]
    assert numbers(script, "person=Cora") == [3, 1]
    assert numbers(script, "kind=questionbank&thing=chest&since=2026-11-23T12:00:00Z") == numbers(script, "limit=3")
    assert numbers(script, "thing=elsewhere") == []
    problem_of(script.get("audit-events/?since=yesterday"), 422, "invalid")
    with django_assert_max_num_queries(6):
        page = script.get("audit-events/?limit=2").json()
    assert len(page["results"]) == 2
    assert page["results"][0]["previous_sha256"] == page["results"][1]["sha256"]
    assert len(script.get(page["next"]).json()["results"]) == 2


def test_the_log_as_a_file_is_that_of_the_button(script: Program, administrator: Client) -> None:
    """Up to the event of taking it, which is the last line of each."""
    head = script.get("audit-log/head/").json()["head"]
    button = b"".join(administrator.post("/audit/export/")).splitlines()
    told = b"".join(script.get("audit-log/")).splitlines()
    assert told[: len(button)] == button
    assert json.loads(button[-1])["previous_sha256"] == head
    assert json.loads(told[-1])["act"] == "audit.exported"
    after = json.loads(told[-2])["id"]
    assert len(b"".join(script.get(f"audit-log/?after={after}")).splitlines()) == 2
    problem_of(script.get("audit-log/?after=-1"), 400, "bad_number")


ADDRESSES = ("audit-events/", "audit-log/", "audit-log/head/")


def test_the_log_is_for_administrators_of_the_site_who_do_not_review_blind(
    ada: User, cora: User, archived: list[AuditEvent]
) -> None:
    """A program of one place reaches none of it: the log is that of the site."""
    review_round = make_round(name="Open")
    of_bank = program_of(cora, Role.COORDINATOR, TokenScope.BANK, "chest")
    of_round = program_of(ada, Role.ADMINISTRATOR, TokenScope.ROUND, review_round.slug)
    whole = program_of(ada, Role.ADMINISTRATOR)
    make_round(ada, name="Blind")
    before = AuditEvent.objects.count()
    for address in ADDRESSES:
        problem_of(of_bank.get(address), 403, "forbidden")
        problem_of(of_round.get(address), 403, "out_of_reach")
        answer = whole.get(address)
        assert answer.status_code == 403
        assert b"bank.archived" not in answer.content
    assert AuditEvent.objects.count() == before, "nothing was exported"
