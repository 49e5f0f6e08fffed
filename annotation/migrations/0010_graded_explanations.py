from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0009_images_apart_from_c1")]

    operations = [
        migrations.AddField("sampledquestion", "explanation", models.TextField(blank=True, default=""), False),
        migrations.AddField(
            "sampledquestion", "model", models.CharField(blank=True, default="", max_length=300), False
        ),
    ]
