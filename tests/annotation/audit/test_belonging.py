"""A site starts with the database and the keys that belong to it, and says what is wrong otherwise."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.db.migrations.recorder import MigrationRecorder
from pytest_django import Settings

from annotation.audit.belonging import NOTED, check_keys, check_program
from annotation.models import AuditEvent
from annotation.site.home_files import SiteRefused
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.mark.logs(NOTED)
@pytest.mark.parametrize("name", ["SECRET_KEY", "PSEUDONYM_KEY"])
def test_another_home_with_other_keys_is_refused_until_it_is_told_to_take_them(
    noon: datetime, settings: Settings, name: str
) -> None:
    for _start in range(2):
        check_keys(at=noon)
    assert AuditEvent.objects.filter(act=NOTED).count() == 1
    noted = AuditEvent.objects.get(act=NOTED).facts
    assert not any(key in str(noted) for key in (settings.SECRET_KEY, settings.PSEUDONYM_KEY))
    setattr(settings, name, "another key, as long as a key has to be, and longer")
    with refuses(SiteRefused, "other_keys", match=f"another {name.lower()}\\."):
        check_keys(at=noon)
    check_keys(at=noon, takes_them=True)
    check_keys(at=noon)
    assert AuditEvent.objects.filter(act=NOTED).count() == 2


def test_a_newer_database_and_one_that_is_not_migrated_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    applied = {("readerstudy", "9000_of_next_year")}
    monkeypatch.setattr(MigrationRecorder, "applied_migrations", lambda _recorder: dict.fromkeys(applied))
    with refuses(SiteRefused, "newer_database", match="9000_of_next_year of readerstudy"):
        check_program(will_migrate=True)
    applied.clear()
    check_program(will_migrate=True)
    with refuses(SiteRefused, "not_migrated", match="0001_initial of annotation"):
        check_program(will_migrate=False)
