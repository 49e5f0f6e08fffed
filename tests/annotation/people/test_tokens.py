"""Access tokens: what they give, never more than their owner has, and how they end."""

from __future__ import annotations

import io
import json
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from annotation.enums import Role
from annotation.models import AccessToken, AuditEvent, Membership, User
from annotation.models.people import TokenScope
from annotation.people.accounts import deactivate, reactivate
from annotation.people.roles import follow_provider, grant, withdraw
from annotation.people.tokens import (
    MadeToken,
    PeopleRefused,
    make_token,
    person_of,
    place_named,
    places_of,
    revoke_token,
)
from annotation.site.logs import without_secrets
from annotation.site.permissions import (
    is_coordinator,
    knows_round,
    may_coordinate,
    may_manage_people,
    reaches,
    site_roles,
)
from readerstudy.models import ReaderStudy
from readerstudy.study.permissions import may_coordinate_study
from tests.annotation.review.cases import make_bank, make_round
from tests.conftest import make_person
from tests.readerstudy.studies import enrol, make_study
from tests.refusals import refuses

AT_HOME = "192.0.2.7"


def give(
    person: User, role: str, scope: TokenScope, slug: str, noon: datetime, *, networks: tuple[str, ...] = ()
) -> MadeToken:
    place = place_named(person, scope, slug)
    return make_token(person, "script", role=role, place=place, days=30, networks=networks, actor=person, at=noon)


def acts(made: MadeToken, noon: datetime, address: str = AT_HOME) -> User:
    return person_of(made.text, address=address, at=noon)


@pytest.fixture
def everything(db: None) -> User:
    """Somebody with every role of the site."""
    return make_person("Eva", Role.ADMINISTRATOR, Role.COORDINATOR, Role.REVIEWER, Role.MODEL_SUBMITTER)


def test_a_token_is_found_by_scanners_and_stored_as_a_hash(cora: User, noon: datetime) -> None:
    made = give(cora, Role.COORDINATOR, TokenScope.SITE, "", noon)
    assert re.fullmatch(r"rexvqa_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}", made.text)
    row = AccessToken.objects.values().get()
    secret = made.text.rsplit("_", 1)[1]
    assert secret not in str(row)
    assert made.row.public_id in made.text
    assert secret not in str(list(AuditEvent.objects.values()))


def test_it_gives_one_role_of_several(everything: User, noon: datetime) -> None:
    made = give(everything, Role.ADMINISTRATOR, TokenScope.SITE, "", noon)
    person = acts(made, noon)
    assert site_roles(person) == {Role.ADMINISTRATOR}
    assert may_manage_people(person)
    assert not is_coordinator(person)
    assert is_coordinator(everything)


def test_a_bank_is_all_that_it_reaches(cora: User, noon: datetime) -> None:
    bank, other = make_bank("One"), make_bank("Other")
    person = acts(give(cora, Role.COORDINATOR, TokenScope.BANK, bank.slug, noon), noon)
    assert reaches(person, bank=bank.pk)
    assert not reaches(person, bank=other.pk)
    assert not reaches(person)


def test_rounds_and_studies_of_a_bank_belong_to_it(cora: User, noon: datetime) -> None:
    review_round, study = make_round(), make_study()
    bank = review_round.plan.bank
    person = acts(give(cora, Role.COORDINATOR, TokenScope.BANK, bank.slug, noon), noon)
    assert may_coordinate(person, review_round)
    assert not may_coordinate_study(person, study)
    person = acts(give(cora, Role.COORDINATOR, TokenScope.STUDY, study.slug, noon), noon)
    assert may_coordinate_study(person, study)
    assert not may_coordinate(person, review_round)


def test_a_reviewers_token_does_not_coordinate(noon: datetime, ada: User) -> None:
    review_round, both = make_round(), make_person("Bo")
    for role in (Role.COORDINATOR, Role.REVIEWER):
        Membership.objects.create(user=both, role=role, round=review_round, granted_at=noon)
    person = acts(give(both, Role.REVIEWER, TokenScope.ROUND, review_round.slug, noon), noon)
    assert knows_round(person, review_round)
    assert not may_coordinate(person, review_round)
    assert may_coordinate(both, review_round)


