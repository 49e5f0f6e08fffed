"""What answers in place of the site: a captive portal, a single sign-on gateway, a firewall, a cache."""

from __future__ import annotations

import zlib
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Page, Request, Route

PORTAL = "<!doctype html><html><head><title>Hospital network</title></head><body>Please sign in to the network.</body>"
ANSWERS: dict[str, dict[str, Any]] = {
    "portal": {"status": 200, "content_type": "text/html", "body": PORTAL},
    "redirect": {"status": 302, "headers": {"Location": "/login/?next=/"}},
    "firewall": {"status": 200, "content_type": "application/json", "body": '{"supportID": "1234567890"}'},
    "empty object": {"status": 200, "content_type": "application/json", "body": "{}"},
    "empty list": {"status": 200, "content_type": "application/json", "body": "[]"},
    "204": {"status": 204},
    "refusal": {"status": 404, "content_type": "text/html", "body": PORTAL},
}
HASTE = "setInterval(() => dispatchEvent(new Event('online')), 40)"  # no attempt is waited for


def answer_always(page: Page, name: str) -> None:
    """Every request that stores something gets this answer, until ``page.unroute_all``."""

    def handle(route: Route) -> None:
        if route.request.method == "POST":
            route.fulfill(**ANSWERS[name])
        else:
            route.continue_()

    page.route("**/*", handle)


class Line:
    """Every request that stores something gets each of these answers first, and only then comes to the site."""

    def __init__(self, context: BrowserContext) -> None:
        self.asked: Counter[str] = Counter()
        context.add_init_script(HASTE)
        context.route(lambda _address: True, self.handle)

    def handle(self, route: Route, request: Request) -> None:
        if request.method != "POST":
            route.continue_()
            return
        address = urlsplit(request.url).path
        answers = [*ANSWERS.values(), None]
        answer = answers[self.asked[address] % len(answers)]
        self.asked[address] += 1
        if answer is None:
            route.continue_()
        else:
            route.fulfill(**answer)

    def stored(self) -> Counter[str]:
        """How often each kind of address, its last word, came to the site after all foreign answers."""
        return Counter({a.split("/")[-2]: n // (len(ANSWERS) + 1) for a, n in sorted(self.asked.items())})


def as_the_site(route: Route, status: int, **said: Any) -> None:
    """A refusal with the receipt that only the site can give."""
    received = f"{route.request.headers['x-sent']} {zlib.crc32((route.request.post_data or '').encode())}"
    route.fulfill(status=status, json=said, headers={"X-Received": received})
