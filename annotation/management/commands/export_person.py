"""manage.py export_person E-MAIL --output FILE: what the site holds about a person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.models import User
from annotation.people.person_data import export_person
from annotation.tables.writing import whole_file


class Command(ActCommand):
    unchanged = "Nothing was written."
    help = "Write what the site holds about a person as one ZIP of JSON and CSV files with a README."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="E-MAIL", help="of the account")
        parser.add_argument("--output", required=True, type=Path, metavar="FILE", help="ZIP; is replaced")

    def handle(self, *args: Any, **options: Any) -> None:
        person = User.objects.filter(email=options["email"].strip().lower()).first()
        if person is None:
            raise CommandError(f"There is no account with this address. {self.unchanged}", returncode=2)
        with whole_file(options["output"]) as file:
            export_person(person, file, actor=None, at=timezone.now())
        self.stdout.write(f"What the site holds about “{person.name}” in {options['output']}")
