"""Acts of a bench in a process of its own: ``python -m tests.bench.child SITE MODULE ACT [WORDS AS JSON]``.

Prints what the act answers, as JSON. SITE: ``migrated`` (settings and database of the environment), ``set-up``, or
``none``, so that the memory of the process is that of the act.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module


def main(site: str, module: str, act: str, words: str = "[]") -> None:
    if site != "none":
        import django

        django.setup()
    if site == "migrated":
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
    print(json.dumps(getattr(import_module(module), act)(*json.loads(words))))


if __name__ == "__main__":
    main(*sys.argv[1:])
