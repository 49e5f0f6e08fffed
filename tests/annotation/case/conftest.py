"""A browser that sends what a page tells about a case."""

from __future__ import annotations

import pytest
from django.test import Client

from annotation.models import User


@pytest.fixture
def browser_of_rita(client: Client, rita: User) -> Client:
    client.force_login(rita)
    client.defaults["HTTP_HX_REQUEST"] = "true"
    return client
