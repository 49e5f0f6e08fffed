from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0008_text_classifiers")]

    operations = [migrations.AddField("generationrun", "masked", models.JSONField(default=list))]
