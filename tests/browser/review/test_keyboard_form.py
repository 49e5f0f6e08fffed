"""The form keeps up: every field by Tab and Space alone, in the order of the page, in sight, saved while one types."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, expect

from annotation.models import AnswerKey, ReviewRound, User
from tests.annotation.review.cases import assignments_of
from tests.browser.review.test_journey import answer, commit, judge, press, start

# The place of the focus among everything in the panel, in the order of the page, and what it is.
FOCUS = """() => {
    const node = document.activeElement;
    const all = [...document.querySelectorAll("#case-panel *")];
    const { name = "", value = "", type = "" } = node;
    return { place: all.indexOf(node), name, value, type, id: node.id };
}"""
IN_SIGHT = """(selector) => [...document.querySelectorAll(selector)].map((node) => {
    const { top, bottom, left, right } = node.getBoundingClientRect();
    const x = (left + right) / 2;
    const isOnTop = (y) => node.contains(document.elementFromPoint(x, y)) || node.matches("h1");
    return top >= 0 && bottom <= innerHeight && right <= innerWidth && isOnTop((top + bottom) / 2);
})"""
IS_CHOSEN = "(name) => Boolean(document.querySelector(`#case-form [name=${name}]:checked`))"
WORDS = "A small left apical pneumothorax with a visible pleural line and no lung markings beyond it, without shift. "


def walk(page: Page) -> list[dict[str, str]]:
    """Tab through the panel from its start; at each stop Space or a text is used, as a person would."""
    page.evaluate("() => document.querySelector('#case-panel').focus()")
    stops: list[dict[str, str]] = []
    last = -1
    while True:
        press(page, "Tab")
        stop = page.evaluate(FOCUS)
        if stop["place"] < 0:
            return stops
        assert stop["place"] > last, f"the focus goes back to {stop}"
        last = stop["place"]
        stops.append(stop)
        if stop["type"] == "checkbox" or (stop["type"] == "radio" and not page.evaluate(IS_CHOSEN, stop["name"])):
            press(page, "Space")
        elif stop["type"] in ("text", "textarea"):
            page.keyboard.type("by hand")
        if page.locator("#identifies-dialog").is_visible():
            press(page, "Escape")


def names(page: Page) -> set[str]:
    """The fields of the form that can be set."""
    found: list[str] = page.evaluate("() => [...document.getElementById('case-form').elements].map((e) => e.name)")
    return set(found) - {"", "csrfmiddlewaretoken"}


def values(page: Page) -> dict[str, str]:
    found: dict[str, str] = page.evaluate(
        "() => Object.fromEntries(new FormData(document.getElementById('case-form')))"
    )
    return found


def test_every_field_of_step_one_by_tab_and_space(page: Page, review_round: ReviewRound) -> None:
    start(page, review_round)
    stops = walk(page)
    assert {stop["name"] for stop in stops} - {""} == names(page) == {"best", "defensible", "difficulty"}
    assert [stop["value"] for stop in stops if stop["name"] == "defensible"] == ["B", "C", "D"]  # A is the best
    assert stops[-1]["id"] == "case-go"
    assert values(page).items() >= {"best": "A", "difficulty": "easy"}.items()
    press(page, "2")
    commit(page)
    expect(page.locator("#case-form[data-step=judge]")).to_be_visible()


def test_every_field_of_steps_two_and_three_by_tab_and_space(page: Page, review_round: ReviewRound) -> None:
    start(page, review_round)
    answer(page, "1", "x", "2", "h")  # the key is B: flags follow
    press(page, "o")
    expect(page.locator("#case-report")).to_contain_text("FINDINGS-WORDS")
    press(page, "u", "c")
    expect(page.locator("#category")).to_be_focused()
    press(page, "Escape")
    stops = walk(page)
    assert {stop["name"] for stop in stops} - {""} == names(page)
    flags = page.evaluate(
        "() => [...document.querySelectorAll('[name=flags], [name=withdrawn_flags]')].map((e) => e.value)"
    )
    assert [stop["value"] for stop in stops if stop["name"].endswith("flags")] == flags
    held = values(page)
    assert names(page) == held.keys() - {"csrfmiddlewaretoken"}
    assert {held[name] for name in ("category", "reasoning", "comment", "verdict_reason")} == {"by hand"}
    assert stops[-1]["id"] == "case-go"


@pytest.mark.parametrize("many", [1, 2])
def test_stem_options_and_commit_are_in_sight(page: Page, review_round: ReviewRound, rita: User, many: int) -> None:
    """At 1366x768, with ordinary texts and with long ones."""
    revision = assignments_of(rita, review_round)[0].revision
    revision.stem = WORDS * many + "Which one?"
    revision.options = [WORDS[: 55 * many]] * 4
    revision.save()
    start(page, review_round)
    for selector, n in (("#stem", 1), (".case-option", 4), ("#case-go", 1)):
        assert page.evaluate(IN_SIGHT, selector) == [True] * n, selector
    assert page.evaluate("() => document.documentElement.scrollHeight <= innerHeight")


def test_of_texts_without_end_the_middle_scrolls_and_never_the_commit(
    page: Page, review_round: ReviewRound, rita: User
) -> None:
    revision = assignments_of(rita, review_round)[0].revision
    revision.stem, revision.options = WORDS * 6, [WORDS * 2] * 4
    revision.save()
    start(page, review_round)
    page.locator(".case-scroll").evaluate("(node) => { node.scrollTop = node.scrollHeight }")
    assert page.evaluate(IN_SIGHT, "#case-go") == [True]
    press(page, "1")
    assert page.evaluate(IN_SIGHT, ".case-option:has([value=A])") == [True]  # the text goes along with the key
    answer(page, "2", "e")
    assert page.evaluate(IN_SIGHT, "#case-go, .case-verdict label") == [True] * 5
    assert page.evaluate("() => document.documentElement.scrollHeight <= innerHeight")


def test_the_whole_judgement_stays_in_sight_below_the_longest_texts(
    page: Page, review_round: ReviewRound, rita: User, shared_data: Path
) -> None:
    """At 1366x768, with the longest of real questions, an answer that is not the key, and the report."""
    records = json.loads((shared_data / "rexvqa_sample.json").read_text(encoding="utf-8")).values()
    revision = assignments_of(rita, review_round)[0].revision
    revision.stem = max((one["question"] for one in records), key=len)
    revision.options = max((one["options"] for one in records), key=lambda options: len("".join(options)))
    revision.save()
    explanation = max((one["correct_answer_explanation"] for one in records), key=len)
    AnswerKey.objects.filter(revision=revision).update(explanation=explanation)
    start(page, review_round)
    answer(page, "3", "x", "4", "e")
    press(page, "o")
    expect(page.locator("#case-report")).to_contain_text("FINDINGS-WORDS")
    expect(page.locator("#case-report")).to_be_in_viewport()  # it is read where it opens
    asked = ".case-row label, .case-chip, .case-text:not([hidden]) textarea, .case-verdict label, #case-go"
    assert set(page.evaluate(IN_SIGHT, asked)) == {True}
    told, more = page.locator(".case-told"), page.locator("[data-more]")
    told.evaluate("(node) => { node.scrollTop = 0 }")
    assert page.evaluate(IN_SIGHT, "#stem") == [True]
    expect(more).to_be_visible()
    while more.is_visible():  # each press brings the next part
        before = told.evaluate("(node) => node.scrollTop")
        press(page, "d")
        page.wait_for_function("(before) => document.querySelector('.case-told').scrollTop > before", arg=before)
        told.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate(IN_SIGHT, "#case-report p:last-child") == [True]
    press(page, "d")
    expect(more).to_be_visible()
    assert page.evaluate(IN_SIGHT, "#stem") == [True]
    more.press("Enter")
    assert told.evaluate("(node) => node.scrollTop") > 0


def test_a_draft_is_sent_within_a_second_though_the_typing_goes_on(page: Page, review_round: ReviewRound) -> None:
    page.clock.install()
    judge(page, review_round)
    sent: list[str] = []

    def note(request: Request) -> None:
        if request.url.endswith("/draft/"):
            sent.append(request.post_data or "")

    page.on("request", note)
    press(page, "t")
    page.clock.pause_at(page.evaluate("() => Date.now() / 1000 + 1"))
    for letter in "ninechars":
        page.keyboard.type(letter)
        page.clock.run_for(100)
    assert [body for body in sent if "comment=" in body]
    page.clock.resume()
    expect(page.locator("#case-saving")).to_have_text("saved")
    page.evaluate("sessionStorage.clear()")
    page.reload()
    expect(page.locator("#comment")).to_have_value("ninechars")
