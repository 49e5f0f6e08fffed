from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0004_one_invitation")]

    operations = [
        migrations.AddField("image", "turn", models.CharField(blank=True, default="", max_length=16)),
        migrations.AddField("image", "is_turned", models.BooleanField(null=True)),
        migrations.AddIndex(
            "sourceidentifier",
            models.Index(condition=models.Q(kind="stated_view"), fields=["image_id"], name="identifier_view"),
        ),
    ]
