from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from drf_spectacular.generators import SchemaGenerator


def api_schema() -> str:
    """The OpenAPI document of all resources, as text that changes only where they do."""
    generator: Any = SchemaGenerator
    document = generator().get_schema(request=None, public=True)
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


class Command(BaseCommand):
    help = "Write docs/openapi.json from the resources of the API."

    def handle(self, *args: Any, **options: Any) -> None:
        (settings.BASE_DIR / "docs" / "openapi.json").write_text(api_schema(), encoding="utf-8")
