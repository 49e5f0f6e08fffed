"""Write the table of what can be gained from the numbers that editions tell. Some minutes on two cores."""

from __future__ import annotations

import csv
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from numpy.typing import NDArray

from readerstudy.leaderboard.kernels.release_rule import MANY, RELEASES, SIZES, TABLE

OPTIONS = 4
SEED = 20261129
WORK = 30_000_000  # answers that are drawn for one row


def simulated_gain(n: int, teams: int, n_told: int, *, runs: int, rng: np.random.Generator) -> tuple[float, float]:
    """Mean gain in points over ``runs`` attacks, and its standard error."""
    gains = np.array([_attack(n, (n_told - 1) * teams, rng) for _run in range(runs)])
    return 100 * float(gains.mean()), 100 * float(gains.std(ddof=1)) / runs**0.5


def _attack(n: int, n_files: int, rng: np.random.Generator) -> float:
    key, sums = rng.integers(OPTIONS, size=n), np.zeros((n, OPTIONS))
    rows = np.arange(n)
    for _file in range(n_files):
        guessed = rng.integers(OPTIONS, size=n)
        sums[rows, guessed] += (guessed == key).mean() - 1 / OPTIONS
    return float((best_options(sums, rng) == key).mean()) - 1 / OPTIONS


def best_options(sums: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """The option with the highest sum, one of the equal ones by chance. ``sums`` has shape (questions, options)."""
    order = rng.random(sums.shape)
    order[sums < sums.max(axis=1, keepdims=True)] = -1
    best: NDArray[np.int64] = order.argmax(axis=1)
    return best


def upper_gain(cell: tuple[int, int, int]) -> str:
    n, teams, editions = cell
    runs = int(np.clip(WORK / (n * teams * (editions - 1)), 60, 20_000))
    mean, error = simulated_gain(n, teams, editions, runs=runs, rng=np.random.default_rng([SEED, *cell]))
    return f"{mean + 2 * error:.3f}"


def main() -> None:
    sizes = [(n, teams) for n in SIZES for teams in (1, MANY)]
    with ProcessPoolExecutor() as pool:
        gains = pool.map(upper_gain, [(*size, editions) for size in sizes for editions in RELEASES])
    with TABLE.open("w", newline="") as file:
        file.write("# points that a cell of n questions told in so many editions gives at most: mean of the simulated ")
        file.write(f"runs and two\n# standard errors, seed {SEED}\n")
        written = csv.writer(file, lineterminator="\n")
        written.writerow(("n", "teams", *RELEASES))
        written.writerows((*size, *(next(gains) for _editions in RELEASES)) for size in sizes)


if __name__ == "__main__":
    main()
