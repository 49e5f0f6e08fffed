from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0003_without_trials_and_exams")]

    operations = [
        migrations.AddField("invitation", "kind", models.CharField(default="role", max_length=16)),
        migrations.AddField("invitation", "reminded_at", models.DateTimeField(blank=True, null=True)),
    ]
