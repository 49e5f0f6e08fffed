"""What is wrong with a page: its policy, its source, what the browser refused, and what axe-core finds."""

from __future__ import annotations

from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

from playwright.sync_api import Page, Response

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
# The first rows of a table stand for the others. So does, for its contrast, the first text with these elements around
# it: the same classes in the same style sheets have the same colours on the next page of this tab. Looking at contrast
# takes two thirds of the time of axe-core.
RUN_AXE = """async () => {
  const CONTENT = /^(id|for|href|src|alt|name|value|title|action|datetime|aria-(label|describ|control)\\w*|hx-\\w+)$/;
  const sheets = [...document.querySelectorAll("link[rel=stylesheet]")].map((link) => link.href).join();
  const words = new Map([[null, sheets]]);
  const around = (node) => {
    if (!words.has(node)) {
      const styled = [...node.attributes].filter(({ name }) => !CONTENT.test(name));
      const own = styled.map(({ name, value }) => `${name}=${value}`);
      words.set(node, `${around(node.parentElement)}>${node.tagName} ${own.sort().join(" ")}`);
    }
    return words.get(node);
  };
  const short = (text) => [...text].reduce((sum, one) => (Math.imul(sum, 31) + one.charCodeAt(0)) | 0, 7);
  const seen = new Set(JSON.parse(sessionStorage.getItem("contrast seen") ?? "[]"));
  for (const node of document.body.querySelectorAll("*")) {
    const look = short(around(node));
    if (!seen.has(look)) node.dataset.look = seen.add(look).size;
  }
  sessionStorage.setItem("contrast seen", JSON.stringify([...seen]));
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-look]" }] });
  const page = { include: [["html"]], exclude: [["tbody tr:nth-child(n+41)"]] };
  const found = await axe.run(page, { resultTypes: ["violations"], preload: false });
  return found.violations.flatMap(({ id, impact, nodes }) =>
    nodes.map((node) => [impact, id, node.target.join(" "), node.failureSummary]));
}"""
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' blob: data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "worker-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}


class Source(HTMLParser):
    """Collects what the policy would refuse: scripts and styles in the page, and attributes that carry them."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "style" or (tag == "script" and "src" not in given and given.get("type") != "application/json"):
            self.refused.append(f"<{tag}> in the page")
        for name, value in given.items():
            if name == "style" or name.startswith(("on", "hx-on")) or (value or "").lstrip().startswith("javascript:"):
                self.refused.append(f"{tag} {name}={value}")


def source_problems(html: str) -> list[str]:
    source = Source()
    source.feed(html)
    return source.refused


def policy_problems(response: Response) -> list[str]:
    header = response.header_value("content-security-policy") or ""
    told = dict(part.strip().partition(" ")[::2] for part in header.split(";") if part.strip())
    return [] if told == POLICY else [f"content security policy: {header or 'none'}"]


def axe_problems(page: Page) -> list[str]:
    """One line for each element that breaks a rule of axe-core, whatever its impact."""
    if page.evaluate("() => typeof axe") == "undefined":
        page.evaluate(AXE)
    found: list[list[Any]] = page.evaluate(RUN_AXE)
    return [" | ".join(str(part).replace("\n", " ") for part in one) for one in found]
