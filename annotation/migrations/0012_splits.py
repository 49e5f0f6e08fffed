from __future__ import annotations

from django.conf import settings
from django.db import migrations, models
from django.db.models.deletion import PROTECT


class Migration(migrations.Migration):
    dependencies = [("annotation", "0011_masked_reports")]

    operations = [
        migrations.AddField("question", "split", models.CharField(blank=True, db_default="", max_length=7)),
        migrations.AddIndex(
            "question",
            models.Index(
                condition=models.Q(("split__gt", "")), fields=["bank", "split", "number"], name="question_by_split"
            ),
        ),
        migrations.AddField("questionbank", "releases_sought_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("questionbank", "near_releases", models.JSONField(blank=True, default=dict)),
        migrations.AddField(
            "release",
            "withdrawn_by",
            models.ForeignKey(null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField("release", "withdrawn_at", models.DateTimeField(null=True)),
        migrations.AddField("release", "withdrawal_reason", models.CharField(blank=True, max_length=500)),
    ]
