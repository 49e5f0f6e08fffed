"""Variants, orders and repeats, counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from annotation.statistics.kernels.intervals import tango, wilson
from readerstudy.analysis.kernels.bank_comparison import (
    FAILED,
    MISSING,
    AnsweredRun,
    AskedArrays,
    PairedVariant,
    variant_tables,
)

SIGNS = {"x": FAILED, ".": MISSING}


def run(*orders: tuple[str, ...], name: str = "run", images: str = "all") -> AnsweredRun:
    """Each order a tuple of repeats, each a line of canonical letters; x: no option, a full stop: not asked."""
    option = [[[SIGNS.get(sign, "ABCD".find(sign)) for sign in line] for line in repeats] for repeats in orders]
    return AnsweredRun({"run": name, "images": images}, np.array(option, dtype=np.int8))


def tables(
    key: str, *runs: AnsweredRun, variants: tuple[PairedVariant, ...] = (), clusters: Any = None
) -> dict[str, Any]:
    cluster = np.array(range(len(key)) if clusters is None else clusters, dtype=np.int32)
    keys = np.array(["ABCD".index(one) for one in key], dtype=np.int8)
    return variant_tables(AskedArrays(keys, cluster, "exam", 0, runs, variants))


# --- other images ---------------------------------------------------------------------------------
def test_a_variant_is_paired_with_the_plain_run() -> None:
    """Of 12 questions 3 are right in both, 6 with the image alone, 1 without it alone, 2 in neither."""
    plain = run(("BBB" "BBBBBB" "A" "xA",), name="plain")  # fmt: skip
    blind = run(("BBB" "AAxAAC" "B" "Ax",), name="blind", images="none")  # fmt: skip
    result = tables("B" * 12, plain, blind, variants=(PairedVariant(1, 0),))
    [found] = result["variants"]
    assert (found["run"], found["plain"], found["images"]) == ("blind", "plain", "none")
    assert found["table"] == {"both": 3, "first_only": 1, "second_only": 6, "neither": 2}
    assert (found["accuracy"]["by_question"]["value"], found["accuracy"]["by_question"]["n"]) == (4 / 12, 12)
    assert found["accuracy"]["by_question"]["ci95"] == pytest.approx(list(wilson(4, 12)))
    assert found["plain_accuracy"]["by_question"]["value"] == 9 / 12
    assert found["difference"]["value"] == -5 / 12
    assert found["difference"]["ci95"] == pytest.approx(list(tango(1, 6, 12)))
    assert found["p"] == found["p_holm"] == pytest.approx(2 * (1 + 7) / 2**7)
    assert "by_cluster" not in found["accuracy"]
    assert (result["rules"]["pairs"], result["rules"]["difference"]) == ("mcnemar_exact", "tango")


def test_only_questions_that_both_were_asked_are_paired() -> None:
    result = tables("BBBB", run(("BB.B",), name="plain"), run(("B.AB",)), variants=(PairedVariant(1, 0),))
    [found] = result["variants"]
    assert found["table"] == {"both": 2, "first_only": 0, "second_only": 0, "neither": 0}
    assert (found["accuracy"]["by_question"]["n"], found["n_in_one_only"], found["p"]) == (2, 2, 1.0)


def test_holm_runs_over_the_variants() -> None:
    plain, blind, blank = run(("B" * 12,)), run(("A" * 6 + "B" * 6,)), run(("A" * 7 + "B" * 5,))
    result = tables("B" * 12, plain, blind, blank, variants=(PairedVariant(1, 0), PairedVariant(2, 0)))
    assert [one["p"] for one in result["variants"]] == pytest.approx([2 / 2**6, 2 / 2**7])
    assert [one["p_holm"] for one in result["variants"]] == pytest.approx([2 / 2**6, 4 / 2**7])


def test_by_cluster_where_questions_share_exams() -> None:
    plain, blind = run(("BB" * 12,), name="plain"), run(("BA" * 6 + "BB" * 6,))
    clusters = [place // 2 for place in range(24)]
    result = tables("B" * 24, plain, blind, variants=(PairedVariant(1, 0),), clusters=clusters)
    [found] = result["variants"]
    assert (result["clustered"], result["n_clusters"]) == (True, 12)
    assert (result["rules"]["pairs"], result["rules"]["difference"]) == ("obuchowski_1998", "cluster_t")
    assert (found["difference"]["method"], found["accuracy"]["by_cluster"]["method"]) == ("cluster_t", "cluster_wilson")
    assert found["difference"]["value"] == -6 / 24
    few = tables("BBBB", run(("BBBB",)), run(("AABB",)), variants=(PairedVariant(1, 0),), clusters=[0, 0, 1, 1])
    assert few["variants"][0]["p"] is None
    assert few["variants"][0]["difference"]["ci95"] is None


# --- four orders ----------------------------------------------------------------------------------
def test_a_model_that_always_says_a_is_right_where_the_key_stands_first() -> None:
    """In order r + 1 the first place holds the option r of the bank. Keys: three A, two B, one C, none D."""
    result = tables("AAABBC", run(("AAAAAA",), ("BBBBBB",), ("CCCCCC",), ("DDDDDD",)))
    [found] = result["orders"]
    assert [one["accuracy"]["by_question"]["value"] for one in found["orders"]] == [3 / 6, 2 / 6, 1 / 6, 0]
    assert (found["same"]["by_question"]["value"], found["same"]["by_question"]["n"]) == (0, 6)
    recalls = [one["recall"]["by_question"] for one in found["letters"]]
    assert "".join(one["letter"] for one in found["letters"]) == "ABCD"
    assert [(one["value"], one["n"]) for one in recalls] == [(1, 6), (0, 6), (0, 6), (0, 6)]
    second = found["orders"][1]
    assert second["difference"]["value"] == pytest.approx(-1 / 6)
    assert second["table"] == {"both": 0, "first_only": 2, "second_only": 3, "neither": 1}
    assert [one["p"] for one in found["orders"][1:]] == pytest.approx([1, 0.625, 0.25])
    assert [one["p_holm"] for one in found["orders"][1:]] == pytest.approx([1, 1, 0.75])
    assert "p" not in found["orders"][0]


def test_the_same_option_in_all_four_orders() -> None:
    """Question 1: B in all. 2: C in all, wrong but the same. 3: once another. 4: once none. 5: none in all."""
    result = tables("BBBBB", run(("BCBBx",), ("BCBBx",), ("BCDBx",), ("BCBxx",)))
    same = result["orders"][0]["same"]["by_question"]
    assert (same["value"], same["n"]) == (2 / 5, 5)
    assert same["ci95"] == pytest.approx(list(wilson(2, 5)))


def test_recall_of_a_letter_is_that_of_the_place_where_the_key_is_shown() -> None:
    """The key of question 1 is C: it stands at C in order 1, B in 2, A in 3, D in 4. Right in orders 2 and 4."""
    found = tables("C", run(("A",), ("C",), ("A",), ("C",)))["orders"][0]
    assert [one["recall"]["by_question"]["value"] for one in found["letters"]] == [0, 1, 0, 1]


# --- repeats --------------------------------------------------------------------------------------
def test_repeats_that_agree() -> None:
    """Question 1: B three times. 2: changes. 3: A three times. 4: once none. Repeats: 3, 2 and 1 of 4 right."""
    result = tables("BBBB", run(("BBAB", "BAAB", "BAAx")))
    [found] = result["repeats"]
    assert [one["accuracy"]["by_question"]["value"] for one in found["repeats"]] == [3 / 4, 2 / 4, 1 / 4]
    assert (found["same"]["by_question"]["value"], found["same"]["by_question"]["n"]) == (2 / 4, 4)
    assert (found["mean"]["value"], found["sd"]["value"], found["sd"]["n"]) == (0.5, 0.25, 3)
    assert result["orders"] == []


def test_a_run_of_one_order_and_one_repeat_has_no_table() -> None:
    result = tables("BB", run(("BA",)))
    assert (result["variants"], result["orders"], result["repeats"]) == ([], [], [])
