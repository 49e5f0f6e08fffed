from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.models import QuestionBank, SamplingPlan
from annotation.sampling.kernels.drawing import RatedBy, StratifyBy
from annotation.sampling.samples import DEFAULT_PER_THOUSAND, DEFAULT_SEED, draw_sample, frame_rows
from annotation.site.slugs import the_one


class Command(ActCommand):
    help = "Draw a stratified sample of the questions of a bank and store it. The same seed draws the same sample."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bank", required=True, help="name or address of the bank")
        parser.add_argument("--per-thousand", type=int, default=DEFAULT_PER_THOUSAND, metavar="N", help="(100)")
        parser.add_argument("--seed", type=int, default=DEFAULT_SEED, metavar="N", help=f"({DEFAULT_SEED})")
        parser.add_argument(
            "--name", default="", help="name of the sample; made from bank, share and seed if not given"
        )
        parser.add_argument(
            "--by",
            choices=StratifyBy.values(),
            default=StratifyBy.DIFFICULTY.value,
            help="difficulty: equal shares of what is known; task, category, none: proportional (difficulty)",
        )
        parser.add_argument(
            "--rated-by",
            choices=RatedBy.values(),
            default=RatedBy.STATED.value,
            help="whose difficulty, where the sample is stratified by it (stated)",
        )
        parser.add_argument("--json", action="store_true", help="print the stored plan as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        plan = draw_sample(
            the_one(QuestionBank.objects.all(), options["bank"], "bank"),
            name=options["name"],
            by=StratifyBy(options["by"]),
            per_thousand=options["per_thousand"],
            seed=options["seed"],
            rated_by=RatedBy(options["rated_by"]),
            actor=None,
            at=timezone.now(),
        )
        self.stdout.write(json.dumps(as_json(plan), indent=2, ensure_ascii=False) if options["json"] else as_text(plan))


def as_json(plan: SamplingPlan) -> dict[str, Any]:
    drawn = plan.questions.values_list("revision__question__number", flat=True)
    return {
        "sample": plan.name,
        "slug": plan.slug,
        "bank": plan.bank.name,
        "rule": plan.rule,
        "by": plan.stratify_by,
        "rated_by": plan.frame.get("rated_by", RatedBy.STATED.value),
        "per_thousand": plan.per_thousand,
        "seed": plan.seed,
        "n_frame": plan.n_frame,
        "frame_sha256": plan.frame_sha256,
        "n_drawn": len(drawn),
        "kept_out": plan.frame.get("kept_out"),
        "left_out": plan.frame.get("left_out"),
        "n_waiting": plan.frame.get("n_waiting"),
        "strata": plan.strata,
        "questions": list(drawn),
    }


def as_text(plan: SamplingPlan) -> str:
    lines = [f"Sample “{plan.name}” ({plan.slug}): seed {plan.seed}, rule {plan.rule}, by {plan.stratify_by}."]
    width = max(len(stratum["stratum"]) for stratum in plan.strata)
    lines += [f"  {one['stratum']:<{width}}  {one['n_drawn']:>7} of {one['n_frame']:>7}" for one in plan.strata]
    lines.append(f"  {'together':<{width}}  {plan.questions.count():>7} of {plan.n_frame:>7}")
    lines += [f"{words}: {n}" for words, n in frame_rows(plan.frame, plan.n_frame)]
    if out := plan.frame.get("kept_out"):
        lines.append(f"Kept out, since they fail {', '.join(out['parts'])}: {out['n']} questions.")
    return "\n".join(lines)
