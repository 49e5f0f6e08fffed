from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0017_display_checks")]

    operations = [
        migrations.RemoveIndex("image", "image_attention"),
        migrations.AddIndex("image", models.Index(fields=["state", "exam"], name="image_by_state")),
        migrations.AddIndex("finding", models.Index(fields=["revision"], name="finding_of_revision")),
        migrations.AddIndex(
            "sourceidentifier",
            models.Index(fields=["image_id"], name="identifier_path", condition=models.Q(kind="image_path")),
        ),
    ]
