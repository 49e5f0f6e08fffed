"""A revision may leave out images of its exam."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0024_frames_and_banks_of_findings"),
    ]

    operations = [
        migrations.AddField(
            model_name="revision",
            name="images_left_out",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name="revision",
            index=models.Index(
                condition=models.Q(("images_left_out__isnull", False)),
                fields=["bank"],
                name="revision_left_out",
            ),
        ),
    ]
