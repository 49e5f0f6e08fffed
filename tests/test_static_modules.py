"""Our JavaScript modules find each other when only hashed names are served."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from django.core.management import call_command

NAMED = re.compile(r"""(?:from|import\()\s*["'](\.[^"']+)["']""")


def test_every_module_names_files_that_are_there(tmp_path: Path, settings: Any) -> None:
    settings.STATIC_ROOT = tmp_path
    settings.STORAGES = settings.STORAGES | {
        "staticfiles": {"BACKEND": "rexvqa_site.storage.ModuleStaticFilesStorage"},
    }
    call_command("collectstatic", interactive=False, verbosity=0)
    modules = [module for app in ("annotation", "readerstudy", "case") for module in tmp_path.glob(f"{app}/**/*.js")]
    named = [(module, name) for module in modules for name in NAMED.findall(module.read_text())]
    assert len(named) > 10
    assert [name for module, name in named if not (module.parent / name).is_file()] == []
    assert all(re.search(r"\.[0-9a-f]{12}\.js$", name) for _, name in named)
