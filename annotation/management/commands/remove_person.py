"""manage.py remove_person E-MAIL: take name, e-mail and sign-in data from an account."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.models import User
from annotation.people.accounts import places_with, remove_person


class Command(ActCommand):
    unchanged = "Nothing was removed."
    help = "Remove an account; what the person did stays under a pseudonym. Says which texts still have the name."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="E-MAIL", help="of the account")
        parser.add_argument("--yes", action="store_true", help="it cannot be undone; without this nothing is removed")

    def handle(self, *args: Any, **options: Any) -> None:
        person = User.objects.filter(email=options["email"].strip().lower()).first()
        if person is None:
            raise CommandError(f"There is no account with this address. {self.unchanged}", returncode=2)
        if not options["yes"]:
            raise CommandError(f"Removing “{person.name}” cannot be undone: say --yes. {self.unchanged}", returncode=2)
        before = (person.name, person.email)
        remove_person(person, actor=None, at=timezone.now())
        person.refresh_from_db()
        self.stdout.write(f"The account is removed. Its work is listed under “{person.name}”.")
        for place, n in places_with(*before).items():
            self.stdout.write(f"  name or address still in {place}, as people wrote it: {n}")
