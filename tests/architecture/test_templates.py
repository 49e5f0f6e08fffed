"""Pages stand on the base, carry no script or style of their own, and work without a script."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.template.loader import get_template

from tests.architecture.source import ROOT, TEMPLATES

ALL = sorted(TEMPLATES.rglob("*.html"))
COMMENT = re.compile(r"{% comment %}.*?{% endcomment %}|{#.*?#}|<!--.*?-->", re.DOTALL)
TAG = re.compile(r"<[a-zA-Z][^>]*>", re.DOTALL)


def text_of(path: Path) -> str:
    return COMMENT.sub("", path.read_text(encoding="utf-8"))


def short(path: Path) -> str:
    return path.relative_to(TEMPLATES).as_posix()


@pytest.mark.parametrize("path", ALL, ids=short)
def test_a_template_parses(path: Path) -> None:
    get_template(short(path))


@pytest.mark.parametrize("path", ALL, ids=short)
def test_a_page_extends_the_base_and_a_fragment_is_named_so(path: Path) -> None:
    if path.name == "base.html" or path.name.startswith("_"):
        return
    start = text_of(path).lstrip()
    assert start.startswith("{% extends "), f"{short(path)} neither extends a base nor is named _{path.name}"
    assert "{% block title %}" in start or not start.startswith('{% extends "base.html"'), "a page says where you are"


@pytest.mark.parametrize("path", ALL, ids=short)
def test_no_script_or_style_in_a_page(path: Path) -> None:
    text = text_of(path)
    assert not re.search(r"<style\b", text, re.IGNORECASE)
    for opening in re.findall(r"<script\b[^>]*>", text, re.IGNORECASE):
        assert "src=" in opening or 'type="application/json"' in opening, opening
    for tag in TAG.findall(text):
        assert not re.search(r"\sstyle\s*=", tag), tag
        assert not re.search(r"\son[a-z]+\s*=", tag), tag
        assert "javascript:" not in tag, tag
    assert "|safe" not in text
    assert "autoescape off" not in text


@pytest.mark.parametrize("path", ALL, ids=short)
def test_every_post_carries_its_token(path: Path) -> None:
    text = text_of(path)
    for form in re.findall(r"<form\b[^>]*method=\"post\".*?</form>", text, re.DOTALL | re.IGNORECASE):
        sent_by_script = "data-act=" in form.partition(">")[0]  # with the token in a header
        assert sent_by_script or "{% csrf_token %}" in form, form[:120]


@pytest.mark.parametrize("path", ALL, ids=short)
def test_htmx_only_adds_to_what_works_without_it(path: Path) -> None:
    """A tag that asks through htmx also has the address that a browser follows by itself."""
    for tag in TAG.findall(text_of(path)):
        if re.search(r"\bhx-(get|post)=", tag) and re.match(r"<(a|form)\b", tag):
            assert re.search(r"\b(href|action)=", tag), tag


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
