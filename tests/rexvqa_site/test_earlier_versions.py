"""Sites of earlier versions: migrated one file after the other, back and forth, with what they hold set right."""

from __future__ import annotations

import json
from pathlib import Path

from tests.processes import manage, migrated_site

# What `migrate` would do if no file replaced others: as the database of a site that is older than those two files.
OLDER = """
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
class OneByOne(MigrationLoader):
    def load_disk(self):
        super().load_disk()
        self.disk_migrations = {key: one for key, one in self.disk_migrations.items() if not one.replaces}
executor = MigrationExecutor(connection)
for app, name in list(executor.loader.applied_migrations):
    if "_squashed_" in name and app in ("annotation", "readerstudy"):
        executor.recorder.record_unapplied(app, name)
executor.loader = OneByOne(connection)
executor.migrate([("annotation", "0039_kept_answers"), ("readerstudy", "0014_after_unblinding")])
"""
# What a study read elsewhere stored as before unblinding, though it came after.
READ_ELSEWHERE = """
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
VERDICTS = """
from annotation.models import Finding, Revision
from annotation.quality.checking import check_revisions
from tests.annotation.validators.validated import judged, judged_bank
bank = judged_bank(3, stem="Which option is not right?")
check_revisions(bank, Revision.objects.in_bank(bank).current(), actor=None, at=NOON)
judged(bank, "fail", "pass", "fail")
judged(bank, "pass", model="another")
def rules():
    print(sorted(Finding.objects.values_list("rule", flat=True)))
rules()
"""
ACCOUNTS = """
from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import transaction
from django.utils import timezone
from annotation.audit.recording import record
from annotation.models import Invitation, User
now = timezone.now()
for name in ("invited", "added", "typed"):
    User.objects.create_user(f"{name}@example.org", "x", name=name)
added, invited = User.objects.get(name="added"), User.objects.get(name="invited")
with transaction.atomic():
    record("person.added", actor=None, at=now, subject=added)
given = dict(role="reviewer", created_at=now, expires_at=now, used_at=now, used_by=invited)
Invitation.objects.create(token_sha256="1", email="invited@example.org", **given)
Invitation.objects.create(token_sha256="2", email="", **given)
session = SessionStore()
session[SESSION_KEY] = str(added.pk)
session.save()
"""
BACK_AND_FORTH = """
def rows(model, *columns):
    print(list(model.objects.order_by("pk").values_list(*columns)))
def marks():
    rows(Voiding, "case__study__name", "case__number", "before_unblinding")
    rows(PredictionRun, "entry__name", "named_before_unblinding", "was_planned")
    print(list(ModelEntry.objects.filter(renamed_at__isnull=False).values_list("name", flat=True)))
call_command("migrate", "annotation", "0028", verbosity=0)
rules()
marks()
for name in ("0015", "0014"):
    call_command("migrate", "readerstudy", name, verbosity=0)
    marks()
call_command("migrate", verbosity=0)
rules()
print(sorted(EmailAddress.objects.filter(verified=True, primary=True).values_list("email", flat=True)))
print(sorted(EmailAddress.objects.filter(verified=False, primary=True).values_list("email", flat=True)))
print(list(UserSession.objects.values_list("user__name", "ip")))
"""
SCHEMA = """
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name")
    for kind, name, sql in cursor.fetchall():
        print(kind, name, sorted((sql or "").replace("(", ", ").replace(")", "").split(", ")))  # columns in any order
"""
TRIGGERS = """
import json
from importlib import import_module
from django.db import connection
triggers = [
    *import_module("annotation.migrations.0001_squashed_0040").TRIGGERS,
    *import_module("readerstudy.migrations.0001_squashed_0021").TRIGGERS,
]
def there():
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT tbl_name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name")
        else:
            cursor.execute(
                "SELECT pg_get_triggerdef(oid), pg_get_functiondef(tgfoid) FROM pg_trigger "
                "WHERE NOT tgisinternal ORDER BY tgname"
            )
        print(json.dumps(cursor.fetchall()))
there()
for one in triggers:
    with connection.schema_editor() as editor:
        one.remove_triggers(None, editor)
there()
for one in triggers:
    with connection.schema_editor() as editor:
        one.add_triggers(None, editor)
there()
"""


def schema(env: dict[str, str]) -> list[str]:
    done = manage("shell", "-v0", "-c", SCHEMA, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_site_of_an_earlier_version_is_taken_over(tmp_path: Path) -> None:
    """Back to annotation 0028 and readerstudy 0014 and on again, file by file, as the program does it."""
    with migrated_site(tmp_path / "home") as env:
        before = schema(env)
        script = READ_ELSEWHERE + VERDICTS + OLDER + ACCOUNTS + BACK_AND_FORTH
        done = manage("shell", "-v0", "-c", script, env=env)
        assert done.returncode == 0, done.stderr
        lines = iter(done.stdout.splitlines())
        assert next(lines).count("c1") == 6
        kept = next(lines)  # the table of before holds no verdict; what checks by rule found stays
        assert (kept.count("c1"), kept.count("negative_stem")) == (0, 3)
        marked_as_stored = [next(lines) for _ in range(3)]
        assert "False" not in marked_as_stored[0]
        voidings, runs, renamed = (next(lines) for _ in range(3))
        assert voidings == str([("Elsewhere", 1, True), ("Elsewhere", 2, False), ("Here", 1, True), ("Here", 2, True)])
        assert runs == str(
            [("Elsewhere -1", True, True), ("Elsewhere 1", False, False), ("Other", True, True), ("Here 1", True, True)]
        )
        assert renamed == "['Other']"
        assert [next(lines) for _ in range(3)] == marked_as_stored
        assert next(lines) == kept
        assert list(lines) == [
            "['added@example.org', 'invited@example.org']",
            "['typed@example.org']",
            "[('added', '0.0.0.0')]",
        ]
        assert schema(env) == before


def test_what_keeps_rows_from_change_can_be_taken_away_and_put_back(migrated: dict[str, str]) -> None:
    done = manage("shell", "-v0", "-c", TRIGGERS, env=migrated)
    assert done.returncode == 0, done.stderr
    before, without, after = (json.loads(line) for line in done.stdout.splitlines())
    assert len(before) == 51
    assert without == []
    assert after == before
