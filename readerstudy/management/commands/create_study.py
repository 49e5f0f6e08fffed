"""manage.py create_study: a draft from a plan, or from a list of questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from msgspec.structs import replace

from annotation.management.base import ActCommand
from annotation.statistics.kernels.sampling import SEED_MAX
from readerstudy.design.checking import indication_notes, notes_of, problems_of
from readerstudy.design.creating import create_study, find_bank, plan_of_list
from readerstudy.design.kernels.documents import parse_cases
from readerstudy.design.kernels.plan import Plan, read_plan
from readerstudy.design.questions import Name, listed_names
from readerstudy.enums import Block
from readerstudy.management.arguments import read_file, read_json
from readerstudy.models import ReaderStudy


class Command(ActCommand):
    help = "Make the draft of a reader study: from a plan, or of the questions that a file lists."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("plan", nargs="?", type=Path, metavar="PLAN.json", help="as export_protocol writes it")
        parser.add_argument("--name", default="", help="name of the study; without it that of the plan")
        parser.add_argument("--bank", default="", help="name or address of the bank")
        parser.add_argument("--cases", type=Path, metavar="FILE", help="own ids, numbers, ranges such as 12-40")
        parser.add_argument("--practice", type=Path, metavar="FILE", help="the practice block, in the same format")
        parser.add_argument(
            "--accept-reason", default="", metavar="TEXT", help="why questions are used that reviews do not accept"
        )
        parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the orders (1)")
        parser.add_argument("--readers", type=int, default=3, metavar="N", help="readers who will be invited (3)")
        parser.add_argument("--json", action="store_true", help="print what was made as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        self._check(options)
        study = create_study(self._plan(options), actor=None, at=timezone.now())
        self.stdout.write(
            json.dumps(as_json(study), ensure_ascii=False, indent=2) if options["json"] else as_text(study)
        )

    def _check(self, options: dict[str, Any]) -> None:
        if (options["plan"] is None) == (options["cases"] is None):
            raise CommandError("Give a plan, or --bank, --cases and --name.", returncode=2)
        if options["cases"] is not None and not (options["bank"] and options["name"]):
            raise CommandError("--cases needs --bank and --name.", returncode=2)
        if options["plan"] is not None and (options["practice"] or options["accept_reason"]):
            raise CommandError("--practice and --accept-reason go with --cases.", returncode=2)
        if not 0 <= options["seed"] <= SEED_MAX or not 1 <= options["readers"] <= 500:
            raise CommandError(f"--seed is a number from 0 to {SEED_MAX}, --readers one from 1 to 500.", returncode=2)

    def _plan(self, options: dict[str, Any]) -> Plan:
        if options["plan"] is not None:
            plan = read_plan(read_json(options["plan"]))
            named = replace(plan, name=options["name"] or plan.name)
            return replace(named, bank=options["bank"]) if options["bank"] else named
        bank = find_bank(options["bank"])

        def names(path: Path) -> list[Name]:
            return listed_names(bank, parse_cases(read_file(path)))

        return plan_of_list(
            bank,
            names(options["cases"]),
            name=options["name"],
            source=options["cases"].name,
            practice=names(options["practice"]) if options["practice"] else (),
            accept_reason=options["accept_reason"],
            seed=options["seed"],
            n_readers=options["readers"],
        )


def as_json(study: ReaderStudy) -> dict[str, Any]:
    return {
        "study": study.name,
        "slug": study.slug,
        "bank": study.bank.name,
        "state": study.state,
        "seed": study.seed,
        "n_cases": study.cases.filter(block=Block.MAIN).count(),
        "n_practice": study.cases.filter(block=Block.PRACTICE).count(),
        "n_sets": study.sets.count(),
        "n_accepted_with_reason": study.cases.exclude(accepted_because="").count(),
        "rules": study.rules,
        "problems": problems_of(study),
        "notes": [*notes_of(study, at=timezone.now()), *indication_notes(study)],
    }


def as_text(study: ReaderStudy) -> str:
    made = as_json(study)
    lines = [
        f"Study “{study.name}” ({study.slug}), a draft: {made['n_cases']} cases, {made['n_practice']} practice cases, "
        f"{made['n_sets']} case set(s), seed {study.seed}."
    ]
    if made["n_accepted_with_reason"]:
        lines.append(f"Used without accepting reviews, each with its reason: {made['n_accepted_with_reason']} cases.")
    if study.rules["several_per_patient"]:
        lines.append("Several questions of one patient are allowed.")
    lines += [f"Before it can be frozen: {problem}" for problem in made["problems"]]
    lines += [f"Note: {note}" for note in made["notes"]]
    return "\n".join(lines)
