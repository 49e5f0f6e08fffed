"""Fills the site of REXVQA_HOME with a study of radiographs at full size, and prints how its reader gets in.

A process of its own, because the site that is measured has the shipped settings.
``python -m tests.bench.reading_site 40`` makes 40 cases.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import django

from tests.bench.review_site import BACKEND, give_radiographs
from tests.processes import ROOT, environment, manage


def make_site(home: Path, n_cases: int) -> dict[str, Any]:
    """A new site in ``home`` with a study of so many cases; the session of its reader and the name of the study."""
    env = environment(home, DJANGO_SETTINGS_MODULE="rexvqa_site.settings")
    manage("migrate", "--verbosity", "0", env=env).check_returncode()
    command = [sys.executable, "-m", "tests.bench.reading_site", str(n_cases)]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=True)
    way_in: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return way_in


def main(n_cases: int) -> None:
    django.setup()
    from django.test import Client

    from annotation.models import User
    from tests.readerstudy.studies import enrol, make_study

    reader = User.objects.create_user("reader@example.org", "correct horse battery", name="Reader")
    study = make_study("Bench", n_cases=n_cases, n_orders=1, simulated=True, give_images=give_radiographs)
    enrol(study, reader)
    client = Client()
    client.force_login(reader, backend=BACKEND)
    print(json.dumps({"session": client.cookies["sessionid"].value, "study": study.slug}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
