"""A small study that a reader really reads: the live server, true images, a page that fails on any script error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from annotation.models import User
from readerstudy.design.kernels.documents import Rules
from readerstudy.models import Enrolment
from tests.browser.entering import give_session
from tests.browser.readerstudy.reading import Device
from tests.browser.review.conftest import is_lost_file
from tests.browser.server import wait_until_left
from tests.readerstudy.studies import enrol, make_study

MakeStudy = Callable[..., Enrolment]
NewDevice = Callable[[], Device]


@pytest.fixture
def reads(transactional_db: None, rita: User) -> MakeStudy:
    """Make a study with these rules, with Rita ready to read its first case; four cases, in their order."""

    def make(*, n_cases: int = 4, n_practice: int = 0, practised: bool = True, **rules: Any) -> Enrolment:
        study = make_study(n_cases=n_cases, n_practice=n_practice, pixels=True, rules=Rules(**rules))
        enrolment = enrol(study, rita)
        if not practised:
            enrolment.practised_at = None
            enrolment.save()
        return enrolment

    return make


@pytest.fixture
def new_device(browser: Browser, live_server: LiveServer, rita: User) -> Iterator[NewDevice]:
    """Each call is another device of Rita's, logged in; a script error on any of them fails the test."""
    with devices_at(browser, live_server) as open_device:
        yield lambda: open_device(rita)


@pytest.fixture
def device(new_device: NewDevice) -> Device:
    return new_device()


@contextmanager
def devices_at(browser: Browser, live_server: LiveServer) -> Iterator[Callable[[User | None], Device]]:
    """Each call opens a device of this person, or of nobody who is logged in; at the end all have left."""
    with ExitStack() as devices:
        yield lambda person: devices.enter_context(_device(browser, live_server.url, person))
    wait_until_left(live_server)


@contextmanager
def _device(browser: Browser, address: str, person: User | None) -> Iterator[Device]:
    context = browser.new_context(viewport={"width": 1366, "height": 768}, base_url=address)
    if person is not None:
        give_session(context, person, address)
    errors: list[str] = []
    context.on("page", lambda page: _listen(page, errors))
    page = context.new_page()
    yield Device(page)
    for opened in context.pages:
        opened.unroute_all(behavior="ignoreErrors")
        opened.goto("about:blank")  # hands over what is not saved yet
    context.close()
    assert errors == []


def _listen(page: Page, errors: list[str]) -> None:
    page.set_default_timeout(20_000)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console", lambda m: errors.append(m.text) if m.type == "error" and "Failed to load" not in m.text else None
    )
    page.on("requestfailed", lambda asked: errors.append(asked.url) if is_lost_file(asked) else None)