@pytest.mark.django_db
def test_nobody_gives_what_they_do_not_hold(cora: User, stan: User, noon: datetime) -> None:
    bank = make_bank("One")
    with refuses(PeopleRefused, "no_such_role"):
        give(cora, Role.ADMINISTRATOR, TokenScope.BANK, bank.slug, noon)
    with refuses(PeopleRefused, "no_such_place"):
        give(stan, Role.COORDINATOR, TokenScope.BANK, bank.slug, noon)
    assert list(places_of(stan)) == []
    assert not AccessToken.objects.exists()


def test_nonsense_is_refused_and_nothing_stored(cora: User, noon: datetime) -> None:
    place = place_named(cora, TokenScope.SITE, "")
    nonsense: list[tuple[str, str, Any]] = [
        ("bad_name", "name", " "),
        ("bad_days", "days", 366),
        ("bad_days", "days", 0),
        ("bad_network", "networks", ["the clinic"]),
        ("too_many_networks", "networks", ["10.0.0.1"] * 21),
    ]
    for code, word, value in nonsense:
        meant: dict[str, Any] = {"name": "script", "days": 30, word: value}
        with refuses(PeopleRefused, code):
            make_token(cora, role=Role.COORDINATOR, place=place, actor=cora, at=noon, **meant)
    assert not AccessToken.objects.exists()


def test_it_ends_with_its_last_day(cora: User, noon: datetime) -> None:
    made = give(cora, Role.COORDINATOR, TokenScope.SITE, "", noon)
    assert acts(made, noon + timedelta(days=30, seconds=-1)) == cora
    with refuses(PeopleRefused, "token_expired"):
        acts(made, noon + timedelta(days=30))


def test_it_dies_with_the_role_and_does_not_come_back(ada: User, noon: datetime) -> None:
    cora = make_person("Cora", Role.COORDINATOR)
    made = give(cora, Role.COORDINATOR, TokenScope.SITE, "", noon)
    withdraw(cora, Role.COORDINATOR, actor=ada, at=noon)
    grant(cora, Role.COORDINATOR, actor=ada, at=noon)
    with refuses(PeopleRefused, "token_unknown"):
        acts(made, noon)
    assert AuditEvent.objects.filter(act="token.revoked").count() == 1


@pytest.mark.django_db
def test_it_dies_with_the_role_that_a_provider_takes_back(noon: datetime) -> None:
    cora = make_person("Cora")
    follow_provider(cora, frozenset({Role.COORDINATOR}), at=noon)
    made = give(cora, Role.COORDINATOR, TokenScope.SITE, "", noon)
    follow_provider(cora, frozenset(), at=noon)
    follow_provider(cora, frozenset({Role.COORDINATOR}), at=noon)
    with refuses(PeopleRefused, "token_unknown"):
        acts(made, noon)


def test_tokens_and_sessions_die_with_the_account(coordinator: Client, ada: User, cora: User, noon: datetime) -> None:
    made = give(cora, Role.COORDINATOR, TokenScope.SITE, "", noon)
    deactivate(cora, actor=ada, at=noon)
    reactivate(cora, actor=ada, at=noon)
    with refuses(PeopleRefused, "token_unknown"):
        acts(made, noon)
    assert coordinator.get("/").status_code == 302


def test_a_role_that_was_lost_elsewhere_ends_it_at_its_next_use(cora: User, noon: datetime) -> None:
    made = give(cora, Role.COORDINATOR, TokenScope.SITE, "", noon)
    Membership.objects.all().delete()
    with refuses(PeopleRefused, "token_unknown"):
        acts(made, noon)
    assert AccessToken.objects.get().revoked_at == noon


def test_a_bank_in_the_bin_is_not_reached_and_may_come_back(cora: User, noon: datetime) -> None:
    bank = make_bank("One")
    made = give(cora, Role.COORDINATOR, TokenScope.BANK, bank.slug, noon)
    type(bank).objects.filter(pk=bank.pk).update(deleted_at=noon)
    with refuses(PeopleRefused, "token_unknown"):
        acts(made, noon)
    type(bank).everywhere.filter(pk=bank.pk).update(deleted_at=None)
    assert acts(made, noon) == cora


@pytest.mark.parametrize(("address", "taken"), [("10.1.2.3", True), ("10.2.0.1", False), ("", False), ("::1", False)])
def test_it_is_taken_from_its_networks_alone(cora: User, noon: datetime, address: str, *, taken: bool) -> None:
    made = give(cora, Role.COORDINATOR, TokenScope.SITE, "", noon, networks=("10.1.0.0/16",))
    if taken:
        assert acts(made, noon, address) == cora
        return
    for _again in range(3):
        with refuses(PeopleRefused, "token_address"):
            acts(made, noon, address)
    assert AuditEvent.objects.filter(act="token.refused").count() == 1  # once a minute


