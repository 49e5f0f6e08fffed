"""What somebody does who wants a better score without a better model: send files and learn from what is told of them.

An attack knows which question is in which cell, which a team can only guess, and chooses one file for each of its teams
in each edition. ``Ask`` names them and brings back what the edition tells: for each file the percent right by cell, or
nothing. What an attack gains is the share that its last file has right, over the share that chance has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tests.readerstudy.leaderboard.gains import OPTIONS, best_options

File = NDArray[np.int64]  # the option of each question, 0 to 3
Told = Mapping[str, float]  # percent right by cell; "all" among them
Ask = Callable[[Sequence[File]], Sequence[Told]]
Cells = Mapping[str, NDArray[np.bool_]]
Attack = Callable[[Cells, int, int, Ask, np.random.Generator], File]  # cells, teams, editions before the last

CHANCE = 100 / OPTIONS


def votes(cells: Cells, n_teams: int, n_editions: int, ask: Ask, rng: np.random.Generator) -> File:
    """Every number votes for the options of its file, by its distance from chance."""
    n = len(cells["all"])
    sums, rows = np.zeros((n, OPTIONS)), np.arange(n)
    for _edition in range(n_editions):
        files = [rng.integers(OPTIONS, size=n) for _team in range(n_teams)]
        for file, told in zip(files, ask(files), strict=True):
            for name, percent in told.items():
                inside = cells[name]
                sums[rows[inside], file[inside]] += (percent - CHANCE) * (1 if name != "all" else 0.5)
    return best_options(sums, rng)


def best_of_many(cells: Cells, n_teams: int, n_editions: int, ask: Ask, rng: np.random.Generator) -> File:
    """The best of all guesses, as a whole."""
    n = len(cells["all"])
    best, most = rng.integers(OPTIONS, size=n), -1.0
    for _edition in range(n_editions):
        files = [rng.integers(OPTIONS, size=n) for _team in range(n_teams)]
        for file, told in zip(files, ask(files), strict=True):
            if told.get("all", -1.0) > most:
                best, most = file, told["all"]
    return best


def hill_climbing(cells: Cells, n_teams: int, n_editions: int, ask: Ask, rng: np.random.Generator) -> File:
    """Each team changes a tenth of the best file so far; what is better stays."""
    n = len(cells["all"])
    best, most = rng.integers(OPTIONS, size=n), -1.0
    for edition in range(n_editions):
        files = [best.copy() for _team in range(n_teams)]
        for file in files if edition else files[1:]:
            changed = rng.random(n) < 0.1
            file[changed] = rng.integers(OPTIONS, size=int(changed.sum()))
        for file, told in zip(files, ask(files), strict=True):
            if told.get("all", -1.0) > most:
                best, most = file, told["all"]
    return best


def block_probing(cells: Cells, n_teams: int, n_editions: int, ask: Ask, rng: np.random.Generator) -> File:
    """All teams but one change a block of their own; the difference to the unchanged file tells about that block."""
    n = len(cells["all"])
    base = rng.integers(OPTIONS, size=n)
    for _edition in range(n_editions):
        blocks = np.array_split(rng.permutation(n), max(1, n_teams - 1))
        files = [base.copy()]
        for block in blocks[: n_teams - 1]:
            file = base.copy()
            file[block] = (file[block] + rng.integers(1, OPTIONS, size=len(block))) % OPTIONS
            files.append(file)
        start, *answers = ask(files)
        for block, file, told in zip(blocks, files[1:], answers, strict=False):
            if told.get("all", -1.0) > start.get("all", 200.0):
                base[block] = file[block]
    return base


ATTACKS: dict[str, Attack] = {
    "random votes": votes,
    "best of many": best_of_many,
    "hill climbing": hill_climbing,
    "block probing": block_probing,
}


def exact_scores(key: File, cells: Cells) -> Ask:
    """The control: whoever asks gets the exact score of all questions, as often as they like."""
    return lambda files: [{"all": 100 * float((file == key).mean())} for file in files]


def gain_of(file: File, key: File) -> float:
    """Points over chance."""
    return 100 * float((file == key).mean()) - CHANCE
