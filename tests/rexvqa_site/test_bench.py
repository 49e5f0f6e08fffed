"""What the benchmark says when a peer that it was asked for does not work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import label_studio


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
