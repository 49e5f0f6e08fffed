"""manage.py check_questions --bank BANK: what the rules find in a bank, see docs/question-banks.md.

With --endpoint validators are asked of a model instead, see docs/models-at-work.md.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec import Struct
from msgspec.structs import asdict
from rich.progress import MofNCompleteColumn, TaskProgressColumn

from annotation.management.base import ActCommand, cap_written, progress_bar
from annotation.model_calls.versions import prompt_written
from annotation.models import QuestionBank, Revision
from annotation.questionbank.checking import (
    BankSummary,
    CheckResult,
    QualityRefused,
    RuleCount,
    check_revisions,
    summarise,
)
from annotation.questionbank.kernels.question_checks import ASKED
from annotation.questionbank.kernels.rules import THRESHOLD
from annotation.site.sentences import the_one
from annotation.statistics.kernels.estimate import NOT_ASKED, Estimate
from annotation.validators.validator_exams import results_as_json
from annotation.validators.validator_plans import ALL, CheckPlan, begin_checks, checks_wanted, plan_checks

if TYPE_CHECKING:
    from annotation.questionbank.duplicates import DuplicateResult, ShownPair, TwinResult

OF_VALIDATORS = ("model", "check", "prompt", "temperature", "max_tokens", "max_cost", "dry_run")
SHOWN_WORDS = 90  # characters of a question beside a pair


class Command(ActCommand):
    help = (
        "Check the questions of a bank by rules and store what is found, or with --endpoint let a model check them. "
        "Nothing is left out or changed because of it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bank", required=True, help="name or address of the bank")
        parser.add_argument("--duplicates", action="store_true", help="also compare every question with every other")
        parser.add_argument("--across", action="store_true", help="also compare them with those of all public banks")
        parser.add_argument(
            "--threshold",
            type=float,
            metavar="S",
            help="similarity of near-duplicates, 0.5 to 1 (0.9, as in the paper)",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")
        asked = parser.add_argument_group("validators, asked of a model")
        asked.add_argument("--endpoint", metavar="E", help="a name of REXVQA_MODEL_ENDPOINTS")
        asked.add_argument("--model", default="", metavar="M", help="as the endpoint calls it; default: as it is set")
        asked.add_argument("--check", choices=(*ASKED, ALL), help="which is asked; all, the default, is c1, c2 and c3")
        asked.add_argument("--prompt", metavar="NAME[@N]", help="of one validator; default: of this program")
        asked.add_argument("--temperature", type=float, metavar="T")
        asked.add_argument("--max-tokens", type=int, metavar="N", help="of an answer")
        asked.add_argument("--max-cost", metavar="X", help="the cap of each validator, in the currency of the price")
        asked.add_argument("--results", action="store_true", help="print verdicts and tests so far; asks nothing")
        asked.add_argument("--dry-run", action="store_true", help="say what would be asked, and send nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["threshold"] is not None and not (options["duplicates"] or options["across"]):
            raise QualityRefused("threshold_alone", _("--threshold is for --duplicates and --across: give one, too."))
        bank = the_one(QuestionBank.objects.all(), options["bank"], "bank")
        if options["results"]:
            self.stdout.write(json.dumps(results_as_json(bank), ensure_ascii=False, indent=1))
            return
        if options["endpoint"]:
            self._ask(bank, options)
            return
        if given := [name for name in OF_VALIDATORS if options[name]]:
            sentence = _("--%(name)s is for validators: give --endpoint, too.") % {"name": given[0].replace("_", "-")}
            raise QualityRefused("endpoint_missing", sentence)
        quiet = options["json"] or options["verbosity"] == 0
        at = timezone.now()
        threshold = THRESHOLD if options["threshold"] is None else options["threshold"]
        twins = self._compare_across(bank, at, quiet, threshold) if options["across"] else None
        duplicates = self._compare(bank, at, quiet, threshold) if options["duplicates"] else None
        current = Revision.objects.in_bank(bank).current()
        with progress_bar(_("Checking"), MofNCompleteColumn, quiet=quiet) as watch:
            checked = check_revisions(bank, current, actor=None, at=at, watch=watch)
        summary = summarise(bank)
        found = CheckedBank(bank, checked, summary, duplicates, twins)
        self.answer(options, found.as_json, found.as_text)

    def _ask(self, bank: QuestionBank, options: dict[str, Any]) -> None:
        self.unchanged = _("Nothing was stored, nothing was sent.")
        if options["duplicates"] or options["across"]:
            raise QualityRefused("two_checks", _("--duplicates and --across compare by rule: leave out --endpoint."))
        wanted = checks_wanted(
            bank,
            check=options["check"] or ALL,
            endpoint=options["endpoint"],
            model=options["model"],
            prompt=prompt_written(options["prompt"]) if options["prompt"] else None,
            temperature=options["temperature"],
            max_tokens=options["max_tokens"],
            cap=cap_written(options["max_cost"]),
        )
        at = timezone.now()
        plans = plan_checks(wanted, actor=None, at=at)
        if not options["dry_run"]:
            plans = begin_checks(plans, actor=None, at=at)
        report = {"bank": bank.name, "dry_run": options["dry_run"], "checks": [plan.as_json() for plan in plans]}
        self.answer(options, lambda: report, lambda: "\n".join(map(plan_as_text, plans)))

    def _compare(self, bank: QuestionBank, at: datetime, quiet: bool, threshold: float) -> DuplicateResult:
        from annotation.questionbank.duplicates import check_duplicates  # loads scikit-learn

        with progress_bar(_("Comparing"), TaskProgressColumn, quiet=quiet) as watch:
            return check_duplicates(bank, actor=None, at=at, threshold=threshold, watch=watch)

    def _compare_across(self, bank: QuestionBank, at: datetime, quiet: bool, threshold: float) -> TwinResult:
        from annotation.questionbank.duplicates import check_twins

        with progress_bar(_("Comparing with public banks"), TaskProgressColumn, quiet=quiet) as watch:
            return check_twins(bank, actor=None, at=at, threshold=threshold, watch=watch)


def plan_as_text(plan: CheckPlan) -> str:
    plan_facts = plan.as_json()
    facts = {**plan_facts, "left": sum(plan_facts["left_out"].values())}
    words = _("%(check)s: %(calls)d calls on %(questions)d questions to %(model)s at %(endpoint)s by “%(prompt)s”.")
    if facts["left"]:
        words += " " + _("%(left)d questions are left out: no key, no report, or an identifier in it.")
    if plan.run is None:
        return f"{words % facts} {_('This was a dry run: nothing was stored, nothing was sent.')}"
    return f"{words % facts} {_('Run %(run)s has started; a worker asks for it.') % facts}"


class CheckedBank(Struct, frozen=True):
    bank: QuestionBank
    checked: CheckResult
    summary: BankSummary
    duplicates: DuplicateResult | None
    twins: TwinResult | None

    def as_json(self) -> dict[str, Any]:
        summary, evenness = self.summary, self.summary.whole.evenness
        return {
            "bank": self.bank.name,
            "n_questions": summary.n_questions,
            "changes": {name: getattr(self.checked, name) for name in ("added", "renewed", "removed")},
            "rules": [_rule_as_json(one) for one in summary.rules],
            "longest_is_key": {**summary.whole.longest_is_key.as_json(), "by_chance": 0.25},
            "key_letters": {
                "counts": summary.whole.letters,
                "test": evenness.as_json("chi-square against equal shares", flags=()) if evenness else None,
            },
            "near_duplicates": self.duplicates.as_json() if self.duplicates else None,
            "public_twins": self.twins.as_json() if self.twins else None,
        }

    def as_text(self) -> str:
        head = _("Bank %(bank)s: %(n)d questions checked.") % {"bank": self.bank.name, "n": self.summary.n_questions}
        changes = _("%(added)d findings are new, %(renewed)d renewed, %(removed)d gone.") % asdict(self.checked)
        lines = [head, changes, "", *_table(self.summary), "", *_whole_bank(self.summary)]
        if found := self.duplicates:
            head = _("Near-duplicates at %(threshold)s: %(n)d questions, %(pairs)d pairs. Pairs around the threshold:")
            facts = {"threshold": f"{found.threshold:g}", "n": found.n_duplicates, "pairs": found.n_pairs}
            lines += ["", head % facts, *_pairs(found.around)]
        if twins := self.twins:
            head = _("Twins in public banks (%(banks)s) at %(threshold)s: %(n)d questions, %(pairs)d pairs.")
            facts = {"threshold": f"{twins.threshold:g}", "n": twins.n_twins, "pairs": twins.n_pairs}
            about = _("Pairs around the threshold, the public question below the other:")
            lines += ["", f"{head % {**facts, 'banks': ', '.join(twins.banks)}} {about}", *_pairs(twins.around)]
        return "\n".join(lines)


def _rule_as_json(one: RuleCount) -> dict[str, Any]:
    ran = NOT_ASKED not in one.questions.flags
    return {
        "rule": one.rule.code,
        "version": one.rule.version,
        "label": one.rule.label,
        "questions": one.questions.count,
        "share": one.questions.as_json(),
        "findings": one.n_findings if ran else None,
        "dismissed": one.n_dismissed if ran else None,
    }


def _table(summary: BankSummary) -> list[str]:
    rows = [(_("rule"), _("questions"), _("share (95% CI)"), _("n"), _("dismissed"))]
    for one in summary.rules:
        if NOT_ASKED in one.questions.flags:
            rows.append((one.rule.label, _("not run"), "–", "–", "–"))
            continue
        n_fired, n, n_dismissed = (
            f"{count:,}" for count in (one.questions.count or 0, one.questions.n, one.n_dismissed)
        )
        rows.append((one.rule.label, n_fired, percent_written(one.questions), n, n_dismissed))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join((row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:]))) for row in rows]


def percent_written(share: Estimate) -> str:
    if share.value is None or share.ci95 is None:
        return "–"
    return f"{100 * share.value:.1f}% ({100 * share.ci95[0]:.1f} to {100 * share.ci95[1]:.1f})"


def _whole_bank(summary: BankSummary) -> list[str]:
    longest, letters, evenness = summary.whole.longest_is_key, summary.whole.letters, summary.whole.evenness
    if evenness is None or evenness.chi2 is None or evenness.p is None:
        return [_("No question of the bank has a key.")]
    verdict = _("more often than by chance") if summary.whole.is_longest_too_often else _("not shown to be more often")
    counts = ", ".join(f"{letter} {count:,}" for letter, count in letters.items())
    p = "< 0.001" if evenness.p < 0.001 else f"= {evenness.p:.3f}"
    return [
        _("The longest option is the key: %(share)s of n = %(n)d with one longest option; 25%% by chance: %(verdict)s.")
        % {"share": percent_written(longest), "n": longest.n, "verdict": verdict},
        _("Letters of the keys: %(counts)s; chi-square %(chi2).1f, df 3, p %(p)s, n = %(n)d.")
        % {"counts": counts, "chi2": evenness.chi2, "p": p, "n": evenness.n},
    ]


def _pairs(around: list[ShownPair]) -> list[str]:
    lines = []
    for pair in around:
        lines.append(f"  {pair.similarity:.3f}  {pair.first}: {_one_line(pair.first_text)}")
        lines.append(f"         {pair.second}: {_one_line(pair.second_text)}")
    return lines


def _one_line(text: str) -> str:
    return " / ".join(text.splitlines())[:SHOWN_WORDS]
