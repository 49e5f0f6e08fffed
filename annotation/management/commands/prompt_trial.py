"""manage.py prompt_trial plan|start|draw|state|result: see docs/models-at-work.md."""

from __future__ import annotations

import argparse
import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.endpoints.kernels.model_requests import ChatSettings
from annotation.feedback.kernels.trial_pairs import TrialAssumptions
from annotation.feedback.kernels.trial_states import FeedbackRefused
from annotation.feedback.prompt_story import standing_of
from annotation.feedback.prompt_trials import (
    draw_trial,
    round_of,
    start_trial,
    trials_with_runs,
)
from annotation.feedback.trial_plans import TrialWanted, plan_trial
from annotation.feedback.trial_results import trial_result
from annotation.generation.generation_progress import GenerationProgress
from annotation.management.base import ActCommand
from annotation.models import PromptTrial, PromptVersion, QuestionBank
from annotation.prompts.versions import prompt_named
from annotation.site.slugs import the_one

ACTS = {
    "start": "ask both versions, or go on with what was paused",
    "draw": "draw the sample of both, once they have made their questions",
    "state": "print the state of a trial",
    "result": "print what a trial found, once its round is closed",
}
_VERSION = re.compile(r"(.+?)(?: v(\d{1,4}))?")


def amount(text: str) -> Decimal:
    try:
        found = Decimal(text)
    except InvalidOperation:
        found = Decimal("NaN")
    if not found.is_finite():
        raise argparse.ArgumentTypeError(f"{text!r} is no number such as 12.50")
    return found


class Command(ActCommand):
    unchanged = "Nothing was stored, nothing was sent."
    help = "Compare two versions of a prompt that writes questions: on the same reports, reviewed blinded in one round."

    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True, metavar="ACT")
        self._add_plan(acts.add_parser("plan", help="plan a trial; nothing is sent"))
        for name, words in ACTS.items():
            act = acts.add_parser(name, help=words)
            act.add_argument("trial", help="the id that plan printed")
            _add_json(act)

    def _add_plan(self, plan: argparse.ArgumentParser) -> None:
        plan.add_argument("--bank", required=True, help="name or address of the bank whose reports are used")
        prompts = "name of a prompt, with “ v2” behind it for a version; without: the newest"
        plan.add_argument("--first", required=True, metavar="PROMPT", help=prompts)
        plan.add_argument("--second", required=True, metavar="PROMPT", help=prompts)
        plan.add_argument("--first-findings", metavar="PROMPT", help="not given: the program's own")
        plan.add_argument("--second-findings", metavar="PROMPT", help="not given: as for the first")
        plan.add_argument("--issue-rate", type=float, required=True, metavar="0.108", help="assumed of the first")
        plan.add_argument("--difference", type=float, required=True, metavar="0.05", help="first minus second")
        plan.add_argument("--power", type=float, default=0.8, help="0.8 if not given, at a level of 5 %%")
        plan.add_argument("--correlation", type=float, default=0.0, help="of pairs that share an exam; 0 if not given")
        plan.add_argument("--exams", type=int, metavar="N", help="not given: as many as the plan needs")
        plan.add_argument("--per-exam", type=int, default=1, metavar="K", help="questions of each; 1 if not given")
        plan.add_argument("--seed", type=int, required=True, help="of exams, letters of keys and sample")
        plan.add_argument("--endpoint", required=True, help="name of a model endpoint")
        plan.add_argument("--model", required=True, help="the model, as the endpoint calls it")
        plan.add_argument("--temperature", type=float, help="sent with each call; not given: the endpoint's own")
        plan.add_argument("--max-tokens", type=int, help="of an answer; not given: the endpoint's own")
        plan.add_argument("--max-cost", type=amount, metavar="X", help="of each version, in the currency of the price")
        plan.add_argument("--dry-run", action="store_true", help="say what is needed, and store nothing")
        _add_json(plan)

    def handle(self, *args: Any, **options: Any) -> None:
        report = _plan(options) if options["act"] == "plan" else _report_of(options["act"], options["trial"])
        if options["json"]:
            self.stdout.write(json.dumps(report, ensure_ascii=False, indent=1))
        elif options["verbosity"]:
            self.stdout.write("\n".join(f"{name}: {_short(value)}" for name, value in report.items()))


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print it as JSON and nothing else")


def _plan(options: dict[str, Any]) -> dict[str, Any]:
    wanted = TrialWanted(
        bank=the_one(QuestionBank.objects.all(), options["bank"], "bank"),
        endpoint=options["endpoint"],
        model=options["model"],
        first=_prompt(options["first"]),
        second=_prompt(options["second"]),
        first_findings=_prompt(options["first_findings"]) if options["first_findings"] else None,
        second_findings=_prompt(options["second_findings"]) if options["second_findings"] else None,
        assumed=TrialAssumptions(**{name: options[name] for name in TrialAssumptions.__dataclass_fields__}),
        per_exam=options["per_exam"],
        seed=options["seed"],
        n_exams=options["exams"],
        chat=ChatSettings(temperature=options["temperature"], max_tokens=options["max_tokens"]),
        cap=options["max_cost"],
    )
    return plan_trial(wanted, actor=None, at=timezone.now(), dry_run=options["dry_run"]).as_json()


def _prompt(text: str) -> PromptVersion:
    found = _VERSION.fullmatch(text.strip())
    if found is None:
        raise FeedbackRefused("no_prompt", _("Give the name of a prompt."), status=422, field="prompt")
    return prompt_named(found[1], int(found[2]) if found[2] else None)


def _report_of(act: str, public_id: str) -> dict[str, Any]:
    trial = _trial(public_id)
    if act == "start":
        start_trial(trial, actor=None, at=timezone.now())
    elif act == "draw":
        draw_trial(trial, actor=None, at=timezone.now())
    elif act == "result":
        return trial_result(trial, round_of(trial)).as_json()
    trial = _trial(public_id)
    says = [GenerationProgress(run).sentence for run in (trial.first_run, trial.second_run)]
    return {**standing_of(trial).as_json(), "says": says}


def _trial(public_id: str) -> PromptTrial:
    found = trials_with_runs().filter(public_id=public_id).first()
    if found is None:
        sentence = _("There is no trial “%(id)s”. “plan” prints the id of a trial.") % {"id": public_id}
        raise FeedbackRefused("no_trial", sentence, status=404)
    return found


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)
