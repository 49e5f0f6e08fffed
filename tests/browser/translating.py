"""A browser that translates the page: every text that is not marked becomes other words, as from a list of cases."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

HANDED = Path(__file__).resolve().parents[3] / "shared/cases/web/translated-page/translate.js"
OWN = """() => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), all = [];
  while (walk.nextNode()) all.push(walk.currentNode);
  for (const text of all) {
    if (!text.textContent.trim()) continue;
    if (text.parentElement.closest('script, style, [translate="no"], .notranslate')) continue;
    const outer = document.createElement("font"), inner = document.createElement("font");
    inner.textContent = `[de] ${text.textContent}`;
    outer.append(inner);
    text.replaceWith(outer);
  }
  document.documentElement.lang = "de";
  document.documentElement.classList.add("translated-ltr");
}"""
HEEDING = HANDED.read_text(encoding="utf-8") if HANDED.is_file() else OWN
MARKS = """, [translate="no"], .notranslate"""
IN_PLACE = "() => { document.querySelector('#stem').firstChild.nodeValue += ' [de]'; }"  # without an element of its own


def translate(page: Page) -> None:
    """By a translator that heeds what the page says of itself."""
    page.evaluate(HEEDING)


def translate_all_the_same(page: Page) -> None:
    assert MARKS in HEEDING
    page.evaluate(HEEDING.replace(MARKS, ""))


def is_told(page: Page) -> None:
    line = page.locator("#case-translated")
    expect(line).to_be_visible()
    expect(line).to_contain_text("translated this page")


def is_untouched(page: Page) -> None:
    assert page.locator("main font").count() == 0, 'a page with a question says translate="no"'
    expect(page.locator("#case-translated")).to_be_hidden()
