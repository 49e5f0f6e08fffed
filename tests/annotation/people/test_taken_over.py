"""A site of the version before: its accounts get addresses with their confirmation, and its sessions are listed."""

from __future__ import annotations

from pathlib import Path

from tests.processes import manage, migrated_site

MOVED = """
from django.core.management import call_command
from django.utils import timezone
from django.contrib.auth import SESSION_KEY
from annotation.audit.recording import record
from annotation.models import Invitation, User
from django.db import transaction
from django.contrib.sessions.backends.db import SessionStore
call_command("migrate", "annotation", "0039", verbosity=0)
now = timezone.now()
for name in ("invited", "added", "typed"):
    User.objects.create_user(f"{name}@example.org", "x", name=name)
added, invited = User.objects.get(name="added"), User.objects.get(name="invited")
with transaction.atomic():
    record("person.added", actor=None, at=now, subject=added)
given = dict(role="reviewer", created_at=now, expires_at=now, used_at=now, used_by=invited)
Invitation.objects.create(token_sha256="1", email="invited@example.org", **given)
Invitation.objects.create(token_sha256="2", email="", **given)
session = SessionStore()
session[SESSION_KEY] = str(added.pk)
session.save()
call_command("migrate", verbosity=0)
from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
print(sorted(EmailAddress.objects.filter(verified=True, primary=True).values_list("email", flat=True)))
print(sorted(EmailAddress.objects.filter(verified=False, primary=True).values_list("email", flat=True)))
print(list(UserSession.objects.values_list("user__name", "ip")))
"""


def test_accounts_of_the_version_before_are_taken_over(tmp_path: Path) -> None:
    with migrated_site(tmp_path / "home") as env:
        done = manage("shell", "-v0", "-c", MOVED, env=env)
    assert done.stdout.splitlines() == [
        "['added@example.org', 'invited@example.org']",
        "['typed@example.org']",
        "[('added', '0.0.0.0')]",
    ], done.stderr
