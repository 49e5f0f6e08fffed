from __future__ import annotations

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django.fixtures import Settings

from annotation.enums import Role
from annotation.models import User
from annotation.site.permissions import site_roles


def test_the_printed_link_makes_the_first_administrator(
    db: None, capsys: pytest.CaptureFixture[str], settings: Settings, client: Client
) -> None:
    call_command("first_administrator")
    link = capsys.readouterr().out.strip()
    assert link.startswith(f"{settings.PUBLIC_URL}/invitation/")
    data = {
        "email": "boss@example.org",
        "name": "Boss",
        "password": "another staple 77",
        "password_again": "another staple 77",
        "time_zone": "UTC",
    }
    assert client.post(link.removeprefix(settings.PUBLIC_URL), data)["Location"] == "/"
    founder = User.objects.get()
    assert site_roles(founder) == {Role.ADMINISTRATOR, Role.COORDINATOR, Role.DEIDENTIFIER}
    call_command("first_administrator")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "administrator already" in printed.err
