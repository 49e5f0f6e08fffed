from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("readerstudy", "0010_reports")]
    operations = [
        migrations.CreateModel(
            name="InputsMark",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("mark_sha256", models.CharField(max_length=64)),
                ("inputs_sha256", models.CharField(max_length=64)),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="readerstudy.readerstudy",
                    ),
                ),
            ],
        ),
    ]
