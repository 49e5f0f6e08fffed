from __future__ import annotations

from typing import Any

from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.people.invitations import first_administrator_link


class Command(ActCommand):
    help = (
        "Print a one-time link that makes the first administrator. Each call makes a new link and ends the one before. "
        "Prints nothing to standard output when there is an administrator who may log in."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        link = first_administrator_link(timezone.now())
        if link is None:
            self.stderr.write("There is an administrator already; they invite others on the People page.")
            return
        self.stdout.write(link)
