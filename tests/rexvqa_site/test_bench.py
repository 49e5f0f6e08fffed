"""What the benchmark says when a peer that it was asked for does not work."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests import browsers
from tests.bench import __main__ as bench
from tests.bench import label_studio, viewer
from tests.bench.rows import Row


def test_nobody_who_asked_for_no_peer_hears_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("BENCH_LABEL_STUDIO", raising=False)
    assert label_studio.measure("chromium") is None
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (None, "must name an environment that has bin/label-studio"),
        ("#!/bin/sh\necho 'No module named label_studio' >&2\nexit 3\n", "ended with 3 (No module named label_studio)"),
        ("#!/nowhere/python\n", "does not start (No such file or directory)"),
    ],
)
def test_a_peer_that_does_not_start_is_left_out_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, script: str | None, why: str
) -> None:
    if script:
        program = tmp_path / "bin" / "label-studio"
        program.parent.mkdir()
        program.write_text(script)
        program.chmod(0o700)
    monkeypatch.setenv("BENCH_LABEL_STUDIO", str(tmp_path))
    assert label_studio.measure("chromium") is None
    said = capsys.readouterr().out
    assert said.startswith("Label Studio is not measured: ")
    assert why in said


@pytest.fixture
def no_chromium(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine without Chromium, on which it can be installed; the packages that were."""
    installed: list[str] = []

    def install(package: str, *_: object) -> str | None:
        installed.append(package)
        return f"/usr/bin/{package}"

    for name in ("REXVQA_CHROMIUM", "REXVQA_HOME", "DJANGO_SETTINGS_MODULE"):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # whatever is set below goes with the test
    monkeypatch.delenv("REXVQA_CHROMIUM")
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setattr(browsers, "install", install)
    return installed


def test_the_benchmark_installs_its_browser_as_the_tests_do(
    monkeypatch: pytest.MonkeyPatch, no_chromium: list[str]
) -> None:
    measured_in: list[str] = []

    def measure() -> list[Row]:
        measured_in.append(os.environ["REXVQA_CHROMIUM"])
        return []

    monkeypatch.setattr(viewer, "measure", measure)
    assert bench.main(["viewer"]) == 0
    assert no_chromium == ["chromium-headless-shell"]
    assert measured_in == ["/usr/bin/chromium-headless-shell"]


def test_what_needs_no_browser_installs_none(monkeypatch: pytest.MonkeyPatch, no_chromium: list[str]) -> None:
    monkeypatch.setattr("tests.bench.statistics.measure", list)
    assert bench.main(["statistics"]) == 0
    assert no_chromium == []
