from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0008_text_classifiers")]

    operations = [
        migrations.AddField("questionbank", "releases_sought_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("questionbank", "near_releases", models.JSONField(blank=True, default=dict)),
    ]
