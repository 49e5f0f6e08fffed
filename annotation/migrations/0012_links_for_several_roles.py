"""One link gives several roles: its invitations share the hash of their token."""

from __future__ import annotations

import hashlib

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def leave_each_link_one_role(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """On the way back: the first role stays with its link, the others need new ones."""
    invitation = apps.get_model("annotation", "Invitation")
    seen: set[str] = set()
    for one in invitation._base_manager.order_by("pk").iterator():
        if one.token_sha256 in seen:
            one.token_sha256 = hashlib.sha256(f"{one.token_sha256} {one.pk}".encode()).hexdigest()
            one.save(update_fields=["token_sha256"])
        seen.add(one.token_sha256)


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0011_disagreement_with_the_key"),
    ]

    operations = [
        migrations.AlterField(
            model_name="invitation",
            name="token_sha256",
            field=models.CharField(db_index=True, max_length=64),
        ),
        migrations.RunPython(migrations.RunPython.noop, leave_each_link_one_role),
        migrations.AddConstraint(
            model_name="invitation",
            constraint=models.UniqueConstraint(
                fields=("token_sha256", "role", "round"), name="invitation_once_per_round"
            ),
        ),
        migrations.AddConstraint(
            model_name="invitation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("round__isnull", True)),
                fields=("token_sha256", "role"),
                name="invitation_once_per_site",
            ),
        ),
    ]
