"""manage.py examine_identifier_rules: what the rules for identifiers find and miss, see docs/question-banks.md."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _
from rich.progress import MofNCompleteColumn

from annotation.management.base import ActCommand, progress_bar
from annotation.models import QuestionBank
from annotation.quality.identifier_exams import (
    N_PLANTED,
    IdentifierRow,
    any_rule,
    check_numbers,
    examine_rules,
    identifier_rows,
    rows_as_json,
    rows_of,
    share_as_json,
)
from annotation.quality.kernels.planted_identifiers import PLANTED_RULE, examine_planted
from annotation.site.slugs import the_one
from annotation.statistics.kernels.estimate import Estimate


class Command(ActCommand):
    help = (
        "Plant identifiers in made-up questions and count how many the rules find. With --bank also count the "
        "questions of a bank in which they fire, and store both for its page. Nothing of the bank is changed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bank", help="name or address of a bank; without it nothing is stored")
        parser.add_argument(
            "--planted", type=int, default=N_PLANTED, metavar="N", help=f"of each form so many ({N_PLANTED})"
        )
        parser.add_argument("--seed", type=int, default=1, metavar="N", help="of what is planted (1)")
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        n, seed = options["planted"], options["seed"]
        check_numbers(n, seed)
        report: dict[str, Any] = {"rule": PLANTED_RULE, "seed": seed, "planted_of_each_form": n}
        if options["bank"]:
            bank = the_one(QuestionBank.objects.all(), options["bank"], "bank")
            quiet = options["json"] or options["verbosity"] == 0
            with progress_bar(_("Examining"), MofNCompleteColumn, quiet=quiet) as watch:
                exam = examine_rules(bank, n=n, seed=seed, actor=None, at=timezone.now(), watch=watch)
            rows = rows_of(exam)
            whole, n_dismissed = any_rule(exam)
            report |= {"bank": bank.name, "questions": exam.n_questions}
            report["any_rule"] = {"fires": share_as_json(whole), "dismissed": n_dismissed}
        else:
            rows = identifier_rows(examine_planted(n=n, seed=seed))
        if options["json"]:
            self.stdout.write(json.dumps({**report, "identifiers": rows_as_json(rows)}, ensure_ascii=False, indent=1))
        elif options["verbosity"]:
            self.stdout.write("\n".join(line for row in rows for line in _lines(row)))


def _lines(row: IdentifierRow) -> list[str]:
    head = f"{row.identifier.letter}  {row.identifier.label}: "
    if row.version is None:
        return [head + (row.identifier.why or _("no rule"))]
    head += _("%(rule)s, version %(version)d") % {"rule": row.identifier.code, "version": row.version}
    if row.fired is not None:
        facts = {"share": _written(row.fired, 1_000), "n": row.fired.n, "dismissed": row.n_dismissed}
        head += "; " + _("fires in %(share)s of 1,000 questions (n = %(n)d), dismissed in %(dismissed)d") % facts
    forms = [
        _("     %(form)s: found %(share)s %% of n = %(n)d")
        % {"form": one.label, "share": _written(one.found, 100), "n": one.found.n}
        for one in row.forms
    ]
    return [head, *forms]


def _written(share: Estimate, times: int) -> str:
    if share.value is None or share.ci95 is None:
        return "–"
    return f"{times * share.value:.1f} ({times * share.ci95[0]:.1f} to {times * share.ci95[1]:.1f})"
