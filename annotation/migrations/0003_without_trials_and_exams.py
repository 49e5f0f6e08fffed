"""Trials of prompts and planted exams of validators and of identifier rules are no longer of the program."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.utils import timezone

OVER = ("complete", "stopped")


def end_exams(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """A run without the mark of an exam would store answers about planted copies of questions as verdicts.

    Its calls stay with what was paid for them.
    """
    runs = apps.get_model("annotation", "ValidatorRun").objects.filter(is_exam=True)
    ids = list(runs.values_list("pk", flat=True))
    batches = apps.get_model("annotation", "CallBatch").objects.filter(
        pk__in=list(runs.values_list("batch", flat=True))
    )
    batches.exclude(state__in=OVER).update(state="stopped", finished_at=timezone.now())
    waiting = apps.get_model("annotation", "Job").objects.filter(state__in=("queued", "running"))
    waiting.filter(kind="examine_identifier_rules").update(state="cancelled", finished_at=timezone.now())
    waiting.filter(kind="take_verdicts", params__run__in=ids).update(state="cancelled", finished_at=timezone.now())
    runs.delete()


class Migration(migrations.Migration):
    dependencies = [("annotation", "0002_from_the_last_before")]
    operations = [
        migrations.RunPython(end_exams, migrations.RunPython.noop),
        migrations.RemoveField("validatorrun", "is_exam"),
        migrations.DeleteModel("PromptTrial"),
        migrations.DeleteModel("IdentifierExam"),
    ]
