"""Which columns of foreign question files hold which fields, and what an upload waits with for that."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0022_comments"),
    ]

    operations = [
        migrations.AddField(
            model_name="upload",
            name="asked",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.CreateModel(
            name="ColumnMatching",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=200, unique=True, verbose_name="name")),
                ("columns", models.JSONField()),
                ("matching", models.JSONField()),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ("-changed_at", "-pk"),
            },
        ),
    ]
