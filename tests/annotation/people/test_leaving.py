"""Somebody leaves: the account goes, the record stays, and the person gets what is held about them."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from datetime import datetime
from pathlib import Path

import pytest
from axes.models import AccessAttempt, AccessLog
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from pytest_django import Settings

from annotation.audit.recording import verify
from annotation.enums import AssignmentState, Role, RoundState, Verdict
from annotation.models import AnswerKey, AuditEvent, Competence, Invitation, Membership, Review, User
from annotation.people import invitations, mailing
from annotation.people.accounts import change_profile, check_can_go, places_with, reactivate, remove_person
from annotation.people.person_data import export_person
from annotation.people.tokens import PeopleRefused
from readerstudy.enrolment.inviting import invite_reader
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from tests.annotation.review.cases import make_round
from tests.processes import manage
from tests.readerstudy.studies import enrol, make_study
from tests.refusals import refuses

NAME, EMAIL = "Zoë Quittermann", "zoe.quittermann@example.org"


@pytest.fixture
def zoe(ada: User, noon: datetime) -> User:
    """Zoë was invited, logged in, mistyped her password, reviewed and read; her name stands where names may."""
    issued = invitations.invite(invitations.Grant(Role.REVIEWER), email=EMAIL, name=NAME, actor=ada, at=noon)
    zoe = invitations.accept_as_new_person(
        issued.invitation, email=EMAIL, name=NAME, password="correct horse battery", time_zone="UTC", at=noon
    )
    change_profile(zoe, name=NAME, time_zone="Europe/Berlin", at=noon)
    AccessLog.objects.create(username=EMAIL, ip_address="192.0.2.1")
    AccessAttempt.objects.create(username=EMAIL.upper(), ip_address="192.0.2.1", failures_since_start=2)
    Competence.objects.create(person=zoe, word="Heart")
    Client().force_login(zoe)
    return zoe


def with_work(zoe: User, ada: User, noon: datetime) -> None:
    study = make_study()
    issued = invite_reader(study, study.sets.get(), email=EMAIL, name=NAME, actor=ada, at=noon)
    invitations.accept_as(zoe, issued.invitation, at=noon)
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    made = make_round(zoe, n_questions=1)
    Review.objects.create(assignment=made.assignments.get(), verdict=Verdict.ACCEPT, comment="Good", submitted_at=noon)
    made.assignments.update(state=AssignmentState.SUBMITTED)


def columns_with(*words: str) -> list[str]:
    """Every column of every table, by the database itself."""
    found = []
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        for table in (
            one for one in tables if not one.startswith("annotation_revision_words")
        ):  # an index of questions
            for column in connection.introspection.get_table_description(cursor, table):
                asked = f'SELECT CAST("{column.name}" AS TEXT) FROM "{table}"'
                cursor.execute(asked)
                values = [str(value).casefold() for (value,) in cursor.fetchall() if value is not None]
                spelled = [one for word in words for one in (word.casefold(), json.dumps(word)[1:-1].casefold())]
                if any(one in value for value in values for one in spelled):
                    found.append(f"{table}.{column.name}")
    return found


def test_neither_name_nor_address_is_left_anywhere(zoe: User, ada: User, noon: datetime) -> None:
    with_work(zoe, ada, noon)
    assert "annotation_user.email" in columns_with(EMAIL)
    n_events = AuditEvent.objects.count()
    remove_person(zoe, actor=ada, at=noon)
    assert columns_with(NAME, EMAIL) == []
    assert places_with(NAME, EMAIL) == {}
    zoe.refresh_from_db()
    assert (zoe.name, zoe.is_active, zoe.has_usable_password()) == (f"Removed person {zoe.pk}", False, False)
    assert zoe.enrolments.count() == zoe.assignments.count() == 1
    assert not Session.objects.exists()
    assert not Membership.objects.filter(user=zoe).exists()
    assert not zoe.competences.exists()
    assert not AccessLog.objects.exists()
    assert not AccessAttempt.objects.exists()
    told = AuditEvent.objects.get(act="person.removed")
    assert (told.actor, told.subject_id, told.facts) == (ada, str(zoe.pk), {})
    assert verify().n_events == n_events + 1
    assert verify().fault is None
    remove_person(zoe, actor=ada, at=noon)
    reactivate(zoe, actor=ada, at=noon)
    assert AuditEvent.objects.filter(act__in=["person.removed", "person.reactivated"]).count() == 1


def test_links_and_emails_of_the_person_go_too(
    zoe: User, ada: User, noon: datetime, monkeypatch: pytest.MonkeyPatch, settings: Settings, tmp_path: Path
) -> None:
    settings.TEMP_ROOT = tmp_path
    monkeypatch.setattr("annotation.people.mailing.can_send", lambda: True)
    assert mailing.send_email("Hello", f"Dear {NAME}", EMAIL)
    open_one = invitations.invite(invitations.Grant(Role.COORDINATOR), email=EMAIL, name=NAME, actor=ada, at=noon)
    remove_person(zoe, actor=ada, at=noon)
    assert not list(mailing.email_file("x").parent.glob("*"))
    left = Invitation.objects.get(pk=open_one.invitation.pk)
    assert (left.email, left.name, left.revoked_at) == ("", "", noon)


def test_what_stands_against_it_is_said(zoe: User, ada: User, noon: datetime) -> None:
    made = make_round(zoe, n_questions=2)
    study = make_study(state=StudyState.OPEN)
    enrolment = enrol(study, zoe)
    with refuses(PeopleRefused, "work_under_way", match=f"2 questions of the round “{made.name}” wait") as refusal:
        remove_person(zoe, actor=ada, at=noon)
    assert f"reads in “{study.name}”: withdraw or replace" in str(refusal.value)
    assert User.objects.get(pk=zoe.pk).email == EMAIL
    made.state = RoundState.CLOSED
    made.save()
    enrolment.withdrawn_at = noon
    enrolment.save()
    check_can_go(zoe, actor=ada)
    with refuses(PeopleRefused, "own_account"):
        remove_person(ada, actor=ada, at=noon)
    with refuses(PeopleRefused, "last_administrator"):
        remove_person(ada, actor=None, at=noon)


def test_the_page_asks_first(administrator: Client, zoe: User, rita: User) -> None:
    address = f"/people/{zoe.pk}/remove/"
    asked = administrator.post(address)
    assert (asked.status_code, User.objects.get(pk=zoe.pk).email) == (200, EMAIL)
    assert "cannot be undone" in asked.content.decode()
    assert administrator.post(address, {"confirmed": "yes"})["Location"] == f"/people/{zoe.pk}/"
    page = administrator.get(f"/people/{zoe.pk}/").content.decode()
    assert "Removed on request" in page
    assert "Reactivate" not in page
    assert administrator.post(address).status_code == 404
    make_round(rita, n_questions=1)
    administrator.post(f"/people/{rita.pk}/remove/", {"confirmed": "yes"})
    assert "wait for this person" in administrator.get(f"/people/{rita.pk}/").content.decode()


def files_of(content: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        return {name: packed.read(name).decode() for name in packed.namelist()}


def test_a_person_takes_what_is_held_about_them(client: Client, zoe: User, ada: User, noon: datetime) -> None:
    with_work(zoe, ada, noon)
    client.force_login(zoe)
    found = files_of(b"".join(client.post("/profile/data/")))
    account = json.loads(found["account.json"])
    assert (account["name"], account["email"], account["competences"]) == (NAME, EMAIL, ["Heart"])
    assert account["roles"][0]["role"] == "reviewer"
    assert all(f"{name}:" in found["README.txt"] for name in found if name != "README.txt")
    [review] = csv.DictReader(io.StringIO(found["reviews.csv"]))
    assert review["verdict"]
    [study] = csv.DictReader(io.StringIO(found["studies.csv"]))
    assert study["study__slug"] == "trial"
    acts = [row["act"] for row in csv.DictReader(io.StringIO(found["acts.csv"]))]
    assert "profile.changed" in acts
    told = AuditEvent.objects.get(act="person.exported")
    assert (told.actor, told.subject_id) == (zoe, str(zoe.pk))


def test_an_administrator_takes_the_data_of_others(administrator: Client, zoe: User) -> None:
    assert EMAIL in files_of(b"".join(administrator.post(f"/people/{zoe.pk}/data/")))["account.json"]


def test_nothing_that_is_hidden_is_in_it(zoe: User, noon: datetime) -> None:
    """No key, explanation or report of a question under way, and no name of a question."""
    made = make_round(zoe, n_questions=2)
    file = io.BytesIO()
    export_person(zoe, file, actor=zoe, at=noon)
    text = "\n".join(files_of(file.getvalue()).values())
    for assignment in made.assignments.select_related("revision__question"):
        truth = AnswerKey.objects.get(revision=assignment.revision)
        assert assignment.revision.question.public_id not in text
        for hidden in (truth.explanation, assignment.revision.stem):
            assert not hidden or hidden not in text


def test_the_commands(zoe: User, ada: User, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("export_person", EMAIL.upper(), output=tmp_path / "zoe.zip")
    assert EMAIL in files_of((tmp_path / "zoe.zip").read_bytes())["README.txt"]
    Competence.objects.create(person=ada, word=f"as {NAME}")
    with pytest.raises(CommandError, match="cannot be undone"):
        call_command("remove_person", EMAIL)
    call_command("remove_person", EMAIL, yes=True)
    said = capsys.readouterr().out
    assert f"Removed person {zoe.pk}" in said
    assert "still in annotation_competence.word, as people wrote it: 1" in said
    for command in (["remove_person", EMAIL, "--yes"], ["export_person", EMAIL, "--output", str(tmp_path / "x.zip")]):
        with pytest.raises(CommandError, match="no account with this address"):
            call_command(*command)


SCRIPT = f"""
from django.utils import timezone
from annotation.models import User
from annotation.people.accounts import add_person
ada = User.objects.create_user("ada@example.org", name="Ada")
add_person(email="{EMAIL}", name="{NAME}", time_zone="UTC", roles=[], actor=ada, at=timezone.now())
"""


def test_a_new_backup_does_not_name_the_person(migrated: dict[str, str], tmp_path: Path) -> None:
    assert manage("shell", "-v0", "-c", SCRIPT, env=migrated).returncode == 0
    done = manage("remove_person", EMAIL, "--yes", env=migrated)
    assert done.returncode == 0, done.stderr
    assert "still in" not in done.stdout
    assert manage("backup", "--output", str(tmp_path / "a.tar"), env=migrated).returncode == 0
    content = (tmp_path / "a.tar").read_bytes()
    for word in (NAME, EMAIL, "quittermann"):
        assert word.encode() not in content
    assert manage("verify_audit", env=migrated).returncode == 0
