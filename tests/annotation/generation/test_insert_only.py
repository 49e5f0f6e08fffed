"""Reports and findings of a run never change: the database itself refuses it, on both kinds."""

from __future__ import annotations

from tests.processes import manage

TAMPER = """
import tempfile
from pathlib import Path
from django.db import DatabaseError, transaction
from annotation.models import Bullet, GenerationReport, ModelCall
from annotation.call_enums import EndpointPlace
from annotation.generation.generation_plans import plan_generation, store_generation
from tests.annotation.model_calls.simulated_calls import NOON, asked_server
from tests.annotation.generation.made import bank_with_reports, wanted_of
with tempfile.TemporaryDirectory() as folder, asked_server(place=EndpointPlace.MACHINE):
    plan = plan_generation(wanted_of(bank_with_reports(Path(folder), 3)), at=NOON)
    store_generation(plan, actor=None, at=NOON)
Bullet.objects.create(report=GenerationReport.objects.all()[0], call=ModelCall.objects.all()[0], number=1, quote="q",
    statement="s", polarity="present", compares_with_prior=False)
for name, change in (
    ("change a report", lambda: GenerationReport.objects.update(record="{}")),
    ("delete a report", lambda: GenerationReport.objects.filter(number=2)._raw_delete("default")),
    ("change a finding", lambda: Bullet.objects.update(quote="other")),
    ("delete a finding", lambda: Bullet.objects.all()._raw_delete("default")),
):
    try:
        with transaction.atomic():
            change()
        print("WENT THROUGH", name)
    except DatabaseError as error:
        print("insert-only" in str(error), name)
"""


def test_reports_and_findings_are_insert_only(migrated: dict[str, str]) -> None:
    done = manage("shell", "-v0", "-c", TAMPER, env=migrated)
    assert done.stdout.splitlines()[-4:] == [
        "True change a report",
        "True delete a report",
        "True change a finding",
        "True delete a finding",
    ], done.stderr
