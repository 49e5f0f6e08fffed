"""Faults of the network, the server and the login: nothing that a reader did is lost, and reading goes on.

One test for each row of the table of faults, named after it; see docs/reading.md.
"""

from __future__ import annotations

import json
from urllib.parse import parse_qs

from django.contrib.sessions.models import Session
from django.test import Client
from playwright.sync_api import Route, expect

from annotation.models import User
from readerstudy.models import ReaderStudy, RefusedAnswer, Response
from tests.browser.foreign import as_the_site
from tests.browser.readerstudy.conftest import MakeStudy
from tests.browser.readerstudy.reading import KEPT, Device, answers_of, lose
from tests.readerstudy.studies import places_of


def key_of(route: Route) -> str:
    """Empty where a browser does not tell the test what it sends."""
    return parse_qs(route.request.post_data or "").get("key", [""])[0]


def test_acknowledgement_lost(device: Device, reads: MakeStudy) -> None:
    enrolment = reads()
    keys: list[str] = []

    def store_and_lose(route: Route) -> None:
        keys.append(key_of(route))
        if len(keys) == 1:
            assert route.fetch().ok
            lose(route)
        else:
            route.continue_()

    device.page.route("**/commit/", store_and_lose)
    device.opens(enrolment)
    device.stores("2", then=2)
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert Response.objects.count() == 1
    assert answers_of(enrolment) == ["B"]


def test_offline(device: Device, reads: MakeStudy) -> None:
    """Three cases can be read; then the page says what it waits for, and goes on by itself."""
    enrolment = device.opens(reads())
    device.says("saved")
    device.is_ready(enrolment)
    before = device.page.locator(".case-images").bounding_box()
    device.cut()
    device.answers("1", then=2)
    device.says(KEPT)
    assert device.page.locator(".case-images").bounding_box() == before  # nothing moves that need not
    expect(device.page.locator("#room-words")).to_be_hidden()
    banner = device.page.locator("#room-banner")
    expect(banner).to_contain_text("After this case you can read 1 more")
    device.answers("2", then=3)
    expect(banner).to_contain_text("the last case that you can read")
    device.answers("3")
    expect(device.page.locator("#case-wait")).to_contain_text("Waiting for the connection to load the next case.")
    device.says(KEPT)
    device.has_kept(enrolment, "commit", "open", "commit", "open", "commit")
    words = json.dumps(device.keeps(enrolment))
    for text in ("radiographs", "Pneumothorax", "/images/"):
        assert text not in words
    device.mend()
    device.sees(4)
    device.says("saved")
    expect(banner).to_contain_text("The connection is back.")
    assert answers_of(enrolment) == ["A", "B", "C"]
    device.has_kept(enrolment)


def test_a_pause_while_offline_says_what_only_this_device_has(device: Device, reads: MakeStudy) -> None:
    """The line with the saving state is hidden behind a pause: whoever goes away there is told in its place."""
    enrolment = device.opens(reads())
    device.says("saved")
    device.is_ready(enrolment)
    unsent = device.page.locator("[data-cover=paused] [data-unsent]")
    device.cut()
    device.answers("1", then=2)
    device.says(KEPT)
    device.press("Shift+P")
    device.page.get_by_role("button", name="Pause now").click()
    device.is_covered("paused")
    expect(unsent).to_contain_text("not sent yet: 1.")
    device.mend()
    expect(unsent).to_be_hidden()
    assert answers_of(enrolment) == ["A"]


def test_server_down(device: Device, reads: MakeStudy) -> None:
    """Refused connections and answers of a proxy without a server behind it: the same key until it is stored."""
    enrolment = reads()
    keys: list[str] = []

    def fail(route: Route) -> None:
        keys.append(key_of(route))
        if len(keys) == 1:
            route.abort("connectionrefused")
        elif len(keys) == 2:
            route.fulfill(status=502, body="Bad gateway")
        elif len(keys) == 3:
            route.fulfill(status=507, body="{}", content_type="application/json")
        else:
            route.continue_()

    device.page.route("**/commit/", fail)
    device.opens(enrolment)
    device.answers("2", then=2)
    device.says(KEPT)
    banner = device.page.locator("#room-banner")
    expect(banner).to_contain_text("The server cannot save anything at the moment. After this case you can read")
    device.says("saved")
    expect(banner).to_contain_text("The connection is back.")
    assert (len(keys), len(set(keys))) == (4, 1)
    assert answers_of(enrolment) == ["B"]


def test_session_expires_mid_case(device: Device, reads: MakeStudy) -> None:
    enrolment = reads()
    keys: list[str] = []

    def note(route: Route) -> None:
        keys.append(key_of(route))
        route.continue_()

    device.page.route("**/commit/", note)
    device.opens(enrolment)
    device.press("2")
    device.says("saved")
    device.is_ready(enrolment)
    Session.objects.all().delete()
    device.commits()
    dialog = device.page.locator("#login-dialog")
    expect(dialog).to_be_visible()
    expect(device.page.locator("#stem")).to_be_hidden()
    device.page.keyboard.type("rita@example.org")
    device.press("Tab")
    device.page.keyboard.type("not this one")
    device.press("Enter")
    expect(dialog.locator("[data-problem]")).to_contain_text("E-mail or password is wrong")
    device.page.get_by_label("Password").fill("correct horse battery")
    device.press("Enter")
    expect(dialog).to_be_hidden()
    device.sees(2)
    device.says("saved")
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert answers_of(enrolment) == ["B"]


