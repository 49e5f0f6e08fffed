"""What a start of the site loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.processes import ROOT, environment

SLOW = {
    *("scipy", "sklearn", "matplotlib", "pandas", "docx", "openpyxl", "pyarrow", "cv2", "onnxruntime", "tokenizers"),
    *("numpy", "pydicom", "PIL", "imagecodecs", "zstandard", "celery", "kombu"),
}
PROGRAM = """
import sys
import django
django.setup()
import rexvqa_site.urls
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_a_start_loads_nothing_that_only_jobs_need(tmp_path: Path) -> None:
    """What computes, draws and writes documents takes a second to load; the pages that need it load it."""
    env = environment(tmp_path / "home", DJANGO_SETTINGS_MODULE="rexvqa_site.settings")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert {"django", "annotation", "readerstudy"} <= loaded
    assert loaded & SLOW == set()
