from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0015_as_read")]

    operations = [
        migrations.AddField("job", "due_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("job", "priority", models.PositiveSmallIntegerField(db_default=5, default=5)),
        migrations.AddField("job", "queue", models.CharField(db_default="analysis", default="analysis", max_length=8)),
        migrations.AddField("workerbeat", "queues", models.CharField(blank=True, db_default="", max_length=80)),
        migrations.AlterField("workerbeat", "name", models.CharField(max_length=80, unique=True)),
        migrations.AddIndex("job", models.Index(fields=["-created_at"], name="job_newest")),
    ]
