"""Names where room is short: without what they share, which is said once, so that they stay apart."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotation.models import User
from annotation.tables.kernels.forms import LONGEST_NAME, FigureForm, Width, short, told_apart
from readerstudy.analysis.kernels.result import StoredAnalysis
from readerstudy.analysis.storing import as_text, see_analysis
from readerstudy.design.kernels.documents import Rules
from readerstudy.exports import report_writing
from readerstudy.exports.report_writing import write_report
from readerstudy.models import Analysis, Enrolment
from readerstudy.results.kernels import rendering
from readerstudy.results.kernels.rendering import render
from readerstudy.results.kernels.stored import with_names
from readerstudy.results.looking import figure_file, reader_names, share_results, stored_result
from tests.annotation.review.cases import NOON
from tests.readerstudy.analysis.made import computed, make_arrays
from tests.readerstudy.report.made import reported_analysis
from tests.readerstudy.report.random_studies import random_study
from tests.readerstudy.results.made import QUICK, analysed_study
from tests.readerstudy.studies import enrol

DATED = [f"consortium/chest-xray-assistant-27B-instruct-2026110{day}" for day in (1, 2)]


def test_one_long_name_loses_its_middle() -> None:
    first, second = map(short, DATED)
    assert first != second
    assert (first, len(first)) == ("consortium/c…-20261101", LONGEST_NAME)
    assert short("Simulated reader 1") == "Simulated reader 1"


def test_names_that_fit_are_whole() -> None:
    names = ["Simulated reader 1", "Simulated reader 2", "Dr. A", "GPT-4o 2024-05", "GPT-4o 2024-08"]
    assert told_apart(names) == (names, "")


@pytest.mark.parametrize(
    ("names", "longest", "shown", "left_out"),
    [
        (
            [f"Simulated reader {place}" for place in (10, 2, 1, 3, 4, 5)],
            11,
            ["10", "2", "1", "3", "4", "5"],
            "Simulated reader 1, 2, …, 10",
        ),
        (
            [f"Simulated reader {letter}" for letter in "FABCDE"],
            11,
            list("FABCDE"),
            "Simulated reader A, B, C, D, E, F",
        ),
        (DATED, 22, ["20261101", "20261102"], f"{DATED[0]}, 20261102"),
        (
            ["GPT-4o vision preview 2024-05-13", "Dr. A", "GPT-4o vision preview 2024-08-06"],
            22,
            ["2024-05-13", "Dr. A", "2024-08-06"],
            "GPT-4o vision preview 2024-05-13, 2024-08-06",
        ),
        (["Simulated reader 1", "Simulated model A"], 11, ["reader 1", "model A"], "Simulated model A, reader 1"),
        (["Simulated reader", "Simulated reader 2"], 11, ["reader", "reader 2"], "Simulated reader, reader 2"),
        (["GPT-4o", "GPT-4o mini, another one"], 20, ["4o", "4o mini, another one"], "GPT-4o, 4o mini, another one"),
    ],
)
def test_what_they_share_is_left_out_and_said_once(
    names: list[str], longest: int, shown: list[str], left_out: str
) -> None:
    assert told_apart(names, longest) == (shown, left_out)


def test_the_same_number_of_two_hospitals_keeps_the_word_before() -> None:
    names = [f"Hospital of {town} reader {place}" for town in ("Bern", "Genoa") for place in (1, 2)]
    shown, left_out = told_apart(names, 8)
    assert len(set(shown)) == 4
    assert all(len(one) <= 8 for one in shown)
    assert left_out == "Hospital of Bern reader 1, Bern reader 2, Genoa reader 1, Genoa reader 2"


def test_a_figure_says_once_what_the_names_beside_the_map_leave_out() -> None:
    names = [f"Simulated radiologist of the pilot {place}" for place in (1, 2)]
    result = computed(make_arrays(dict(zip(names, ("BBBA", "BBCA"), strict=True)), {"Good": "BBBB"}, "BBBB"), QUICK)
    assert render("agreement", result, FigureForm.SVG, Width.ONE).count(b"Simulated radiologist of the pilot 1, 2") == 1


# --- Readers stand under pseudonyms, or under their names inside and in figures where the frozen plan says so ---
NAMED = Rules(reader_names=True)
PAGES = ("analysed", "agreement", "categories", "times")


@pytest.fixture
def named(rita: User, remo: User) -> Analysis:
    return _analysed(NAMED, rita, remo)


def _analysed(rules: Rules, *readers: User) -> Analysis:
    analysis = analysed_study(unblinded_at=NOON, rules=rules, n_orders=2)
    for reader in readers:
        enrol(analysis.study, reader)
    return analysis


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[StoredAnalysis]:
    """The results that were drawn; a drawing says how it calls its raters."""
    found: list[StoredAnalysis] = []

    def draw(_name: str, result: StoredAnalysis, *_rest: object) -> bytes:
        found.append(result)
        return " ".join(result["order"]).encode()

    monkeypatch.setattr(rendering, "render", draw)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_a_result_with_names_holds_no_pseudonym_and_the_same_numbers(seed: int) -> None:
    """Of studies with and without each thing that a study can have: times, order, confidence, voidings, one rater."""
    arrays, settings = random_study(seed)
    left = {"kind": "reader", "reader": "R99", "reason": "withdrew"}
    arrays = replace(arrays, excluded=(*arrays.excluded, left))
    result = json.loads(as_text(computed(arrays, settings)))
    names = {f"R{number}": f"Reader {number}" for number in range(100)}
    told = with_names(result, names)
    assert not re.findall(r'"R\d+"', json.dumps(told))
    assert with_names(told, {name: pseudonym for pseudonym, name in names.items()}) == result


def test_only_names_of_raters_change() -> None:
    result: Any = {"study": "R1", "items": {"category": ["R1"], "answers": {"R1": "AB"}}, "order": ["R1", "Good"]}
    expected: Any = {"study": "R1", "items": {"category": ["R1"], "answers": {"Rita": "AB"}}, "order": ["Rita", "Good"]}
    assert with_names(result, {"R1": "Rita"}) == expected


def test_without_the_rule_nobody_is_named(rita: User, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    analysis = _analysed(Rules(), rita)
    with django_assert_num_queries(0):
        assert reader_names(analysis) == {}


def test_who_agreed_and_is_still_in_the_study_is_named(named: Analysis) -> None:
    assert reader_names(named) == {"R1": "Rita", "R2": "Remo"}
    Enrolment.objects.filter(pseudonym="R1").update(consented_at=None)
    assert reader_names(named) == {"R2": "Remo"}
    Enrolment.objects.filter(pseudonym="R2").update(withdrawn_at=NOON)
    assert reader_names(named) == {}


def test_readings_from_elsewhere_and_replaced_readers_keep_the_pseudonym(named: Analysis) -> None:
    Enrolment.objects.filter(pseudonym="R1").update(reader=None)
    Enrolment.objects.filter(pseudonym="R2").update(replaced_at=NOON)
    assert reader_names(named) == {}


@pytest.mark.parametrize("name", ["remo ", "GOOD", "r2", " "])
def test_a_name_that_is_not_one_persons_alone_is_not_shown(named: Analysis, rita: User, name: str) -> None:
    User.objects.filter(pk=rita.pk).update(name=name)
    assert "R1" not in reader_names(named)


def test_coordinators_read_names_and_the_link_and_the_json_hold_pseudonyms(
    client: Client, cora: User, named: Analysis, drawn: list[StoredAnalysis]
) -> None:
    token = share_results(named, days=7, note="", actor=cora, at=timezone.now()).token
    client.force_login(cora)
    inside = [reverse(f"study-{page}", args=["trial", named.public_id]) for page in (*PAGES, "items")]
    for address in [*inside, reverse("study-pair", args=["trial", named.public_id, 0, 1])]:
        page = client.get(address).content.decode()
        assert ">R1<" not in page
    assert "Rita" in client.get(inside[0]).content.decode()
    figure = client.get(reverse("study-figure", args=["trial", named.public_id, "accuracy", "two", "svg"]))
    assert b"Rita" in figure.content
    client.logout()
    for page_name in PAGES:
        page = client.get(reverse(f"shared-{page_name}", args=[token])).content.decode()
        assert "Rita" not in page
    shared = client.get(reverse("shared-figure", args=[token, "accuracy", "two", "svg"]))
    assert b"R1" in shared.content
    assert b"Rita" not in shared.content
    assert shared["ETag"] != figure["ETag"]
    assert "Rita" not in see_analysis(named, actor=cora, at=timezone.now())


def test_render_figures_names_readers(named: Analysis, drawn: list[StoredAnalysis], tmp_path: Path) -> None:
    call_command("render_figures", "trial", "--output", str(tmp_path / "figures"), stdout=StringIO())
    assert b"Rita" in (tmp_path / "figures" / "accuracy-one.svg").read_bytes()


def test_a_figure_is_drawn_again_when_a_name_changes(named: Analysis, rita: User, drawn: list[StoredAnalysis]) -> None:
    given = (named, "accuracy", FigureForm.SVG, Width.TWO)
    assert b"Rita" in figure_file(*given, names=reader_names(named))
    User.objects.filter(pk=rita.pk).update(name="Rita Rossi")
    assert b"Rita Rossi" in figure_file(*given, names=reader_names(named))
    assert b"Rita" not in figure_file(*given)
    assert len(drawn) == 3


def test_the_report_holds_pseudonyms_in_every_file(
    rita: User, remo: User, drawn: list[StoredAnalysis], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analysis = reported_analysis(rita, remo, rules=NAMED)
    monkeypatch.setattr(report_writing, "rendered", lambda *_given: b"flow")
    write_report(analysis, tmp_path)
    assert "R1" in (tmp_path / "figures" / "accuracy-one.svg").read_text()
    assert stored_result(analysis)["order"][0] == "R1"
    assert not [path for path in tmp_path.rglob("*.*") if b"Rita" in path.read_bytes()]


def test_a_browser_asks_again_for_a_figure_with_names(
    client: Client, cora: User, named: Analysis, drawn: list[StoredAnalysis]
) -> None:
    """Who withdraws is not named from then on."""
    client.force_login(cora)
    address = reverse("study-figure", args=["trial", named.public_id, "accuracy", "two", "svg"])
    first = client.get(address)
    again = client.get(address, headers={"if-none-match": first["ETag"]})
    assert again.status_code == 304
    assert {first["Cache-Control"], again["Cache-Control"]} == {"private, no-cache"}
    Enrolment.objects.update(withdrawn_at=NOON)
    later = client.get(address, headers={"if-none-match": first["ETag"]})
    assert (later.status_code, b"Rita" in later.content) == (200, False)
