from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.enums import JobState, Role, RoundState
from annotation.models import AuditEvent, Invitation, Job, Membership, ReviewRound, User
from annotation.people.invitations import Grant, invite
from annotation.people.mailing import email_file
from tests.emails import delivered

NEW_PERSON = {
    "email": "nina@example.org",
    "name": "Nina",
    "password": "another staple 77",
    "password_again": "another staple 77",
    "time_zone": "Europe/Berlin",
}

YES = {"confirmed": "yes"}


def link_for(role: Role, actor: User, email: str = "") -> str:
    issued = invite(Grant(role), email=email, name="", actor=actor, at=timezone.now())
    return f"/invitation/{issued.token}/"


# --- opening a link ---


def test_somebody_new_gets_an_account_and_the_role(client: Client, ada: User) -> None:
    link = link_for(Role.COORDINATOR, ada)
    page = client.get(link)
    assert "coordinator" in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    assert client.post(link, NEW_PERSON)["Location"] == "/"
    nina = User.objects.get(email="nina@example.org")
    assert nina.time_zone == "Europe/Berlin"
    assert Membership.objects.get(user=nina).role == Role.COORDINATOR
    assert client.get("/").status_code == 200
    used = Client().get(link)
    assert used.status_code == 410
    assert "used already" in used.content.decode()


def test_bad_input_stores_nothing(client: Client, ada: User) -> None:
    link = link_for(Role.REVIEWER, ada)
    for wrong in (
        {"email": "not an address"},
        {"email": ""},
        {"name": ""},
        {"password": "short", "password_again": "short"},
        {"password_again": "another staple 78"},
        {"time_zone": "Mars/Olympus"},
        {"email": "ada@example.org"},
    ):
        response = client.post(link, NEW_PERSON | wrong)
        assert response.status_code == 422, wrong
        assert "errorlist" in response.content.decode(), wrong
    assert User.objects.count() == 1
    assert Invitation.objects.get().used_at is None


def test_the_address_of_the_invitation_cannot_be_changed(client: Client, ada: User) -> None:
    client.post(link_for(Role.REVIEWER, ada, "meant@example.org"), NEW_PERSON)
    assert User.objects.get(name="Nina").email == "meant@example.org"


def test_links_that_ended_say_what_to_do_and_others_are_404(client: Client, ada: User) -> None:
    link = link_for(Role.REVIEWER, ada)
    Invitation.objects.update(expires_at=timezone.now() - timedelta(days=1))
    assert "too old" in client.get(link).content.decode()
    Invitation.objects.update(revoked_at=timezone.now())
    response = client.post(link, NEW_PERSON)
    assert response.status_code == 410
    assert "Ask the person who sent it" in response.content.decode()
    assert User.objects.count() == 1
    for token in ("x", "..", "%F0%9F%AB%81", "x" * 500):
        assert client.get(f"/invitation/{token}/").status_code == 404, "it was never given out"


def test_an_account_with_that_address_logs_in_first(client: Client, ada: User, stan: User) -> None:
    link = link_for(Role.REVIEWER, ada, stan.email)
    assert f"/login/?next={link}" in client.get(link).content.decode()
    assert client.post(link, NEW_PERSON).status_code == 200
    assert User.objects.count() == 2
    client.force_login(stan)
    assert "Take the role" in client.get(link).content.decode()
    assert not Membership.objects.filter(user=stan).exists()
    assert client.post(link)["Location"] == "/"
    assert Membership.objects.get(user=stan).role == Role.REVIEWER


def test_the_wrong_account_and_the_own_link_are_refused(client: Client, ada: User, stan: User, rita: User) -> None:
    link = link_for(Role.COORDINATOR, ada, stan.email)
    client.force_login(rita)
    assert client.post(link).status_code == 409
    client.force_login(ada)
    assert "Nobody gives roles to themselves" in client.post(link).content.decode()
    assert not Membership.objects.filter(role=Role.COORDINATOR).exists()


# --- giving links out: the site ---


def test_an_administrator_makes_a_link_that_is_shown_once(administrator: Client) -> None:
    assert administrator.get("/people/invite/").status_code == 200
    page = administrator.post("/people/invite/", {"roles": "reviewer", "email": "", "name": "Nina"})
    shown = re.search(r'value="http[^"]*(/invitation/[^"]+)"', page.content.decode())
    assert shown
    assert Client().get(shown.group(1)).status_code == 200
    assert shown.group(1) not in administrator.get("/people/").content.decode()
    assert "no-store" in page["Cache-Control"]
    assert not delivered()


