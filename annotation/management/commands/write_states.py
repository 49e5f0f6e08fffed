from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from annotation.review.diagram import states_document


class Command(BaseCommand):
    help = "Write docs/states.md from the tables of states."

    def handle(self, *args: Any, **options: Any) -> None:
        (settings.BASE_DIR / "docs" / "states.md").write_text(states_document())
