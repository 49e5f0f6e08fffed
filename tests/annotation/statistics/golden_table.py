"""How many golden values pass, by statistic: ``python -m tests.annotation.statistics.golden_table``.

Ends with status 1 when one fails, and when one that is at hand is computed nowhere.
"""

from __future__ import annotations

import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

from tests.annotation.statistics.goldencases import Golden, at_hand, read, statistic_of

NOT_SHOWN = {  # no page, table or export shows them, so the program does not compute them
    "cohen_kappa_se_null",
    "cohen_kappa_custom_se_null",
    "fleiss_kappa_se_null",
    "fleiss_kappa_by_category",
    "mcnemar_exact_power",
    "wilson_questions",
}
ALSO_SHARED = ("cluster_mcnemar_obuchowski_1998", "mrmc_vandyke_accuracy")  # lie in ../shared only


def main() -> int:
    computed = all_golden()
    failed = {(file, name): error for (file, name), golden in computed.items() if (error := _error(golden, file, name))}
    total = Counter(statistic_of(file, name) for file, name in computed)
    bad = Counter(statistic_of(file, name) for file, name in failed)
    width = max(map(len, total))
    print(f"{'statistic':<{width}}  passed    of")
    for statistic, n in sorted(total.items()):
        print(f"{statistic:<{width}}  {n - bad[statistic]:6}  {n:4}")
    print(f"{'all':<{width}}  {len(computed) - len(failed):6}  {len(computed):4}")
    for (file, name), error in failed.items():
        print(f"failed: {file}: {name}: {error}")
    nowhere = computed_nowhere()
    for file, name in nowhere:
        print(f"computed nowhere: {file}: {name}")
    for file in ALSO_SHARED:
        if read(file) is None:
            print(f"left out: {file} is not on this machine")
    return int(bool(failed or nowhere))


def all_golden() -> dict[tuple[str, str], Golden]:
    """(file, value) -> who computes it, of every module ``golden_*``."""
    found: dict[tuple[str, str], Golden] = {}
    for path in sorted(set(Path(__file__).parent.glob("golden_*.py")) - {Path(__file__)}):
        golden = import_module(f"{__package__}.{path.stem}").GOLDEN
        found.update(dict.fromkeys(golden.names(), golden))
    return found


def computed_nowhere() -> list[tuple[str, str]]:
    computed = all_golden()
    wanted = [(file, name) for file in at_hand() for name in read(file)["expected"] if name not in NOT_SHOWN]
    return [one for one in wanted if one not in computed]


def _error(golden: Golden, file: str, name: str) -> str:
    try:
        golden.check(file, name)
    except (AssertionError, KeyError) as error:
        return str(error) or type(error).__name__
    return ""


if __name__ == "__main__":
    sys.exit(main())
