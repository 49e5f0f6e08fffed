from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0012_splits")]

    operations = [
        migrations.AddField("user", "keys", models.CharField(db_default="all", default="all", max_length=6)),
    ]
