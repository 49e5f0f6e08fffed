from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.models import User
from annotation.people.second_factors import reset


class Command(ActCommand):
    help = (
        "Take the second factors and recovery codes of a person away, so that the password alone lets them in. For "
        "the last administrator; others are helped on the People page."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")

    def handle(self, *args: Any, **options: Any) -> None:
        person = User.objects.filter(email=options["email"].strip().lower()).first()
        if person is None:
            raise CommandError("There is no account with this address.")
        if not reset(person, actor=None, at=timezone.now()):
            raise CommandError("This account has no second factor.")
        self.stdout.write("Taken away.")
