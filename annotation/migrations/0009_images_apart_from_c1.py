from __future__ import annotations

from django.db import migrations
from django.utils import timezone

BEFORE, NOW = "c1", "images"


def take_apart(apps, schema_editor):  # type: ignore[no-untyped-def]
    """What was asked as c1 was whether a question needs its images: verdicts and runs go by that name from now on.

    A gate that asks for it gets a next version that means the same; earlier versions, by which releases were made,
    stay as they are. So does what samples say of how they were drawn, by its new name.
    """
    apps.get_model("annotation", "Finding").objects.filter(rule=BEFORE).update(rule=NOW)
    apps.get_model("annotation", "ValidatorRun").objects.filter(validator=BEFORE).update(validator=NOW)
    gates = apps.get_model("annotation", "Gate").objects
    newest = {gate.bank_id: gate for gate in gates.order_by("number")}
    for gate in newest.values():
        if BEFORE in gate.parts:
            rest = [part for part in gate.parts if part in ("c2", "c3")]
            parts = [*rest, NOW, *(part for part in gate.parts if part not in (BEFORE, *rest))]
            facts = {"bank_id": gate.bank_id, "name": gate.name, "parts": parts, "set_at": timezone.now()}
            gates.create(**facts, number=gate.number + 1, set_by_id=gate.set_by_id)
    for plan in apps.get_model("annotation", "SamplingPlan").objects.exclude(frame={}):
        frame = _renamed(plan.frame)
        if frame != plan.frame:
            plan.frame = frame
            plan.save(update_fields=["frame"])


def _renamed(frame):  # type: ignore[no-untyped-def]
    """Also of filters: ``c1-fail`` of validity, ``c1`` of findings."""
    found = dict(frame)
    if kept_out := found.get("kept_out"):
        found["kept_out"] = {**kept_out, "parts": [NOW if one == BEFORE else one for one in kept_out["parts"]]}
    if filters := found.get("filters"):
        found["filters"] = {
            name: NOW + value[len(BEFORE) :]
            if (name, value) == ("finding", BEFORE) or (name == "validity" and value.startswith(f"{BEFORE}-"))
            else value
            for name, value in filters.items()
        }
    return found


class Migration(migrations.Migration):
    dependencies = [("annotation", "0008_text_classifiers")]

    operations = [migrations.RunPython(take_apart, migrations.RunPython.noop)]
