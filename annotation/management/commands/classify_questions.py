"""manage.py classify_questions --bank B --folder F: a classifier of texts, see docs/models-at-work.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _
from rich.progress import MofNCompleteColumn

from annotation.management.base import ActCommand, ShownProgress, progress_bar
from annotation.management.commands.check_questions import percent_written
from annotation.models import Classifier, LabelledSet, QuestionBank
from annotation.site.sentences import the_one
from annotation.statistics.kernels.intervals import share
from annotation.validators.classifying import check_bank, classifier_named, score_questions, set_threshold
from annotation.validators.kernels.validator_exam import at_threshold, curve_of, part_of_class
from annotation.validators.labelled_sets import ClassifierRefused, scored_in, store_labelled


class Command(ActCommand):
    help = (
        "Let a classifier of texts in a folder of this server score the questions of a bank, and set from which "
        "probability of a class on a question fails, by a labelled set."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bank", required=True, help="name or address of the bank")
        parser.add_argument("--folder", required=True, help="a name of REXVQA_CLASSIFIER_FOLDERS: nothing is sent")
        parser.add_argument("--labelled", type=Path, metavar="FILE", help="a table with text or question, and label")
        parser.add_argument("--class", dest="label", metavar="LABEL", help="whose precision and recall are printed")
        parser.add_argument("--threshold", type=float, metavar="T", help="of --class, 0 to 1, by the labelled set")
        parser.add_argument("--part", choices=("identifiers", "bias"), help="default: as the name of the class says")
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        bank, at = the_one(QuestionBank.objects.all(), options["bank"], "bank"), timezone.now()
        label, threshold = options["label"], options["threshold"]
        if threshold is not None and (label is None or not 0 <= threshold <= 1):
            sentence = _("--threshold: a number from 0 to 1, with --class.")
            raise ClassifierRefused("out_of_range", sentence, status=422)
        check_bank(bank)
        classifier = classifier_named(options["folder"], at=at)
        if label is not None and label not in classifier.labels:
            sentence = _("--class: “%(folder)s” has the classes %(known)s.")
            facts = {"folder": classifier.folder, "known": ", ".join(classifier.labels)}
            raise ClassifierRefused("no_class", sentence % facts, status=422)
        if path := options["labelled"]:
            store_labelled(classifier, bank, path.name, path.read_bytes(), actor=None, at=at)
        self.unchanged = ""
        with progress_bar(_("Scoring"), MofNCompleteColumn, quiet=options["json"]) as show:
            result = score_questions(classifier, bank, actor=None, at=at, progress=ShownProgress(show))
        report: dict[str, Any] = {"classifier": str(classifier), "classes": classifier.labels, **result.as_json()}
        if label is not None:
            report |= self._by_class(classifier, bank, options)
        self.answer(options, lambda: report, lambda: "\n".join(_lines(report)))

    def _by_class(self, classifier: Classifier, bank: QuestionBank, options: dict[str, Any]) -> dict[str, Any]:
        label, at = options["label"], timezone.now()
        labelled = LabelledSet.objects.filter(classifier=classifier, texts__isnull=True).first()
        if labelled is None:
            raise ClassifierRefused(
                "not_scored", _("%(folder)s has no labelled set yet: give --labelled.") % {"folder": classifier}
            )
        scored = scored_in(labelled, label)
        found: dict[str, Any] = {"labelled_set": labelled.name, "class": label}
        if (threshold := options["threshold"]) is None:
            return {**found, "thresholds": {f"{one.threshold:g}": one.as_json() for one in curve_of(scored).rows}}
        part = options["part"] or part_of_class(label)
        made = set_threshold(labelled, label=label, part=part, threshold=threshold, bank=bank, actor=None, at=at)
        again = score_questions(classifier, bank, actor=None, at=at, progress=ShownProgress(None))
        at_it = at_threshold(scored, threshold).as_json()
        return {**found, "part": made.part, "threshold": threshold, **at_it, **again.as_json()}


def _lines(report: dict[str, Any]) -> Iterator[str]:
    """As people read it."""
    measured = dict(report.pop("thresholds", {}))
    if "precision" in report:
        measured[f"{report['threshold']:g}"] = {name: report.pop(name) for name in ("precision", "recall")}
    for name, value in report.items():
        yield f"{name}: {', '.join(map(str, value)) if isinstance(value, list) else value}"
    for threshold, found in measured.items():
        shares = {name: share(one["count"], one["n"]) for name, one in found.items()}
        words = (f"{name} {percent_written(one)}, n = {one.n}" for name, one in shares.items())
        yield f"threshold {threshold}: {'; '.join(words)}"
