"""Sites that exist: what a study read elsewhere stored as before unblinding, though it came after, is set right."""

from __future__ import annotations

from pathlib import Path

from tests.processes import manage, migrated_site

MADE = """
from datetime import timedelta
from readerstudy.models import ModelEntry, PredictionRun, ReaderStudy, Voiding
from readerstudy.predictions.entries import edit_model
from tests.annotation.review.cases import NOON
from tests.readerstudy.analysis.test_gathering import predict
from tests.readerstudy.studies import make_study
for name, opened_at in (("Elsewhere", None), ("Here", NOON)):
    study = make_study(name, n_cases=3, opened_at=opened_at, state="closed")
    for hours, case in ((-1, 1), (1, 2)):
        at = NOON + timedelta(hours=hours)
        Voiding.objects.create(
            case=study.cases.get(number=case), reason="r", before_unblinding=True, source="voidings.csv", at=at
        )
        run = predict(study, f"{name} {hours}", "ABC", at)
        PredictionRun.objects.filter(pk=run.pk).update(named_at=at)
    ReaderStudy.objects.filter(pk=study.pk).update(unblinded_at=NOON)
edit_model(ModelEntry.objects.get(name="Here -1"), {"name": "Other"}, actor=None, at=NOON + timedelta(hours=2))
ModelEntry.objects.update(renamed_at=None)
"""
TOLD = """
from readerstudy.models import ModelEntry, PredictionRun, Voiding
def rows(model, *columns):
    print(list(model.objects.order_by("pk").values_list(*columns)))
rows(Voiding, "case__study__name", "case__number", "before_unblinding")
rows(PredictionRun, "entry__name", "named_before_unblinding", "was_planned")
print(list(ModelEntry.objects.filter(renamed_at__isnull=False).values_list("name", flat=True)))
"""


def test_there_and_back(tmp_path: Path) -> None:
    with migrated_site(tmp_path / "home", "") as env:

        def told(step: str) -> list[str]:
            assert manage("migrate", "readerstudy", step, "-v0", env=env).returncode == 0
            return manage("shell", "-v0", "-c", TOLD, env=env).stdout.splitlines()

        done = manage("shell", "-v0", "-c", MADE, env=env)
        assert done.returncode == 0, done.stderr
        before = told("0014")
        assert "False" not in before[0]
        voidings, runs, renamed = told("0015")
        assert voidings == str([("Elsewhere", 1, True), ("Elsewhere", 2, False), ("Here", 1, True), ("Here", 2, True)])
        assert runs == str(
            [("Elsewhere -1", True, True), ("Elsewhere 1", False, False), ("Other", True, True), ("Here 1", True, True)]
        )
        assert renamed == "['Other']"
        assert told("0014") == before
