from __future__ import annotations

import shutil
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from rexvqa_site.serving import HomeInUse, home_lock


class Command(BaseCommand):
    help = "Delete the home directory of the demonstration, and only that."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEMO:
            raise CommandError(f"{settings.HOME} is not a demonstration; nothing was deleted", returncode=2)
        try:
            with home_lock(settings.HOME):
                shutil.rmtree(settings.HOME)
        except HomeInUse as error:
            raise CommandError(str(error), returncode=2) from None
        self.stdout.write(f"deleted {settings.HOME}")