def test_last_use_is_written_once_a_minute(cora: User, noon: datetime) -> None:
    made = give(cora, Role.COORDINATOR, TokenScope.SITE, "", noon)
    for seconds, stored in ((1, 1), (40, 1), (62, 62)):
        acts(made, noon + timedelta(seconds=seconds))
        assert AccessToken.objects.get().last_used_at == noon + timedelta(seconds=stored)


def test_what_was_never_given_out_is_not_taken(cora: User, noon: datetime) -> None:
    given = give(cora, Role.COORDINATOR, TokenScope.SITE, "", noon).text
    wrong_secret = given[:-1] + ("a" if given[-1] != "a" else "b")
    for text in (wrong_secret, "", "rexvqa_", "rexvqa_x_y", "Bearer", "\0", "\ud800", "rexvqa_" + "a" * 10_000):
        with refuses(PeopleRefused, "token_unknown"):
            person_of(text, address=AT_HOME, at=noon)


def test_no_token_stands_in_a_log(cora: User, noon: datetime) -> None:
    made = give(cora, Role.COORDINATOR, TokenScope.SITE, "", noon)
    line = without_secrets(f"GET /api/v1/banks/?key={made.text} failed")
    assert made.text not in line
    assert made.text.rsplit("_", 1)[1] not in line
    assert made.row.public_id in line


# --- pages and command ----------------------------------------------------------------------------
def test_it_is_made_on_the_profile_page_and_shown_once(coordinator: Client, cora: User) -> None:
    bank = make_bank("One")
    assert coordinator.get("/profile/tokens/new/").status_code == 200
    for nonsense in ({}, {"name": "x", "grant": "bank:coordinator:none", "days": "10"}):
        assert coordinator.post("/profile/tokens/new/", nonsense).status_code == 422
    sent = {"name": "nightly", "grant": f"bank:coordinator:{bank.slug}", "days": "10", "networks": "10.0.0.0/8\n::1"}
    shown = coordinator.post("/profile/tokens/new/", sent).content.decode()
    (token,) = re.findall(r"rexvqa_\w+", shown)
    row = AccessToken.objects.get()
    assert (row.name, row.place_name, row.networks) == ("nightly", "One", ["10.0.0.0/8", "::1/128"])
    page = coordinator.get("/profile/").content.decode()
    assert (token in page, row.public_id in page) == (False, True)
    assert AuditEvent.objects.get(act="token.made").actor == cora


def test_it_is_revoked_by_a_click_of_its_owner(coordinator: Client, cora: User, noon: datetime) -> None:
    made = give(cora, Role.COORDINATOR, TokenScope.SITE, "", noon)
    address = f"/profile/tokens/{made.row.public_id}/revoke/"
    assert coordinator.post(address).status_code == 302
    with refuses(PeopleRefused, "token_unknown"):
        acts(made, noon)
    revoke_token(made.row, actor=cora, at=noon)
    assert AuditEvent.objects.filter(act="token.revoked").count() == 1


def test_whoever_has_no_role_is_told_so(client: Client, stan: User) -> None:
    client.force_login(stan)
    assert "You have no role yet" in client.get("/profile/tokens/new/").content.decode()


def test_the_command_prints_it(cora: User, noon: datetime) -> None:
    bank, out = make_bank("One"), io.StringIO()
    arguments = ["--person", cora.email, "--name", "cron", "--role", "coordinator", "--bank", bank.slug]
    call_command("make_token", *arguments, "--from", "10.0.0.1", "--json", stdout=out)
    told = json.loads(out.getvalue())
    assert (told["role"], told["scope"], told["place"]) == ("coordinator", "bank", bank.slug)
    assert AccessToken.objects.get().public_id == told["id"]
    with pytest.raises(CommandError, match="one of --bank"):
        call_command("make_token", *arguments, "--read-only")
    with pytest.raises(CommandError, match="gives no role"):
        call_command("make_token", "--person", cora.email, "--name", "x", "--role", "reviewer", "--read-only")
    assert AccessToken.objects.count() == 1


def test_who_reads_in_a_study_is_nothing_else_there(cora: User) -> None:
    study = make_study()
    enrol(study, cora)
    (place,) = [one for one in places_of(cora) if one.scope == TokenScope.STUDY]
    assert place.roles == {Role.READER}
    assert ReaderStudy.objects.count() == 1
