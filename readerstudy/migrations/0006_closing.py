from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("readerstudy", "0005_leaderboards")]

    operations = [
        migrations.AddField("enrolment", "closing", models.JSONField(blank=True, db_default={}, default=dict)),
    ]
