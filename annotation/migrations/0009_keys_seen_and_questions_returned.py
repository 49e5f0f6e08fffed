"""Who has read which key as a coordinator, and why a reviewer handed a question back."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0008_time_parts"),
    ]

    operations = [
        migrations.AddField(
            model_name="assignment",
            name="returned_because",
            field=models.CharField(blank=True, default="", max_length=16),
        ),
        migrations.CreateModel(
            name="SeenKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("source", models.CharField(max_length=16)),
                ("seen_at", models.DateTimeField()),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "question",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.question"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("person", "question"), name="seen_key_once")],
            },
        ),
    ]
