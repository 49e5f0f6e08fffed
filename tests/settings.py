"""Settings of the tests: the shipped ones, with a home of their own and a faster password hash."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

if "REXVQA_HOME" not in os.environ:
    # In memory where there is plenty: every commit and every image would wait for the disk.
    _memory = Path("/dev/shm")
    _is_large = _memory.is_dir() and shutil.disk_usage(_memory).free > 2 * 1024**3
    for _variable in ("REXVQA_HOME", "PYTEST_DEBUG_TEMPROOT"):  # the second: where pytest makes its folders
        if _variable not in os.environ:
            _folder = tempfile.mkdtemp(prefix="rexvqa-tests-", dir=_memory if _is_large else None)
            os.environ[_variable] = _folder
            atexit.register(shutil.rmtree, _folder, ignore_errors=True)
if "PYTEST_XDIST_WORKER" in os.environ and "xdist" in sys.modules:
    # A home for each process of a run: its tests may ask what lies there.
    _home = Path(os.environ["REXVQA_HOME"]) / os.environ["PYTEST_XDIST_WORKER"]
    _home.mkdir(mode=0o700, exist_ok=True)
    os.environ["REXVQA_HOME"] = str(_home)
if "REXVQA_TESTS_SHARED" not in os.environ:  # what the processes of a run make once: they inherit this
    os.environ["REXVQA_TESTS_SHARED"] = _shared = tempfile.mkdtemp(
        prefix="rexvqa-shared-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")
    )
    atexit.register(shutil.rmtree, _shared, ignore_errors=True)
os.environ["DATABASE_URL"] = os.environ.get("TEST_DATABASE_URL", "")

from rexvqa_site.settings import *

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
AXES_ENABLED = False
JOB_HEARTBEAT_SECONDS = 3_600  # a heartbeat would wait for the transaction of the test
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "sessionid", "csrftoken"
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A file, not memory: threads of a live server must not share one connection, nor its transactions.
    DATABASES["default"]["TEST"] = {"NAME": str(HOME / "test.sqlite3")}
STATIC_ROOT.mkdir(exist_ok=True)
