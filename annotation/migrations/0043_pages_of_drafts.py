from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0042_pair_trials_ended")]

    operations = [
        migrations.AddField(
            model_name="reviewdraft",
            name="page",
            field=models.CharField(blank=True, default="", max_length=36),
        ),
    ]
