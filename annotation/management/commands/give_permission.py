from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.endpoints.sending_permissions import SendingRefused, give_permission
from annotation.management.base import ActCommand
from annotation.models import QuestionBank
from annotation.questionbank.terms import LONGEST_TERMS
from annotation.site.slugs import the_one
from annotation.site.zones import end_of_day

SHOWS_TERMS = {"terms_not_accepted", "terms_changed"}


class Command(ActCommand):
    unchanged = "Nothing was permitted."
    help = (
        "Permit an endpoint to be sent parts of a bank. For an endpoint outside, the terms of the bank are printed; "
        "read them, and give the file that holds them with --accept-terms."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bank", required=True, help="name or address of the bank")
        parser.add_argument("--endpoint", required=True, help="its name in REXVQA_MODEL_ENDPOINTS")
        for part in ("questions", "images", "reports"):
            parser.add_argument(f"--{part}", action="store_true", help=f"{part} may be sent")
        parser.add_argument("--reason", required=True, help="why it is sent")
        parser.add_argument("--agreement", required=True, help="the contract, approval or licence that permits it")
        parser.add_argument("--until", required=True, metavar="YYYY-MM-DD", help="the last day, a year at most")
        parser.add_argument(
            "--accept-terms", type=Path, metavar="FILE", help="the terms of the bank, as you accept them"
        )
        parser.add_argument("--json", action="store_true", help="print the permission as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        bank = the_one(QuestionBank.objects.all(), options["bank"], "bank")
        try:
            given = give_permission(
                bank,
                options["endpoint"],
                questions=options["questions"],
                images=options["images"],
                reports=options["reports"],
                reason=options["reason"],
                agreement=options["agreement"],
                accepted_terms=_terms_in(options["accept_terms"]),
                expires_at=end_of_day(_day(options["until"]), settings.TIME_ZONE),
                actor=None,
                at=timezone.now(),
            )
        except SendingRefused as refusal:
            if refusal.code in SHOWS_TERMS:
                self.stdout.write(bank.terms)
            raise
        if options["json"]:
            facts = {
                "id": given.public_id,
                "bank": bank.name,
                "endpoint": given.endpoint,
                "questions": given.questions,
                "images": given.images,
                "reports": given.reports,
                "expires_at": given.expires_at.isoformat(),
            }
            self.stdout.write(json.dumps(facts, ensure_ascii=False, indent=1))
        elif options["verbosity"]:
            self.stdout.write(f"permission {given.public_id} is given until {given.expires_at:%Y-%m-%d %H:%M %Z}")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise CommandError(f"{text!r} is not a day such as 2027-03-31. Nothing was permitted.", returncode=2) from None


def _terms_in(file: Path | None) -> str:
    if file is None:
        return ""
    with file.open("rb") as stream:
        content = stream.read(4 * LONGEST_TERMS + 1)
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise CommandError(f"{file} is not a text in UTF-8. Nothing was permitted.", returncode=2) from None
