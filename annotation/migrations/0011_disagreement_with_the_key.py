"""What a reviewer says of a blind answer that is not the key."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0010_deleted_goes_into_the_bin"),
    ]

    operations = [
        migrations.AddField(
            model_name="review",
            name="disagreement",
            field=models.CharField(blank=True, default="", max_length=16),
        ),
    ]
