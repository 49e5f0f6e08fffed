from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

BY_DEFAULT = {"draws": 10_000, "failed_in_accuracy": "wrong", "failed_in_agreement": "no_rating"}


def find_own(apps: Any, schema_editor: Any) -> None:
    """The newest analysis of each study by the settings of its plan."""
    for study in apps.get_model("readerstudy", "ReaderStudy")._base_manager.all():
        rows = apps.get_model("readerstudy", "Analysis").objects.filter(study=study).order_by("-created_at", "-pk")
        wanted = {**BY_DEFAULT, "seed": study.seed}
        own = next((pk for pk, settings in rows.values_list("pk", "settings") if settings == wanted), None)
        if own is not None:
            study.own_analysis_id = own
            study.save(update_fields=["own_analysis"])


class Migration(migrations.Migration):
    dependencies = [("readerstudy", "0003_one_invitation")]

    operations = [
        migrations.AddField(
            "readerstudy",
            "own_analysis",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="own_of",
                to="readerstudy.analysis",
            ),
        ),
        migrations.RunPython(find_own, migrations.RunPython.noop),
    ]
