"""The pages of whoever keeps the site running."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from annotation.acts import By
from annotation.audit.recording import record
from annotation.backup.taking import ask_for_backup, is_backup_due, kept_backups, run_backup
from annotation.enums import JobState, Role
from annotation.models import AccessToken, AuditEvent, Invitation, Job, Membership, User
from annotation.people.invitations import Grant, invite
from annotation.people.roles import held_roles
from annotation.site.health import parts_of_site
from annotation.views.site.decorators import ROLES, policies_by_room
from readerstudy.enrolment.inviting import invite_reader
from readerstudy.models import CaseSet, ResultsLink, StudyRole
from readerstudy.results.looking import share_results
from rexvqa_site.env import HIDDEN, env_provider, env_secret, env_str, env_url, settings_read, without_password
from tests.annotation.api.asking import program_of
from tests.annotation.review.cases import make_bank, make_round
from tests.conftest import NOON, make_person
from tests.readerstudy.results.made import analysed_study
from tests.readerstudy.studies import enrol, make_study

PAGES = ("/site/", "/site/settings/", "/site/permissions/")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Settings) -> Path:
    settings.BACKUP_ROOT, settings.MEDIA_ROOT, settings.TEMP_ROOT = (
        tmp_path / name for name in ("backups", "media", "tmp")
    )
    for path in (settings.BACKUP_ROOT, settings.MEDIA_ROOT, settings.TEMP_ROOT):
        path.mkdir()
    return Path(settings.BACKUP_ROOT)


def test_the_page_of_the_site_asks_few_questions(
    administrator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    administrator.get("/site/")
    with django_assert_max_num_queries(13):
        page = administrator.get("/site/").content.decode()
    assert "no worker is at work" in page
    assert "There is no backup yet." in page


def test_a_failed_job_is_told_for_a_week(ada: User) -> None:
    Job.objects.create(kind="rehearsal", title="x", state=JobState.FAILED, created_at=NOON, finished_at=NOON)

    def state(days: int) -> bool | None:
        return {part.label: part.is_well for part in parts_of_site(at=NOON + timedelta(days=days))}["Jobs"]

    assert [state(6), state(8)] == [False, True]


def test_a_backup_is_taken_by_a_job_and_listed(administrator: Client, folder: Path) -> None:
    assert administrator.post("/site/backup/").status_code == 302
    assert administrator.post("/site/backup/").status_code == 302
    assert Job.objects.filter(kind="take_backup").count() == 1  # the second time that one is under way
    assert "waiting for a worker" in administrator.get("/site/", headers={"HX-Request": "true"}).content.decode()


class Silent:
    def report(self, done: int, total: int, message: str = "") -> None:
        assert done <= total


@pytest.mark.django_db(transaction=True)
def test_a_backup_that_was_written_is_not_written_again(folder: Path) -> None:
    ada = User.objects.create_user("ada@example.org", name="Ada")
    job = ask_for_backup(actor=ada, at=NOON)
    made = run_backup(Silent(), job.params)
    (kept,) = kept_backups()
    assert made == {"file": kept.name, "bytes": kept.n_bytes} == run_backup(Silent(), job.params)
    assert kept.name == "reading-room-20261121-120000.tar"
    assert AuditEvent.objects.get(act="backup.taken").actor == ada


def test_a_new_backup_is_due_after_days_but_not_for_a_demonstration(folder: Path, settings: Settings) -> None:
    assert is_backup_due([], at=NOON)
    (folder / "reading-room-1.tar").write_bytes(b"x")
    os.utime(folder / "reading-room-1.tar", (NOON.timestamp(), NOON.timestamp()))
    backups = kept_backups()
    assert not is_backup_due(backups, at=NOON + timedelta(days=7))
    assert is_backup_due(backups, at=NOON + timedelta(days=7, seconds=1))
    settings.BACKUP_DAYS = 0
    assert not is_backup_due(backups, at=NOON + timedelta(days=700))
    settings.BACKUP_DAYS, settings.DEMO = 7, True
    assert not is_backup_due(backups, at=NOON + timedelta(days=700))


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> str:
    secret = "planted7f3a90c1d2e4b5a6f7c8d9e0a1b2c3d4"
    for name in ("TEST_SECRET", "TEST_PASSWORD", "TEST_KEY", "REXVQA_OIDC_CLIENT_SECRET"):
        monkeypatch.setenv(name, secret)
    monkeypatch.setenv("TEST_ADDRESS", f"postgres://me:{secret}@127.0.0.1:5432/x?password={secret}")
    return secret


def test_what_is_told_of_the_settings_holds_no_secret(
    secrets: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REXVQA_OIDC_ISSUER", "https://login.example.org")
    monkeypatch.setenv("REXVQA_OIDC_CLIENT_ID", "site")
    provider = env_provider()
    assert provider is not None
    read = (env_str("TEST_PASSWORD"), env_secret("TEST_SECRET", tmp_path / "key"), env_url("TEST_ADDRESS"))
    assert all(secrets in value for value in (*read, env_str("TEST_KEY"), provider.secret))
    told = {name: value for name, value, _is_set in settings_read()}
    assert secrets not in str(told)
    assert told["TEST_ADDRESS"] == f"postgres://me:{HIDDEN}@127.0.0.1:5432/x"


@pytest.mark.parametrize(
    ("url", "told"),
    [("redis://:geheim@h:1/0", f"redis://:{HIDDEN}@h:1/0"), ("filesystem://", "filesystem://"), ("a://[", HIDDEN)],
)
def test_an_address_is_told_without_its_password(url: str, told: str) -> None:
    assert without_password(url) == told


def test_the_table_of_policies_is_that_of_the_views() -> None:
    found = {one.name: one for policies in policies_by_room().values() for one in policies}
    assert found["people"].roles == {Role.ADMINISTRATOR}
    assert [role for role, opens in zip(ROLES, found["people"].opens, strict=True) if opens] == [Role.ADMINISTRATOR]
    assert found["login"].opens == [True] * len(ROLES)
    assert found["review-case"].opens == [None] * len(ROLES)


# --- after a restore ------------------------------------------------------------------------------
@pytest.fixture
def restored(ada: User, cora: User, rita: User) -> None:
    """Cora has a token, Nina an invitation, Olga a link into a study, and somebody a link to results."""
    analysis = analysed_study(unblinded_at=NOON)
    program_of(cora, Role.COORDINATOR)
    by = By(actor=cora, at=timezone.now())
    invite(Grant(Role.REVIEWER), email="nina@example.org", name="Nina", **by)
    share_results(analysis, days=7, note="for the board", **by)
    study = make_study("Open")
    invite_reader(study, CaseSet.objects.get(study=study), email="olga@example.org", name="Olga", **by)
    removed = {"act": "person.deactivated", "type": "user", "id": str(rita.pk), "at": NOON.isoformat(), "facts": {}}
    with transaction.atomic():
        facts = {"taken_at": NOON.isoformat(), "sessions": 0, "removals": [removed]}
        record("backup.restored", actor=None, at=timezone.now(), facts=facts)


def still_open() -> int:
    models: list[Any] = [AccessToken, Invitation, ResultsLink]
    return sum(model.objects.filter(revoked_at=None).count() for model in models)


@pytest.mark.usefixtures("restored")
def test_what_a_restore_brought_back_is_listed_and_ended_by_one_act(
    administrator: Client, ada: User, rita: User
) -> None:
    page = administrator.get("/site/").content.decode()
    for words in ("Brought back by a restore", "nina@example.org", "olga@example.org", "for the board", "Cora"):
        assert words in page, f"the page names {words}"
    assert "deactivated an account" in page
    after = make_token_after(ada)
    assert administrator.post("/site/restored/").status_code == 302
    assert still_open() == 1
    assert AccessToken.objects.get(revoked_at=None) == after, "what is newer than the restore stays"
    rita.refresh_from_db()
    assert not rita.is_active
    reasons = {event.facts.get("reason") for event in AuditEvent.objects.filter(act__endswith=".revoked")}
    assert (AuditEvent.objects.filter(act__endswith=".revoked").count(), reasons) == (4, {"restore"})
    assert "Brought back" not in administrator.get("/site/").content.decode()
    administrator.post("/site/restored/")
    assert AuditEvent.objects.filter(act="backup.revived_ended").count() == 1


def make_token_after(person: User) -> AccessToken:
    program_of(person, Role.ADMINISTRATOR)
    made = AccessToken.objects.get(owner=person)
    AccessToken.objects.filter(pk=made.pk).update(created_at=timezone.now())
    return made


@pytest.mark.usefixtures("restored")
def test_it_may_stay(administrator: Client, rita: User) -> None:
    administrator.post("/site/restored/", {"act": "keep"})
    assert (still_open(), User.objects.get(pk=rita.pk).is_active) == (4, True)
    assert AuditEvent.objects.get(act="backup.revived_ended").facts["kept"] is True
    assert "Brought back" not in administrator.get("/site/").content.decode()


# --- what one person may do: roles by place, and addresses, from the policies of the program ---


def told(person: User) -> dict[str, str]:
    return {one.name: ", ".join(one.roles) for one in held_roles(person)}


def test_the_page_of_a_person_leads_to_it(administrator: Client, cora: User) -> None:
    assert administrator.get("/site/permissions/0/").status_code == 404
    assert f'href="/site/permissions/{cora.pk}/"' in administrator.get(f"/people/{cora.pk}/").content.decode()


def test_roles_of_the_site_count_everywhere_but_where_somebody_reads(cora: User, ada: User) -> None:
    make_bank("Chest")
    everywhere = dict.fromkeys(("all banks", "all rounds", "all teams of leaderboards"), "coordinator")
    assert told(cora) == {"whole site": "coordinator", **everywhere, "all studies": "coordinator"}
    enrol(make_study("Trial"), cora)
    assert told(cora) == {
        "whole site": "coordinator",
        **everywhere,
        "Trial": "reader",
        "all other studies": "coordinator",
    }
    assert told(ada)["all studies"] == "administrator"


def test_who_left_a_study_is_nothing_in_it_any_more(cora: User, noon: datetime) -> None:
    enrolment = enrol(make_study("Trial"), cora)
    enrolment.withdrawn_at = noon
    enrolment.save()
    assert told(cora)["Trial"] == ""


def test_roles_in_one_place_are_named_with_it(db: None, noon: datetime) -> None:
    stan, study = make_person("Stan"), make_study("Trial")
    judged, _reviewed = make_round(name="Judged"), make_round(stan, name="Reviewed")
    Membership.objects.create(user=stan, role=Role.ADJUDICATOR, round=judged, granted_at=noon)
    StudyRole.objects.create(study=study, user=stan, granted_at=noon)
    assert told(stan) == {"whole site": "", "Judged": "adjudicator", "Reviewed": "reviewer", "Trial": "coordinator"}
    assert [one.kind for one in held_roles(stan)] == ["site", "round", "round", "study"]


def test_who_cannot_log_in_is_nothing(administrator: Client, cora: User) -> None:
    cora.is_active = False
    cora.save()
    assert held_roles(cora) == []
    page = administrator.get(f"/site/permissions/{cora.pk}/").content.decode()
    assert "This account is deactivated" in page
    assert "<code>" not in page


def test_it_asks_as_few_questions_for_many_places(
    administrator: Client, noon: datetime, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    stan = make_person("Stan")

    def give(number: int) -> None:
        StudyRole.objects.create(study=make_study(f"Study-{number}"), user=stan, granted_at=noon)
        review_round = make_round(make_person(f"R{number}"), name=f"Round-{number}")
        Membership.objects.create(user=stan, role=Role.COORDINATOR, round=review_round, granted_at=noon)

    give(0)
    address, n_queries = f"/site/permissions/{stan.pk}/", 12
    with django_assert_num_queries(n_queries):
        administrator.get(address)
    for number in range(1, 4):
        give(number)
    with django_assert_num_queries(n_queries):
        page = administrator.get(address).content.decode()
    assert [page.count(name) for name in ("<bdi>Study-", "<bdi>Round-")] == [4, 4]
