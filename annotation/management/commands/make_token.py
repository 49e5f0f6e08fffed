from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.enums import Role
from annotation.management.base import ActCommand
from annotation.models import User
from annotation.models.people import TokenScope
from annotation.people.tokens import MOST_DAYS, USUAL_DAYS, make_token, place_named


class Command(ActCommand):
    help = (
        "Make an access token, with which a program acts for a person in one of their roles, in one place. "
        "It is printed once and stored nowhere."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--person", required=True, metavar="E-MAIL", help="whom the program acts for")
        parser.add_argument("--name", required=True, help="what will use the token")
        parser.add_argument("--role", required=True, choices=Role.values(), help="one that the person holds")
        for scope in (TokenScope.BANK, TokenScope.ROUND, TokenScope.STUDY, TokenScope.TEAM):
            parser.add_argument(f"--{scope}", metavar="ADDRESS", help=f"good for this {scope} alone")
        parser.add_argument("--read-only", action="store_true", help="good for reading the whole site")
        parser.add_argument("--days", type=int, default=USUAL_DAYS, help=f"how long it works, {MOST_DAYS} at most")
        parser.add_argument(
            "--from", action="append", default=[], metavar="NETWORK", help="only from there; may be repeated"
        )
        parser.add_argument("--json", action="store_true", help="print the token and what it is good for as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        scope, slug = _place(options)
        person = User.objects.filter(email=options["person"].strip().lower()).first()
        if person is None:
            raise CommandError(f"Nobody has the address {options['person']!r}. Nothing was stored.", returncode=2)
        made = make_token(
            person,
            options["name"],
            role=options["role"],
            place=place_named(person, scope, slug),
            days=options["days"],
            networks=options["from"],
            actor=None,
            at=timezone.now(),
        )
        row = made.row
        if options["json"]:
            facts = {"token": made.text, "id": row.public_id, "role": row.role, "scope": row.scope}
            facts |= {"place": slug, "expires_at": row.expires_at.isoformat(), "networks": row.networks}
            self.stdout.write(json.dumps(facts, ensure_ascii=False, indent=1))
        else:
            self.stdout.write(made.text)


def _place(options: dict[str, Any]) -> tuple[TokenScope, str]:
    """The one scope that was asked for."""
    asked = [(scope, options[scope]) for scope in TokenScope if options.get(scope)]
    if options["read_only"]:
        asked.append((TokenScope.SITE, ""))
    if len(asked) != 1:
        sentence = "Give one of --bank, --round, --study, --team and --read-only. Nothing was stored."
        raise CommandError(sentence, returncode=2)
    return asked[0]
