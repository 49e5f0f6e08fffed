from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

GONE = (
    "token_sha256",
    "email",
    "name",
    "created_at",
    "expires_at",
    "used_at",
    "revoked_at",
    "reminded_at",
    "created_by",
)


class Migration(migrations.Migration):
    dependencies = [("readerstudy", "0002_invitations_of_readers")]

    operations = [
        migrations.AlterField(
            "studyinvitation",
            "invitation",
            models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="to_study", to="annotation.invitation"
            ),
        ),
        *(migrations.RemoveField("studyinvitation", name) for name in GONE),
    ]
