"""Write the table of what can be gained from the numbers that editions tell. Some minutes on two cores."""

from __future__ import annotations

import csv
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from readerstudy.leaderboard.kernels.release_rule import MANY, RELEASES, SEED, SIZES, TABLE, simulated_gain

WORK = 30_000_000  # answers that are drawn for one row


def gain_of(cell: tuple[int, int, int]) -> tuple[int, int, int, str, str, str, int]:
    n, teams, editions = cell
    runs = int(np.clip(WORK / (n * teams * (editions - 1)), 60, 20_000))
    mean, error = simulated_gain(n, teams, editions, runs=runs, rng=np.random.default_rng([SEED, *cell]))
    return *cell, f"{mean:.3f}", f"{error:.3f}", f"{mean + 2 * error:.3f}", runs


def main() -> None:
    cells = [(n, teams, editions) for n in SIZES for teams in (1, MANY) for editions in RELEASES]
    with ProcessPoolExecutor() as pool:
        rows = list(pool.map(gain_of, cells))
    with TABLE.open("w", newline="") as file:
        file.write(f"# points; the upper value is the mean and two standard errors; simulated, seed {SEED}\n")
        written = csv.writer(file, lineterminator="\n")
        written.writerow(("n", "teams", "editions", "gain", "standard_error", "gain_upper", "runs"))
        written.writerows(rows)


if __name__ == "__main__":
    main()
