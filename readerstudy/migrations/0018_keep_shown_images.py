"""Studies that are frozen already keep what they show, and the database refuses to change it.

Their images that came in before are kept as they are now. Their hashes stay, so that opening still notices whatever has
changed since. Of an open study also the rows that name the files of its images do not change.
"""

from importlib import import_module
from typing import Any

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

held = import_module("readerstudy.migrations.0003_frozen_designs")

DESCRIBED = ("public_id", "view_position", "laterality", "display", "simulated", "attribution", "licence")
OF_A_CASE = (
    "EXISTS (SELECT 1 FROM readerstudy_studycase c JOIN readerstudy_readerstudy s ON s.id = c.study_id "
    "WHERE c.id = {row}.case_id AND s.state <> 'draft')"
)
BEING_READ = (
    "EXISTS (SELECT 1 FROM readerstudy_shownimage i JOIN readerstudy_studycase c ON c.id = i.case_id "
    "JOIN readerstudy_readerstudy s ON s.id = c.study_id WHERE i.image_id = OLD.image_id AND s.state = 'open')"
)
CONDITIONS = [
    ("readerstudy_shownimage", "INSERT", OF_A_CASE.format(row="NEW")),
    ("readerstudy_shownimage", "UPDATE", f"{OF_A_CASE.format(row='OLD')} OR {OF_A_CASE.format(row='NEW')}"),
    ("readerstudy_shownimage", "DELETE", OF_A_CASE.format(row="OLD")),
    ("annotation_rendition", "UPDATE", BEING_READ),
    ("annotation_rendition", "DELETE", BEING_READ),
]


def add_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for condition in CONDITIONS:
        held.add_trigger(schema_editor, *condition)


def remove_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for table, act, _refused in CONDITIONS:
        held.remove_trigger(schema_editor, table, act)


def keep_shown(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    case_model = apps.get_model("readerstudy", "StudyCase")
    cases = case_model.objects.exclude(study__state="draft").select_related("study", "revision__question__exam")
    held.remove_triggers(apps, schema_editor)
    for case in cases.iterator(chunk_size=500):
        _keep(apps, case)
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # no trigger is made while checks are pending
    held.add_triggers(apps, schema_editor)


def _keep(apps: StateApps, case: Any) -> None:
    shown_model, image_model = apps.get_model("readerstudy", "ShownImage"), apps.get_model("annotation", "Image")
    images = image_model.objects.filter(exam=case.revision.question.exam).exclude(state="removed")
    came_before = models.Q(ingested_at__isnull=True) | models.Q(ingested_at__lte=case.study.frozen_at)
    if case.study.frozen_at is not None:
        images = images.filter(came_before)
    for position, image in enumerate(images.prefetch_related("renditions").order_by("position", "pk"), 1):
        shown_model.objects.create(case=case, position=position, image=image, frozen=_frozen(image))
    case.information = _information(apps, case)
    case.save(update_fields=["information"])


def _frozen(image: Any) -> dict[str, Any]:
    is_there = image.state == "available" and image.display is not None
    return {
        **{name: getattr(image, name) for name in DESCRIBED},
        "pixels_sha256": image.pixels_sha256,
        "renditions": {
            one.kind: {"name": one.name, "sha256": one.sha256}
            for one in image.renditions.all()
            if is_there and one.kind in ("preview", "full")
        },
    }


def _information(apps: StateApps, case: Any) -> dict[str, Any] | None:
    shown = set(case.study.arms.values_list("information", flat=True)) - {"none"}
    if not shown:
        return None
    exam = case.revision.question.exam
    told = {"age": exam.age_years, "sex": exam.sex}
    if "indication" in shown:
        keys = apps.get_model("annotation", "AnswerKey").objects.filter(pk=case.revision_id)
        told["indication"] = keys.values_list("report__indication", flat=True).first() or ""
    return told


class Migration(migrations.Migration):
    dependencies = [("readerstudy", "0017_shown_images")]
    operations = [
        migrations.RunPython(keep_shown, migrations.RunPython.noop, elidable=False),
        migrations.RunPython(add_triggers, remove_triggers, elidable=False),
    ]
