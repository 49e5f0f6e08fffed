import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0024_frames_and_banks_of_findings"),
        ("readerstudy", "0019_drafts_go_into_the_bin"),
    ]

    operations = [
        migrations.CreateModel(
            name="FailureCounts",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("inputs_sha256", models.CharField(max_length=64)),
                (
                    "bank",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.questionbank"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="FailureCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("n_models", models.PositiveSmallIntegerField()),
                ("n_failed", models.PositiveSmallIntegerField()),
                ("percent", models.PositiveSmallIntegerField()),
                (
                    "bank",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.questionbank",
                    ),
                ),
                (
                    "revision",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.revision"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["bank", "n_failed"], name="failure_by_number"),
                    models.Index(fields=["bank", "percent"], name="failure_by_share"),
                ],
            },
        ),
    ]
