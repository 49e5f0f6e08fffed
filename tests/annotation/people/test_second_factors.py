"""Second factors: set up, asked for, used once, taken away; and who has to have one."""

from __future__ import annotations

import io
import json
import re
from typing import Any
from unittest import mock

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from axes.models import AccessAttempt
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries, Settings

from annotation.enums import Role
from annotation.models import AuditEvent, Job, Membership, User
from annotation.people import second_factors
from annotation.people.backend import PersonBackend
from tests.annotation.api.asking import program_of
from tests.annotation.people.authenticator import Passkey
from tests.annotation.people.test_links_in_logs import log  # noqa: F401 - a fixture
from tests.conftest import make_person
from tests.emails import delivered

PASSWORD = "correct horse battery"
HOST: dict[str, Any] = {"HTTP_HOST": "localhost"}


@pytest.fixture(autouse=True)
def slow_clocks(settings: Settings) -> None:
    """A test may take longer than what is left of a half minute: the codes around it count as well."""
    settings.MFA_TOTP_TOLERANCE = 4


@pytest.fixture
def required(settings: Settings) -> None:
    settings.SECOND_FACTOR_REQUIRED = True


@pytest.fixture
def browser() -> Client:
    return Client(**HOST)


def log_in(client: Client, person: User, *, password: str = PASSWORD) -> str:
    """Where the password leads."""
    answer = client.post("/login/", {"username": person.email, "password": password})
    return answer.headers.get("Location", "")