def test_a_letter_goes_out_when_a_mail_server_is_set_up(administrator: Client, settings: Settings) -> None:
    settings.EMAIL_HOST = "smtp.example.org"
    page = administrator.post("/people/invite/", {"roles": "reviewer", "email": "Nina@example.org", "name": ""})
    assert "being sent to nina@example.org" in page.content.decode()
    assert delivered()[0].to == ["nina@example.org"]
    assert "/invitation/" in str(delivered()[0].body)


def test_a_letter_that_fails_loses_nothing(administrator: Client, settings: Settings) -> None:
    """The page does not wait for the server; the job says what happened, and is tried again."""
    settings.EMAIL_HOST, working = "127.0.0.1", settings.EMAIL_BACKEND
    settings.EMAIL_BACKEND, settings.EMAIL_PORT = "django.core.mail.backends.smtp.EmailBackend", 1
    page = administrator.post("/people/invite/", {"roles": "reviewer", "email": "nina@example.org", "name": ""})
    shown = re.search(r'value="http[^"]*/invitation/([^"/]+)/"', page.content.decode())
    assert shown
    assert not delivered()
    job = Job.objects.get()
    assert (job.state, job.message) == (JobState.QUEUED, "[Errno 111] Connection refused")
    assert job.message in administrator.get(f"/jobs/{job.public_id}/").content.decode()
    assert shown.group(1) not in str(Job.objects.values().get())
    settings.EMAIL_BACKEND = working
    for _twice in range(2):
        Job.objects.update(state=JobState.QUEUED, due_at=None)
        [letter] = delivered()
    assert shown.group(1) in str(letter.body)
    assert not email_file(job.params["letter"]).exists()


def test_bad_invitations_are_refused(administrator: Client, rita: User) -> None:
    for data in (
        {"roles": "emperor"},
        {"roles": ""},
        {"roles": [], "name": "Nina"},
        {"roles": "reader"},
        {"roles": "reviewer", "email": "no address"},
        {"roles": "reviewer", "email": "rita@example.org"},
    ):
        assert administrator.post("/people/invite/", data).status_code == 422, data
    assert not Invitation.objects.exists()


@pytest.mark.parametrize("email", ["nina@example.org", ""])
def test_a_new_link_takes_the_place_of_one_that_was_lost(administrator: Client, ada: User, email: str) -> None:
    lost = link_for(Role.COORDINATOR, ada, email)
    address = f"/invitations/{Invitation.objects.get().pk}/new-link/"
    page = administrator.post(address).content.decode()
    found = re.search(r"/invitation/[\w-]+/", page)
    assert found
    assert found[0] != lost
    assert Client().get(lost).status_code == 410
    assert Client().get(found[0]).status_code == 200
    assert administrator.post(address)["Location"] == "/people/"  # of a link that works no longer
    assert Invitation.objects.count() == 2


def test_revoking(administrator: Client, ada: User) -> None:
    link = link_for(Role.REVIEWER, ada)
    pk = Invitation.objects.get().pk
    assert administrator.post(f"/invitations/{pk}/revoke/").status_code == 200
    assert Client().get(link).status_code == 200
    assert administrator.post(f"/invitations/{pk}/revoke/", YES)["Location"] == "/people/"
    assert Client().get(link).status_code == 410
    assert "1 revoked link" in administrator.get("/people/").content.decode()
    assert AuditEvent.objects.filter(act="invitation.revoked", actor=ada).count() == 1
    for _twice in range(2):
        assert administrator.post(f"/invitations/{pk}/restore/")["Location"] == "/people/"
    assert Client().get(link).status_code == 200
    assert AuditEvent.objects.filter(act="invitation.restored", actor=ada).count() == 1


def test_one_link_gives_several_roles(administrator: Client) -> None:
    """Quarantine needs a second role: it took a second link."""
    given = {"roles": ["coordinator", "deidentifier"], "name": "Nina"}
    page = administrator.post("/people/invite/", given).content.decode()
    shown = re.search(r'value="http[^"]*(/invitation/[^"]+)"', page)
    assert shown
    link = shown.group(1)
    assert "coordinator</span>" in page
    assert "de-identification</span>" in page
    opened = Client().get(link).content.decode()
    assert "<strong>coordinator</strong>, <strong>de-identification</strong>." in opened
    assert Client().post(link, NEW_PERSON)["Location"] == "/"
    nina = User.objects.get(email="nina@example.org")
    assert set(nina.memberships.values_list("role", flat=True)) == {Role.COORDINATOR, Role.DEIDENTIFIER}
    assert Client().get(link).status_code == 410


