from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ActCommand
from annotation.models import PromptVersion


class Command(ActCommand):
    unchanged = ""
    help = "List the prompts with their versions; with --json everything of them, as it is sent."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print them as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        versions = PromptVersion.objects.select_related("author", "parent").order_by("name", "number")
        if options["json"]:
            self.stdout.write(json.dumps([as_json(one) for one in versions], ensure_ascii=False, indent=1))
            return
        for one in versions:
            by = one.author.name if one.author else "came with the program"
            self.stdout.write(f"{one}: to {one.get_purpose_display()}, {one.get_images_display()}, {by}")


def as_json(one: PromptVersion) -> dict[str, Any]:
    return {
        "id": one.public_id,
        "name": one.name,
        "number": one.number,
        "purpose": one.purpose,
        "instruction": one.instruction,
        "text": one.text,
        "variables": one.variables,
        "images": one.images,
        "schema": one.schema,
        "parent": one.parent.public_id if one.parent else None,
        "reason": one.reason,
        "author": one.author.name if one.author else None,
        "made_at": one.made_at.isoformat(),
        "sha256": one.sha256,
    }
