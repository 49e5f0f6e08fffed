"""docs/settings.md names every variable that the settings read, and nothing else."""

from __future__ import annotations

import re

from tests.architecture.source import ROOT, python_files

READ = re.compile(
    r"""(?:env_(?:str|word|int|numbers|bool|path|secret|site|url|networks|endpoints|certificates|folders|webhooks|media|receiver|pacs|senders)\(\s*|os\.environ\.get\(\s*|os\.environ\[\s*)"""
    r"""["']([A-Z][A-Z_0-9]+)["'](?!\]\s*=)"""  # what is set is not read
)


def test_the_page_of_the_settings_is_complete() -> None:
    read = {
        name
        for path in python_files("rexvqa_site", "annotation", "readerstudy")
        for name in READ.findall(path.read_text())
    }
    read -= {"DJANGO_SETTINGS_MODULE", "PATH_INFO", "PYTHONPATH"}  # of Python, and the second one of a request
    page = (ROOT / "docs/settings.md").read_text()
    documented = set(re.findall(r"^\| `([A-Z_0-9]+)` \|", page, re.MULTILINE))
    assert documented == read