def code_of(secret: str, *, ahead: int = 0) -> str:
    return format_hotp_value(hotp_value(secret, int(timezone.now().timestamp()) // 30 + ahead))


def set_up_app(client: Client) -> str:
    """The secret of an app that was set up with the code of the stretch before, so that the next ones still count."""
    page = client.get("/profile/factors/app/").content.decode()
    secret = re.search(r'class="mono key">(\w+)<', page)
    assert secret
    answer = client.post("/profile/factors/app/", {"code": code_of(secret[1], ahead=-1)})
    assert answer.headers.get("Location") == "/profile/factors/codes/", answer.content.decode()[-1500:]
    return secret[1]


def codes_shown(client: Client) -> list[str]:
    return re.findall(r'<li class="mono">(\d+)</li>', client.get("/profile/factors/codes/").content.decode())


def options_on(page: Any) -> dict[str, Any]:
    found = re.search(r'id="passkey-options"[^>]*>(.*?)</script>', page.content.decode())
    assert found
    told: dict[str, Any] = json.loads(found[1])
    return told


def add_passkey(client: Client) -> Passkey:
    key = Passkey()
    made = key.made(options_on(client.get("/profile/factors/passkeys/add/")))
    sent = {"name": "Laptop", "passwordless": "on", "credential": json.dumps(made)}
    assert client.post("/profile/factors/passkeys/add/", sent)["Location"] == "/profile/factors/codes/"
    return key


def acts() -> list[str]:
    return list(AuditEvent.objects.order_by("pk").values_list("act", flat=True))


def test_an_app_is_set_up_asked_for_and_counts_once(browser: Client, rita: User) -> None:
    log_in(browser, rita)
    secret = set_up_app(browser)
    assert secret not in json.dumps(Authenticator.objects.get(type="totp").data)
    browser.post("/logout/")
    assert log_in(browser, rita) == "/login/factor/"
    assert browser.get("/")["Location"] == "/login/?next=/"  # not in yet
    assert browser.post("/login/factor/", {"code": "000000"}).status_code == 200
    code = code_of(secret)
    assert browser.post("/login/factor/", {"code": code})["Location"] == "/"
    assert browser.get("/").status_code == 200
    other = Client(**HOST)
    log_in(other, rita)
    assert other.post("/login/factor/", {"code": code}).status_code == 200
    assert other.get("/").status_code == 302
    assert other.post("/login/factor/", {"code": code_of(secret, ahead=1)})["Location"] == "/"
    assert acts() == ["second_factor.added"]


def test_a_code_counts_once_in_whichever_process(rita: User, browser: Client) -> None:
    """allauth remembers used codes in the memory of a process; ours stand in the database."""
    log_in(browser, rita)
    secret, now = set_up_app(browser), timezone.now()
    app = Authenticator.objects.get(type="totp")
    code = code_of(secret)
    assert second_factors.take_code(app, code, at=now)
    assert not second_factors.take_code(app, code, at=now)
    assert not second_factors.take_code(app, code_of(secret, ahead=-1), at=now)
    assert not second_factors.take_code(app, "000000", at=now)


def test_recovery_codes_are_shown_once_work_once_and_give_way_to_new_ones(browser: Client, rita: User) -> None:
    log_in(browser, rita)
    set_up_app(browser)
    before = codes_shown(browser)
    assert (len(before), codes_shown(browser)) == (10, [])
    assert browser.post("/profile/factors/codes/new/")["Location"] == "/profile/factors/codes/"
    codes = codes_shown(browser)
    assert (len(codes), set(before) & set(codes)) == (10, set())
    for _time in range(2):
        browser.post("/logout/")
        log_in(browser, rita)
        browser.post("/login/factor/", {"code": codes[0]})
    assert browser.get("/").status_code == 302  # the second time it did not count
    assert acts() == ["second_factor.added", "recovery_codes.made", "recovery_code.used"]
    assert codes[0] not in str(AuditEvent.objects.values_list("facts", flat=True))


def test_a_passkey_is_a_second_factor_and_a_log_in_without_password(browser: Client, rita: User) -> None:
    log_in(browser, rita)
    key = add_passkey(browser)
    browser.post("/logout/")
    assert log_in(browser, rita) == "/login/factor/"
    proven = key.proven(options_on(browser.get("/login/factor/")))
    assert browser.post("/login/factor/", {"credential": json.dumps(proven)})["Location"] == "/"
    for asked, place in {
        "/profile/": "/profile/",
        "https://evil.example/": "/",
        "//evil.example": "/",
        "javascript:alert(1)": "/",
    }.items():
        browser.post("/logout/")
        told = browser.get("/login/passkey/", headers={"accept": "application/json"}).json()
        sent = {"credential": json.dumps(key.proven(told)), "next": asked}
        assert browser.post("/login/passkey/", sent)["Location"] == place, asked
        assert browser.get("/profile/").status_code == 200


def test_a_passkey_that_does_not_fit_lets_nobody_in(browser: Client, rita: User) -> None:
    log_in(browser, rita)
    good, other = add_passkey(browser), Passkey()
    other.credential_id, other.owner = good.credential_id, good.owner
    browser.post("/logout/")
    for broken in ("challenge", "origin", "key", "nonsense", "deactivated"):
        if broken == "deactivated":
            User.objects.update(is_active=False)
        told = browser.get("/login/passkey/", headers={"accept": "application/json"}).json()
        if broken == "challenge":
            told["request_options"]["publicKey"]["challenge"] = "AAAAAAAAAAAAAAAAAAAAAA"
        key = other if broken == "key" else good
        proven = key.proven(told, "https://evil.example" if broken == "origin" else "http://localhost")
        sent = {"credential": "{}" if broken == "nonsense" else json.dumps(proven)}
        assert browser.post("/login/passkey/", sent)["Location"] == "/login/", broken
        assert browser.get("/profile/").status_code == 302, broken


def test_wrong_codes_lock_the_account_as_wrong_passwords_do(browser: Client, rita: User, settings: Settings) -> None:
    log_in(browser, rita)
    secret = set_up_app(browser)
    codes = codes_shown(browser)
    browser.post("/logout/")
    settings.AXES_ENABLED = True
    log_in(browser, rita)
    answers = [browser.post("/login/factor/", {"code": "123123"}).status_code for _n in range(8)]
    assert answers[-1] == 429
    for code in (code_of(secret), codes[0]):
        assert browser.post("/login/factor/", {"code": code}).status_code == 429
    assert log_in(browser, rita) == ""
    assert browser.get("/").status_code == 302


def test_a_change_asks_who_it_is_again(browser: Client, rita: User) -> None:
    browser.force_login(rita)
    asked = browser.get("/profile/factors/app/")
    assert asked["Location"] == "/profile/again/?next=%2Fprofile%2Ffactors%2Fapp%2F"
    assert browser.post("/profile/again/", {"password": "wrong"}).status_code == 200
    again = {"password": PASSWORD, "next": "/profile/factors/app/"}
    assert browser.post("/profile/again/", again)["Location"] == "/profile/factors/app/"
    set_up_app(browser)


def test_removing_the_last_takes_the_codes_too(browser: Client, rita: User) -> None:
    log_in(browser, rita)
    set_up_app(browser)
    assert browser.post("/profile/factors/app/remove/")["Location"] == "/profile/factors/"
    assert not Authenticator.objects.exists()
    assert acts() == ["second_factor.added", "second_factor.removed"]
    browser.post("/logout/")
    assert log_in(browser, rita) == "/"


def test_nobody_removes_the_passkey_of_another(browser: Client, rita: User, remo: User) -> None:
    log_in(browser, rita)
    add_passkey(browser)
    row = Authenticator.objects.get(type="webauthn")
    browser.post("/logout/")
    log_in(browser, remo)
    for answer in (browser.get, browser.post):
        assert answer(f"/profile/factors/passkeys/{row.pk}/remove/").status_code == 404


@pytest.mark.usefixtures("required")
@pytest.mark.parametrize("role", [Role.COORDINATOR, Role.ADMINISTRATOR])
def test_who_has_to_have_one_comes_to_nothing_else(browser: Client, db: None, role: Role) -> None:
    person = make_person("Cora", role)
    log_in(browser, person)
    for address in ("/", "/banks/", "/profile/", "/people/", "/password/", "/review/"):
        assert browser.get(address)["Location"] == "/profile/factors/", address
    assert browser.get("/banks/", headers={"HX-Request": "true"}).status_code == 403
    assert browser.post("/password/", {}).status_code == 302
    assert "asks coordinators" in browser.get("/profile/factors/").content.decode()
    set_up_app(browser)
    assert browser.get("/").status_code == 200
    browser.post("/profile/factors/app/remove/")
    assert browser.get("/")["Location"] == "/profile/factors/"


@pytest.mark.usefixtures("required")
def test_a_role_that_is_given_asks_from_the_next_page_on(browser: Client, rita: User) -> None:
    log_in(browser, rita)
    assert browser.get("/").status_code == 200
    Membership.objects.create(user=rita, role=Role.COORDINATOR, granted_at=timezone.now())
    assert browser.get("/")["Location"] == "/profile/factors/"
    browser.force_login(rita)  # by another backend, which does not ask in its query
    assert browser.get("/")["Location"] == "/profile/factors/"


@pytest.mark.usefixtures("required")
def test_asking_for_one_costs_no_query(
    rita: User, cora: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for person, due in ((rita, False), (cora, True)):
        with django_assert_num_queries(1):
            found = PersonBackend().get_user(person.pk)
            assert found is not None
            assert second_factors.is_due(found) is due


def test_an_administrator_takes_it_away_and_the_person_is_told(
    browser: Client, rita: User, ada: User, settings: Settings
) -> None:
    settings.EMAIL_HOST = "smtp.example.org"
    log_in(browser, rita)
    set_up_app(browser)
    script = program_of(rita, Role.REVIEWER)
    office = Client()
    office.force_login(ada)
    address = f"/people/{rita.pk}/factors/reset/"
    assert "be sure that it is Rita" in office.post(address).content.decode()
    assert Authenticator.objects.exists()
    assert office.post(address, {"confirmed": "yes"}).status_code == 302
    assert not Authenticator.objects.exists()
    event = AuditEvent.objects.get(act="second_factor.reset")
    assert (event.actor, event.subject_id) == (ada, str(rita.pk))
    assert "taken away" in str(delivered()[-1].body)
    assert browser.get("/").status_code == 302, "a reset logs the person out everywhere"
    assert script.get("me/").status_code == 401, "a reset ends the tokens of the person"
    assert AuditEvent.objects.get(act="token.revoked").facts == {"reason": "second factor"}
    log_in(browser, rita)
    assert "by Ada" in " ".join(browser.get("/profile/factors/").content.decode().split())
    office.post(f"/people/{ada.pk}/factors/reset/", {"confirmed": "yes"})
    assert AuditEvent.objects.filter(act="second_factor.reset").count() == 1


def test_the_server_helps_the_last_administrator(browser: Client, ada: User) -> None:
    log_in(browser, ada)
    set_up_app(browser)
    call_command("reset_second_factor", "Ada@example.org")
    assert not Authenticator.objects.exists()
    assert AuditEvent.objects.get(act="second_factor.reset").actor is None


def test_another_key_of_the_site_opens_no_factor(browser: Client, rita: User, settings: Settings) -> None:
    log_in(browser, rita)
    secret = set_up_app(browser)
    browser.post("/logout/")
    settings.SECRET_KEY = "another key of the site 0123456789 abcdef"
    log_in(browser, rita)
    assert browser.post("/login/factor/", {"code": code_of(secret)}).status_code == 200
    assert browser.get("/").status_code == 302


def test_nothing_secret_is_kept_or_told(
    browser: Client,
    rita: User,
    settings: Settings,
    log: io.StringIO,  # noqa: F811
) -> None:
    """Planted by using them all, right and wrong, and a page that breaks: in no log, audit row, job or e-mail."""
    settings.EMAIL_HOST, settings.AXES_ENABLED = "smtp.example.org", True
    log_in(browser, rita)
    secret = set_up_app(browser)
    codes, right, wrong = codes_shown(browser), code_of(secret), "765432"
    browser.post("/profile/again/", {"password": "a wrong pass phrase"})
    browser.post("/logout/")
    log_in(browser, rita, password="another wrong one")
    log_in(browser, rita)
    browser.post("/login/factor/", {"code": wrong})
    tried = str(list(AccessAttempt.objects.values()))  # which a log-in clears
    assert "/login/factor/" in tried
    browser.post("/login/factor/", {"code": codes[0]})
    browser.raise_request_exception = False
    with mock.patch("annotation.people.accounts.change_profile", side_effect=KeyError("broken")):
        broken = browser.post("/profile/", {"name": "R", "time_zone": "UTC", "password": PASSWORD, "code": right})
    assert broken.status_code == 500
    rows = [tried, *(str(list(model.objects.values())) for model in (AuditEvent, Job))]
    letters = " ".join(str(letter.body) for letter in delivered())
    assert "recovery code" in letters
    for text in (log.getvalue(), broken.content.decode(), letters, *rows):
        for told in (PASSWORD, "wrong pass phrase", "another wrong one", secret, right, wrong, *codes):
            assert told not in text
