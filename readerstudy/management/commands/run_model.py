"""manage.py run_model: ask a model the questions of a bank or a study, estimated first and then started."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _
from rich.progress import MofNCompleteColumn

from annotation.call_enums import BatchState, SentImages
from annotation.endpoints.kernels.completions import ChatSettings
from annotation.imaging.kernels.picture_policies import QUARTER, STORED
from annotation.management.base import ActCommand, cap_written, progress_bar
from annotation.model_calls.next_calls import tally
from annotation.model_calls.versions import OUR_READING, prompt_written
from annotation.models import QuestionBank
from annotation.site.health import has_worker
from annotation.site.sentences import the_one
from readerstudy.management.arguments import find_model_run, find_study
from readerstudy.model_runs.asked_questions import RunningRefused
from readerstudy.model_runs.following import ask_first_questions, estimate_rows, resume_run, run_as_json, start_run
from readerstudy.model_runs.kernels.estimates import N_FIRST
from readerstudy.model_runs.planning import ORDERS, RunWanted, model_at, plan_run, store_run
from readerstudy.models import ModelRun
from readerstudy.predictions.listing import Target


class Command(ActCommand):
    help = "Plan a run of a model over a bank or a study and ask its first questions; --run ID --start asks the others."
    wait: Callable[[float], object] = staticmethod(time.sleep)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """``--version`` is that of the model here, not that of Django."""
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--run", metavar="ID", help="a planned or paused run, instead of all that plans one")
        parser.add_argument("--model", metavar="NAME", help="the model entry; made when it is not listed")
        parser.add_argument("--version", default="", metavar="V", help="its version")
        parser.add_argument("--endpoint", metavar="E", help="a name of REXVQA_MODEL_ENDPOINTS")
        parser.add_argument(
            "--endpoint-model", default="", metavar="M", help="what the endpoint calls the model; default: as it is set"
        )
        about = parser.add_mutually_exclusive_group()
        about.add_argument("--bank", metavar="B", help="name or address of a question bank")
        about.add_argument("--study", metavar="S", help="name or address of a study, frozen or later")
        parser.add_argument("--prompt", default=OUR_READING, metavar="NAME[@N]", help="default: the newest version")
        parser.add_argument("--images", choices=SentImages.values(), help="default: those of the prompt")
        policies = f"{STORED}, {QUARTER} or longest-N-1; default: %(default)s"
        parser.add_argument("--picture-policy", default=QUARTER, metavar="P", help=policies)
        parser.add_argument("--orders", type=int, choices=ORDERS, default=1, help="4: all rotations of the options")
        parser.add_argument("--repeats", type=int, default=1, metavar="N", help="how often each question is asked")
        parser.add_argument("--max-cost", metavar="X", help="the cap, in the currency of the price")
        parser.add_argument("--temperature", type=float, metavar="T")
        parser.add_argument("--max-tokens", type=int, metavar="N", help="of an answer")
        parser.add_argument("--model-seed", type=int, metavar="N", help="sent with each request")
        parser.add_argument(
            "--seed", type=int, default=1, metavar="N", help="of the first questions and swapped images"
        )
        parser.add_argument("--start", action="store_true", help="ask all questions, once the first are asked")
        parser.add_argument("--accept-unknown-cost", action="store_true", help="start without knowing what it costs")
        parser.add_argument("--dry-run", action="store_true", help="say what would be planned, store and send nothing")
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["run"]:
            run = find_model_run(options["run"])
        else:
            at = timezone.now()
            plan = plan_run(self._wanted(options), actor=None, at=at)
            if options["dry_run"]:
                self._print(plan.as_json(), options)
                return
            run = store_run(plan, actor=None, at=at).stored_run
            self.unchanged = _("The run %(run)s is planned, and not started.") % {"run": run.batch.public_id}
        self._go_on(run, options)
        self._print(run_as_json(run), options)

    def _wanted(self, options: dict[str, Any]) -> RunWanted:
        missing = [f"--{name}" for name in ("model", "endpoint") if not options[name]]
        missing += [] if options["bank"] or options["study"] else ["--bank or --study"]
        if missing:
            raise CommandError(f"Give {', '.join(missing)}. {self.unchanged}", returncode=2)
        chat = ChatSettings(
            temperature=options["temperature"], max_tokens=options["max_tokens"], seed=options["model_seed"]
        )
        name, endpoint = options["model"].strip(), options["endpoint"]
        return RunWanted(
            name=name,
            version=options["version"],
            target=_target(options),
            endpoint=endpoint,
            model=model_at(endpoint, options["endpoint_model"]),
            prompt=prompt_written(options["prompt"]),
            images=SentImages(options["images"]) if options["images"] else None,
            picture_policy=options["picture_policy"],
            n_orders=options["orders"],
            n_repeats=options["repeats"],
            chat=chat,
            cap=cap_written(options["max_cost"]),
            seed=options["seed"],
        )

    def _go_on(self, run: ModelRun, options: dict[str, Any]) -> None:
        """What was asked for with ``--start``; a run that was just planned asks its first questions, before that where
        its cost can be known.
        """
        state = run.batch.state
        if not options["start"]:
            if not options["run"]:
                ask_first_questions(run, actor=None, at=timezone.now())
        elif state == BatchState.PAUSED:
            resume_run(run, actor=None, at=timezone.now())
        else:
            accepts = options["accept_unknown_cost"]
            if not options["run"] and run.batch.price is not None and not accepts:
                self._ask_first(run, quiet=options["json"])
            start_run(run, accepts_unknown_cost=accepts, actor=None, at=timezone.now())

    def _ask_first(self, run: ModelRun, *, quiet: bool) -> None:
        """Return when a worker has asked them. Raises RunningRefused where none is at work, or the batch was paused."""
        ask_first_questions(run, actor=None, at=timezone.now())
        batch = run.batch
        with progress_bar(_("First questions"), MofNCompleteColumn, quiet=quiet) as show:
            while batch.state == BatchState.TRYING:
                if not has_worker(timezone.now()):
                    sentence = _("No worker is there to ask the first questions, by which the cost is estimated.")
                    raise RunningRefused("no_worker", sentence)
                self.wait(1)
                batch.refresh_from_db()
                if show:
                    show(tally(batch).n_done, min(N_FIRST, batch.n_calls))
        if batch.paused_because:
            raise RunningRefused("first_failed", batch.paused_because)

    def _print(self, found: dict[str, Any], options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(found, ensure_ascii=False, indent=1))
            return
        for name, value in found.items():
            self._write_line(name.replace("_", " "), "" if name == "estimate" and value else _words(value))
            if name == "estimate" and value:
                for row in estimate_rows(value, found["calls"], found["currency"] or ""):
                    interval = f" ({row.low} - {row.high})" if row.low else ""
                    self._write_line(f"  {row.label.lower()}", row.expected + interval)
        if found["run"] is not None and found.get("state") in (BatchState.PLANNED, BatchState.TRYING):
            self.stdout.write(
                _("See the estimate with: manage.py run_model --run %(run)s. Start it with --start behind that.")
                % {"run": found["run"]}
            )

    def _write_line(self, name: str, words: str) -> None:
        self.stdout.write(f"  {name:<32}{words}")


def _target(options: dict[str, Any]) -> Target:
    if options["study"]:
        return Target.of_study(find_study(options["study"]))
    return Target(the_one(QuestionBank.objects.all(), options["bank"], "bank"))


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_words(one)}" for name, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "-" if value is None else str(value)
