"""Pages stand on the base, carry no script or style of their own, and work without a script."""

from __future__ import annotations

import re
from pathlib import Path

from django.template.loader import get_template

from tests.architecture.source import ROOT, TEMPLATES, where

ALL = sorted(TEMPLATES.rglob("*.html"))
COMMENT = re.compile(r"{% comment %}.*?{% endcomment %}|{#.*?#}|<!--.*?-->", re.DOTALL)
BROKEN = re.compile(r"{{(?!.*}})|{%(?!.*%})")
TAG = re.compile(r"<[a-zA-Z][^>]*>", re.DOTALL)


def text_of(path: Path) -> str:
    return COMMENT.sub("", path.read_text(encoding="utf-8"))


def short(path: Path) -> str:
    return path.relative_to(TEMPLATES).as_posix()


def test_no_line_is_too_long_to_be_read_beside_another_file() -> None:
    def long_lines(path: Path) -> list[int]:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [number for number, line in enumerate(lines, start=1) if len(line) > 160]

    assert where(ALL, long_lines) == {}


def test_no_tag_is_broken_over_two_lines() -> None:
    """Django shows such a tag to the person as text."""

    def broken(path: Path) -> list[int]:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [number for number, line in enumerate(lines, start=1) if BROKEN.search(line)]

    assert where(ALL, broken) == {}


def test_every_template_parses() -> None:
    for path in ALL:
        get_template(short(path))


def test_a_page_extends_the_base_and_a_fragment_is_named_so() -> None:
    for path in ALL:
        if path.name == "base.html" or path.name.startswith("_"):
            continue
        start = text_of(path).lstrip()
        assert start.startswith("{% extends "), f"{short(path)} neither extends a base nor is named _{path.name}"
        says = "{% block title %}" in start or not start.startswith('{% extends "base.html"')
        assert says, f"{short(path)} does not say where you are"


def test_no_script_or_style_in_a_page() -> None:
    def refused(path: Path) -> list[str]:
        text = text_of(path)
        scripts = re.findall(r"<script\b[^>]*>", text, re.IGNORECASE)
        inline = [one for one in scripts if "src=" not in one and 'type="application/json"' not in one]
        tags = [one for one in TAG.findall(text) if re.search(r"\sstyle\s*=|\son[a-z]+\s*=|javascript:", one)]
        words = re.findall(r"<style\b|\|safe|autoescape off", text, re.IGNORECASE)
        return [*inline, *tags, *words]

    assert where(ALL, refused) == {}


def test_every_post_carries_its_token() -> None:
    """In the form, or in a header where a script sends it."""

    def without(path: Path) -> list[str]:
        forms = re.findall(r"<form\b[^>]*method=\"post\".*?</form>", text_of(path), re.DOTALL | re.IGNORECASE)
        return [f[:120] for f in forms if "data-act=" not in f.partition(">")[0] and "{% csrf_token %}" not in f]

    assert where(ALL, without) == {}


def test_htmx_only_adds_to_what_works_without_it() -> None:
    """A tag that asks through htmx also has the address that a browser follows by itself."""

    def alone(path: Path) -> list[str]:
        asking = [
            tag for tag in TAG.findall(text_of(path)) if re.match(r"<(a|form)\b.*\bhx-(get|post)=", tag, re.DOTALL)
        ]
        return [tag for tag in asking if not re.search(r"\b(href|action)=", tag)]

    assert where(ALL, alone) == {}


def test_no_page_loads_from_elsewhere() -> None:
    for path in [
        *ALL,
        *(ROOT / "static/css").rglob("*.css"),
        *(ROOT / "static/annotation").rglob("*.*"),
        *(ROOT / "static/readerstudy").rglob("*.*"),
    ]:
        if path.suffix in {".html", ".css", ".js"}:
            found = re.findall(r"(?:src|href)=[\"']https?://|url\(\s*[\"']?https?://|@import", path.read_text())
            assert not found, path
