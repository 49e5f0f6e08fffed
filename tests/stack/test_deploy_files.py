"""The files of docs/deploy/ name what is there. ``make stack-test`` starts a site from them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from annotation.site.logs import SECRET_ADDRESSES
from rexvqa_site.celery_settings import QUEUES
from tests.architecture.source import ROOT
from tests.bench.capacity import PAGE, table
from tests.stack.parts import DEPLOY, assigned, unit

SERVICES = sorted(DEPLOY.glob("*.service"))
TIMERS = sorted(DEPLOY.glob("*.timer"))


def test_the_page_names_every_file() -> None:
    page = (ROOT / "docs/deploy.md").read_text()
    named = {path for path in DEPLOY.rglob("*") if path.is_file() and path.suffix not in (".service", ".timer")}
    assert {path.name for path in named if path.name not in page} == set()
    assert "rexvqa-*.service rexvqa-*.timer reading-room-drill.*" in page
    assert all(f"{path.stem}.timer" in page for path in TIMERS)
    (queues,) = re.findall(r"for queue in ([a-z ]+); do", page)
    assert set(queues.split()) == set(QUEUES)


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.name)
def test_units_run_commands_that_are_there(path: Path) -> None:
    script = (DEPLOY / "drill").read_text() if path.stem == "reading-room-drill" else ""
    commands = re.findall(r"manage\.py (\w+)", path.read_text() + script)
    own = {found.stem for found in ROOT.glob("*/management/commands/*.py")} | {"clearsessions"}
    assert commands
    assert set(commands) <= own
    assert set(unit(path.read_text())) <= {
        *("Description", "Type", "Environment", "EnvironmentFile", "ExecStart", "ExecStartPost", "KillMode", "Nice"),
        *("After", "Restart", "RestartSec", "TimeoutStartSec", "TimeoutStopSec", "WantedBy"),
    }


def test_every_timer_has_its_service() -> None:
    assert {path.stem for path in TIMERS} == {
        *("rexvqa-backup", "rexvqa-deletion", "rexvqa-digests", "reading-room-drill"),
    }
    assert all(path.with_suffix(".service") in SERVICES for path in TIMERS)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_reads_the_units(tmp_path: Path) -> None:
    """With programs that are on every machine in place of those of the site."""
    shutil.copytree(DEPLOY, tmp_path, dirs_exist_ok=True)
    for path in tmp_path.glob("*.service"):
        path.write_text(re.sub(r"(?m)^(Exec\w+=)/\S+", r"\1/bin/true", path.read_text()))
    instances = [path.name.replace("@.", "@8001.") for path in [*SERVICES, *TIMERS]]
    for path in tmp_path.glob("*@.service"):
        path.rename(path.with_name(path.name.replace("@.", "@8001.")))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=no", *(str(tmp_path / name) for name in instances)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert [line for line in done.stderr.splitlines() if "rexvqa-" in line or "reading-room" in line] == []


def test_settings_of_the_file_are_settings_of_the_site() -> None:
    page = (ROOT / "docs/settings.md").read_text()
    names = {name for name in assigned((DEPLOY / "site.env").read_text()) if name.startswith("REXVQA_")}
    assert {name for name in names if f"| `{name}` |" not in page} == set()


def test_nginx_logs_no_secret_part_of_a_link() -> None:
    """What the log of nginx hides is what the log of the site hides."""
    (hidden,) = re.findall(r"<begin>/\(([a-z/|]+)\)/", (DEPLOY / "nginx.conf").read_text())
    assert {f"/{begin}/" for begin in hidden.split("|")} == set(SECRET_ADDRESSES)


def test_containers_copy_what_is_there_and_start_every_part() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    copied = [name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]]
    assert {"manage.py", "annotation", "readerstudy", "rexvqa_site", "static", "templates"} <= set(copied)
    assert all((ROOT / name).exists() for name in copied)
    users = [at for at, line in enumerate(lines) if line.startswith("USER ")]
    assert lines[users[-1]] != "USER root"
    assert any("/healthz" in line for line in lines)
    compose: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = compose["services"]
    assert services.keys() == {"postgres", "redis", "migrate", "web1", "web2", "worker", "nginx"}
    assert (DEPLOY / services["migrate"]["build"]["context"]).resolve() == ROOT
    assert (ROOT / services["migrate"]["build"]["dockerfile"]).exists()
    mounts = [
        str(mount).rsplit(":", 2 if str(mount).endswith(":ro") else 1)[0]
        for one in services.values()
        for mount in one.get("volumes", [])
    ]
    assert all((DEPLOY / mount).exists() for mount in mounts if mount.startswith("./"))
    assert {mount for mount in mounts if mount.isidentifier()} <= set(compose["volumes"])
    settings = (ROOT / "docs/settings.md").read_text()
    assert all(f"| `{name}` |" in settings for name in services["worker"]["environment"])
    needed = {name for one in services.values() for name in one.get("depends_on", [])}
    assert needed <= services.keys()


def test_alerts_ask_for_figures_that_are_told() -> None:
    rules = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"][0]["rules"]
    asked = {name for rule in rules for name in re.findall(r"rexvqa_[a-z_]+", rule["expr"])}
    told = (ROOT / "annotation/backup/figures.py").read_text()
    assert {name for name in asked if name not in told} == set()
    assert all(rule["annotations"]["do"] for rule in rules)


def test_the_alert_of_jobs_that_wait_keeps_the_label_of_their_queue() -> None:
    """What it says to do names it, and a maximum drops every label that it is not asked to keep."""
    rules = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"][0]["rules"]
    (rule,) = (rule for rule in rules if "rexvqa_job_waiting_seconds" in rule["expr"])
    assert "max by (queue) (rexvqa_job_waiting_seconds)" in rule["expr"]
    assert "{{ $labels.queue }}" in rule["annotations"]["do"]


def test_the_page_of_scale_holds_what_the_calculator_prints() -> None:
    assert table(PAGE, (50, 200, 1000, 3000)) in (ROOT / "docs/scale.md").read_text()