def test_somebody_else_logs_in_meanwhile(device: Device, reads: MakeStudy, remo: User) -> None:
    """Nothing of the reader is sent under another name, and nothing is lost."""
    enrolment = device.opens(reads())
    device.press("2")
    device.says("saved")
    context = device.page.context
    own = next(cookie for cookie in context.cookies() if cookie["name"] == "sessionid")
    other = Client()
    other.force_login(remo)
    site = device.page.url.partition("/read/")[0]
    context.add_cookies([{"name": "sessionid", "value": other.cookies["sessionid"].value, "url": site}])
    device.commits()
    expect(device.page.locator("#login-dialog [data-problem]")).to_contain_text("not a reader of this study")
    device.has_kept(enrolment, "commit", "open")
    assert answers_of(enrolment) == []
    context.add_cookies([{"name": "sessionid", "value": own["value"], "url": site}])
    device.page.evaluate("() => dispatchEvent(new Event('focus'))")
    device.sees(2)
    device.says("saved")
    assert answers_of(enrolment) == ["B"]


def test_an_answer_that_the_server_does_not_take_stays_on_the_device(device: Device, reads: MakeStudy) -> None:
    enrolment = reads()
    device.page.route("**/commit/", lambda route: as_the_site(route, 422, reason="malformed"), times=1)
    device.opens(enrolment)
    device.answers("2", then=2)
    device.is_told("kept on this device")
    [kept] = [one for one in device.keeps(enrolment) if one["kind"] == "commit"]
    assert kept["refused"] == 422
    assert ["option", "B"] in kept["fields"]


def test_csrf_token_rotated(device: Device, reads: MakeStudy) -> None:
    """The token of the moment is sent; where it is gone a fresh one is fetched, once."""
    enrolment = reads()
    statuses: list[int] = []
    device.page.on("response", lambda r: statuses.append(r.status) if "/commit/" in r.url else None)
    device.opens(enrolment)
    device.says("saved")
    device.page.request.get("/login/")
    device.stores("1", then=2)
    device.page.context.clear_cookies(name="csrftoken")
    device.stores("2", then=3)
    assert answers_of(enrolment) == ["A", "B"]
    assert statuses == [200, 403, 200] or statuses == [200, 200]  # the choice before it may have fetched the token


NOBODY = "**/read/trial/cases/**"


def test_a_pause_that_only_this_device_knows_of_goes_on_after_a_reload(device: Device, reads: MakeStudy) -> None:
    """No case shows behind it that the server would not open, and whose answer it would not take."""
    enrolment = device.opens(reads())
    device.is_ready(enrolment)
    for address in (NOBODY, "**/read/trial/pause/"):
        device.page.route(address, lose)
    device.press("Shift+P", "Enter")
    device.answers("1")
    device.is_covered("paused")
    device.has_kept(enrolment, "commit", "pause")
    device.page.reload()
    device.is_covered("paused")
    device.page.unroute_all(behavior="ignoreErrors")
    device.has_kept(enrolment)
    device.is_covered("paused")
    device.press("Enter")
    device.sees(2)
    device.stores("2", then=3)
    assert answers_of(enrolment) == ["A", "B"]


def test_what_another_server_says_acknowledges_nothing(device: Device, reads: MakeStudy) -> None:
    """A page of a proxy that answers "200" to everything: the same key is sent until the answer is stored."""
    enrolment = reads()
    device.page.route("**/commit/", lambda route: route.fulfill(status=200, body="<p>Back soon.</p>"), times=1)
    device.opens(enrolment)
    device.answers("2", then=2)
    device.says(KEPT)
    device.says("saved")
    assert answers_of(enrolment) == ["B"]


def test_all_answers_on_the_device_are_kept_by_a_study_that_was_closed_meanwhile(
    device: Device, reads: MakeStudy
) -> None:
    enrolment = device.opens(reads())
    device.cut(enrolment)
    device.answers("1", then=2)
    device.answers("2", then=3)
    ReaderStudy.objects.update(state="closed")
    second = f"**/cases/{places_of(enrolment)[1].public_id}/commit/"
    under_way: list[Route] = []
    device.page.route(second, lambda route: under_way.append(route))
    with device.page.expect_request(second):
        device.mend()
    device.says(KEPT)  # the first one was refused, and the page stays for the second
    with device.page.expect_response(second):
        under_way.pop().continue_()
    device.is_covered("ended")
    kept = RefusedAnswer.objects.order_by("pk").values_list("presented__position", "option", "reason")
    assert list(kept) == [(1, "A", "study_closed"), (2, "B", "study_closed")]


def test_a_case_whose_answer_was_not_taken_comes_again_and_goes_out_before_later_ones(
    device: Device, reads: MakeStudy
) -> None:
    """The server still waits for this case, and opens no later one."""
    enrolment = reads()
    device.page.route("**/commit/", lambda route: as_the_site(route, 413, reason="too_large"), times=1)
    device.opens(enrolment)
    device.is_ready(enrolment)
    with device.page.expect_response("**/state/**"):
        device.answers("1", then=2)
    device.is_told("kept on this device")
    device.answers("2", then=1)
    device.page.reload()
    device.sees(1)
    device.stores("3", then=3)
    assert answers_of(enrolment) == ["C", "B"]
