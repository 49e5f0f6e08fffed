"""Limits hold over all processes, whatever counts; where Redis is gone they hold in each, and passwords are guarded."""

from __future__ import annotations

import subprocess
import sys

import pytest
from django.core.cache import caches
from django.test import Client
from pytest_django.fixtures import Settings

from annotation.models import User
from rexvqa_site.env import counts_in
from tests.processes import ROOT, free_port

MOST = 30
TRIES = f"""
import django; django.setup()
from datetime import datetime, timedelta, UTC
from annotation.site.counting import Throttle
throttle = Throttle("tries", {MOST}, timedelta(hours=1))
print(sum(throttle.takes("zoe@example.org", datetime(2026, 3, 2, 12, tzinfo=UTC)) for _ in range({MOST - 5})))
"""


def taken_by_two(env: dict[str, str]) -> int:
    """How many the limit let through of two processes that try at the same time."""
    env = {**env, "DJANGO_SETTINGS_MODULE": "rexvqa_site.settings", "PYTHONPATH": str(ROOT), "REXVQA_NODES": "2"}
    both = [subprocess.Popen([sys.executable, "-c", TRIES], env=env, stdout=subprocess.PIPE) for _ in range(2)]
    return sum(int(one.communicate()[0]) for one in both)


def test_a_limit_holds_over_two_processes_by_the_database(migrated: dict[str, str]) -> None:
    assert taken_by_two(migrated) == MOST


@pytest.mark.services
def test_a_limit_holds_over_two_processes_by_redis(tmp_path: object) -> None:
    import redis

    server = redis.Redis(db=9)
    try:
        server.flushdb()
    except redis.ConnectionError:
        pytest.skip("Redis does not run on 127.0.0.1:6379")
    env = {"PATH": "", "REXVQA_HOME": str(tmp_path), "CELERY_BROKER_URL": "redis://127.0.0.1:6379/9"}
    assert taken_by_two(env) == MOST
    (key,) = server.keys()
    assert b"zoe" not in key
    assert int(server.get(key) or 0) == 2 * (MOST - 5)
    assert int(server.ttl(key)) > 3600
    server.flushdb()


@pytest.mark.django_db
def test_without_redis_pages_come_and_limits_hold(
    reviewer: Client, rita: User, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    counts = counts_in(f"redis://127.0.0.1:{free_port()}/0", 2)
    settings.CACHES = {**settings.CACHES, "counts": counts}
    caches["default"].clear()
    settings.AXES_ENABLED, settings.API_REQUESTS_PER_MINUTE = True, 2
    asked = [reviewer.get("/api/v1/me/").status_code for _ in range(5)]  # a minute may begin in between
    assert (asked[0], 429 in asked) == (200, True)
    assert [one.levelname for one in caplog.records if one.name == "annotation.site.counting"] == ["WARNING"]
    reviewer.logout()
    tried = [reviewer.post("/login/", {"username": rita.email, "password": "wrong"}).status_code for _ in range(9)]
    assert tried[-1] == 429


@pytest.mark.parametrize(
    ("broker", "nodes", "backend", "location"),
    [
        ("redis://:a,b;c@h:6379/1?visibility_timeout=9", 1, "RedisCache", ["redis://:a,b;c@h:6379/1"]),
        ("rediss://h:6379/1?ssl_cert_reqs=required", 2, "RedisCache", ["rediss://h:6379/1?ssl_cert_reqs=required"]),
        ("amqp://h//", 2, "DatabaseCache", "annotation_counts"),
        ("filesystem://", 1, "LocMemCache", "counts"),
    ],
)
def test_where_counts_are(broker: str, nodes: int, backend: str, location: object) -> None:
    cache = counts_in(broker, nodes)
    assert (cache["BACKEND"].rpartition(".")[2], cache["LOCATION"]) == (backend, location)
