"""What is done with a page before it is looked at."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import FilePayload, Page, expect

from tests.annotation.model_calls.simulated_calls import ENDPOINT

Act = Callable[[Page], None]
PATIENCE = 20_000  # milliseconds


def press(*keys: str, then: str = "") -> Act:
    """Keys on the case page, after its script has taken over; then what must be there."""

    def act(page: Page) -> None:
        expect(page.locator("#viewer [role=toolbar]")).to_be_visible(timeout=PATIENCE)
        for key in keys:
            page.keyboard.press(key)
        if then:
            expect(page.locator(then)).to_be_visible(timeout=PATIENCE)

    return act


def see(then: str) -> Act:
    """What must be there."""
    return lambda page: expect(page.locator(then)).to_be_visible(timeout=PATIENCE)


def read(*keys: str, then: str = "") -> Act:
    """Keys on the reading page as soon as its case is on screen; then what must be there."""

    def act(page: Page) -> None:
        expect(page.locator("#content")).to_have_attribute("data-showing", "case", timeout=PATIENCE)
        for key in keys:
            if key == "Enter":
                expect(page.locator("#case-go")).to_have_attribute("aria-disabled", "false", timeout=PATIENCE)
            page.keyboard.press(key)
        if then:
            expect(page.locator(then)).to_be_visible(timeout=PATIENCE)

    return act


def learn(page: Page) -> None:
    """What is left to say about the case before; then a practice case with its feedback."""
    for asked in ("guess", "confidence"):
        expect(page.locator(f"[data-cover={asked}]")).to_be_visible(timeout=PATIENCE)
        page.keyboard.press("1")
    read("1", "Enter", then="#room-confidence")(page)
    page.keyboard.press("1")
    expect(page.locator("#room-feedback")).to_be_visible(timeout=PATIENCE)


def narrow(page: Page) -> None:
    """A window that is smaller than the round asks for."""
    page.set_viewport_size({"width": 900, "height": 700})
    expect(page.locator("#case-small")).to_be_visible(timeout=PATIENCE)


def unfold(page: Page) -> None:
    """What a person may open on the page is open."""
    page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def submit_empty(page: Page) -> None:
    """The form of the page sent as the browser would not send it: with nothing in it."""
    page.evaluate("() => { const f = document.querySelector('main form'); f.noValidate = true; f.requestSubmit(); }")
    page.wait_for_load_state("load")
    first = page.locator("main .error, main .errorlist").first
    expect(first).to_be_visible(timeout=PATIENCE)
    expect(first).to_be_in_viewport()


def plan_generation(page: Page) -> None:
    """What would be sent, before anything is."""
    page.get_by_label("Endpoint", exact=True).select_option(ENDPOINT)
    page.get_by_label("Exams", exact=True).fill("2")
    page.get_by_label("Model at the endpoint").fill("a-model")
    page.get_by_role("button", name="Plan", exact=True).click()
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_visible(timeout=PATIENCE)


REPORTS = """study_id,report
study-1,A nodule of the left upper lobe. No mass. No effusion.
study-2,"Seen by Dr. Miller, tel. 555-123-4567. Clear lungs; no pleural effusion."
study-3,"FINDINGS: The heart is enlarged. IMPRESSION: Compared with 12/03/2024, signed by Anna Smith."
"""


def hold_reports(page: Page, *, then: str = "") -> None:
    """A file of reports, two of which name somebody; then the button of this name."""
    page.get_by_label("Endpoint", exact=True).select_option(ENDPOINT)
    page.get_by_label("Model at the endpoint").fill("a-model")
    page.get_by_label("in a file").check()
    file = FilePayload(name="reports.csv", mimeType="text/csv", buffer=REPORTS.encode())
    page.get_by_label("File of reports").set_input_files(files=[file])
    page.get_by_role("button", name="Plan", exact=True).click()
    expect(page.get_by_role("heading", name="Reports held back")).to_be_visible(timeout=PATIENCE)
    if then:
        page.get_by_role("button", name=then).click()
        expect(page.get_by_role("heading", name="Masked reports")).to_be_visible(timeout=PATIENCE)
    page.locator("#held").scroll_into_view_if_needed()


def mask_reports(page: Page) -> None:
    hold_reports(page, then="Mask the marked places and plan again")


def revise(page: Page) -> None:
    """Another stem, and one image that no longer counts, looked at before it is stored."""
    page.get_by_role("checkbox", name="Image 2").uncheck()
    page.get_by_label("Question", exact=True).fill("Which of these findings cannot be seen on either view?")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="What changes")).to_be_visible(timeout=PATIENCE)


def make_link(page: Page) -> None:
    """The page that shows a link once."""
    page.get_by_role("main").get_by_role("button", name="Make the link", exact=True).click()
    expect(page.locator("#one-time-link")).to_be_visible(timeout=PATIENCE)


def ask_back(label: str) -> Act:
    """The page that an act answers with before it does anything."""

    def act(page: Page) -> None:
        page.get_by_role("main").get_by_role("button", name=label, exact=True).click()
        expect(page.locator("[name=confirmed]")).to_be_attached(timeout=PATIENCE)

    return act


def preview(page: Page) -> None:
    """The choice that the form asks for, or why there is none."""
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#cases-preview > *").first).to_be_visible(timeout=PATIENCE)


def spoil(page: Page) -> None:
    """A form with a value that it cannot have."""
    page.get_by_label("Time zone").evaluate("(one) => { one.selectedOptions[0].value = 'Mars/Base'; }")
    page.get_by_role("main").locator("button.primary").click()
    expect(page.locator("main .errorlist").first).to_be_visible(timeout=PATIENCE)


def view_interim_results(page: Page) -> None:
    """The interim results, which stay at no address."""
    unfold(page)
    page.get_by_label("Why the results must be seen now").fill("The sponsor asked for a safety look.")
    page.get_by_role("button", name="Show interim results once").click()
    expect(page.get_by_role("heading", name="Interim results")).to_be_visible(timeout=PATIENCE)


def send(row: str) -> Act:
    """A file of readings with one row, and what its check says."""

    def act(page: Page) -> None:
        text = f"reader,case,option,state\n{row}\n"
        file: FilePayload = {"name": "old.csv", "mimeType": "text/csv", "buffer": text.encode()}
        page.get_by_label("File of readings").set_input_files(file)
        page.get_by_role("button", name="Check the file").click()
        expect(page.locator("#import-result > *").first).to_be_visible(timeout=PATIENCE)

    return act