def test_revoking_one_role_of_a_link_leaves_the_others(client: Client, ada: User, stan: User) -> None:
    issued = invite(Grant(Role.COORDINATOR), Grant(Role.DEIDENTIFIER), email="", name="", actor=ada, at=timezone.now())
    link = f"/invitation/{issued.token}/"
    client.force_login(ada)
    address = f"/invitations/{issued.invitations[0].pk}/revoke/"
    asked = client.post(address).content.decode()
    assert "no longer gives the role coordinator; it still gives: de-identification" in asked
    client.post(address, YES)
    opened = Client().get(link).content.decode()
    assert "de-identification" in opened
    assert "coordinator" not in opened
    client.force_login(stan)
    client.post(link)
    assert list(stan.memberships.values_list("role", flat=True)) == [Role.DEIDENTIFIER]
    client.force_login(ada)
    assert "1 revoked link" not in client.get("/people/").content.decode(), "the link is used: nothing to restore"
    client.post(f"/invitations/{issued.invitations[0].pk}/restore/")
    assert Client().get(link).status_code == 410


# --- giving links out: one round ---


def test_a_coordinator_invites_a_reviewer_to_a_round(coordinator: Client, open_round: ReviewRound) -> None:
    page = coordinator.get("/rounds/spring/invite/")
    assert 'value="coordinator"' not in page.content.decode()
    assert coordinator.post("/rounds/spring/invite/", {"roles": "coordinator"}).status_code == 422
    assert coordinator.post("/rounds/spring/invite/", {"roles": "reviewer", "name": "<b>Guest"}).status_code == 200
    invitation = Invitation.objects.get()
    assert invitation.round == open_round
    assert "&lt;b&gt;Guest" in coordinator.get("/rounds/spring/invite/").content.decode()
    response = coordinator.post(f"/invitations/{invitation.pk}/revoke/", YES)
    assert response["Location"] == "/rounds/spring/invite/"
    ReviewRound.objects.update(state=RoundState.CLOSED)
    response = coordinator.post("/rounds/spring/invite/", {"roles": "reviewer"})
    assert (response.status_code, "closed" in response.content.decode()) == (422, True)
    assert Invitation.objects.count() == 1


def test_a_coordinator_of_a_round_steers_no_link_of_its_coordinators(
    client: Client, stan: User, ada: User, open_round: ReviewRound
) -> None:
    """They could restore the link of a coordinator that the administrator had revoked."""
    Membership.objects.create(user=stan, role=Role.COORDINATOR, round=open_round, granted_at=open_round.created_at)
    now = timezone.now()
    issued = invite(Grant(Role.COORDINATOR, open_round), email="", name="Nina", actor=ada, at=now).invitation
    revoke_address, restore_address = (f"/invitations/{issued.pk}/{act}/" for act in ("revoke", "restore"))
    for who, status in ((stan, 404), (ada, 302)):
        client.force_login(who)
        for page in ("/rounds/spring/", "/rounds/spring/invite/"):
            shown = client.get(page).content.decode()
            assert "Nina" in shown
            assert (revoke_address in shown) is (who == ada)
        assert client.post(revoke_address, YES).status_code == status
    for who, status in ((stan, 404), (ada, 302)):
        client.force_login(who)
        assert (restore_address in client.get("/rounds/spring/invite/").content.decode()) is (who == ada)
        assert client.post(restore_address).status_code == status


def test_revoking_one_role_tells_no_role_of_another_round(
    client: Client, stan: User, ada: User, open_round: ReviewRound
) -> None:
    hidden = ReviewRound.objects.create(
        name="Hidden", slug="hidden", plan=open_round.plan, state=RoundState.OPEN, created_at=open_round.created_at
    )
    known = ReviewRound.objects.create(
        name="Known", slug="known", plan=open_round.plan, state=RoundState.OPEN, created_at=open_round.created_at
    )
    for one in (open_round, known):
        Membership.objects.create(user=stan, role=Role.COORDINATOR, round=one, granted_at=open_round.created_at)
    grants = [Grant(Role.REVIEWER, one) for one in (open_round, hidden, known)]
    issued = invite(*grants, Grant(Role.MODEL_SUBMITTER), email="", name="Nina", actor=ada, at=timezone.now())
    client.force_login(stan)
    asked = client.post(f"/invitations/{issued.invitations[0].pk}/revoke/").content.decode()
    assert "it still gives: reviewer of “Known”, and other roles." in asked
    assert "Hidden" not in asked
    assert "submitter" not in asked
    client.force_login(ada)
    asked = client.post(f"/invitations/{issued.invitations[0].pk}/revoke/").content.decode()
    assert "it still gives: reviewer of “Hidden”, reviewer of “Known”, model submitter." in asked
