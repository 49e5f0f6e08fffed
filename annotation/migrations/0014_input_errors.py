from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0013_keys")]

    operations = [
        migrations.AddField("blindanswer", "meant", models.CharField(blank=True, db_default="", max_length=4)),
    ]
