from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.endpoints.sending_permissions import permission_by_id, withdraw_permission
from annotation.management.base import ActCommand


class Command(ActCommand):
    unchanged = "Nothing was withdrawn."
    help = "Withdraw a permission to send parts of a bank to an endpoint. What is asked under it stops within one call."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("id", help="id of the permission, as give_permission prints it")
        parser.add_argument("--because", required=True, metavar="REASON", help="why it is withdrawn")
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        found = permission_by_id(options["id"])
        done = withdraw_permission(found, options["because"], actor=None, at=timezone.now())
        if options["json"]:
            self.stdout.write(json.dumps({"id": done.public_id, "bank": done.bank.name, "endpoint": done.endpoint}))
        elif options["verbosity"]:
            self.stdout.write(f"permission {done.public_id} is withdrawn")
