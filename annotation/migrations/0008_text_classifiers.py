from __future__ import annotations

from django.conf import settings
from django.db import migrations, models
from django.db.models.deletion import PROTECT

import annotation.models.fields

ID = ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"))
PUBLIC_ID = (
    "public_id",
    annotation.models.fields.PublicIdField(
        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
    ),
)


def _to(model: str, name: str = "+", **more: bool) -> models.ForeignKey:  # type: ignore[type-arg]
    return models.ForeignKey(on_delete=PROTECT, related_name=name, to=model, **more)


def _once(name: str, *fields: str) -> models.UniqueConstraint:
    return models.UniqueConstraint(fields=fields, name=name)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0007_releases")]

    operations = [
        migrations.RemoveField("validatorrun", "found"),
        migrations.CreateModel(
            "Classifier",
            [
                ID,
                PUBLIC_ID,
                ("folder", models.CharField(max_length=30)),
                ("fingerprint", models.CharField(max_length=12)),
                ("labels", models.JSONField()),
                ("created_at", models.DateTimeField()),
            ],
            {"ordering": ("folder", "-pk"), "constraints": [_once("classifier_once", "folder", "fingerprint")]},
        ),
        migrations.CreateModel(
            "LabelledSet",
            [
                ID,
                PUBLIC_ID,
                ("name", models.CharField(max_length=100)),
                ("sha256", models.CharField(max_length=64)),
                ("texts", models.JSONField(null=True)),
                ("classes", models.JSONField()),
                ("probabilities", models.JSONField(default=list)),
                ("created_at", models.DateTimeField()),
                ("classifier", _to("annotation.classifier", "labelled_sets")),
                ("created_by", _to(settings.AUTH_USER_MODEL, null=True)),
            ],
            {"ordering": ("-pk",)},
        ),
        migrations.CreateModel(
            "ClassScore",
            [
                ID,
                ("probabilities", models.JSONField()),
                ("classifier", _to("annotation.classifier", db_index=False)),
                ("revision", _to("annotation.revision")),
            ],
            {"constraints": [_once("class_score_once", "classifier", "revision")]},
        ),
        migrations.CreateModel(
            "ClassThreshold",
            [
                ID,
                ("part", models.CharField(max_length=11)),
                ("label", models.CharField(max_length=60)),
                ("threshold", models.FloatField()),
                ("measured", models.JSONField()),
                ("set_at", models.DateTimeField()),
                ("classifier", _to("annotation.classifier", "thresholds")),
                ("labelled_set", _to("annotation.labelledset")),
                ("set_by", _to(settings.AUTH_USER_MODEL, null=True)),
            ],
            {"ordering": ("classifier", "-part"), "constraints": [_once("class_threshold_once", "classifier", "part")]},
        ),
    ]
