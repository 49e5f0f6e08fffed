"""Readers stand under pseudonyms, or under their names inside and in figures where the frozen plan says so."""

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

from annotation.figures.kernels.forms import FigureForm, Width
from annotation.models import User
from readerstudy.analysis.kernels.result import StoredAnalysis
from readerstudy.analysis.storing import as_text, see_analysis
from readerstudy.design.kernels.documents import Rules
from readerstudy.exports import report_writing
from readerstudy.exports.report_writing import write_report
from readerstudy.models import Analysis, Enrolment
from readerstudy.results.kernels import rendering
from readerstudy.results.kernels.stored import with_names
from readerstudy.results.looking import figure_file, reader_names, share_results, stored_result
from tests.annotation.review.cases import NOON
from tests.readerstudy.analysis.made import computed
from tests.readerstudy.report.made import reported_analysis
from tests.readerstudy.report.random_studies import random_study
from tests.readerstudy.results.made import analysed_study
from tests.readerstudy.studies import enrol

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
