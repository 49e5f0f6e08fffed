"""The words of the viewer are translated on the server: the list there is the list of the module."""

from __future__ import annotations

import re

from django.template.loader import render_to_string

from tests.browser.viewer.stage import ROOT


def words_of_the_module() -> dict[str, str]:
    source = (ROOT / "static/case/viewer/controls.js").read_text()
    block = source.split("export const TEXT = {")[1].split("};")[0]
    return dict(re.findall(r'^ +(\w+): "(.*)",$', block, re.MULTILINE))


def test_page_and_module_have_the_same_words() -> None:
    page = render_to_string("case/_words.html")
    given = dict(re.findall(r'data-([a-z-]+)="([^"]*)"', page))
    camel = {re.sub("-(.)", lambda found: found[1].upper(), name): text for name, text in given.items()}
    assert camel == words_of_the_module()
    assert len(camel) > 30
