"""manage.py show_variants: other images, orders and repeats of a model beside its plain run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import ActCommand
from readerstudy.comparison.image_need import image_need
from readerstudy.comparison.variants import RunFamily, facts_of, family_of, tables_now
from readerstudy.management.arguments import find_model_run
from readerstudy.model_runs.publishing import target_of_run
from readerstudy.templatetags.results import as_percent, as_points, bare_p, percent_limits, points_limits


class Command(ActCommand):
    unchanged = "Nothing was changed."
    help = (
        "Set the runs of a model with the same prompt on the same questions beside each other: other images, orders of "
        "the options, repeats, and without the image beside what reviewers of closed rounds say."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", help="id of one of the runs, as its page shows it")
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        found = _found(family_of(find_model_run(options["run"])))
        if options["json"]:
            self.stdout.write(json.dumps(found, ensure_ascii=False, indent=1))
            return
        for line in _lines(found):
            self.stdout.write(line)


def _found(family: RunFamily) -> dict[str, Any]:
    run = family.asked
    need = image_need(family, None)
    return {
        "model": run.entry.name,
        "version": run.entry.version,
        "study" if run.study else "bank": target_of_run(run).slug,
        "prompt": str(run.batch.prompt),
        "incomplete": [{**facts_of(one.run), "calls_left": one.n_left} for one in family.waiting],
        "lacks": family.lacks_plain,
        **tables_now(family),
        "without_image": need.as_json() if need else None,
    }


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['model']} {found['version']}, {found['prompt']}, {found['n']} questions with a key"
    for one in found["incomplete"]:
        yield f"not complete, in no table: run {one['run']} ({one['images']}), {one['calls_left']} calls left"
    if found["lacks"]:
        yield found["lacks"]
    for one in found["variants"]:
        yield f"images {one['images']}: {_share(one['accuracy'])}; plain {_share(one['plain_accuracy'])}; {_apart(one)}"
    for run in found["orders"]:
        for one in run["orders"]:
            yield f"images {run['images']}, order {one['order']}: {_share(one['accuracy'])}; {_apart(one)}".rstrip("; ")
        yield f"  the same option in all orders: {_share(run['same'])}"
        for one in run["letters"]:
            yield f"  right where the key is at {one['letter']}: {_share(one['recall'])}"
    for run in found["repeats"]:
        for one in run["repeats"]:
            yield f"images {run['images']}, repeat {one['repeat']}: {_share(one['accuracy'])}"
        yield f"  the same answer in all repeats: {_share(run['same'])}"
    for one in (found["without_image"] or {}).get("needs_image", ()):
        right = one["right_without_image"]
        yield f"right without the image, image needed by reviewers {one['needs_image']}: {_value(right)}"


def _share(one: dict[str, Any]) -> str:
    return _value(one.get("by_cluster", one["by_question"]))


def _value(one: Any) -> str:
    limits = percent_limits(one)
    return f"{as_percent(one)}{f' ({limits})' if limits else ''}, n {one['n']}"


def _apart(one: dict[str, Any]) -> str:
    if "difference" not in one:
        return ""
    points, limits = as_points(one["difference"]), points_limits(one["difference"])
    p = "p n/a" if one["p"] is None else f"p {bare_p(one['p'])}, Holm {bare_p(one['p_holm'])}"
    return f"difference {points} points{f' ({limits})' if limits else ''}, {p}"
