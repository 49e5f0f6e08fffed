"""The numbers of an edition, rounded as they are shown, and which of them it may tell. Pure.

What is not told is not computed into the result: neither a value nor an order, a rank or a difference depends on it.
Points are percent, to one decimal; limits of intervals are rounded outwards. Models come by their rounded accuracy, and
where that is not told by their ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from annotation.statistics.kernels.bootstrap import units_of
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.proportions import accuracy, accuracy_task_mean, clustered_accuracy
from annotation.statistics.kernels.ranking import rank_bands, ranked_pairs
from readerstudy.analysis.kernels.arrays import TASKS
from readerstudy.analysis.kernels.bank_comparison import FAILED, MISSING, BankArrays
from readerstudy.analysis.kernels.result import LETTERS, N_OPTIONS
from readerstudy.leaderboard.kernels.release_rule import ALL, FEWEST, ToldCell, may_be_told

FORMAT = "board-1"
RULE = "score-1"  # change the name when the same answers would give other numbers
TASK_MEAN = "task_mean"
Options = NDArray[np.int8]
Points = dict[str, Any]  # value, low, high, n


@dataclass(frozen=True)
class ReadStudy:
    """What readers of one closed study answered to questions of the benchmark, in the order of its version."""

    protocol_sha256: str
    correct: NDArray[np.int8]  # 1 right, 0 wrong, -1 not counted; shape (readers, questions)


@dataclass(frozen=True)
class Board:
    """Everything that an edition is scored from."""

    arrays: BankArrays  # its entrants are called by the ids of submissions
    difficulty: tuple[str, ...]
    cells: tuple[ToldCell, ...]
    edition: int
    n_editions: int
    without_images: Mapping[str, Options]  # by the id of a submission: the answers of its model without images
    studies: tuple[ReadStudy, ...]


def options_from(answers: str) -> Options:
    """Letters of a submission as numbers of options; ``FAILED`` for "?", ``MISSING`` for "-"."""
    codes = np.full(256, MISSING, dtype=np.int8)
    codes[ord("?")] = FAILED
    for place, letter in enumerate(LETTERS):
        codes[ord(letter)] = place
    found: Options = codes[np.frombuffer(answers.encode("ascii"), dtype=np.uint8)]
    return found


def points(estimate: Estimate) -> Points:
    value = None if estimate.value is None else round(100 * estimate.value, 1) + 0.0
    low, high = estimate.ci95 or (None, None)
    return {
        "value": value,
        "low": None if low is None else floor(1000 * low) / 10 + 0.0,
        "high": None if high is None else ceil(1000 * high) / 10 + 0.0,
        "n": estimate.n,
    }


def score_board(board: Board) -> dict[str, Any]:
    """All that the edition publishes of these submissions, without the words around it."""
    arrays, correct = board.arrays, board.arrays.correct()
    units = units_of(arrays.cluster)
    told = {cell.name for cell in board.cells if _is_told(cell, board.edition)}
    tasks = {f"task:{TASKS[place]}" for place in np.unique(arrays.task)}
    score = _Scoring(board, told, is_mean_told=tasks <= told and len(tasks) > 1, clustered=units.clustered)
    entries = [score.entry(row, correct[row]) for row in range(len(correct))]
    value = [one["numbers"][ALL]["value"] if ALL in told else 0.0 for one in entries]
    order = sorted(range(len(entries)), key=lambda row: (-value[row], entries[row]["entry"]))
    if ALL in told:
        _rank(entries, order, correct, arrays.cluster, clustered=units.clustered)
    return {
        "format": FORMAT,
        "rule": RULE,
        "n": len(arrays.key),
        "n_clusters": units.m,
        "cluster": arrays.cluster_level,
        "is_by_cluster": units.clustered,
        "cells": [_told_cell(cell, board.edition) for cell in board.cells],
        "is_task_mean_told": score.is_mean_told,
        "chance": round(100 / N_OPTIONS, 1),
        "commonest": score.commonest() if ALL in told else None,
        "readers": score.readers(),
        "entries": [entries[row] for row in order],
    }


def _is_told(cell: ToldCell, edition: int) -> bool:
    """Never a small one, whatever the plan says."""
    return edition in cell.editions and cell.n >= FEWEST


def _told_cell(cell: ToldCell, edition: int) -> dict[str, Any]:
    later = min((number for number in cell.editions if number > edition), default=None)
    return {"name": cell.name, "label": cell.label, "n": cell.n, "is_told": _is_told(cell, edition), "next": later}


class _Scoring:
    """What the numbers of all models share."""

    def __init__(self, board: Board, told: set[str], *, is_mean_told: bool, clustered: bool) -> None:
        self.board, self.arrays, self.told = board, board.arrays, told
        self.is_mean_told, self.clustered = is_mean_told, clustered
        self.kept = {cell.name: _questions_of(board, cell.name) for cell in board.cells if cell.name in told}
        studies = sorted(board.studies, key=lambda one: one.protocol_sha256)
        self.studies = [one for one in studies if int((one.correct >= 0).any(axis=0).sum()) >= FEWEST]
        read = [(one.correct >= 0).any(axis=0) for one in self.studies]
        self.read = np.logical_or.reduce(read) if read else np.zeros(len(self.arrays.key), dtype=np.bool_)

    def share(self, correct: NDArray[np.int8], cluster: NDArray[np.int32]) -> Points:
        if self.clustered:
            return points(clustered_accuracy(correct, cluster).accuracy)
        return points(accuracy(correct))

    def entry(self, row: int, correct: NDArray[np.int8]) -> dict[str, Any]:
        entrant, option, cluster = self.arrays.entrants[row], self.arrays.option[row], self.arrays.cluster
        numbers: dict[str, Any] = {cell.name: None for cell in self.board.cells}
        numbers |= {name: self.share(correct[kept], cluster[kept]) for name, kept in self.kept.items()}
        present, task = np.unique(self.arrays.task, return_inverse=True)
        mean = accuracy_task_mean(correct, task, len(present)) if self.is_mean_told else None
        n_read, n_rest = int(self.read.sum()), int((~self.read).sum())  # the rest can be had by taking these from all
        n_told = max((len(cell.editions) for cell in self.board.cells if cell.name == ALL), default=0)
        is_last = self.board.edition == self.board.n_editions and may_be_told(n_read, n_told)
        is_last = is_last and (n_rest == 0 or may_be_told(n_rest, n_told))
        options = self.board.without_images.get(entrant.name) if ALL in self.told else None
        blind = None if options is None else np.asarray(options == self.arrays.key, dtype=np.int8)
        return {
            "entry": entrant.name,
            **entrant.facts,
            "n_failed": int((option == FAILED).sum()),
            "n_missing": int((option == MISSING).sum()),
            "numbers": numbers,
            TASK_MEAN: points(mean) if mean else None,
            "band": None,
            "above": None,
            "without_images": None if blind is None else self.share(blind, cluster),
            "on_read": self.share(correct[self.read], cluster[self.read]) if is_last else None,
        }

    def commonest(self) -> dict[str, Any]:
        """The letter that is the key most often, the first of equal ones, and what it scores by itself."""
        letter = int(np.bincount(self.arrays.key, minlength=N_OPTIONS).argmax())
        right = (self.arrays.key == letter).astype(np.int8)
        return {"letter": LETTERS[letter], **self.share(right, self.arrays.cluster)}

    def readers(self) -> dict[str, Any] | None:
        """Answers of all readers together, by patient; and of each study. Where they read 30 questions or more."""
        if not self.studies:
            return None
        return {
            **self._answers([one.correct for one in self.studies]),
            "n_questions": int(self.read.sum()),
            "studies": [{"study": one.protocol_sha256, **self._answers([one.correct])} for one in self.studies],
        }

    def _answers(self, studies: Sequence[NDArray[np.int8]]) -> dict[str, Any]:
        correct = np.concatenate(studies)
        cluster = np.broadcast_to(self.arrays.cluster, correct.shape)
        found = clustered_accuracy(correct.ravel(), cluster.ravel()).accuracy
        return {**points(found), "n_readers": int((correct >= 0).any(axis=1).sum())}


def _questions_of(board: Board, name: str) -> NDArray[np.bool_]:
    kind, _colon, which = name.partition(":")
    if kind == "task":
        return np.asarray(board.arrays.task == TASKS.index(which))
    if kind in ("category", "difficulty"):
        of = board.arrays.category if kind == "category" else board.difficulty
        return np.array([one == which for one in of], dtype=np.bool_)
    return np.ones(len(board.arrays.key), dtype=np.bool_)


def _rank(
    entries: Sequence[dict[str, Any]],
    order: Sequence[int],
    correct: NDArray[np.int8],
    cluster: NDArray[np.int32],
    *,
    clustered: bool,
) -> None:
    """Rank bands, and the difference to the lowest of those that are significantly better, written into ``entries``."""
    pairs = ranked_pairs(correct, cluster, clustered=clustered)
    place = {row: at for at, row in enumerate(order)}
    for entry, band in zip(entries, rank_bands(len(entries), pairs), strict=True):
        entry["band"] = [band.best, band.worst]
    lowest: dict[int, int] = {}
    for pair in pairs:
        if (better := pair.better) is None:
            continue
        worse = pair.second if better == pair.first else pair.first
        if worse in lowest and place[lowest[worse]] > place[better]:
            continue
        lowest[worse] = better
        apart = points(pair.difference)
        if worse == pair.second:  # seen from the worse one
            mirrored = {"value": apart["value"], "low": apart["high"], "high": apart["low"]}
            apart |= {name: None if limit is None else -limit + 0.0 for name, limit in mirrored.items()}
        entries[worse]["above"] = {"entry": entries[better]["entry"], **apart}


# --- the ledger -----------------------------------------------------------------------------------
class Number(Struct, frozen=True):
    """One number of a result. ``entry`` is "" where it is about none; ``among``: the entries it was computed from."""

    entry: str
    what: str
    value: Any
    among: tuple[str, ...]


def numbers_of(result: Mapping[str, Any]) -> Iterator[Number]:
    """Every number of a result that depends on answers or keys, in its order."""
    everybody = tuple(one["entry"] for one in result["entries"])
    for name in ("commonest", "readers"):
        if result[name]:
            yield Number("", name, result[name], ())
    for one in result["entries"]:
        own = (one["entry"],)
        for what in ("n_failed", "n_missing"):
            yield Number(one["entry"], what, one[what], own)
        told = {**one["numbers"], **{name: one[name] for name in (TASK_MEAN, "without_images", "on_read")}}
        for what, value in told.items():
            if value:
                yield Number(one["entry"], what, value, own)
        if one["band"]:
            yield Number(one["entry"], "band", one["band"], everybody)
        if one["above"]:
            yield Number(one["entry"], "above", one["above"], (*own, one["above"]["entry"]))
