from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0016_queues")]

    operations = [
        migrations.AddField("reviewround", "display_check", models.BooleanField(db_default=False, default=False)),
    ]
