"""What the rules find of planted faults: ``python -m tests.annotation.generation.planted_table``.

The tables are printed, and with ``--write`` put into docs/validation.md between two marks.
"""

from __future__ import annotations

import sys

from annotation.generation.kernels.answer_forms import RULES
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share
from tests.annotation.generation.planted_faults import Planted, cases
from tests.annotation.quality.comparison_lists import measured
from tests.architecture.source import ROOT

BEGIN, END = "<!-- planted faults, by make proof -->\n", "<!-- end of planted faults -->"
DOCUMENT = ROOT / "docs" / "validation.md"


def _shown(found: Estimate) -> str:
    low, high = found.ci95 or (0.0, 1.0)
    if not found.n:
        return "n = 0"
    return f"{found.count} of {found.n}: {100 * (found.value or 0):.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def _by_kind(planted: list[Planted]) -> list[str]:
    lines = ["| planted | stopped | by the rule that it is planted for |", "| --- | --- | --- |"]
    for kind in dict.fromkeys(one.kind for one in planted if one.rule):
        group = [one for one in planted if one.kind == kind]
        right = sum(one.found == one.rule for one in group)
        lines.append(f"| {kind} | {sum(bool(one.found) for one in group)} of {len(group)} | {right} of {len(group)} |")
    faults, sound = [one for one in planted if one.rule], [one for one in planted if not one.rule]
    stopped, right = sum(bool(one.found) for one in faults), sum(one.found == one.rule for one in faults)
    lines.append(f"| all faults | {_shown(share(stopped, len(faults)))} | {_shown(share(right, len(faults)))} |")
    lines.append(f"| nothing | {_shown(share(sum(bool(one.found) for one in sound), len(sound)))} | |")
    return lines


def _by_rule(planted: list[Planted]) -> list[str]:
    lines = ["| rule | version | precision | recall |", "| --- | --- | --- | --- |"]
    for code in (code for code in RULES if any(code in (one.rule, one.found) for one in planted)):
        meant, fired = sum(one.rule == code for one in planted), sum(one.found == code for one in planted)
        right = sum(one.rule == one.found == code for one in planted)
        version = RULES[code].version
        lines.append(f"| `{code}` | {version} | {_shown(share(right, fired))} | {_shown(share(right, meant))} |")
    stopped, faults = [one for one in planted if one.found], [one for one in planted if one.rule]
    right = sum(bool(one.rule) for one in stopped)
    lines.append(f"| as a whole | | {_shown(share(right, len(stopped)))} | {_shown(share(right, len(faults)))} |")
    return lines


def tables() -> str:
    planted, found = list(cases()), measured()
    comparisons = ["| comparisons in sentences | |", "| --- | --- |"]
    comparisons += [f"| {name} | {_shown(value)} |" for name, value in found.items()]
    return "\n".join([*_by_kind(planted), "", *_by_rule(planted), "", *comparisons, ""])


def main() -> None:
    table = tables()
    print(table)
    if "--write" in sys.argv:
        text = DOCUMENT.read_text(encoding="utf-8")
        before, after = text.partition(BEGIN)[0], text.partition(END)[2]
        DOCUMENT.write_text(before + BEGIN + table + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
