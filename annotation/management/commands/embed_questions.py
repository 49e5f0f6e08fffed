"""manage.py embed_questions --bank B --endpoint E --model M, or --folder F: vectors, see docs/models-at-work.md."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _
from rich.progress import MofNCompleteColumn

from annotation.management.base import ActCommand, ShownProgress, progress_bar
from annotation.models import QuestionBank
from annotation.models.quality import FOLDER
from annotation.site.sentences import the_one
from annotation.validators.embedded_questions import compare_embedded, embed_questions, plan_embedding


class Command(ActCommand):
    help = (
        "Ask a model at an endpoint, or in a folder of this server, for vectors of the questions of a bank that have "
        "none yet, and find near-duplicates where people have set a threshold for this model."
    )
    unchanged = ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bank", required=True, help="name or address of the bank")
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--endpoint", help="a name of REXVQA_MODEL_ENDPOINTS")
        source.add_argument("--folder", help="a name of REXVQA_EMBEDDING_FOLDERS: nothing is sent anywhere")
        parser.add_argument("--model", default="", help="as the endpoint calls it; that of the list if not given")
        parser.add_argument("--dry-run", action="store_true", help="say what would be sent, and send nothing")
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        bank = the_one(QuestionBank.objects.all(), options["bank"], "bank")
        folder = options["folder"]
        source = options["endpoint"] if folder is None else FOLDER + folder
        plan = plan_embedding(bank, source, options["model"], at=timezone.now())
        report: dict[str, Any] = {**plan.as_json(), "dry_run": options["dry_run"]}
        if not options["dry_run"]:
            with progress_bar(_("Embedding"), MofNCompleteColumn, quiet=options["json"]) as show:
                progress = ShownProgress(show)
                embedding = embed_questions(plan, actor=None, clock=timezone.now, progress=progress)
                report |= compare_embedded(bank, embedding, actor=None, at=timezone.now(), progress=progress).as_json()
        self.stdout.write(json.dumps(report, ensure_ascii=False, indent=1) if options["json"] else as_text(report))


def as_text(report: dict[str, Any]) -> str:
    lines = [_("%(questions)d questions; %(texts_without_vector)d texts without a vector.") % report]
    if report["endpoint"].startswith(FOLDER):
        lines = [f"{lines[0]} {_('The model is in a folder of this server: nothing is sent.')}"]
    else:
        lines = [f"{lines[0]} {_('%(texts_to_send)d to send, in %(requests)d requests.') % report}"]
    if report["dry_run"]:
        return f"{lines[0]} {_('This was a dry run: nothing was sent.')}"
    if report["threshold"] is None:
        sentence = _("No threshold is set for %(embedding)s: nothing is called a duplicate before people set one.")
        lines.append(sentence % report)
    else:
        lines.append(_("At %(threshold)g: %(n_duplicates)d near-duplicates, %(n_pairs)d pairs.") % report)
    return "\n".join(lines)
