"""What a start of the site loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.processes import ROOT, environment

SLOW = {
    *("scipy", "sklearn", "matplotlib", "pandas", "docx", "openpyxl", "pyarrow", "cv2", "onnxruntime", "tokenizers"),
    *("numpy", "pydicom", "PIL", "imagecodecs", "zstandard", "celery", "kombu"),
    *("fido2", "cryptography", "joserfc", "authlib", "jwt", "qrcode", "rich", "drf_spectacular", "jsonschema"),
    *("sentry_sdk", "opentelemetry"),
}
# Each takes as long to make as fifty Structs. See docs/decisions/0009-speed-of-the-server.md for what stays one.
DATACLASSES = {
    *("BankSearch", "GenerationProgress", "RunProgress", "Selected", "SentFile"),  # cached_property
    *("CallPlan", "CheckPlan", "GenerationPlan", "RunPlan"),  # a field by name alone
    *("Provider", "Estimate"),  # a secret that is not printed; every number of the statistics
}
PROGRAM = """
import sys
import django
django.setup()
import rexvqa_site.urls
ours = [module for name, module in sys.modules.items() if name.startswith(("annotation.", "readerstudy."))]
classes = {one for module in ours for one in vars(module).values() if isinstance(one, type)}
made = {one for one in classes if "__dataclass_fields__" in vars(one) and one.__module__.startswith(("ann", "read"))}
from annotation.contributions import contributed, contributing_apps
contributed()  # as the first page does
for app in contributing_apps():
    app.waiting_work()  # as the worker for mail and sweeps does
assert "annotation.site.telemetry" not in sys.modules
print(*sorted({name.partition(".")[0] for name in sys.modules}))
print(*sorted(one.__name__ for one in made))
"""


def test_a_start_loads_nothing_that_only_jobs_need(tmp_path: Path) -> None:
    """What computes, draws and writes documents takes a second to load; those pages load it that need it."""
    env = environment(tmp_path / "home", DJANGO_SETTINGS_MODULE="rexvqa_site.settings")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    loaded, dataclasses = (set(line.split()) for line in done.stdout.splitlines())
    assert {"django", "annotation", "readerstudy"} <= loaded
    assert loaded & SLOW == set()
    assert dataclasses == DATACLASSES, "of these, the new ones may be Structs"


FORKED = """
import sys
import django
django.setup()
from rexvqa_site.management.commands.work import workers
workers()
print(*sorted({"rexvqa_site.urls", "rich", "numpy", "pydicom", "rest_framework.views"} & set(sys.modules)))
"""


def test_workers_load_no_pages(tmp_path: Path) -> None:
    """What is loaded before they are forked stays in the memory of each site."""
    env = environment(tmp_path / "home", DJANGO_SETTINGS_MODULE="rexvqa_site.settings")
    done = subprocess.run([sys.executable, "-c", FORKED], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
