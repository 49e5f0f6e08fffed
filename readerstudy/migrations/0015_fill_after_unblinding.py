"""In a study that was never opened here nothing counted as after unblinding: set right what was stored as before it.

Voidings and named runs tell by their time on which side of unblinding they are. Backwards they count as before again,
which they did in such studies only. Analyses that are stored stay as they are.
"""

from importlib import import_module

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models import F

held = import_module("readerstudy.migrations.0002_append_only")
NEVER_OPENED = {"opened_at__isnull": True, "unblinded_at__isnull": False}


def _told_again(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor, *, before: bool) -> None:
    """Imported voidings and named runs of such studies that are later than the first look at a result."""
    voiding, run = (apps.get_model("readerstudy", name) for name in ("Voiding", "PredictionRun"))
    voidings = voiding.objects.exclude(source="").filter(
        **{f"case__study__{name}": value for name, value in NEVER_OPENED.items()}, at__gt=F("case__study__unblinded_at")
    )
    runs = run.objects.filter(
        **{f"study__{name}": value for name, value in NEVER_OPENED.items()}, named_at__gt=F("study__unblinded_at")
    )
    held.remove_triggers(apps, schema_editor)
    voiding.objects.filter(pk__in=list(voidings.values_list("pk", flat=True))).update(before_unblinding=before)
    held.add_triggers(apps, schema_editor)
    run.objects.filter(pk__in=list(runs.values_list("pk", flat=True))).update(named_before_unblinding=before)


def set_right(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    _told_again(apps, schema_editor, before=False)
    run = apps.get_model("readerstudy", "PredictionRun")
    planned = run.objects.filter(
        is_named=True, named_before_unblinding=True, entry__state="listed", study__unblinded_at__isnull=False
    )
    planned.update(was_planned=True)
    _note_renamings(apps)


def _note_renamings(apps: StateApps) -> None:
    """From the audit log, which is read in its order, so that the last one stands."""
    entry, event = apps.get_model("readerstudy", "ModelEntry"), apps.get_model("annotation", "AuditEvent")
    for one in event.objects.filter(act="model.edited").order_by("pk").iterator():
        if one.facts.get("changed", {}).keys() & {"name", "version"}:
            entry.objects.filter(public_id=one.subject_id).update(renamed_at=one.at)


def set_back(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    _told_again(apps, schema_editor, before=True)
    apps.get_model("readerstudy", "PredictionRun").objects.update(was_planned=False)
    apps.get_model("readerstudy", "ModelEntry").objects.update(renamed_at=None)


class Migration(migrations.Migration):
    dependencies = [("readerstudy", "0014_after_unblinding")]
    operations = [migrations.RunPython(set_right, set_back, elidable=False)]
