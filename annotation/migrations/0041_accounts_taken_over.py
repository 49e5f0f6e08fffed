"""Accounts that are there get what accounts have from now on: an address with its confirmation, and listed sessions.

An address counts as confirmed where somebody else named it: in an invitation that was used, or when an administrator
added the person. One that its owner typed behind a link without an address does not.
"""

from datetime import timedelta

from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.db import migrations
from django.utils import timezone


def take_over_addresses(apps, editor):
    people = apps.get_model("annotation", "User")
    addresses = apps.get_model("account", "EmailAddress")
    invited = apps.get_model("annotation", "Invitation").objects.filter(used_at__isnull=False).exclude(email="")
    events = apps.get_model("annotation", "AuditEvent").objects.filter(act="person.added", subject_type="user")
    named, added = set(invited.values_list("email", flat=True)), set(events.values_list("subject_id", flat=True))
    known = set(addresses.objects.values_list("user_id", flat=True))
    rows = (
        addresses(user_id=pk, email=email, primary=True, verified=email in named or str(pk) in added)
        for pk, email in people.objects.values_list("pk", "email")
        if pk not in known
    )
    addresses.objects.bulk_create(rows, batch_size=500)


def list_sessions(apps, editor):
    listed, now = apps.get_model("usersessions", "UserSession"), timezone.now()
    people = set(apps.get_model("annotation", "User").objects.values_list("pk", flat=True))
    known = set(listed.objects.values_list("session_key", flat=True))
    rows = []
    for session in apps.get_model("sessions", "Session").objects.filter(expire_date__gt=now).iterator():
        person = SessionStore().decode(session.session_data).get("_auth_user_id", "")
        if session.session_key in known or not str(person).isdecimal() or int(person) not in people:
            continue
        since = session.expire_date - timedelta(seconds=settings.SESSION_COOKIE_AGE)
        at = {"created_at": since, "last_seen_at": since}
        rows.append(listed(session_key=session.session_key, user_id=int(person), ip="0.0.0.0", user_agent="", **at))  # noqa: S104
    listed.objects.bulk_create(rows, batch_size=500)


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0040_roles_by_provider"),
        ("account", "0009_emailaddress_unique_primary_email"),
        ("sessions", "0001_initial"),
        ("usersessions", "0001_initial"),
    ]

    operations = [
        migrations.RunPython(take_over_addresses, migrations.RunPython.noop),
        migrations.RunPython(list_sessions, migrations.RunPython.noop),
    ]
