"""An act of a person: ``manage.py act round-due spring --by cora@example.org --with due_at=2027-03-01T09:00``."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.http import Http404, QueryDict
from django.utils import timezone

from annotation.acts import Act
from annotation.acts.banks import BANK_ACTS, IMAGE_ACTS, JOB_ACTS, QUESTION_ACTS, RELEASE_ACTS, SAMPLE_ACTS, UPLOAD_ACTS
from annotation.acts.rounds import ROUND_ACTS
from annotation.forms import valid_data
from annotation.models import User
from annotation.refusals import Refused
from annotation.site.permissions import check_role
from readerstudy.acts.leaderboards import LEADERBOARD_ACTS
from readerstudy.acts.models import COMPARISON_ACTS, MODEL_RUN_ACTS, RUN_ACTS, SUBMISSION_ACTS
from readerstudy.acts.studies import DESIGN_ACTS, LINK_ACTS, READER_ACTS, STUDY_ACTS, WATCHING_ACTS

EVERY: tuple[type[Act[Any]], ...] = (
    *BANK_ACTS,
    *SAMPLE_ACTS,
    *QUESTION_ACTS,
    *IMAGE_ACTS,
    *UPLOAD_ACTS,
    *RELEASE_ACTS,
    *JOB_ACTS,
    *ROUND_ACTS,
    *DESIGN_ACTS,
    *STUDY_ACTS,
    *WATCHING_ACTS,
    *READER_ACTS,
    *LINK_ACTS,
    *MODEL_RUN_ACTS,
    *RUN_ACTS,
    *SUBMISSION_ACTS,
    *COMPARISON_ACTS,
    *LEADERBOARD_ACTS,
)
ACTS = {act.name: act for act in EVERY}


class Command(BaseCommand):
    help = "Do what a person does on a page, under their name: who may, and what is refused, is as there."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("act", choices=sorted(ACTS), metavar="ACT", help="; ".join(sorted(ACTS)))
        parser.add_argument("thing", nargs="+", help="as in its address, such as the short name of a round")
        parser.add_argument("--by", required=True, metavar="EMAIL", help="who acts; it is in the audit log")
        parser.add_argument("--with", nargs="*", default=[], dest="sent", metavar="NAME=VALUE", help="as in the form")

    def handle(self, *args: Any, **options: Any) -> None:
        kind = ACTS[options["act"]]
        person = User.objects.filter(email=options["by"].lower(), is_active=True).first()
        if person is None:
            raise CommandError(f"Nobody of this address may log in: {options['by']}", returncode=2)
        try:
            check_role(person, kind.roles)
            act = kind(kind.find(person, **dict(zip(kind.found_by, options["thing"], strict=True))), person)
            form = act.form_for(_sent(options["sent"]))
            arguments = act.arguments(valid_data(form) if form is not None else {})
            result = act.run(arguments, timezone.now())
        except (Refused, PermissionDenied) as refusal:
            raise CommandError(str(refusal), returncode=2) from None
        except (Http404, ValueError):
            named = " ".join(options["thing"])
            raise CommandError(f"Not there, or not for this person: {named}", returncode=2) from None
        self.stdout.write(act.says(arguments, result))


def _sent(pairs: list[str]) -> QueryDict:
    sent = QueryDict(mutable=True)
    for pair in pairs:
        name, is_given, value = pair.partition("=")
        if not is_given:
            raise CommandError(f"Write NAME=VALUE, not {pair}", returncode=2)
        sent.appendlist(name, value)
    return sent
