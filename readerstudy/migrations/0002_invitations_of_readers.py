"""Links into a study become invitations of the kind "study": add the reference, fill it, then drop what moved."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

KEPT = ("token_sha256", "email", "name", "created_at", "expires_at", "used_at", "revoked_at", "reminded_at")


def old_fields() -> dict[str, models.Field[Any, Any]]:
    """Those that could not be empty; on the way back rows are made before they are filled."""
    return {
        "token_sha256": models.CharField(max_length=64, unique=True, null=True),
        "email": models.EmailField(blank=True, max_length=254, verbose_name="e-mail", null=True),
        "name": models.CharField(blank=True, max_length=200, verbose_name="name", null=True),
        "created_at": models.DateTimeField(null=True),
        "expires_at": models.DateTimeField(null=True),
        "created_by": models.ForeignKey(
            on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL, null=True
        ),
    }


def move_links(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """In the order in which they were given out, so that lists by id stay as they are."""
    links, invitations = apps.get_model("readerstudy", "StudyInvitation"), apps.get_model("annotation", "Invitation")
    enrolments = apps.get_model("readerstudy", "Enrolment").objects.filter(invitation__isnull=False)
    readers = dict(enrolments.values_list("invitation_id", "reader_id"))
    for link in links.objects.order_by("pk").iterator():
        row = invitations(kind="study", role="reader", created_by_id=link.created_by_id)
        row.used_by_id = readers.get(link.pk) if link.used_at else None
        for name in KEPT:
            setattr(row, name, getattr(link, name))
        row.save()
        links.objects.filter(pk=link.pk).update(invitation=row.pk)


def move_back(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    links, invitations = apps.get_model("readerstudy", "StudyInvitation"), apps.get_model("annotation", "Invitation")
    for link in links.objects.select_related("invitation").iterator():
        kept = {name: getattr(link.invitation, name) for name in (*KEPT, "created_by_id")}
        links.objects.filter(pk=link.pk).update(**kept, invitation=None)
    invitations.objects.filter(kind="study").delete()


class Migration(migrations.Migration):
    dependencies = [("readerstudy", "0001_initial"), ("annotation", "0004_one_invitation")]

    operations = [
        migrations.AlterModelOptions("studyinvitation", options={}),
        migrations.AddField(
            "studyinvitation",
            "invitation",
            models.OneToOneField(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="to_study",
                to="annotation.invitation",
            ),
        ),
        *(migrations.AlterField("studyinvitation", name, field) for name, field in old_fields().items()),
        migrations.RunPython(move_links, move_back),
    ]
