from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0010_graded_explanations")]

    operations = [migrations.AddField("generationrun", "masked", models.JSONField(default=list))]
