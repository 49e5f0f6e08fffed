"""manage.py generate_questions --bank BANK --exams N | --every-exam | --exam ID | --reports FILE: see
docs/question-banks.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.endpoints.kernels.completions import ChatSettings
from annotation.generation.generation_plans import GenerationPlan, GenerationWanted, begin_generation, plan_generation
from annotation.generation.kernels.sent_reports import SentReports, sent_file, sent_folder
from annotation.management.base import ActCommand, cap_written
from annotation.model_calls.versions import prompt_written
from annotation.models import QuestionBank
from annotation.site.sentences import the_one


class Command(ActCommand):
    unchanged = "Nothing was stored, nothing was sent."
    help = "Let a model write questions from reports. What it writes is imported once no rule rejects it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bank", required=True, help="name or address of the bank")
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument(
            "--reports",
            type=Path,
            metavar="FILE",
            help="reports with the ids of their exams: CSV, XLSX, JSON, JSON Lines, or a folder or ZIP of texts",
        )
        source.add_argument("--exams", type=int, metavar="N", help="so many exams of the bank, drawn by the seed")
        source.add_argument("--every-exam", action="store_true", help="all exams of the bank with a report")
        source.add_argument(
            "--exam", action="append", default=[], metavar="ID", help="this exam of the bank; may be given again"
        )
        parser.add_argument(
            "--mask", action="store_true", help="mask what looks like an identifier; else its report is held back"
        )
        parser.add_argument("--per-exam", type=int, required=True, metavar="K", help="questions for each exam, 1 to 10")
        parser.add_argument("--seed", type=int, required=True, help="of the draw of exams and of the letters of keys")
        parser.add_argument("--endpoint", required=True, help="name of a model endpoint")
        parser.add_argument("--model", required=True, help="the model, as the endpoint calls it")
        for step in ("findings", "questions"):
            parser.add_argument(f"--{step}-prompt", metavar="NAME[@N]", help=f"for {step}; default: of this program")
        parser.add_argument("--temperature", type=float, help="sent with each call; not given: the endpoint's own")
        parser.add_argument("--max-tokens", type=int, help="of an answer; not given: the endpoint's own")
        parser.add_argument("--max-cost", metavar="X", help="stop before it costs more, in the currency of the price")
        parser.add_argument("--dry-run", action="store_true", help="say what would be sent, and send nothing")
        parser.add_argument("--json", action="store_true", help="print the plan as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = GenerationWanted(
            bank=the_one(QuestionBank.objects.all(), options["bank"], "bank"),
            endpoint=options["endpoint"],
            model=options["model"],
            per_exam=options["per_exam"],
            seed=options["seed"],
            n_exams=options["exams"],
            chosen=tuple(options["exam"]),
            every_exam=options["every_exam"],
            bullets_prompt=prompt_written(options["findings_prompt"]) if options["findings_prompt"] else None,
            questions_prompt=prompt_written(options["questions_prompt"]) if options["questions_prompt"] else None,
            reports=_sent(options["reports"]) if options["reports"] else None,
            masks=options["mask"],
            chat=ChatSettings(temperature=options["temperature"], max_tokens=options["max_tokens"]),
            cap=cap_written(options["max_cost"]),
        )
        at = timezone.now()
        plan = plan_generation(wanted, at=at)
        if not options["dry_run"]:
            plan = begin_generation(plan, actor=None, at=at)
        self.answer(options, plan.as_json, lambda: as_text(plan))


def _sent(path: Path) -> SentReports:
    if path.is_dir():
        return sent_folder(path)
    with path.open("rb") as stream:
        return sent_file(stream, path.name, path)


def as_text(plan: GenerationPlan) -> str:
    n_reports, wanted = len(plan.found.reports), plan.wanted
    facts = {"n": n_reports, "k": wanted.per_exam, "model": wanted.model, "endpoint": wanted.endpoint}
    lines = [
        ngettext(
            "%(n)d report; at most %(k)d questions from it, by %(model)s at %(endpoint)s.",
            "%(n)d reports; at most %(k)d questions from each, by %(model)s at %(endpoint)s.",
            n_reports,
        )
        % facts
    ]
    if plan.found.refused:
        sentence = _("%(n)d exams were passed over: their reports hold what looks like an identifier.")
        lines.append(sentence % {"n": len(plan.found.refused)})
    if plan.found.masked:
        lines.append(_("Reports sent masked: %(n)d.") % {"n": len(plan.found.masked)})
    if plan.run is None:
        lines.append(_("This was a dry run: nothing was stored, nothing was sent."))
    else:
        lines.append(_("Run %(run)s has started; a worker asks for it.") % {"run": plan.run.public_id})
    return "\n".join(lines)
