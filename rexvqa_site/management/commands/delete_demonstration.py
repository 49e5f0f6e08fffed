from __future__ import annotations

import shutil
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from annotation.management.base import ActCommand
from rexvqa_site.serving import home_lock


class Command(ActCommand):
    unchanged = ""
    help = "Delete the home directory of the demonstration, and only that."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEMO:
            raise CommandError(f"{settings.HOME} is not a demonstration; nothing was deleted", returncode=2)
        with home_lock(settings.HOME):
            shutil.rmtree(settings.HOME)
        self.stdout.write(f"deleted {settings.HOME}")
